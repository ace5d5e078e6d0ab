"""np.linalg's factors of matrices, which LAPACK computes, with their rules (rule_definitions.py).

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of cholesky: I. Murray, "Differentiation of the Cholesky decomposition", 2016; of qr: S. Walter
and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010; of svd: J. Townsend, "Differentiating
the singular value decomposition", 2016.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.linalg.matrices import (
    both_triangles,
    inverse_turned,
    of_both_triangles,
    product,
    scaled_columns,
    turned,
)
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.rule_definitions import define

__all__ = ["cholesky", "eigh", "eigvalsh", "qr", "svd", "svd_of_full"]


@inner
def cholesky(a):
    """np.linalg.cholesky."""
    return np.linalg.cholesky(a)


@inner
def cholesky_fwd(a):
    """The factor, for the value and for the rule."""
    factor = cholesky(a)
    return factor, factor


@inner
def cholesky_bwd(factor, ct):
    """The transpose of push."""
    low = np.zeros(ct.shape, ct.dtype)
    for i in range(len(ct)):
        for j in range(i + 1):
            low[i, j] = ct[i, j]
    inner, inverse = _half_lower(product(turned(factor), low)), inverse_turned(factor)
    return (of_both_triangles(product(product(inverse, inner), turned(inverse))),)


@inner
def cholesky_push(primals, factor, tangents):
    """d(L) = L phi(inv(L) da inv(L)^T), where phi takes the lower triangle and half of the diagonal."""
    inverse = inverse_turned(factor)
    return product(factor, _half_lower(product(product(turned(inverse), both_triangles(tangents[0])), inverse)))


@inner
def _half_lower(x):
    made = np.zeros(x.shape, x.dtype)
    for i in range(len(x)):
        for j in range(i):
            made[i, j] = x[i, j]
        made[i, i] = 0.5 * x[i, i]
    return made


define(cholesky, cholesky_fwd, cholesky_bwd, cholesky_push)


@inner
def eigh(a):
    """np.linalg.eigh."""
    w, v = np.linalg.eigh(a)
    return w, turned(v.T)


@inner
def eigh_fwd(a):
    """Both, for the value and for the rule."""
    w, v = eigh(a)
    return (w, v), (w, v)


@inner
def eigh_bwd(residuals, ct):
    """The transpose of push."""
    (w, v), (gw, gv) = residuals, ct
    t = turned(v)
    p = product(t, gv)
    inner = over_gaps(p - p.T, w, asked_for(p, gv), 0.5)
    for k in range(len(w)):
        inner[k, k] = gw[k]
    return (of_both_triangles(product(product(v, inner), t)),)


@inner
def eigh_push(primals, y, tangents):
    """With p = v^T da v: dw = diag(p), dv = v (p / gaps), where gaps[i, j] = w[j] - w[i]."""
    w, v = y
    p = product(product(turned(v), both_triangles(tangents[0])), v)
    return diagonal(p), product(v, over_gaps(p, w, p != 0.0, 1.0))


# The vectors of a repeated eigenvalue have no derivative: NaN, where the result depends on them. It does where the
# cotangents turn one of them to another, even if both turns cancel: (v f(w)) v^T has a derivative, of which the
# cotangents do not tell.


@inner(error_model="numpy")
def over_gaps(p, w, asked, share):
    """p / gaps; at ties NaN for the pairs that are asked for, and 0 for others."""
    least = rounding(w)
    made = np.zeros(p.shape, p.dtype)
    for i in range(len(w)):
        for j in range(len(w)):
            if i != j:
                if not abs(w[j] - w[i]) <= least:
                    made[i, j] = share * p[i, j] / (w[j] - w[i])
                elif asked[i, j]:
                    made[i, j] = np.nan * p[i, j]
    return made


@inner
def rounding(w):
    """Bound of LAPACK's rounding errors, by the largest number."""
    size = np.zeros(1, w.dtype)
    for k in range(len(w)):
        size[0] = max(size[0], abs(w[k]))
    return 4.0 * len(w) * np.spacing(size[0])


@inner
def asked_for(p, g):
    """The pairs of vectors v that a cotangent g turns to each other, by more than a rounding error: of p = v^T g."""
    least = rounding(g.ravel())
    made = np.zeros(p.shape, np.bool_)
    for i in range(len(p)):
        for j in range(len(p)):
            made[i, j] = abs(p[i, j]) > least or abs(p[j, i]) > least
    return made


@inner
def diagonal(p):
    """Diagonal of a matrix, as a vector."""
    made = np.empty(len(p), p.dtype)
    for k in range(len(p)):
        made[k] = p[k, k]
    return made


