"""np.linalg's systems and inverses, which LAPACK computes, with their rules (rule_definitions.py).

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of pinv: G. Golub and V. Pereyra, 1973; of what it cuts away: the derivative of a function of
singular values (R. Bhatia, "Matrix Analysis", 1997, section V.3).
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.linalg.factors import rounding, svd
from dualrev.rules.library.linalg.lapack import solve_rows, solved_rows
from dualrev.rules.library.linalg.matrices import inverse_turned, product, scaled_columns, turned
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.rule_definitions import define

__all__ = ["inv", "lstsq", "lstsq_each", "matrix_power", "pinv", "solve", "solve_each", "solved"]


@inner
def inv(a):
    """np.linalg.inv."""
    return turned(inverse_turned(a))


@inner
def inv_fwd(a):
    """The inverse, for the value and for the rule."""
    y = inv(a)
    return y, y


@inner
def inv_bwd(y, ct):
    """The transpose of push."""
    t = turned(y)
    return (-product(product(t, ct), t),)


@inner
def inv_push(primals, y, tangents):
    """d(inv a) = -inv(a) da inv(a)"""
    return -product(product(y, tangents[0]), y)


define(inv, inv_fwd, inv_bwd, inv_push)


@inner
def solve(a, b):
    """np.linalg.solve of a matrix and a vector."""
    x = np.empty((1, len(b)), b.dtype)
    for i in range(len(b)):
        x[0, i] = b[i]
    solve_rows(a, x)
    return x.reshape(len(b))


@inner
def solve_fwd(a, b):
    """The solution, for the value and for the rule."""
    x = solve(a, b)
    return x, (a, x)


@inner
def solve_bwd(residuals, ct):
    """The transpose of push."""
    a, x = residuals
    y = solve(turned(a), ct)
    by_a = np.empty(a.shape, a.dtype)
    for i in range(len(y)):
        for j in range(len(x)):
            by_a[i, j] = -y[i] * x[j]
    return by_a, y


@inner
def solve_push(primals, x, tangents):
    """d(solve(a, b)) = solve(a, db - da x)"""
    (a, _), (da, db) = primals, tangents
    return solve(a, db - np.dot(da, x))


define(solve, solve_fwd, solve_bwd, solve_push)


@inner
def solved(a, b):
    """The same for a square matrix, which raises no error: NaN if the matrix is singular (dualrev/implicit)."""
    x = np.empty((1, len(b)), b.dtype)
    for i in range(len(b)):
        x[0, i] = b[i]
    solved_rows(a, x)
    return x.reshape(len(b))


@inner
def solved_fwd(a, b):
    """The solution, for the value and for the rule."""
    x = solved(a, b)
    return x, (a, x)


@inner
def solved_bwd(residuals, ct):
    """The transpose of push."""
    a, x = residuals
    y = solved(turned(a), ct)
    by_a = np.empty(a.shape, a.dtype)
    for i in range(len(y)):
        for j in range(len(x)):
            by_a[i, j] = -y[i] * x[j]
    return by_a, y


@inner
def solved_push(primals, x, tangents):
    """As of `solve`."""
    (a, _), (da, db) = primals, tangents
    return solved(a, db - np.dot(da, x))


define(solved, solved_fwd, solved_bwd, solved_push)


@inner
def solve_each(a, b):
    """np.linalg.solve of two matrices."""
    x = turned(b)
    solve_rows(a, x)
    return turned(x)


@inner
def solve_each_fwd(a, b):
    """The solutions, for the value and for the rule."""
    x = solve_each(a, b)
    return x, (a, x)


@inner
def solve_each_bwd(residuals, ct):
    """The transpose of push."""
    a, x = residuals
    y = solve_each(turned(a), ct)
    return -product(y, turned(x)), y


@inner
def solve_each_push(primals, x, tangents):
    """As of a vector."""
    (a, _), (da, db) = primals, tangents
    return solve_each(a, db - product(da, x))


define(solve_each, solve_each_fwd, solve_each_bwd, solve_each_push)


# Least squares


@inner
def pinv(a, rcond):
    """np.linalg.pinv."""
    return turned(np.linalg.pinv(a, rcond).T)


@inner
def pinv_fwd(a, rcond):
    """The inverse, for the value and for the rule."""
    p = pinv(a, rcond)
    return p, (a, p, rcond)


@inner
def pinv_bwd(residuals, ct):
    """The transpose of push, which is like it."""
    a, p, rcond = residuals
    by_a = _change_of_pinv(turned(p), turned(a), ct)
    if rcond > _least_share(a):
        u, s, vt = svd(a)
        by_a += _change_by_cut(turned(ct), u, s, vt, _rank(s, rcond))
    return by_a, None


@inner
def pinv_push(primals, p, tangents):
    """d(p) = -p da p + p p^T da^T (1 - a p) + (1 - p a) da^T p^T p, and what `_change_by_cut` adds to it."""
    (a, rcond), da = primals, tangents[0]
    dp = _change_of_pinv(p, a, da)
    if rcond > _least_share(a):
        u, s, vt = svd(a)
        dp += turned(_change_by_cut(da, u, s, vt, _rank(s, rcond)))
    return dp


@inner
def _least_share(a):
    """The largest rcond that cuts away nothing but rounding errors."""
    return max(a.shape) * np.spacing(np.ones(1, a.dtype))[0]


@inner
def _rank(s, rcond):
    rank = 0
    while rank < len(s) and s[rank] > rcond * s[0]:
        rank += 1
    return rank


@inner
def _change_of_pinv(p, a, t):
    """The derivative of pinv by Golub and Pereyra, which takes the singular values that were cut away for 0."""
    q, u = turned(p), turned(t)
    first, last = product(product(p, q), u), product(product(u, q), p)
    first -= product(product(first, a), p)
    last -= product(p, product(a, last))
    return first + last - product(product(p, t), p)


@inner(error_model="numpy")
def _change_by_cut(t, u, s, vt, rank):
    """The terms of the singular values that were cut away and are not 0, for a tangent t of u s vt.

    Let s[k] be kept and s[j] be cut away, e = u^T t v, r = s[j] / s[k] and w = r / (s[k]^2 - s[j]^2). The sum of terms
    is u x vt, where x[k, j] = w (r e[k, j] + e[j, k]), x[j, k] = w (r e[j, k] + e[k, j]), and the rest of x is 0.
    """
    turns = np.zeros((len(s), len(s)), s.dtype)
    if rank == len(s) or s[rank] <= rounding(s):  # nothing is: then vectors of equal ones need no derivative
        return product(product(u, turns), vt)
    e = product(product(turned(u), t), turned(vt))
    for k in range(rank):
        for j in range(rank, len(s)):
            r = s[j] / s[k]
            w = r / (s[k] - s[j]) / (s[k] + s[j])
            turns[k, j] = w * (r * e[k, j] + e[j, k])
            turns[j, k] = w * (r * e[j, k] + e[k, j])
    return product(product(u, turns), vt)


define(pinv, pinv_fwd, pinv_bwd, pinv_push)


@inner(error_model="numpy")
def _inverse_of_rank(a, u, s, vt, rank):
    """The pseudo-inverse of a = u s vt by the largest singular values, as many as the rank that was found."""
    shares = np.zeros_like(s)
    for k in range(rank):
        shares[k] = 1.0 / s[k]
    return product(scaled_columns(turned(vt), shares), turned(u))


@inner
def _inverse_of_rank_fwd(a, u, s, vt, rank):
    p = _inverse_of_rank(a, u, s, vt, rank)
    return p, (a, u, s, vt, p, rank)


@inner
def _inverse_of_rank_bwd(residuals, ct):
    """As of pinv: by `a` alone, as the vectors of equal singular values, a choice of LAPACK's, have no derivatives."""
    a, u, s, vt, p, rank = residuals
    by_a = _change_of_pinv(turned(p), turned(a), ct) + _change_by_cut(turned(ct), u, s, vt, rank)
    return by_a, np.zeros_like(u), np.zeros_like(s), np.zeros_like(vt), None


