"""Functions that programs of compiled_programs.py call, and their adjoints by hand, too."""

from __future__ import annotations

import math

from numba import njit

__all__ = ["cross", "inner", "log_sum_exp", "rotate_vec_by_quat"]


@njit
def inner(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit
def rotate_vec_by_quat(q, v):
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
    largest = x[0]
    for i in range(1, len(x)):
        largest = max(largest, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - largest)
    return largest + math.log(total)