define(eigh, eigh_fwd, eigh_bwd, eigh_push)


@inner
def eigvalsh(a):
    """np.linalg.eigvalsh."""
    return np.linalg.eigvalsh(a)


@inner
def eigvalsh_fwd(a):
    """The values; the vectors wait until they are asked for."""
    return eigvalsh(a), a


@inner
def eigvalsh_bwd(a, ct):
    """The transpose of push."""
    _, v = eigh(a)
    return (of_both_triangles(product(scaled_columns(v, ct), turned(v))),)


@inner
def eigvalsh_push(primals, w, tangents):
    """dw = diag(v^T da v)"""
    _, v = eigh(primals[0])
    return diagonal(product(product(turned(v), both_triangles(tangents[0])), v))


define(eigvalsh, eigvalsh_fwd, eigvalsh_bwd, eigvalsh_push)


# Singular values: the rules have v where the function has v^T


@inner
def svd(a):
    """np.linalg.svd with full_matrices=False."""
    u, s, vt = np.linalg.svd(a, False)
    return turned(u.T), s, turned(vt.T)


@inner
def svd_fwd(a):
    """The factors, for the value and for the rule."""
    u, s, vt = svd(a)
    return (u, s, vt), (u, s, vt)


@inner
def svd_bwd(residuals, ct):
    """The transpose of push."""
    (u, s, vt), (gu, gs, gvt) = residuals, ct
    v, gv = turned(vt), turned(gvt)
    p, q = product(turned(u), gu), product(vt, gv)
    asked = asked_for(p, gu) | asked_for(q, gv)
    left, right = _over_gaps_of_squares(p - p.T, s, asked), _over_gaps_of_squares(q - q.T, s, asked)
    inner = np.empty(p.shape, p.dtype)
    for i in range(len(s)):
        for j in range(len(s)):
            inner[i, j] = left[i, j] * s[j] + s[i] * right[i, j]
        inner[i, i] = gs[i]
    made = product(product(u, inner), vt)
    if len(u) > len(s):
        made += product(_across(gu, product(u, p), s), vt)
    if len(v) > len(s):
        made += product(u, turned(_across(gv, product(v, q), s)))
    return (made,)


@inner
def svd_push(primals, y, tangents):
    """With p = u^T da v: ds = diag(p); du and dv have a part in the space of u and v, and one across."""
    (u, s, vt), (t,) = y, tangents
    v = turned(vt)
    tv, tu = product(t, v), product(turned(t), u)
    p = product(turned(u), tv)
    both = p + p.T
    together, apart = over_gaps(both, s, both != 0.0, 0.5), _over_sums(p - p.T, s)
    du, dv = product(u, together + apart), product(v, together - apart)
    if len(u) > len(s):
        du += _across(tv, product(u, p), s)
    if len(v) > len(s):
        dv += _across(tu, product(v, turned(p)), s)
    return du, diagonal(p), turned(dv)


@inner(error_model="numpy")
def _over_gaps_of_squares(p, s, asked):
    """As of eigenvalues."""
    least = rounding(s)
    made = np.zeros(p.shape, p.dtype)
    for i in range(len(s)):
        for j in range(len(s)):
            if i != j:
                if not abs(s[j] - s[i]) <= least:
                    made[i, j] = p[i, j] / ((s[j] - s[i]) * (s[j] + s[i]))
                elif asked[i, j]:
                    made[i, j] = np.nan * p[i, j]
    return made


@inner(error_model="numpy")
def _over_sums(p, s):
    """How u and v turn against each other: at ties, too, but for the vectors of 0, which have no derivative."""
    least = rounding(s)
    made = np.zeros(p.shape, p.dtype)
    for i in range(len(s)):
        for j in range(len(s)):
            if i != j:
                if not (s[i] <= least and s[j] <= least):
                    made[i, j] = 0.5 * p[i, j] / (s[j] + s[i])
                elif p[i, j] != 0.0:
                    made[i, j] = np.nan * p[i, j]
    return made


@inner(error_model="numpy")
def _across(x, part, s):
    """The columns without their part in a space, by the singular values; the vectors of 0 have no derivative."""
    least = rounding(s)
    made = np.zeros(x.shape, x.dtype)
    for i in range(len(x)):
        for j in range(len(s)):
            rest = x[i, j] - part[i, j]
            if not s[j] <= least:
                made[i, j] = rest / s[j]
            elif rest != 0.0:
                made[i, j] = np.nan * rest
    return made


define(svd, svd_fwd, svd_bwd, svd_push)