@inner
def _inverse_of_rank_push(primals, p, tangents):
    """As of pinv."""
    a, u, s, vt, rank = primals
    return _change_of_pinv(p, a, tangents[0]) + turned(_change_by_cut(tangents[0], u, s, vt, rank))


define(_inverse_of_rank, _inverse_of_rank_fwd, _inverse_of_rank_bwd, _inverse_of_rank_push)


@inner
def lstsq(a, b, rcond):
    """np.linalg.lstsq of a matrix and a vector."""
    x, squares, rank, s = lstsq_each(a, b.reshape(-1, 1), rcond)
    return x[:, 0].copy(), squares, rank, s


@inner
def lstsq_each(a, b, rcond):
    """np.linalg.lstsq of two matrices."""
    x, squares, rank, s = np.linalg.lstsq(a, b, rcond)
    return turned(x.T), squares, rank, s


@inner
def lstsq_each_fwd(a, b, rcond):
    """The results, for the value and for the rule."""
    x, squares, rank, s = lstsq_each(a, b, rcond)
    return (x, squares, rank, s), (a, b, x, rank)


@inner
def lstsq_each_bwd(residuals, ct):
    """The transpose of push."""
    (a, b, x, rank), (gx, gsquares, _, gs) = residuals, ct
    u, s, vt = svd(a)
    p = _inverse_of_rank(a, u, s, vt, rank)
    q, rest = turned(p), b - product(a, x)
    y = product(q, gx)
    slope = gx - product(turned(a), y)
    by_a = product(rest, turned(product(p, y))) + product(product(q, x), turned(slope))
    by_a += _change_by_cut(product(b, turned(gx)), u, s, vt, rank)
    if len(gsquares) > 0:
        y += scaled_columns(rest, gsquares + gsquares)
    by_a += product(scaled_columns(u, gs), vt) - product(y, turned(x))
    return by_a, y, None


