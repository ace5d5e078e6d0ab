"""Accumulating matrix product `c += a @ b` by BLAS, without a new array for the product.

BLAS knows matrices whose columns have their elements next to one another in memory, and the distance from one column to
the next. A matrix by rows is the transpose of one; so here every matrix is one by columns, or the transpose of one.
One function is compiled for all of them: it takes addresses and strides.
"""

# mypy: disable-error-code="no-untyped-def,attr-defined"
from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from dualrev.rules.library.njit_internal import inner

__all__ = ["BY_BLAS", "add_product"]

_KINDS = {types.float32: "s", types.float64: "d"}
_ONES = {types.float32: np.ones(1, np.float32), types.float64: np.ones(1)}

#: The function of BLAS by which numba itself multiplies matrices; addresses are whole numbers here.
_gemm = types.ExternalFunction("numba_xxgemm", types.intc(*[types.char] * 3, *[types.intp] * 11))
_PLAIN, _TRANSPOSED = ord("n"), ord("t")


@inner
def add_product(c, a, b):
    """Accumulate a matrix product: `c += a @ b`."""
    if c.size > 0 and a.size > 0:
        _add_product(c, a, b)


def _add_product(c, a, b):
    raise NotImplementedError("it is called from compiled code only")


def _by_blas(dtype):
    """Specialise the accumulating BLAS product for a float type; it returns whether BLAS knows the layouts."""
    kind, one = ord(_KINDS[dtype]), _ONES[dtype]

    @inner
    def by_blas(c, a, b):
        """Accumulate `c += a @ b` if BLAS knows the layouts; whether it did."""
        (m, n), k, unit = c.shape, a.shape[1], one.ctypes.data
        (c0, c1), (a0, a1), (b0, b1) = c.strides, a.strides, b.strides
        of_c, of_a, of_b = c.ctypes.data, a.ctypes.data, b.ctypes.data
        return _add(kind, c.itemsize, unit, m, n, k, of_c, c0, c1, of_a, a0, a1, of_b, b0, b1)

    return by_blas


BY_BLAS = {dtype: _by_blas(dtype) for dtype in _KINDS}


@overload(_add_product)
def _add_product_of_types(c, a, b):
    def by_new_array(c, a, b):
        """Accumulate `c += a @ b` by way of a new array."""
        c += np.dot(np.ascontiguousarray(a), np.ascontiguousarray(b))

    if c.dtype not in BY_BLAS or not c.dtype == a.dtype == b.dtype:
        return by_new_array
    first, second = BY_BLAS[c.dtype], inner(by_new_array)

    def by_either(c, a, b):
        """Accumulate `c += a @ b` by BLAS if it knows the layouts."""
        if not first(c, a, b):
            second(c, a, b)

    return by_either


@inner
def _add(kind, size, unit, m, n, k, c, c0, c1, a, a0, a1, b, b0, b1):
    """Call gemm on addresses and strides; whether the layouts allowed it."""
    far_c, far_a, far_b = _distance(size, m, n, c0, c1), _distance(size, m, k, a0, a1), _distance(size, k, n, b0, b1)
    if far_c == 0 or far_a == 0 or far_b == 0:
        return False
    if far_c < 0:  # the transpose of c gets the product of those of b and a
        m, n, a, b, far_c, far_a, far_b = n, m, b, a, -far_c, -far_b, -far_a
    flag_a, flag_b = (_PLAIN if far_a > 0 else _TRANSPOSED), (_PLAIN if far_b > 0 else _TRANSPOSED)
    _gemm(kind, flag_a, flag_b, m, n, k, unit, a, abs(far_a), b, abs(far_b), unit, c, far_c)
    return True


@inner
def _distance(size, rows, columns, down, right):
    """Leading dimension of a matrix in elements; negative if it is stored by rows, 0 if by neither.

    The stride of an axis with one element says nothing.
    """
    across = right if columns > 1 else size * rows
    if (down == size or rows == 1) and across % size == 0 and across // size >= rows:
        return across // size
    across = down if rows > 1 else size * columns
    if (right == size or columns == 1) and across % size == 0 and across // size >= columns:
        return -(across // size)
    return 0
