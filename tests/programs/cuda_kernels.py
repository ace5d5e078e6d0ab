"""Kernels whose adjoints the tests derive, with a grid and arguments for each."""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import cuda


@cuda.jit
def elementwise(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sin(x[i]) * x[i]


@cuda.jit
def stencil(u, v, c):
    i = cuda.grid(1)
    if i >= 1 and i < u.size - 1:
        v[i] = u[i] * u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])


@cuda.jit
def scatter(p, m, g, count):
    """Particles, whose masses are shared out between two cells."""
    i = cuda.grid(1)
    if i >= p.size:
        return
    k = int(p[i])
    w = p[i] - k
    cuda.atomic.add(g, k, m[i] * (1 - w))
    cuda.atomic.sub(g, k + 1, m[i] * w)
    cuda.atomic.add(count, k, 1)


@cuda.jit
def histogram(k, w, h):
    """Weights by integer keys, of rows that are views."""
    i, j = cuda.grid(2)
    if i < k.shape[0] and j < k.shape[1]:
        row = w[i]
        cuda.atomic.add(h, (k[i, j], 0), row[j] ** 2)
        cuda.atomic.add(h, (0, 1), 1.0)


@cuda.jit
def in_place(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = math.sin(x[i])
        x[i] = x[i] * x[i]


@cuda.jit
def linear_in_place(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 3.0
        y[i] += 2.0 * x[i]


@cuda.jit
def grid_stride(x, y):
    """Loads of what the thread has stored, in loops of unknown lengths."""
    i = cuda.grid(1)
    while i < x.size:
        x[i] = math.sin(x[i])
        for j in range(y.size):
            x[i] = x[i] * x[i] * y[j]
            if y[j] > 0.9:
                break
        i += cuda.gridsize(1)


@cuda.jit
def logistic(x, y, steps):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        v = x[i]
        for _ in range(steps):
            v = 3.7 * v * (1 - v)
        y[i] = v


@numba.njit
def softened(r, soft):
    return math.sqrt(r + soft)


@cuda.jit(device=True)
def force(x, j, soft):
    i = cuda.grid(1)
    dx = x[j, 0] - x[i, 0]
    dy = x[j, 1] - x[i, 1]
    r = softened(dx * dx + dy * dy, soft)
    w = 1.0
    while w < r:
        w *= 1.5
    if r > 1.2:
        return dx * w / (r * r * r), dy
    return dx / (r * r * r), dy / (r * r * r)


@cuda.jit
def bodies(x, f, soft):
    i = cuda.grid(1)
    if i >= x.shape[0]:
        return
    ax = 0.0
    ay = 0.0
    for j in range(x.shape[0]):
        if j != i:
            a, b = force(x, j, soft)
            ax += a
            ay += b
    f[i, 0] = ax
    f[i, 1] = ay


@cuda.jit
def wave(u, before, after):
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        lap = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
        after[i, j] = 2 * u[i, j] - before[i, j] + 0.1 * u[i, j] * lap


N = 3


@cuda.jit
def local_array(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    a = cuda.local.array(N, numba.float64)
    if i < y.size:
        for j in range(N):
            a[j] = x[i] * (j + 1)
        s = 0.0
        for j in range(N):
            s += a[j] * a[(j + 1) % N]
        y[i] = s + abs(x[i]) ** 1.5


@cuda.jit(device=True)
def norm_of_parts(x, n):
    parts = cuda.local.array((2, 2), "float64")
    for j in range(4):
        parts[j // 2, j % 2] = 0.0
    for j in range(n):
        parts[j % 2, 0] += x * j
    return parts[0, 0] * parts[1, 0] + parts[0, 1]


@cuda.jit
def local_arrays_in_a_loop(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        a = cuda.local.array(2, numba.float64)
        a[0] = x[i]
        a[1] = a[0] ** 2
        y[i] = a[0] * a[1] + norm_of_parts(x[i], 4)


@cuda.jit
def block_wise(x, y, first):
    """A row for each block, a column for each thread, and one thread that stores a number."""
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, x.shape[1], cuda.blockDim.x):
        y[b, j] = math.exp(-x[b, j]) * x[b, 0]
    if b == 0 and t == 0:
        first[0] = x[0, 0] ** 3
        first[1] = 5.0


@cuda.jit
def branches(x, y):
    """A maximum, an integer test, and a permutation of elements."""
    i = cuda.grid(1)
    if i < x.size:
        v = max(x[i], 0.5)
        if i % 2 == 0:
            v = v * math.log(1.0 + x[i])
        y[x.size - 1 - i] = v if x[i] > 0.2 else -v


@cuda.jit(device=True)
def first_above(x, bound, start):
    for j in range(start, x.size):
        if x[j] < 0.3:
            continue
        if x[j] > bound:
            return x[j] ** 2
    return 0.0


@cuda.jit(device=True)
def put(y, i, v):
    y[i] = v * y[i]


@cuda.jit
def device_functions(x, y, z):
    """Device functions that return early, are called with constants, and store."""
    i = cuda.grid(1)
    if i >= x.size:
        return
    put(y, i, first_above(x, 0.5, 0) + x[i])
    put(z, i, first_above(x, y[i], i))
    for j in range(x.size):
        if x[j] > 0.8:
            put(y, i, x[j])
            return


@cuda.jit
def counters(k, x, y):
    """Integers that the thread overwrites, and reads again."""
    i = cuda.grid(1)
    if i < k.size:
        k[i] += 1
        y[i] = x[k[i]] * x[i]
        k[i] = k[i] * 2 % 5
        y[i] += x[k[i]] ** 2


@cuda.jit
def accumulate(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 0.0
        for j in range(x.size):
            y[i] += x[j] * x[i] ** 2
        y[i] = y[i] * y[i]


@cuda.jit
def rows(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        out = y[i, 1:]
        for j in range(row.size):
            row[j] *= 2.0 * row[0]
        for j in range(out.size):
            out[j] = row[j] ** 2 + out[0]


@cuda.jit
def histogram_with_breaks(k, w, h, c):
    i = cuda.grid(1)
    if i < k.shape[0]:
        for j in range(k.shape[1]):
            cuda.atomic.add(h, k[i, j], w[i] * w[k[i, j]])
            cuda.atomic.add(c, k[i, j], 1)
            if k[i, j] == 2:
                break


@cuda.jit
def until_large(x, y):
    i = cuda.grid(1)
    if i < x.size:
        while x[i] < 3.0:
            x[i] = x[i] * x[i] + 0.7
            if x[i] > 2.5:
                y[i] = x[i] ** 3
                break
            if x[i] > 1.5:
                continue
            y[i] -= x[i]


@cuda.jit
def permuted(x, k, y):
    i = cuda.grid(1)
    if i < x.size:
        j = k[i]
        y[j] = y[j] * x[i] + x[j]
        y[j] = math.exp(y[j] * 0.1)


@cuda.jit
def with_idle_barriers(x, y):
    """No array is shared, so nobody has to wait."""
    i = cuda.grid(1)
    for _ in range(2):
        if i < x.size:
            y[i] = y[i] * math.sin(x[i])
        cuda.syncthreads()


@dataclass(frozen=True)
class Case:
    """A kernel with its grid and arguments; `before` are the arrays that the adjoint needs from before the launch."""

    kernel: Any
    grid: tuple[Any, Any]
    args: tuple[Any, ...]
    before: tuple[str, ...] = ()
    second: bool = True  # whether the adjoint of the adjoint is derived: not of threads that look for room on the tape
    device: bool = True  # whether numba compiles the kernel itself for a device

    @property
    def arrays(self) -> list[int]:
        """The arguments that have shadows."""
        return [k for k, x in enumerate(self.args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


_rng = np.random.default_rng(7)
X, Y = _rng.uniform(0.1, 1.0, (2, 10))
KEYS = _rng.integers(0, 4, (3, 4))

CASES = {
    "elementwise": Case(elementwise, (3, 4), (X, Y)),
    "stencil": Case(stencil, (3, 4), (X, Y, 0.3)),
    "scatter": Case(scatter, (3, 4), (X * 7, Y, X + 1, np.zeros(10, int))),
    "histogram": Case(histogram, ((2, 2), (2, 2)), (KEYS, _rng.random((3, 4)), _rng.random((4, 2)))),
    "in place": Case(in_place, (3, 4), (X,), ("x",)),
    "linear in place": Case(linear_in_place, (3, 4), (X, Y)),
    "grid stride": Case(grid_stride, (2, 2), (X, Y[:3].copy()), ("x",), second=False),
    "logistic": Case(logistic, (2, 2), (X, Y, 5), second=False),
    "bodies": Case(bodies, (2, 4), (_rng.random((6, 2)) * 2, _rng.random((6, 2)), 0.01), second=False),
    "wave": Case(wave, ((2, 3), (2, 2)), (*_rng.random((3, 4, 5)),)),
    "local array": Case(local_array, (3, 4), (X, Y)),
    "local arrays in a loop": Case(local_arrays_in_a_loop, (2, 2), (X, Y), second=False),
    "block wise": Case(block_wise, (3, 2), (_rng.random((3, 5)), _rng.random((3, 5)), np.zeros(2)), second=False),
    "device functions": Case(device_functions, (3, 4), (X, Y, X[::-1] + 1), ("y", "z"), second=False),
    "counters": Case(counters, (3, 4), (KEYS.ravel()[:8].copy(), X, Y), ("k",)),
    "accumulate": Case(accumulate, (3, 4), (X, Y), ("y",), second=False),
    "rows": Case(rows, (1, 4), (*_rng.random((2, 3, 4)),), ("x",), second=False),
    "histogram with breaks": Case(histogram_with_breaks, (1, 4), (KEYS, X, Y, np.zeros(8, int))),
    "until large": Case(until_large, (3, 4), (X, Y), ("x",), second=False),
    "permuted": Case(permuted, (3, 4), (X, _rng.permutation(10), Y), ("y",)),
    "idle barriers": Case(with_idle_barriers, (3, 4), (X, Y), ("y",)),
    "branches": Case(branches, (3, 4), (X, Y), device=False),  # numba 0.68 finds no max for a device without a driver
}
