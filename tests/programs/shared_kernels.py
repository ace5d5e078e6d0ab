"""Kernels whose threads share arrays and wait for one another; tests/programs/cuda_kernels.py has the other ones."""

import math

import numba
import numpy as np
from numba import cuda

from programs.cuda_kernels import Case

T = 4
PADDED = T + 1
WITH_HALO = T + 2


@cuda.jit
def tiled_bodies(x, m, f):
    """Forces between bodies on a line, of which a block loads one tile after the other."""
    tile = cuda.shared.array(T, numba.float64)
    mass = cuda.shared.array(T, numba.float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    force = 0.0
    for k in range(0, x.size, T):
        tile[t] = x[k + t]
        mass[t] = m[k + t]
        cuda.syncthreads()
        for j in range(T):
            d = tile[j] - x[i]
            force += mass[j] * d / math.sqrt(d * d + 0.1)
        cuda.syncthreads()
    f[i] = force


@cuda.jit
def sum_of_squares(x, y):
    """Reduction: in each round, the first half of the threads adds what the second half has."""
    part = cuda.shared.array(T, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] * x[i] if i < x.size else 0.0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(y, 0, math.sin(part[0]))


@cuda.jit
def product_by_halves(x, y):
    """Reduction that multiplies, over a range of rounds."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    for k in range(3):
        s = 4 >> k
        if t < s:
            part[t] = part[t] * part[t + s]
        cuda.syncthreads()
    if t == 0:
        y[cuda.blockIdx.x] = part[t]


@cuda.jit
def matrix_product(a, b, c):
    left = cuda.shared.array((T, T), numba.float64)
    right = cuda.shared.array(shape=(T, T), dtype=numba.float64)
    i, j = cuda.grid(2)
    p, q = cuda.threadIdx.x, cuda.threadIdx.y
    s = 0.0
    for k in range(0, a.shape[1], T):
        left[p, q] = a[i, k + q] if i < a.shape[0] and k + q < a.shape[1] else 0.0
        right[p, q] = b[k + p, j] if j < b.shape[1] and k + p < b.shape[0] else 0.0
        cuda.syncthreads()
        for m in range(T):
            s += left[p, m] * right[m, q]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = s


@cuda.jit
def transpose(x, y):
    """Linear: the adjoint needs no element of x."""
    tile = cuda.shared.array((T, PADDED), numba.float64)
    i, j = cuda.grid(2)
    tile[cuda.threadIdx.x, cuda.threadIdx.y] = x[i, j]
    cuda.syncthreads()
    k, m = cuda.blockIdx.y * T + cuda.threadIdx.x, cuda.blockIdx.x * T + cuda.threadIdx.y
    y[k, m] = tile[cuda.threadIdx.y, cuda.threadIdx.x]


@cuda.jit
def with_halo(u, v):
    """Stencil, of which the first and the last thread load a neighbour of the block, too."""
    part = cuda.shared.array(WITH_HALO, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t + 1] = u[i] if i < u.size else 0.0
    if t == 0:
        part[0] = u[i - 1] if i > 0 else 0.0
    if t == cuda.blockDim.x - 1:
        part[cuda.blockDim.x + 1] = u[i + 1] if i + 1 < u.size else 0.0
    cuda.syncthreads()
    if i < u.size:
        v[i] = part[t] * part[t + 2] - math.exp(part[t + 1])


@cuda.jit
def products_before(x, y):
    """Scan: y[t] is the product of x[0] to x[t]."""
    part = cuda.shared.array(T, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    off = 1
    while off < T:
        v = 1.0
        if t >= off:
            v = part[t - off]
        cuda.syncthreads()
        part[t] = part[t] * v
        cuda.syncthreads()
        off *= 2
    y[t] = part[t]


@cuda.jit
def block_histogram(x, k, y):
    """Sums of a block, to which its threads add atomically."""
    bins = cuda.shared.array(T, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t < T:
        bins[t] = 0.0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(bins, k[i], x[i] * x[i])
    cuda.syncthreads()
    if t < T:
        cuda.atomic.add(y, t, math.sin(bins[t]))


@cuda.jit
def histograms_in_turn(x, k, y):
    """The same over several rounds: what the reverse sweep reads of a round is overwritten by the next one."""
    bins = cuda.shared.array(T, numba.float64)
    t = cuda.threadIdx.x
    for n in range(x.shape[0]):
        bins[t] = 0.5
        cuda.syncthreads()
        cuda.atomic.add(bins, k[n, t], x[n, t])
        cuda.syncthreads()
        y[n, t] = bins[t] * bins[(t + 1) % T]
        cuda.syncthreads()


@cuda.jit(device=True)
def added_up(part, t, n):
    cuda.syncthreads()
    s = n // 2
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    return part[0]


@cuda.jit
def softmax_of_rows(x, y):
    """A row for each block, a device function that waits, and shared scalars."""
    part = cuda.shared.array(T, numba.float64)
    largest = cuda.shared.array(1, numba.float64)
    i, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        largest[0] = x[i, 0]
        for j in range(1, x.shape[1]):
            largest[0] = max(largest[0], x[i, j])
    cuda.syncthreads()
    mine = 0.0
    for j in range(t, x.shape[1], cuda.blockDim.x):
        mine += math.exp(x[i, j] - largest[0])
    part[t] = mine
    total = added_up(part, t, cuda.blockDim.x)
    for j in range(t, x.shape[1], cuda.blockDim.x):
        y[i, j] = math.exp(x[i, j] - largest[0]) / total


@cuda.jit(device=True)
def neighbour(v):
    """The value of the next thread: the function has the shared array."""
    near = cuda.shared.array(T, numba.float64)
    t = cuda.threadIdx.x
    cuda.syncthreads()
    near[t] = v
    cuda.syncthreads()
    return near[(t + 1) % cuda.blockDim.x]


@cuda.jit
def exchanged(x, y):
    i = cuda.grid(1)
    v = math.sin(neighbour(x[i] * x[i]))
    y[i] = neighbour(v) * v


@cuda.jit
def heat(u, v, steps):
    """Steps of a rod, within a block, back and forth between two arrays."""
    now = cuda.shared.array(T, numba.float64)  # two of them in one line are one in numba's simulator
    after = cuda.shared.array(T, numba.float64)
    t = cuda.threadIdx.x
    now[t] = u[t]
    cuda.syncthreads()
    for _ in range(steps):
        if t > 0 and t < T - 1:
            after[t] = now[t] + 0.1 * (now[t - 1] - 2 * now[t] + now[t + 1]) * now[t]
        else:
            after[t] = now[t]
        cuda.syncthreads()
        now[t] = after[t]
        cuda.syncthreads()
    v[t] = now[t]


@cuda.jit
def sides_by_parameter(x, y, forward):
    """A test that is the same for all threads, with barriers below it."""
    part = cuda.shared.array(T, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    if forward:
        cuda.syncthreads()
        y[t] = part[T - 1 - t] ** 2
    else:
        part[t] = part[t] * 3.0
        cuda.syncthreads()
        y[t] = math.sin(part[T - 1 - t])


@cuda.jit
def without_barrier(x, y):
    """Each thread uses its own element."""
    part = cuda.shared.array(T, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        part[t] = x[i] * x[i]
        part[t] *= part[t]
        y[i] = part[t]


_rng = np.random.default_rng(5)


def uniform(*shape):
    return _rng.uniform(0.5, 1.5, shape)


SHARED = {
    "tiled bodies": Case(tiled_bodies, (2, T), (uniform(8), uniform(8), uniform(8)), second=False),
    "sum of squares": Case(sum_of_squares, (3, T), (uniform(10), uniform(1)), second=False),
    "product by halves": Case(product_by_halves, (2, 8), (uniform(16), uniform(2))),
    "matrix product": Case(
        matrix_product, ((1, 2), (T, T)), (uniform(3, 7), uniform(7, 5), uniform(3, 5)), second=False
    ),
    "transpose": Case(transpose, ((2, 2), (T, T)), (uniform(8, 8), uniform(8, 8))),
    "halo": Case(with_halo, (3, T), (uniform(10), uniform(10))),
    "scan": Case(products_before, (1, T), (uniform(T), uniform(T)), second=False),
    "block histogram": Case(block_histogram, (3, T), (uniform(10), _rng.integers(0, T, 10), uniform(T))),
    "histograms in turn": Case(
        histograms_in_turn, (1, T), (uniform(3, T), _rng.integers(0, T, (3, T)), uniform(3, T)), second=False
    ),
    "softmax": Case(softmax_of_rows, (3, T), (uniform(3, 6), uniform(3, 6)), second=False, device=False),
    "exchanged": Case(exchanged, (2, T), (uniform(8), uniform(8))),
    "heat": Case(heat, (1, T), (uniform(T), uniform(T), 3), second=False),
    "sides": Case(sides_by_parameter, (1, T), (uniform(T), uniform(T), True)),
    "other sides": Case(sides_by_parameter, (1, T), (uniform(T), uniform(T), False)),
    "own elements": Case(without_barrier, (3, T), (uniform(10), uniform(10))),
}
