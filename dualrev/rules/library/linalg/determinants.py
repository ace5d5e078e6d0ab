"""np.linalg's determinants with their rules (rule_definitions.py).

A determinant is a polynomial of the entries, so that a singular matrix has all its derivatives, too. The first is the
matrix of cofactors, det(a) inv(a)^T. Near a singular matrix it is computed from singular vectors, and these have no
derivatives where singular values are equal (two zeros, say): hence the second and the third derivative have rules of
their own. Higher ones follow from the rule of the third, which is made of cofactors of smaller matrices.

Source: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008;
of the second derivative: cofactors of a product are the product of the cofactors, with the product u s vt.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.linalg.factors import svd
from dualrev.rules.library.linalg.matrices import inverse_turned, product, scaled_columns, turned
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.rule_definitions import define

__all__ = ["det", "slogdet"]


@inner
def det(a):
    """np.linalg.det."""
    return np.linalg.det(a)


@inner
def det_fwd(a):
    """The determinant, for the value and for the rule."""
    y = det(a)
    return y, (a, y)


@inner
def det_bwd(residuals, ct):
    """The transpose of push."""
    a, y = residuals
    return (_times(ct, _cofactors(a, y)),)


@inner
def det_push(primals, y, tangents):
    """d(det a) = <cofactors of a, da>"""
    return _sum_of_products(_cofactors(primals[0], y), tangents[0])


define(det, det_fwd, det_bwd, det_push)


@inner
def _cofactors(a, y):
    """det(a) inv(a)^T, with y = det(a); by singular values, which has more digits, where `a` is nearly singular."""
    if y != 0.0:
        inverse = inverse_turned(a)
        if _regular(a, inverse):
            return _times(y, inverse)
    u, s, vt = svd(a)
    others = np.ones_like(s)
    for k in range(len(s)):
        others[k] = _product_without(s, k, k)
    return _times(_orientation(u, vt), product(scaled_columns(u, others), vt))


@inner
def _cofactors_fwd(a, y):
    """The cofactors, for the value and for the rule."""
    return _cofactors(a, y), (a, y)


@inner
def _cofactors_bwd(residuals, ct):
    """The same as push: second derivatives are symmetric."""
    a, y = residuals
    return _change_of_cofactors(a, y, ct), 0.0


@inner
def _cofactors_push(primals, made, tangents):
    """The tangent of the cofactors. y = det(a) has no part of its own in it, since `a` determines y."""
    a, y = primals
    return _change_of_cofactors(a, y, tangents[0])


define(_cofactors, _cofactors_fwd, _cofactors_bwd, _cofactors_push)


@inner
def _change_of_cofactors(a, y, t):
    """The derivative of the cofactors of `a` in the direction t."""
    if y != 0.0:
        inverse = inverse_turned(a)
        if _regular(a, inverse):
            turns = product(product(inverse, turned(t)), inverse)
            return _times(y, _times(_sum_of_products(inverse, t), inverse) - turns)
    return _change_near_singular(a, t)


@inner
def _change_near_singular(a, t):
    """The derivative of the cofactors by singular values: cof(u) d(cof s) cof(vt), in the direction u^T t vt^T."""
    u, s, vt = svd(a)
    inside = product(turned(u), product(t, turned(vt)))
    change = np.zeros_like(inside)
    for i in range(len(s)):
        for j in range(len(s)):
            if i != j:
                others = _product_without(s, i, j)
                change[i, i] += others * inside[j, j]
                change[i, j] = -others * inside[j, i]
    return _times(_orientation(u, vt), product(product(u, change), vt))


@inner
def _change_near_singular_fwd(a, t):
    """The derivative of the cofactors, for the value and for the rule."""
    return _change_near_singular(a, t), (a, t)


@inner
def _change_near_singular_bwd(residuals, ct):
    """The same as push: third derivatives are symmetric."""
    a, t = residuals
    return _second_change(a, t, ct), _change_near_singular(a, ct)


@inner
def _change_near_singular_push(primals, made, tangents):
    """The tangent by `a`, and by t, in which the derivative is linear."""
    (a, t), (da, dt) = primals, tangents
    return _second_change(a, t, da) + _change_near_singular(a, dt)


define(_change_near_singular, _change_near_singular_fwd, _change_near_singular_bwd, _change_near_singular_push)


@inner
def _second_change(a, t, r):
    """The second derivative of the cofactors in the directions t and r, from matrices without two rows and columns."""
    n = len(a)
    change = np.zeros_like(a)
    for i in range(n):
        for k in range(n):
            for j in range(n):
                for m in range(n):
                    if i != k and j != m:
                        sign = 1.0 if (i + j + k + m + (k > i) + (m > j)) % 2 == 0 else -1.0
                        smaller = _without(a, i, k, j, m)
                        cofactors = _cofactors(smaller, np.linalg.det(smaller))
                        change[i, j] += sign * t[k, m] * _sum_of_products(cofactors, _without(r, i, k, j, m))
    return change


@inner
def _without(a, i, k, j, m):
    """The matrix without the rows i, k and the columns j, m."""
    n = len(a)
    made = np.empty((n - 2, n - 2), a.dtype)
    row = 0
    for p in range(n):
        if p not in (i, k):
            column = 0
            for q in range(n):
                if q not in (j, m):
                    made[row, column] = a[p, q]
                    column += 1
            row += 1
    return made


@inner
def _product_without(s, i, j):
    """The product of all but two numbers."""
    made = 1.0
    for k in range(len(s)):
        if k not in (i, j):
            made *= s[k]
    return made


@inner
def _orientation(u, vt):
    """det(u) det(vt), which is 1 or -1."""
    return 1.0 if np.linalg.det(u) * np.linalg.det(vt) > 0.0 else -1.0


@inner
def _regular(a, inverse):
    """Whether the inverse has enough digits."""
    return _largest(a) * _largest(inverse) < 1e6


@inner
def _largest(a):
    size = 0.0
    for x in a.flat:
        size = max(size, abs(x))
    return size


@inner
def _times(x, a):
    made = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] = x * a[i, j]
    return made


@inner
def _sum_of_products(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total


@inner
def slogdet(a):
    """np.linalg.slogdet."""
    return np.linalg.slogdet(a)


@inner
def slogdet_fwd(a):
    """Sign and logarithm; the inverse waits until it is asked for."""
    sign, y = slogdet(a)
    return (sign, y), (a, sign)


@inner
def slogdet_bwd(residuals, ct):
    """The transpose of push."""
    a, sign = residuals
    return (_times(ct[1], _slope_of_logarithm(a, sign)),)


@inner
def slogdet_push(primals, y, tangents):
    """d(log |det a|) = <inv(a)^T, da>"""
    return 0.0, _sum_of_products(_slope_of_logarithm(primals[0], y[0]), tangents[0])


@inner
def _slope_of_logarithm(a, sign):
    """NaN where the matrix is singular."""
    if sign != 0.0:
        return inverse_turned(a)
    made = np.empty(a.shape, a.dtype)
    made[:] = np.nan
    return made


define(slogdet, slogdet_fwd, slogdet_bwd, slogdet_push)