@inner
def lstsq_each_push(primals, y, tangents):
    """With p = pinv(a) and r = b - a x: dx = p (db - da x) + p p^T da^T r + (1 - p a) da^T p^T x, d(r^2) = 2 r dr.

    And what `_change_by_cut` adds.
    """
    (a, b, _), (x, squares, rank, _), (da, db, _) = primals, y, tangents
    u, s, vt = svd(a)
    p = _inverse_of_rank(a, u, s, vt, rank)
    q, rest, change, back = turned(p), b - product(a, x), db - product(da, x), turned(da)
    slope = product(back, product(q, x))
    dx = product(p, change + product(q, product(back, rest)) - product(a, slope)) + slope
    dx += product(turned(_change_by_cut(da, u, s, vt, rank)), b)
    dsquares = np.zeros_like(squares)
    for j in range(len(squares)):
        for i in range(len(rest)):
            dsquares[j] += 2.0 * rest[i, j] * change[i, j]
    ds, du = np.zeros_like(s), product(da, turned(vt))
    for k in range(len(s)):
        for i in range(len(u)):
            ds[k] += u[i, k] * du[i, k]
    return dx, dsquares, None, ds


define(lstsq_each, lstsq_each_fwd, lstsq_each_bwd, lstsq_each_push)


@inner
def matrix_power(a, n):
    """np.linalg.matrix_power, by squares; the power 0 of a matrix that is wider than high has its shape, as numba's."""
    if n == 0 and a.shape[0] <= a.shape[1]:
        return np.eye(a.shape[0], a.shape[1]).astype(a.dtype)
    if a.shape[0] != a.shape[1]:
        raise ValueError("input must be a square array")
    square = inv(a) if n < 0 else a.copy()
    n = abs(n)
    while n % 2 == 0:
        square = product(square, square)
        n //= 2
    made = square
    while n > 1:
        n //= 2
        square = product(square, square)
        if n % 2 == 1:
            made = product(made, square)
    return made
