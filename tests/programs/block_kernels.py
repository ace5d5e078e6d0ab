"""Algorithms of a block, as they are written for shared arrays: reductions, scans, sorts, factors, transforms."""

import math

import numba
import numpy as np
from numba import cuda

from programs.cuda_kernels import Case


@cuda.jit
def interleaved(x, y):
    """Reduction with interleaved addresses: thread t adds what thread t + s has, if 2 * s divides t."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] * x[i]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if t % (2 * s) == 0:
            part[t] += part[t + s]
        cuda.syncthreads()
        s *= 2
    if t == 0:
        y[cuda.blockIdx.x] = part[0]


@cuda.jit
def interleaved_indices(x, y):
    """The same with neighbouring threads, each at a multiple of 2 * s."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] * x[i]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        index = 2 * s * t
        if index < cuda.blockDim.x:
            part[index] *= part[index + s]
        cuda.syncthreads()
        s *= 2
    if t == 0:
        y[cuda.blockIdx.x] = part[0]


@cuda.jit
def unrolled(x, y):
    """Reduction without a loop: barriers below tests of the size of the block."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] * x[i]
    cuda.syncthreads()
    if cuda.blockDim.x >= 8:
        if t < 4:
            part[t] += part[t + 4]
        cuda.syncthreads()
    if cuda.blockDim.x >= 4:
        if t < 2:
            part[t] += part[t + 2]
        cuda.syncthreads()
    if cuda.blockDim.x >= 2:
        if t < 1:
            part[t] *= part[t + 1]
        cuda.syncthreads()
    if t == 0:
        y[cuda.blockIdx.x] = part[0]


@cuda.jit
def scan_in_turns(x, y):
    """Scan of Hillis and Steele, with two buffers that take turns."""
    buf = cuda.shared.array((2, 8), numba.float64)
    t = cuda.threadIdx.x
    cur = 0
    buf[0, t] = x[t]
    cuda.syncthreads()
    off = 1
    while off < cuda.blockDim.x:
        nxt = 1 - cur
        if t >= off:
            buf[nxt, t] = buf[cur, t] * buf[cur, t - off]
        else:
            buf[nxt, t] = buf[cur, t]
        cuda.syncthreads()
        cur = nxt
        off *= 2
    y[t] = buf[cur, t]


@cuda.jit
def scan_of_trees(x, y):
    """Scan with an up-sweep and a down-sweep over a tree."""
    temp = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    temp[t] = x[t]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        index = (t + 1) * s * 2 - 1
        if index < cuda.blockDim.x:
            temp[index] += temp[index - s]
        s *= 2
        cuda.syncthreads()
    s = cuda.blockDim.x // 4
    while s > 0:
        index = (t + 1) * s * 2 - 1
        if index + s < cuda.blockDim.x:
            temp[index + s] += temp[index]
        s //= 2
        cuda.syncthreads()
    y[t] = temp[t]


@cuda.jit
def bitonic_sort(x, v, y):
    """Sort of keys with values, by a network of exchanges."""
    key = cuda.shared.array(8, numba.float64)
    val = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    key[t] = x[t]
    val[t] = v[t]
    cuda.syncthreads()
    k = 2
    while k <= cuda.blockDim.x:
        j = k // 2
        while j > 0:
            o = t ^ j
            if o > t:
                up = (t & k) == 0
                if (key[t] > key[o]) == up:
                    a = key[t]
                    key[t] = key[o]
                    key[o] = a
                    b = val[t]
                    val[t] = val[o]
                    val[o] = b
            cuda.syncthreads()
            j //= 2
        k *= 2
    y[t] = key[t] * val[t] * (t + 1)


@cuda.jit
def odd_even_sort(x, y):
    key = cuda.shared.array(16, numba.float64)
    t = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    key[t] = x[t]
    key[t + cuda.blockDim.x] = x[t + cuda.blockDim.x]
    cuda.syncthreads()
    for k in range(n):
        i = 2 * t + k % 2
        if i + 1 < n and key[i] > key[i + 1]:
            a = key[i]
            key[i] = key[i + 1]
            key[i + 1] = a
        cuda.syncthreads()
    y[t] = key[t] * (t + 1)
    y[t + cuda.blockDim.x] = key[t + cuda.blockDim.x] ** 2


@cuda.jit
def fft(re, im, yr, yi):
    """Fourier transform in place."""
    a = cuda.shared.array(8, numba.float64)
    b = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    a[t] = re[t]
    b[t] = im[t]
    a[t + cuda.blockDim.x] = re[t + cuda.blockDim.x]
    b[t + cuda.blockDim.x] = im[t + cuda.blockDim.x]
    cuda.syncthreads()
    half = 1
    while half < n:
        pos = t % half
        i0 = 2 * (t - pos) + pos
        w = -math.pi * pos / half
        c = math.cos(w)
        s = math.sin(w)
        ar = a[i0]
        ai = b[i0]
        br = a[i0 + half] * c - b[i0 + half] * s
        bi = a[i0 + half] * s + b[i0 + half] * c
        a[i0] = ar + br
        b[i0] = ai + bi
        a[i0 + half] = ar - br
        b[i0 + half] = ai - bi
        cuda.syncthreads()
        half *= 2
    yr[t] = a[t]
    yi[t] = b[t]
    yr[t + cuda.blockDim.x] = a[t + cuda.blockDim.x]


@cuda.jit
def lu(m, y):
    """Factors of a matrix, a thread for each element."""
    a = cuda.shared.array((4, 4), numba.float64)
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    a[i, j] = m[i, j]
    cuda.syncthreads()
    for k in range(3):
        if i > k and j == k:
            a[i, k] /= a[k, k]
        cuda.syncthreads()
        if i > k and j > k:
            a[i, j] -= a[i, k] * a[k, j]
        cuda.syncthreads()
    y[i, j] = a[i, j]


@cuda.jit
def triangular_solve(m, b, y):
    """One barrier for each unknown."""
    z = cuda.shared.array(4, numba.float64)
    t = cuda.threadIdx.x
    mine = b[t]
    for k in range(4):
        if t == k:
            z[t] = mine / (m[k, k] + 2.0)
        cuda.syncthreads()
        if t > k:
            mine -= m[t, k] * z[k]
    y[t] = z[t]


@cuda.jit
def wavefront(a, y):
    """Dynamic programming, one antidiagonal after the other."""
    m = cuda.shared.array((6, 6), numba.float64)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    m[t + 1, 0] = a[t, 0]
    m[0, t + 1] = a[0, t]
    if t == 0:
        m[0, 0] = 1.0
    cuda.syncthreads()
    for k in range(2 * n - 1):
        j = k - t
        if j >= 0 and j < n:
            m[t + 1, j + 1] = math.sin(m[t, j] + m[t + 1, j] * m[t, j + 1]) + a[t, j]
        cuda.syncthreads()
    y[t] = m[t + 1, n]


@cuda.jit
def flat_reduction(u, v):
    """Reduction over a block of two axes, by the number of the thread in it."""
    part = cuda.shared.array(16, numba.float64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tid = ty * cuda.blockDim.x + tx
    i, j = cuda.grid(2)
    part[tid] = u[i, j] ** 2
    cuda.syncthreads()
    s = cuda.blockDim.x * cuda.blockDim.y // 2
    while s > 0:
        if tid < s:
            part[tid] += part[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        v[cuda.blockIdx.x, cuda.blockIdx.y] = part[0]


@cuda.jit
def halo_by_index(u, v):
    part = cuda.shared.array(10, numba.float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = u.size
    if i < n:
        part[t + 1] = u[i]
        if t == 0 and i > 0:
            part[0] = u[i - 1]
        if t == cuda.blockDim.x - 1 and i + 1 < n:
            part[t + 2] = u[i + 1]
    cuda.syncthreads()
    if 0 < i < n - 1:
        v[i] = part[t] * part[t + 2] - part[t + 1] ** 2


@cuda.jit
def double_buffer(x, y):
    """Tiles that are loaded while the last one is used."""
    buf = cuda.shared.array((2, 4), numba.float64)
    t = cuda.threadIdx.x
    d = cuda.blockDim.x
    buf[0, t] = x[t]
    s = 0.0
    n = x.size // d
    for k in range(n):
        cuda.syncthreads()
        if k + 1 < n:
            buf[(k + 1) % 2, t] = x[(k + 1) * d + t]
        for j in range(d):
            s += buf[k % 2, j] * x[t]
    y[t] = s


@cuda.jit
def first_element_again(x, y):
    """The thread that stores an element stores it again."""
    part = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    if t == 0:
        part[0] = 2.0 * x[3]
    cuda.syncthreads()
    y[t] = part[t] * part[0]


@cuda.jit
def exclusive_scan(x, y):
    """Scan of Blelloch; that the offset stays positive is said by a test."""
    temp = cuda.shared.array(8, numba.float64)
    t = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    temp[2 * t] = x[2 * t]
    temp[2 * t + 1] = x[2 * t + 1]
    offset = 1
    d = n >> 1
    while d > 0:
        cuda.syncthreads()
        if t < d:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            temp[bi] += temp[ai] * temp[ai]
        offset *= 2
        d >>= 1
    cuda.syncthreads()
    if t == 0:
        temp[n - 1] = 0.0
    d = 1
    while d < n:
        offset >>= 1
        cuda.syncthreads()
        if t < d and offset > 0:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            v = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += v
        d *= 2
    cuda.syncthreads()
    y[2 * t] = temp[2 * t]
    y[2 * t + 1] = temp[2 * t + 1]


@cuda.jit
def two_rows(x, y):
    """Threads of two axes, which clear the shadow of a short array together."""
    rows = cuda.shared.array((2, 4), numba.float64)
    t, u = cuda.threadIdx.x, cuda.threadIdx.y
    rows[t, u] = x[t, u]
    cuda.syncthreads()
    y[t, u] = rows[1 - t, u] * rows[t, 3 - u]


_rng = np.random.default_rng(9)


def uniform(*shape):
    return _rng.uniform(0.3, 1.3, shape)


BLOCKS = {
    "interleaved": Case(interleaved, (3, 8), (uniform(24), uniform(3)), second=False),
    "interleaved indices": Case(interleaved_indices, (3, 8), (uniform(24), uniform(3)), second=False),
    "unrolled": Case(unrolled, (2, 8), (uniform(16), uniform(2))),
    "scan in turns": Case(scan_in_turns, (1, 8), (uniform(8), uniform(8)), second=False),
    "scan of trees": Case(scan_of_trees, (1, 8), (uniform(8), uniform(8)), second=False),
    "bitonic sort": Case(bitonic_sort, (1, 8), (uniform(8), uniform(8), uniform(8)), second=False),
    "odd-even sort": Case(odd_even_sort, (1, 4), (uniform(8), uniform(8)), second=False),
    "fft": Case(fft, (1, 4), (uniform(8), uniform(8), uniform(8), uniform(8)), second=False),
    "lu": Case(lu, (1, (4, 4)), (uniform(4, 4) + 4 * np.eye(4), uniform(4, 4))),
    "triangular solve": Case(triangular_solve, (1, 4), (uniform(4, 4), uniform(4), uniform(4))),
    "wavefront": Case(wavefront, (1, 4), (uniform(4, 4), uniform(4)), second=False),
    "flat reduction": Case(flat_reduction, ((2, 2), (2, 2)), (uniform(4, 4), uniform(2, 2)), second=False),
    "halo by index": Case(halo_by_index, (3, 4), (uniform(10), uniform(10))),
    "double buffer": Case(double_buffer, (1, 4), (uniform(16), uniform(4)), second=False),
    "exclusive scan": Case(exclusive_scan, (1, 4), (uniform(8), uniform(8)), second=False),
    "two rows": Case(two_rows, (1, (2, 4)), (uniform(2, 4), uniform(2, 4))),
    "first element again": Case(first_element_again, (1, 4), (uniform(4), uniform(4))),
}
