"""Building blocks of the rules of np.linalg: few functions of C-contiguous matrices, as numba compiles each slowly."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = ["both_triangles", "inverse_turned", "of_both_triangles", "product", "scaled_columns", "turned"]


@inner
def product(a, b):
    """A @ b."""
    return np.dot(a, b)


@inner
def turned(a):
    """a.T in memory of its own."""
    made = np.empty((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[j, i] = a[i, j]
    return made


@inner
def inverse_turned(a):
    """inv(a).T."""
    return np.linalg.inv(a).T


@inner
def scaled_columns(a, x):
    """a * x."""
    made = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] = a[i, j] * x[j]
    return made


# A symmetric matrix of which the lower triangle is read: the derivatives by the entries above the diagonal are 0


@inner
def both_triangles(a):
    """The symmetric matrix that is read."""
    made = np.empty(a.shape, a.dtype)
    for i in range(len(a)):
        for j in range(i + 1):
            made[i, j] = a[i, j]
            made[j, i] = a[i, j]
    return made


@inner
def of_both_triangles(a):
    """Cotangent of the lower triangle, from the cotangent of the symmetric matrix: the transpose."""
    made = np.zeros(a.shape, a.dtype)
    for i in range(len(a)):
        for j in range(i):
            made[i, j] = a[i, j] + a[j, i]
        made[i, i] = a[i, i]
    return made
