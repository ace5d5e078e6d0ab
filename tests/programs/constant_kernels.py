"""Kernels that read global arrays, which a device has in its constant memory."""

import numba
import numpy as np
from numba import cuda

from programs.cuda_kernels import Case, X, Y

TABLE = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
WEIGHTS = np.array([0.2, 0.7, 0.1, 0.4], np.float32)
MASSES = np.asfortranarray(TABLE + 1.0)
OFFSETS = np.array([1, 3, 2])


@numba.njit
def weighted(x, i):
    return WEIGHTS[i % WEIGHTS.size] * x * x


@cuda.jit(device=True)
def mass(i):
    return cuda.const.array_like(MASSES)[i % 2, i % 3]


@cuda.jit
def tables(x, y):
    """Rows of a table, a global array that is not said to be constant, and integers as indices."""
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < x.size:
        row = table[i % 2]
        s = 0.0
        for j in range(row.size):
            s += row[j] * x[(i + OFFSETS[j]) % x.size] * x[i]
        y[i] = s * weighted(x[i], i) + mass(i) * x[i]


def convolution(kernel):
    """Return a kernel with an array in its closure."""

    @cuda.jit
    def convolved(x, y):
        i = cuda.grid(1)
        k = cuda.const.array_like(kernel)
        if i < y.size:
            s = 0.0
            for j in range(k.size):
                s += k[j] * x[i + j]
            y[i] = s * s

    return convolved


CONSTANT = {
    "tables": Case(tables, (3, 4), (X, Y)),
    "convolution": Case(convolution(np.array([0.25, 0.5, 0.25])), (3, 4), (X, Y[:8].copy())),
}
