"""Kernels whose threads race, each in its own way; with a grid, arguments, and the line that the error names."""

import numba
import numpy as np
from numba import cuda


@cuda.jit
def index_by_branch(x, y):
    """Not computed from the thread, k differs between threads: a test chooses it."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    k = 0
    if t > 2:
        k = 1
    if t == 0:
        part[k] = 2.0 * x[t]
    y[t] = part[1 - k]


@cuda.jit
def index_by_loop(x, y):
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    k = 0
    while k < t:
        k += 1
    if t == 0:
        part[k] = 2.0 * x[t]
    y[t] = part[1 - k]


@cuda.jit
def one_thread_and_another(x, y):
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    if t == 0:
        part[0] = x[0]
    if t == 1:
        part[0] = x[1]
    cuda.syncthreads()
    y[t] = part[0]


@cuda.jit
def one_thread_of_all_and_another(x, y):
    i = cuda.grid(1)
    if i == 0:
        y[0] = x[0]
    if i == 1:
        y[0] = x[1]


@cuda.jit
def thread_by_thread(x, y):
    """A thread in each iteration, and no barrier between."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    for j in range(4):
        if t == j:
            part[0] = x[j]
    cuda.syncthreads()
    y[t] = part[0]


@cuda.jit
def sliding_window(x, y):
    part = cuda.shared.array(12, numba.float64)
    t = cuda.threadIdx.x
    for j in range(3):
        part[t + j] = x[t] * j
    cuda.syncthreads()
    y[t] = part[t]


@cuda.jit
def sliding_ring(x, y):
    part = cuda.shared.array(12, numba.float64)
    t = cuda.threadIdx.x
    for j in range(3):
        part[(t + j) % cuda.blockDim.x] += x[t] * j
    cuda.syncthreads()
    y[t] = part[t]


@cuda.jit
def sliding_by_doubling(x, y):
    part = cuda.shared.array(12, numba.float64)
    t, j = cuda.threadIdx.x, 1
    while j < 8:
        part[t + j] = x[t] * j
        j *= 2
    cuda.syncthreads()
    y[t] = part[t]


@cuda.jit
def sliding_over_arguments(x, y):
    t = cuda.threadIdx.x
    for j in range(3):
        y[t + j] = x[t] * j


@cuda.jit
def results_that_overlap(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
    y[i + 1] = x[i] * 2


@cuda.jit
def turning_index(x, y):
    """The index of a thread is that of its neighbour one iteration later, before a barrier."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    d = cuda.blockDim.x
    part[t] = x[t]
    cuda.syncthreads()
    v = 0.0
    for n in range(3):
        k = (t + n) % d
        v += part[k]
        cuda.syncthreads()
        part[k] = v * 0.5
    cuda.syncthreads()
    y[t] = part[t] + v


@cuda.jit
def index_in_an_index(x, y):
    key = cuda.shared.array(8, numba.int64)
    t = cuda.threadIdx.x
    key[t] = t
    y[t] = x[key[(t + 1) % cuda.blockDim.x]]


@cuda.jit
def sum_of_two_axes(x, y):
    part = cuda.shared.array(8, numba.float64)
    t, u = cuda.threadIdx.x, cuda.threadIdx.y
    part[t + u] = x[t]
    cuda.syncthreads()
    y[t + 2 * u] = part[t]


@cuda.jit
def odd_and_even(x, y):
    part = cuda.shared.array(2, numba.float64)
    t = cuda.threadIdx.x
    part[t % 2] = x[t]
    cuda.syncthreads()
    y[t] = part[0]


@cuda.jit
def first_of_the_block(x, y):
    """The difference is the same in a whole block."""
    part = cuda.shared.array(8, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[i - t] = x[i]
    cuda.syncthreads()
    y[i] = part[t]


@cuda.jit
def turns_without_end(x, y):
    """Two buffers take turns, and the one that is read is overwritten."""
    both = cuda.shared.array((2, 8), numba.float64)
    t = cuda.threadIdx.x
    both[0, t] = x[t]
    cuda.syncthreads()
    for k in range(3):
        v = both[k % 2, (t + 1) % cuda.blockDim.x]
        both[(k + 2) % 2, t] = v
        cuda.syncthreads()
    y[t] = both[1, t]


@cuda.jit
def half_an_interleaved_reduction(x, y):
    """Thread t adds what thread t + s has, though only s divides both."""
    part = cuda.shared.array(16, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if t % s == 0:
            part[t] += part[t + s]
        cuda.syncthreads()
        s *= 2
    y[t] = part[0]


X, Y = np.linspace(0.5, 1.5, 12), np.zeros(12)

#: A kernel, its threads, and the line that races.
RACING = [
    (index_by_branch, 4, "y[t] = part[1 - k]"),
    (index_by_loop, 4, "y[t] = part[1 - k]"),
    (one_thread_and_another, 4, "part[0] = x[1]"),
    (one_thread_of_all_and_another, 4, "y[0] = x[1]"),
    (thread_by_thread, 4, "part[0] = x[j]"),
    (sliding_window, 4, "part[t + j] = x[t] * j"),
    (sliding_ring, 4, "part[(t + j) % cuda.blockDim.x] += x[t] * j"),
    (sliding_by_doubling, 4, "part[t + j] = x[t] * j"),
    (sliding_over_arguments, 4, "y[t + j] = x[t] * j"),
    (results_that_overlap, 4, "y[i + 1] = x[i] * 2"),
    (turning_index, 4, "v += part[k]"),
    (index_in_an_index, 4, "y[t] = x[key[(t + 1) % cuda.blockDim.x]]"),
    (sum_of_two_axes, (2, 2), "part[t + u] = x[t]"),
    (odd_and_even, 4, "part[t % 2] = x[t]"),
    (first_of_the_block, 4, "part[i - t] = x[i]"),
    (turns_without_end, 4, "v = both[k % 2, (t + 1) % cuda.blockDim.x]"),
    (half_an_interleaved_reduction, 4, "part[t] += part[t + s]"),
]
