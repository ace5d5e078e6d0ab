"""Rows and columns of Jacobians and Hessians: matrices that are filled by directions, and given shapes."""

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
    """Room for second derivatives: a row for each number of one leaf, a column for each of another."""
    return np.empty((n, m))


@inner
def put_number(x, k, number):
    """The k-th number of an array; behind its end there is none."""
    if k < x.size:
        x.flat[k] = number


@inner
def put_direction(t, directions, k):
    """The k-th row of a matrix in the shape of an array; zeros behind its end."""
    if k < directions.shape[0]:
        for i in range(t.size):
            t.flat[i] = directions[k, i]
    else:
        t[...] = 0.0


@inner
def put_column(block, k, made):
    """The k-th column of a matrix; behind its end there is none."""
    if k < block.shape[1]:
        for i in range(made.size):
            block[i, k] = made.flat[i]


@inner
def put_few(block, k, made):
    """The k-th column of a matrix, from a tuple; behind its end there is none."""
    if k < block.shape[1]:
        for i in range(len(made)):
            block[i, k] = made[i]


@inner
def put_row(block, k, made):
    """The k-th row of a matrix; behind its end there is none."""
    if k < block.shape[0]:
        for i in range(made.size):
            block[k, i] = made.flat[i]


@inner
def clear(x):
    """Zeros, for the next run."""
    x[...] = 0.0


@inner
def shaped_1(block, x):
    """A row or a column in the shape of an array: a copy, since what was given is lent."""
    return block.reshape(x.shape).copy()


@inner
def shaped_2(block, x, y):
    """A matrix in the shapes of two arrays, one after the other: a copy, too."""
    return block.reshape(x.shape + y.shape).copy()


@inner
def shaped_1_single(block, x):
    """The same in single precision."""
    return block.reshape(x.shape).astype(np.float32)


@inner
def shaped_2_single(block, x, y):
    """The same in single precision."""
    return block.reshape(x.shape + y.shape).astype(np.float32)


@inner
def shaped_few_1(block):
    """A column."""
    return block[:, 0].copy()


@inner
def shaped_few_2(block, x):
    """A matrix with a row for each number of a vector, and columns in the shape of an array."""
    made = np.empty((block.shape[0], *x.shape))
    for k in range(block.size):  # in the order of the elements: numba's reshape takes longer than a small matrix
        made.flat[k] = block.flat[k]
    return made
