"""np.linalg by loops: elimination with pivoting, Cholesky's and Householder's factors. Right for small matrices.

Elimination with partial pivoting is what LAPACK does, with the same bounds on errors; the determinant takes complete
pivoting, so that its derivative is exact for a singular matrix, too.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = [
    *["cholesky", "det", "inv", "norm", "norm_1", "norm_columns", "norm_inf"],
    *["norm_of_order", "norm_rows", "qr", "slogdet", "solve", "solve_each"],
]


@njit
def _check(a):
    """Raise what numba raises."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")
    for x in a.flat:
        if not np.isfinite(x):
            raise np.linalg.LinAlgError("Array must not contain infs or NaNs.")


@njit
def _factors(a):
    """L without its diagonal and U of the rows of a matrix in an order, in one matrix; the order; its sign."""
    n = len(a)
    lu = np.empty((n, n), a.dtype)
    lu[:] = a
    order = np.arange(n)
    sign = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(lu[i, k]) > abs(lu[p, k]):
                p = i
        if p != k:
            sign = -sign
            order[k], order[p] = order[p], order[k]
            for j in range(n):
                lu[k, j], lu[p, j] = lu[p, j], lu[k, j]
        if lu[k, k] != 0.0:
            for i in range(k + 1, n):
                lu[i, k] /= lu[k, k]
                for j in range(k + 1, n):
                    lu[i, j] -= lu[i, k] * lu[k, j]
    return lu, order, sign


@njit
def _substituted(lu, order, b):
    """The solution for one right-hand side."""
    n = len(lu)
    x = np.empty(n, b.dtype)
    for i in range(n):
        x[i] = b[order[i]]
        for j in range(i):
            x[i] -= lu[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= lu[i, j] * x[j]
        x[i] /= lu[i, i]
    return x


@njit
def _regular(lu):
    for k in range(len(lu)):
        if lu[k, k] == 0.0:
            raise np.linalg.LinAlgError("Matrix is singular to machine precision.")


@njit
def solve(a, b):
    """np.linalg.solve of a matrix and a vector."""
    _check(a)
    if len(a) != len(b):
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")
    lu, order, _ = _factors(a)
    _regular(lu)
    return _substituted(lu, order, b)


@njit
def solve_each(a, b):
    """np.linalg.solve of two matrices."""
    _check(a)
    if len(a) != len(b):
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")
    lu, order, _ = _factors(a)
    _regular(lu)
    x = np.empty(b.shape, b.dtype)
    for k in range(b.shape[1]):
        x[:, k] = _substituted(lu, order, b[:, k])
    return x


@njit
def inv(a):
    """np.linalg.inv."""
    return solve_each(a, np.eye(len(a)).astype(a.dtype))


@njit
def det(a):
    """np.linalg.det, by complete pivoting: a pivot is 0 only if the rest of the matrix is."""
    _check(a)
    n = len(a)
    u = np.empty((n, n), a.dtype)
    u[:] = a
    product = np.ones(1, a.dtype)
    for k in range(n):
        p, q = k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(u[i, j]) > abs(u[p, q]):
                    p, q = i, j
        if p != k:
            product[0] = -product[0]
            for j in range(k, n):
                u[k, j], u[p, j] = u[p, j], u[k, j]
        if q != k:
            product[0] = -product[0]
            for i in range(k, n):
                u[i, k], u[i, q] = u[i, q], u[i, k]
        if u[k, k] != 0.0:
            for i in range(k + 1, n):
                f = u[i, k] / u[k, k]
                for j in range(k + 1, n):
                    u[i, j] -= f * u[k, j]
        product[0] *= u[k, k]
    return product[0]


@njit(error_model="numpy")
def slogdet(a):
    """np.linalg.slogdet."""
    _check(a)
    lu, _, sign = _factors(a)
    total = np.zeros(2, a.dtype)
    total[1] = sign
    for k in range(len(lu)):
        if lu[k, k] == 0.0:
            total[1] = 0.0
        elif lu[k, k] < 0.0:
            total[1] = -total[1]
        total[0] += np.log(abs(lu[k, k]))
    return total[1], total[0]


@njit
def cholesky(a):
    """np.linalg.cholesky: it reads the lower triangle."""
    _check(a)
    n = len(a)
    low = np.zeros((n, n), a.dtype)
    for j in range(n):
        for i in range(j, n):
            x = a[i, j]
            for k in range(j):
                x -= low[i, k] * low[j, k]
            if i > j:
                low[i, j] = x / low[j, j]
            else:
                if not x > 0.0:
                    raise np.linalg.LinAlgError("Matrix is not positive definite.")
                low[i, i] = np.sqrt(x)
    return low


@njit
def qr(a):
    """np.linalg.qr, by Householder's reflections: signs as LAPACK's."""
    n, m = a.shape
    k = min(n, m)
    r = np.empty((n, m), a.dtype)
    r[:] = a
    q = np.zeros((n, k), a.dtype)
    for i in range(k):
        q[i, i] = 1.0
    v = np.zeros((n, k), a.dtype)
    for c in range(min(n - 1, m)):
        below = False
        for i in range(c + 1, n):
            below = below or r[i, c] != 0.0
        if not below:
            continue
        length = np.linalg.norm(r[c:, c].copy())
        v[c:, c] = r[c:, c]
        v[c, c] += length if r[c, c] >= 0.0 else -length
        _reflect(r, v, c)
    for c in range(min(n - 1, m) - 1, -1, -1):
        if v[c, c] != 0.0:
            _reflect(q, v, c)
    top = np.zeros((k, m), a.dtype)
    for i in range(k):
        top[i, i:] = r[i, i:]
    return q, top


@njit
def _reflect(r, v, c):
    """Reflect the columns of r at the plane that is orthogonal to column c of v."""
    square = np.sum(v[c:, c] * v[c:, c])
    for j in range(r.shape[1]):
        share = np.sum(v[c:, c] * r[c:, j]) * 2.0 / square
        for i in range(c, len(r)):
            r[i, j] -= share * v[i, c]


# Norms


@njit
def norm(a):
    """np.linalg.norm of all elements; very large and very small ones are scaled by a power of 2."""
    size = 0.0
    for x in a.flat:
        size = max(size, abs(x))
    scale = 1.0
    if (size > 1e100 or 0.0 < size < 1e-100) and size < math.inf:
        scale = 2.0 ** np.floor(np.log2(size))
    total = np.zeros(1, a.dtype)
    for x in a.flat:
        total[0] += (x / scale) * (x / scale)
    return np.sqrt(total[0]) * scale


@njit
def norm_1(a):
    """The sum of absolute values."""
    return np.sum(np.abs(a))


@njit
def norm_inf(a, sign):
    """The largest absolute value, or the smallest one."""
    if a.size == 0:
        return 0.0
    return np.max(np.abs(a)) * 1.0 if sign > 0 else np.min(np.abs(a)) * 1.0


@njit
def norm_of_order(a, order):
    """np.linalg.norm of a vector, of any other order."""
    if order == 0:
        return np.sum(a != 0.0) * 1.0
    total = 0.0
    for x in a:
        total += abs(x) ** order
    return total ** (1.0 / order)


@njit
def norm_columns(a, sign):
    """The largest or the smallest sum of the absolute values of a column."""
    return norm_inf(np.sum(np.abs(a), 0), sign)


@njit
def norm_rows(a, sign):
    """The same, of a row."""
    return norm_inf(np.sum(np.abs(a), 1), sign)