@inner
def svd_of_full(a):
    """np.linalg.svd. The vectors that complete a basis of a matrix that is not square have no derivative: NaN."""
    u, s, vt = np.linalg.svd(a, True)
    return turned(u.T), s, turned(vt.T)


@inner
def svd_of_full_fwd(a):
    """The factors, for the value and for the rule."""
    u, s, vt = svd_of_full(a)
    return (u, s, vt), (u, s, vt)


@inner
def svd_of_full_bwd(residuals, ct):
    """Cotangent of the matrix for full factors; NaN if the columns beyond the thin factors have a cotangent."""
    (u, s, vt), (gu, gs, gvt) = residuals, ct
    k = len(s)
    thin = _first_columns(u, k), s, vt[:k]
    (made,) = svd_bwd(thin, (_first_columns(gu, k), gs, gvt[:k]))
    if np.any(gu[:, k:] != 0.0) or np.any(gvt[k:] != 0.0):
        made[:] = np.nan
    return (made,)


@inner
def svd_of_full_push(primals, y, tangents):
    """Tangents of the full factors."""
    u, s, vt = y
    k = len(s)
    by_columns, ds, by_rows = svd_push(primals, (_first_columns(u, k), s, vt[:k]), tangents)
    return _extended(by_columns, u), ds, _extended(by_rows, vt)


@inner
def _first_columns(x, k):
    return x[:, :k].copy()


@inner
def _extended(x, like):
    """The same, and NaN where the other has more."""
    made = np.empty(like.shape, like.dtype)
    for i in range(like.shape[0]):
        for j in range(like.shape[1]):
            made[i, j] = x[i, j] if i < x.shape[0] and j < x.shape[1] else np.nan
    return made


define(svd_of_full, svd_of_full_fwd, svd_of_full_bwd, svd_of_full_push)


# Orthogonal factors


@inner
def qr(a):
    """np.linalg.qr."""
    q, r = np.linalg.qr(a)
    return turned(q.T), turned(r.T)


@inner
def qr_fwd(a):
    """The factors, for the value and for the rule."""
    q, r = qr(a)
    return (q, r), (a, q, r)


@inner
def qr_bwd(residuals, ct):
    """The transpose of push."""
    (a, q, r), (gq, gr) = residuals, ct
    k, wide = r.shape
    left, by_left, by_right = _first_columns(r, k), _first_columns(gr, k), gr[:, :0].copy()
    if wide > k:
        by_right = gr[:, k:].copy()
        gq = gq + product(a[:, k:].copy(), turned(by_right))
    for i in range(k):
        by_left[i, :i] = 0.0
    m = product(left, turned(by_left)) - product(turned(gq), q)
    by_left = product(gq + product(q, both_triangles(m)), _inverse_turned_of_full_rank(left))
    return (_joined(by_left, product(q, by_right)),)


@inner
def qr_push(primals, y, tangents):
    """With c = da inv(r), x = q^T c and its antisymmetric part o: dq = c - q (x - o), dr = (x - o) r.

    Of a wide matrix (a1 a2) = q (r1 r2) this holds for a1, and r2 = q^T a2.
    """
    (a,), (q, r), (t,) = primals, y, tangents
    k = len(r)
    left = _first_columns(r, k)
    c = product(_first_columns(t, k), turned(_inverse_turned_of_full_rank(left)))
    x = product(turned(q), c)
    upper = np.zeros(x.shape, x.dtype)
    for i in range(k):
        upper[i, i] = x[i, i]
        for j in range(i):
            upper[j, i] = x[j, i] + x[i, j]
    dq = c - product(q, upper)
    right = product(turned(dq), a[:, k:].copy()) + product(turned(q), t[:, k:].copy())
    return dq, _joined(product(upper, left), right)


@inner
def _inverse_turned_of_full_rank(r):
    """Its transposed inverse; NaN where a column of the matrix depends on those before it, up to a rounding error."""
    for k in range(len(r)):
        if abs(r[k, k]) <= 4.0 * len(r) * np.spacing(np.sqrt(np.sum(r[:, k] * r[:, k]))):
            return r * np.nan
    return inverse_turned(r)


@inner
def _joined(left, right):
    """Columns, and columns to the right of them."""
    k, wide = left.shape[1], left.shape[1] + right.shape[1]
    made = np.empty((len(left), wide), left.dtype)
    for i in range(len(left)):
        for j in range(wide):
            made[i, j] = left[i, j] if j < k else right[i, j - k]
    return made


define(qr, qr_fwd, qr_bwd, qr_push)
