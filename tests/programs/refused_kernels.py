"""Kernels that are refused, with what the error says: the line, the reason, the cure."""

import math

import numba
import numpy as np
from numba import cuda
from numba.cuda import atomic, grid, threadIdx

A = np.ones(4)
K = np.arange(4)
M = np.ones((4, 4))
Z = np.ones(4, complex)


@cuda.jit
def barrier_below_a_test(x):
    part = cuda.shared.array(4, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    if t > 0:
        cuda.syncthreads()
        x[t] = part[t - 1]


@cuda.jit
def barrier_of_nothing_below_a_test(x):
    t = cuda.threadIdx.x
    if t > 0:
        x[t] = 2.0 * x[t]
        cuda.syncthreads()


@cuda.jit
def barrier_after_a_return(x):
    part = cuda.shared.array(4, numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i >= x.size:
        return
    part[t] = x[i]
    cuda.syncthreads()
    x[i] = part[0]


@cuda.jit
def barrier_in_a_loop_of_the_thread(x, k):
    part = cuda.shared.array(4, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    for _ in range(k[t]):
        cuda.syncthreads()
        part[t] += 1.0
    x[t] = part[t]


@cuda.jit
def shared_of_unknown_size(x, n):
    part = cuda.shared.array(n, numba.float64)
    part[cuda.threadIdx.x] = x[0]


@cuda.jit
def shared_with_the_size_of_the_launch(x):
    part = cuda.shared.array(0, numba.float64)
    part[cuda.threadIdx.x] = x[0]


@cuda.jit
def one_element_for_all(x, y):
    part = cuda.shared.array(1, numba.float64)
    i = cuda.grid(1)
    part[0] = x[i]
    cuda.syncthreads()
    y[i] = part[0]


@cuda.jit
def shared_complex_numbers(x, y):
    part = cuda.shared.array(4, numba.complex128)
    t = cuda.threadIdx.x
    part[t] = x[t] + 1j
    cuda.syncthreads()
    y[t] = part[0].real


@cuda.jit
def shared_of_no_axes(x):
    part = cuda.shared.array((), numba.float64)
    part[()] = x[0]


@cuda.jit
def two_arrays_in_turns(x, y):
    now = cuda.shared.array(4, numba.float64)
    after = cuda.shared.array(4, numba.float64)
    t = cuda.threadIdx.x
    now[t] = x[t]
    cuda.syncthreads()
    for _ in range(3):
        after[t] = now[3 - t]
        cuda.syncthreads()
        now, after = after, now
    y[t] = now[t]


@cuda.jit
def exchanged_below_a_test(x, y):
    """No barrier may stand between the load and the store, as both are below the test."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    if t < 3:
        part[t] = part[t + 1]
    cuda.syncthreads()
    y[t] = part[t]


@cuda.jit
def counted_together(x, y):
    count = cuda.shared.array(1, numba.int64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t == 0:
        count[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    y[i] = x[i] / count[0]


@cuda.jit
def part_chosen_by_a_loop(x, y):
    part = cuda.shared.array((2, 4), numba.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    row, other = part[0], part[1]
    for _ in range(3):
        row[t] = x[i]
        cuda.syncthreads()
        y[i] = row[3 - t]
        row, other = other, row


@cuda.jit
def voted(x):
    i = cuda.grid(1)
    if cuda.syncthreads_or(x[i] > 0.0):
        x[i] = 2.0 * x[i]


@cuda.jit
def exchanged(x, k):
    i = cuda.grid(1)
    cuda.atomic.exch(k, 0, i)
    x[i] = 2.0 * x[i]


@cuda.jit
def old_maximum(x, y):
    i = cuda.grid(1)
    y[i] = cuda.atomic.max(x, 0, y[i])


@cuda.jit
def maximum_and_sum(x, y):
    i = cuda.grid(1)
    cuda.atomic.max(y, 0, x[i])
    cuda.atomic.add(y, 1, x[i])


@cuda.jit
def maximum_and_minimum(x, y):
    i = cuda.grid(1)
    cuda.atomic.max(y, 0, x[i])
    cuda.atomic.min(y, 1, x[i])


@cuda.jit
def maximum_that_is_read(x, y, z):
    i = cuda.grid(1)
    cuda.atomic.max(y, 0, x[i])
    z[i] = x[i] / y[0]


@cuda.jit
def maximum_of_ints_that_is_stored(k):
    i = cuda.grid(1)
    cuda.atomic.max(k, 0, i)
    k[i] = 1


@cuda.jit
def maximum_of_a_block(x):
    part = cuda.shared.array(1, numba.float64)
    i = cuda.grid(1)
    cuda.atomic.max(part, 0, x[i])


@cuda.jit
def maximum_of_a_row(x, m):
    i = cuda.grid(1)
    row = m[i]
    cuda.atomic.max(row, 0, x[i])


@cuda.jit
def loop_over_arrays(rows, y):
    i = cuda.grid(1)
    for row in rows:
        cuda.atomic.add(y, 0, row[i] ** 2)


@cuda.jit
def constant_argument(x, y):
    i = cuda.grid(1)
    y[i] = cuda.const.array_like(x)[i]


@cuda.jit
def constant_or_argument(x, y):
    i = cuda.grid(1)
    row = cuda.const.array_like(A)
    if x[i] > 0.5:
        row = x
    y[i] = x[i] * row[i]


@cuda.jit
def complex_constant(x):
    i = cuda.grid(1)
    x[i] = x[i] * cuda.const.array_like(Z)[i].real


@cuda.jit
def old_value(x, k):
    i = cuda.grid(1)
    j = cuda.atomic.add(k, 0, 1)
    x[j] = 2.0 * i


@cuda.jit
def shuffle(x):
    i = cuda.grid(1)
    x[i] = cuda.shfl_down_sync(-1, x[i], 1)


@cuda.jit
def four_axes(x):
    i = cuda.grid(4)
    x[i] = 1.0


@cuda.jit
def local_of_unknown_size(x, n):
    a = cuda.local.array(n, numba.float64)
    a[0] = x[0]
    x[cuda.grid(1)] = a[0]


@cuda.jit
def sum_without_atomics(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0] += x[i]


@cuda.jit
def counts_by_value(x, y):
    i = cuda.grid(1)
    if x[i] == 0.0:
        y[0] += 1.0


@cuda.jit
def one_thread_of_each_block(x, y):
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t == 0 and i < x.size:
        y[0] = x[i]


@cuda.jit
def chosen_row(m, n):
    i = cuda.grid(1)
    row, other = m[0], m[1]
    for _ in range(n):
        row[i] = 2.0 * other[i]
        row, other = other, row


@cuda.jit
def bound_of_the_thread(k, x):
    i = cuda.grid(1)
    for j in range(k[i]):
        x[j] = i


@cuda.jit
def one_index_of_two(m, y):
    i, j = cuda.grid(2)
    if i < m.shape[0] and j < m.shape[1]:
        y[i] = m[i, j]


@cuda.jit
def neighbour(x):
    i = cuda.grid(1)
    if i > 0:
        x[i] = x[i - 1]


@cuda.jit
def row_of_another_thread(m):
    i = cuda.grid(1)
    if i > 0:
        for j in range(m.shape[1]):
            m[i, j] = m[i - 1, j]


@cuda.jit
def read_beside_atomics(x, y):
    i = cuda.grid(1)
    cuda.atomic.add(y, 0, x[i])
    x[i] = y[1]


@cuda.jit
def stored_beside_atomics(x, y):
    i = cuda.grid(1)
    y[i] = 0.0
    cuda.atomic.add(y, 0, x[i])


@cuda.jit(device=True)
def recursive(x, n):
    return x if n == 0 else x * recursive(x, n - 1)


@cuda.jit
def calls_recursive(x):
    i = cuda.grid(1)
    x[i] = recursive(x[i], 3)


@cuda.jit
def raises(x):
    i = cuda.grid(1)
    if x[i] < 0.0:
        raise ValueError
    x[i] = math.sqrt(x[i])


@cuda.jit
def digits(x):
    i = cuda.grid(1)
    x[i] = math.lgamma(x[i])


@cuda.jit
def complex_numbers(x):
    i = cuda.grid(1)
    x[i] = 2.0 * x[i]


@cuda.jit
def imported_names(x, y):
    """Is not refused: what it calls has names of its own, which the simulator does not know."""
    i = grid(1) + threadIdx.x
    atomic.add(y, i, math.sin(x[i]))


#: A kernel, its arguments, the line that the error names, and what it says.
REFUSED = [
    (barrier_below_a_test, (A,), "cuda.syncthreads()", "all threads of a block have to come to it", "outside of it"),
    (
        barrier_of_nothing_below_a_test,
        (A,),
        "cuda.syncthreads()",
        "all threads of a block have to come",
        "outside of it",
    ),
    (barrier_after_a_return, (A,), "cuda.syncthreads()", "all threads of a block have to come to it", "outside of it"),
    (barrier_in_a_loop_of_the_thread, (A, K), "cuda.syncthreads()", "all threads of a block", "outside of it"),
    (shared_of_unknown_size, (A, 3), "cuda.shared.array(n", "have to be constants", "cuda.shared.array(128"),
    (shared_with_the_size_of_the_launch, (A,), "cuda.shared.array(0", "is given at the launch", "its size as an int"),
    (
        one_element_for_all,
        (A, A),
        "part[0] = x[i]",
        "write to one element between two barriers",
        "cuda.atomic.add(part",
    ),
    (
        shared_complex_numbers,
        (A, A),
        "cuda.shared.array(4, numba.complex128)",
        "share numbers",
        "numba.float64 for each",
    ),
    (shared_of_no_axes, (A,), "cuda.shared.array((), numba.float64)", "have to be constants", "cuda.shared.array(128"),
    (two_arrays_in_turns, (A, A), "after[t] = now[3 - t]", "chooses the array", "one array in place of two"),
    (
        exchanged_below_a_test,
        (A, A),
        "part[t] = part[t + 1]",
        "no barrier",
        "load into a variable before, and store after",
    ),
    (counted_together, (A, A), "cuda.atomic.add(count", "an array of ints that a block shares", "an array of floats"),
    (part_chosen_by_a_loop, (A, A), "row[t] = x[i]", "a branch or a loop chooses the array", "part with all its"),
    (voted, (A,), "cuda.syncthreads_or", "the barrier of a whole block", "cuda.syncthreads() as a statement"),
    (exchanged, (A, K), "cuda.atomic.exch", "order of threads", "cuda.atomic.add(array, index, value)"),
    (old_maximum, (A, A), "y[i] = cuda.atomic.max", "old values", "a statement of its own"),
    (maximum_and_sum, (A, A), "cuda.atomic.add(y", "takes the maximum atomically", "a kernel for each of both"),
    (maximum_and_minimum, (A, A), "cuda.atomic.min(y", "takes the maximum atomically", "a kernel for each of both"),
    (maximum_that_is_read, (A, A, A), "z[i] = x[i] / y[0]", "a load from y", "a kernel for each of both"),
    (maximum_of_ints_that_is_stored, (K,), "k[i] = 1", "a store into k", "a kernel for each of both"),
    (maximum_of_a_block, (A,), "cuda.atomic.max(part", "a block shares", "an array that the kernel is given"),
    (
        maximum_of_a_row,
        (A, M),
        "cuda.atomic.max(row",
        "only whole arguments of the kernel",
        "cuda.atomic.max(y, (i, j), value)",
    ),
    (constant_or_argument, (A, A), "row = cuda.const", "constant memory has no shadow", "that the kernel is given"),
    (complex_constant, (A,), "cuda.const.array_like(Z)", "of complex128", "an array of float64"),
    (loop_over_arrays, ((A, A), A), "cuda.atomic.add(y, 0, row[i]", "that a loop chooses", "state.x"),
    (constant_argument, (A, A), "cuda.const.array_like(x)", "known when the kernel", "for a global A"),
    (old_value, (A, K), "j = cuda.atomic.add", "order of threads", "a statement of its own"),
    (shuffle, (A,), "cuda.shfl_down_sync", "exchange values", "arrays that the kernel is given"),
    (four_axes, (A,), "cuda.grid(4)", "1, 2 or 3", "cuda.grid(1)"),
    (local_of_unknown_size, (A, 3), "cuda.local.array(n", "have to be constants", "cuda.local.array(4, numba.float64)"),
    (sum_without_atomics, (A, A), "y[0] += x[i]", "write to one element", "cuda.atomic.add(y, index, value)"),
    (counts_by_value, (A, A), "y[0] += 1.0", "write to one element", "cuda.atomic.add(y, index, value)"),
    (one_thread_of_each_block, (A, A), "y[0] = x[i]", "differ in cuda.blockIdx.x write", "cuda.atomic.add"),
    (chosen_row, (M, 2), "row[i] = 2.0 * other[i]", "a branch or a loop chooses the part", "m with all its indices"),
    (bound_of_the_thread, (K, A), "x[j] = i", "write to one element", "an index for each thread"),
    (one_index_of_two, (M, A), "y[i] = m[i, j]", "differ in cuda.blockIdx.y and cuda.threadIdx.y", "cuda.atomic.add"),
    (neighbour, (A,), "x[i] = x[i - 1]", "another thread may write", "an array for the results"),
    (row_of_another_thread, (M,), "m[i, j] = m[i - 1, j]", "another thread may write", "an array for the results"),
    (
        read_beside_atomics,
        (A, A),
        "x[i] = y[1]",
        "a load from y, to which the kernel adds",
        "a kernel for each of both",
    ),
    (stored_beside_atomics, (A, A), "y[i] = 0.0", "a store into y, to which the kernel adds", "a kernel for each"),
    (calls_recursive, (A,), "def recursive", "a device function that calls itself", "a loop"),
    (raises, (A,), "raise ValueError", "raises nothing on a device", "return"),
    (digits, (A,), "math.lgamma", "no such function on a device", "elementary"),
    (complex_numbers, (A + 1j,), "def complex_numbers", "complex128", "float64"),
    (complex_numbers, (A.astype(np.float16),), "def complex_numbers", "float16", "float64, or float32"),
    (complex_numbers, ([1.0],), "def complex_numbers", "list(float64)", "an array of float64"),
    (
        complex_numbers,
        ((A, A + 1j),),
        "def complex_numbers",
        "x[1], an argument of numba type array(complex",
        "float64",
    ),
]
