"""Kernels with cuda.atomic.max and min."""

import math

import numba
import numpy as np
from numba import cuda

from programs.cuda_kernels import KEYS, Case, X, Y


@cuda.jit
def maxima(x, k, y):
    """The largest value for each key, unless the element is larger."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(y, k[i], 2.0 * math.sin(x[i]) * x[i])


@cuda.jit
def bounds(x, k, low, high, last, total):
    """Extrema of several arrays, one of them of ints, beside a sum."""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i] * x[i] - 0.3 * x[i]
        cuda.atomic.min(low, (0, k[i]), v)
        cuda.atomic.min(low, (1, k[i]), -v * x[i])
        cuda.atomic.max(high, k[i], v * v)
        cuda.atomic.max(last, k[i], i)
        cuda.atomic.add(total, k[i], v)


@cuda.jit(device=True)
def seen(high, j, v):
    if v > 0.1:
        cuda.atomic.max(high, j, v)


@cuda.jit
def highest_states(x, high):
    """Maxima in a loop, of elements that the thread overwrites, by a device function that is called twice."""
    i = cuda.grid(1)
    if i < x.size:
        for j in range(high.size - 1):
            x[i] = 3.3 * x[i] * (1.0 - x[i])
            seen(high, j, x[i])
        seen(high, high.size - 1, x[i] * x[i])


@cuda.jit
def of_blocks(x, y):
    """A maximum for each block, of values that all threads of it compare with one more number."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(y, cuda.blockIdx.x, x[i] ** 3)
    cuda.atomic.max(y, cuda.blockIdx.x, 0.2)


@cuda.jit
def largest_sum(x, y):
    """The largest of the sums of blocks, which a block makes in an array that it shares."""
    part = cuda.shared.array(4, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = math.sin(x[i]) * x[i] if i < x.size else 0.0
    cuda.syncthreads()
    if t < 2:
        part[t] += part[t + 2]
    cuda.syncthreads()
    if t == 0:
        cuda.atomic.max(y, 0, part[0] * part[1])


_rng = np.random.default_rng(11)
_K = KEYS.ravel()[:10].copy()

EXTREME = {
    "maxima": Case(maxima, (3, 4), (X, _K, np.array([0.0, 9.0, 0.1, 0.0])), ("y",), second=False),
    "bounds": Case(
        bounds,
        (3, 4),
        (X, _K, np.full((2, 4), 0.5), np.zeros(4), np.zeros(4, int), Y[:4].copy()),
        ("low", "high"),
        second=False,
    ),
    "highest states": Case(highest_states, (3, 4), (X, np.zeros(5)), ("x", "high"), second=False),
    "largest sum": Case(largest_sum, (3, 4), (X, np.zeros(1)), ("y",), second=False),
    "of blocks": Case(of_blocks, (4, 3), (X, np.zeros(4)), ("y",), second=False),
}
