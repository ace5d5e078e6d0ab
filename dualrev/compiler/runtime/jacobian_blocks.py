"""Blocks of Jacobians and Hessians: filled by rows or columns, one for each direction, and reshaped."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    "block",
    "clear",
    "put_column",
    "put_direction",
    "put_few",
    "put_number",
    "put_row",
    "shaped_1",
    "shaped_1_single",
    "shaped_2",
    "shaped_2_single",
    "shaped_few_1",
    "shaped_few_2",
]


@inner
def block(n, m):
    """Allocate a block of second derivatives: a row per element of one leaf, a column per element of another."""
    return np.empty((n, m))


@inner
def put_number(x, k, number):
    """Set the k-th element of an array, if it has one."""
    if k < x.size:
        x.flat[k] = number


@inner
def put_direction(t, directions, k):
    """Set a tangent to the k-th row of the directions; to zeros behind the last."""
    if k < directions.shape[0]:
        for i in range(t.size):
            t.flat[i] = directions[k, i]
    else:
        t[...] = 0.0


@inner
def put_column(block, k, made):
    """Set the k-th column of a matrix, if it has one."""
    if k < block.shape[1]:
        for i in range(made.size):
            block[i, k] = made.flat[i]


@inner
def put_few(block, k, made):
    """Set the k-th column of a matrix from a tuple, if it has one."""
    if k < block.shape[1]:
        for i in range(len(made)):
            block[i, k] = made[i]


@inner
def put_row(block, k, made):
    """Set the k-th row of a matrix, if it has one."""
    if k < block.shape[0]:
        for i in range(made.size):
            block[k, i] = made.flat[i]


@inner
def clear(x):
    """Zero-fill an array for the next run."""
    x[...] = 0.0


@inner
def shaped_1(block, x):
    """Copy a row or a column into the shape of an array."""
    return block.reshape(x.shape).copy()


@inner
def shaped_2(block, x, y):
    """Copy a matrix into the shapes of two arrays, one after the other."""
    return block.reshape(x.shape + y.shape).copy()


@inner
def shaped_1_single(block, x):
    """Copy a row or a column into the shape of an array, in single precision."""
    return block.reshape(x.shape).astype(np.float32)


@inner
def shaped_2_single(block, x, y):
    """Copy a matrix into the shapes of two arrays, in single precision."""
    return block.reshape(x.shape + y.shape).astype(np.float32)


@inner
def shaped_few_1(block):
    """Copy the first column of a block."""
    return block[:, 0].copy()


@inner
def shaped_few_2(block, x):
    """Copy a block whose rows, one for each element of a vector, take the shape of `x`."""
    made = np.empty((block.shape[0], *x.shape))
    for k in range(block.size):  # in the order of the elements: numba's reshape takes longer than a small matrix
        made.flat[k] = block.flat[k]
    return made
