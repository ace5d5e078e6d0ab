"""Products and integrals of vectors and small matrices, without BLAS."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    *["convolve_full", "convolve_same", "convolve_valid", "correlate_full", "correlate_same", "correlate_valid"],
    *["cross", "cross_each", "cross_of_vector", "cross_with_vector", "kron", "kron_of_vectors"],
    *["sinc", "sinc_each", "trace", "trapezoid", "trapezoid_at"],
]


#: From numpy 2.5 on, vectors of 2 numbers are an error.
_SHORTEST = 3 if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5) else 2


@inner
def check_cross(n, m):
    """numba's errors for a cross product of vectors of n and m numbers."""
    if n not in (2, 3) or m not in (2, 3):
        raise ValueError("Incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if n < _SHORTEST or m < _SHORTEST:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    if n == 2 and m == 2:
        raise ValueError(
            "Dimensions for both inputs is 2.\nPlease replace your numpy.cross(a, b) call with "
            "a call to `cross2d(a, b)` from `numba.np.extensions`."
        )


@inner
def cross(a, b):
    """np.cross of two vectors."""
    n, m = len(a), len(b)
    check_cross(n, m)
    kind = a[:1] * b[:1]
    made = np.zeros(3, kind.dtype)
    if m == 3:
        made[0] = a[1] * b[2]
        made[1] = -(a[0] * b[2])
    if n == 3:
        made[0] -= a[2] * b[1]
        made[1] += a[2] * b[0]
    made[2] = a[0] * b[1] - a[1] * b[0]
    return made


@inner
def cross_each(a, b):
    """np.cross of the rows of two matrices; a single row is taken with each of the other matrix."""
    check_cross(a.shape[1], b.shape[1])
    if len(a) != len(b) and len(a) != 1 and len(b) != 1:
        raise ValueError("the numbers of rows differ")
    count = len(a) if len(b) == 1 else len(b)
    kind = a[:1, :1] * b[:1, :1]
    made = np.empty((count, 3), kind.dtype)
    for i in range(count):
        made[i] = cross(a[i if len(a) > 1 else 0], b[i if len(b) > 1 else 0])
    return made


@inner
def cross_with_vector(a, b):
    """np.cross of the rows of a matrix and a vector."""
    return cross_each(a, np.reshape(b, (1, len(b))))


@inner
def cross_of_vector(a, b):
    """np.cross of a vector and the rows of a matrix."""
    return cross_each(np.reshape(a, (1, len(a))), b)


@inner
def trace(a, offset):
    """np.trace."""
    rows, columns = a.shape
    total = 0.0
    for i in range(rows):
        if 0 <= i + offset < columns:
            total += a[i, i + offset]
    return total


@inner
def kron(a, b):
    """np.kron of two matrices."""
    n, m = b.shape
    made = np.empty((a.shape[0] * n, a.shape[1] * m), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(n):
                for p in range(m):
                    made[i * n + k, j * m + p] = a[i, j] * b[k, p]
    return made


@inner
def kron_of_vectors(a, b):
    """np.kron of two vectors."""
    made = np.empty(len(a) * len(b), a.dtype)
    for i in range(len(a)):
        for k in range(len(b)):
            made[i * len(b) + k] = a[i] * b[k]
    return made


# Convolutions: the part of all overlaps that begins with the overlap `start`


@inner
def _overlaps(a, v, start, size):
    """Elements of the full convolution."""
    if len(a) == 0:
        raise ValueError("'a' cannot be empty")
    if len(v) == 0:
        raise ValueError("'v' cannot be empty")
    kind = a[:1] * v[:1]
    made = np.zeros(size, kind.dtype)
    for k in range(size):
        s = k + start
        for i in range(max(0, s - len(v) + 1), min(len(a), s + 1)):
            made[k] += a[i] * v[s - i]
    return made


@inner
def convolve_full(a, v):
    """np.convolve."""
    return _overlaps(a, v, 0, len(a) + len(v) - 1)


@inner
def convolve_same(a, v):
    """np.convolve with mode="same"."""
    return _overlaps(a, v, (min(len(a), len(v)) - 1) // 2, max(len(a), len(v)))


@inner
def convolve_valid(a, v):
    """np.convolve with mode="valid"."""
    small = min(len(a), len(v))
    return _overlaps(a, v, small - 1, max(len(a), len(v)) - small + 1)


@inner
def correlate_full(a, v):
    """np.correlate with mode="full"."""
    return _overlaps(a, v[::-1], 0, len(a) + len(v) - 1)


@inner
def correlate_same(a, v):
    """np.correlate with mode="same"."""
    small, large = min(len(a), len(v)), max(len(a), len(v))
    start = (small - 1) // 2
    if len(a) < len(v):
        start = len(a) + len(v) - 1 - start - large
    return _overlaps(a, v[::-1], start, large)


@inner
def correlate_valid(a, v):
    """np.correlate."""
    small = min(len(a), len(v))
    return _overlaps(a, v[::-1], small - 1, max(len(a), len(v)) - small + 1)


# Integrals and special functions


@inner
def trapezoid(y, dx):
    """np.trapezoid of a vector with equal steps."""
    total = 0.0
    for i in range(1, len(y)):
        total += dx * (y[i] + y[i - 1]) / 2.0
    return total


@inner
def trapezoid_at(y, x):
    """np.trapezoid of a vector at places: as numba's, it broadcasts steps and averages of different numbers."""
    return np.sum((x[1:] - x[:-1]) * ((y[1:] + y[:-1]) / 2.0))


@inner
def sinc(x):
    """np.sinc of a number; about 0 by its series, where the derivatives of the quotient are not exact."""
    y = x * math.pi
    if abs(y) < 0.02:
        s = y * y
        return 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
    return math.sin(y) / y


@inner
def sinc_each(x):
    """np.sinc of a vector."""
    made = np.empty(len(x), x.dtype)
    for i in range(len(x)):
        made[i] = sinc(x[i])
    return made
