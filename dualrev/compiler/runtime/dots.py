"""What products of vectors and matrices contribute to their operands."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dualrev.compiler.runtime.blas import add_product
from dualrev.rules.library.inner import inner

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


@inner
def dot_left_11(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times vector."""
    for i in range(d_a.size):
        d_a[i] += ct * b[i]


@inner
def dot_right_11(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times vector."""
    for i in range(d_b.size):
        d_b[i] += ct * a[i]


@inner
def dot_left_21(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times vector."""
    if _by_columns(d_a):
        for j in range(d_a.shape[1]):
            for i in range(d_a.shape[0]):
                d_a[i, j] += ct[i] * b[j]
    else:
        for i in range(d_a.shape[0]):
            for j in range(d_a.shape[1]):
                d_a[i, j] += ct[i] * b[j]


@inner
def dot_right_21(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times vector."""
    if _by_columns(a):
        for j in range(a.shape[1]):
            total = d_b[j]
            for i in range(a.shape[0]):
                total += a[i, j] * ct[i]
            d_b[j] = total
    else:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                d_b[j] += a[i, j] * ct[i]


@inner
def _by_columns(a):
    """Whether the elements of a column are next to one another in memory, and those of a row are not."""
    return abs(a.strides[0]) < abs(a.strides[1])


@inner
def dot_left_12(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times matrix."""
    dot_right_21(d_a, b.T, ct)


@inner
def dot_right_12(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times matrix."""
    dot_left_21(d_b, ct, a)


@inner
def dot_left_22(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times matrix."""
    if _is_small(d_a.shape[0], d_a.shape[1], b.shape[1]):
        for i in range(d_a.shape[0]):
            for j in range(d_a.shape[1]):
                total = 0.0
                for k in range(b.shape[1]):
                    total += ct[i, k] * b[j, k]
                d_a[i, j] += total
    else:
        add_product(d_a, ct, b.T)


@inner
def dot_right_22(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times matrix."""
    if _is_small(d_b.shape[0], d_b.shape[1], a.shape[0]):
        for k in range(a.shape[0]):
            for i in range(d_b.shape[0]):
                for j in range(d_b.shape[1]):
                    d_b[i, j] += a[k, i] * ct[k, j]
    else:
        add_product(d_b, a.T, ct)


@inner
def _is_small(rows, columns, terms):
    """Whether loops multiply matrices sooner than BLAS, with the copies and the new array that it needs."""
    return rows * columns * terms <= 512
