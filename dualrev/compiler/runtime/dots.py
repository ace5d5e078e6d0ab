"""What products of vectors and matrices contribute to their operands."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "dot_left_11",
    "dot_left_12",
    "dot_left_21",
    "dot_left_22",
    "dot_right_11",
    "dot_right_12",
    "dot_right_21",
    "dot_right_22",
]


@njit
def dot_left_11(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times vector."""
    for i in range(d_a.size):
        d_a[i] += ct * b[i]


@njit
def dot_right_11(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times vector."""
    for i in range(d_b.size):
        d_b[i] += ct * a[i]


@njit
def dot_left_21(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times vector."""
    for i in range(d_a.shape[0]):
        for j in range(d_a.shape[1]):
            d_a[i, j] += ct[i] * b[j]


@njit
def dot_right_21(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times vector."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d_b[j] += a[i, j] * ct[i]


@njit
def dot_left_12(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times matrix."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            d_a[i] += b[i, j] * ct[j]


@njit
def dot_right_12(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times matrix."""
    for i in range(d_b.shape[0]):
        for j in range(d_b.shape[1]):
            d_b[i, j] += a[i] * ct[j]


@njit
def dot_left_22(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times matrix."""
    d_a += np.dot(np.ascontiguousarray(ct), np.ascontiguousarray(b).T)


@njit
def dot_right_22(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times matrix."""
    d_b += np.dot(np.ascontiguousarray(a).T, np.ascontiguousarray(ct))
