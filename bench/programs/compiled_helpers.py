"""Functions that both the programs of compiled_programs.py and their handwritten adjoints call."""

from __future__ import annotations

import math

from numba import njit

__all__ = ["cross", "inner", "log_sum_exp", "rotate_vec_by_quat"]


@njit
def inner(a, b):
    """Dot product of two vectors of three numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def cross(a, b):
    """Cross product of two vectors of three numbers."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit
def rotate_vec_by_quat(q, v):
    """The vector `v`, turned by the quaternion `q`."""
    s, u = q[0], (q[1], q[2], q[3])
    along = 2.0 * inner(u, v)
    same = s * s - inner(u, u)
    c = cross(u, v)
    return (
        along * u[0] + same * v[0] + 2.0 * s * c[0],
        along * u[1] + same * v[1] + 2.0 * s * c[1],
        along * u[2] + same * v[2] + 2.0 * s * c[2],
    )


@njit
def log_sum_exp(x):
    """Logarithm of the sum of exponentials, shifted by the largest number so that nothing overflows."""
    largest = x[0]
    for i in range(1, len(x)):
        largest = max(largest, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - largest)
    return largest + math.log(total)
