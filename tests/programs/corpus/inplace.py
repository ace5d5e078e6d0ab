"""Algorithms in place: element assignment, updates of slices, views and aliases, masks and fancy indices."""

from itertools import pairwise, permutations

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case

SPD = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 3.0, 0.3, -0.4], [0.5, 0.3, 2.5, 0.1], [0.2, -0.4, 0.1, 2.0]])
SQUARE = np.array([[3.0, 1.0, -0.5], [0.7, 2.5, 0.4], [-0.2, 0.9, 2.0]])


@case(SPD)
def cholesky_by_loops(a):
    """Cholesky's factor, element by element; the log-determinant and the factor."""
    n = len(a)
    factor = dnp.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - sum(factor[i, k] * factor[j, k] for k in range(j))
            factor[i, j] = math.sqrt(s) if i == j else s / factor[j, j]
    return 2 * sum(math.log(factor[i, i]) for i in range(n)), factor


@case(SQUARE)
def lu_in_place(a):
    """The LU decomposition, stored over a copy of the matrix."""
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@case(
    np.array([0.5, 0.3, 0.4]), np.array([2.0, 2.5, 3.0, 2.2]), np.array([0.6, 0.2, 0.7]), np.array([1.0, 2, -1.0, 0.5])
)
def thomas(lower, diagonal, upper, right):
    """A tridiagonal system by Thomas's algorithm, in place on copies."""
    d, x = diagonal.copy(), right.copy()
    n = len(d)
    for i in range(1, n):
        w = lower[i - 1] / d[i - 1]
        d[i] -= w * upper[i - 1]
        x[i] -= w * x[i - 1]
    x[-1] /= d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / d[i]
    return x


@case(SQUARE, np.array([1.0, -2.0, 0.5]), 4)
def gauss_seidel(a, b, sweeps):
    """Gauss-Seidel sweeps: each unknown uses the new values of those before it."""
    x = dnp.zeros(len(b))
    for _ in range(sweeps):
        for i in range(len(b)):
            x[i] = (b[i] - a[i] @ x + a[i, i] * x[i]) / a[i, i]
    return x


@case(np.array([[0.5, 1.0, -0.5, 0.2], [1.5, 0.0, 0.0, 0.7], [-1.0, 0.0, 0.0, 0.3], [0.1, 0.9, 0.4, 1.1]]), 5)
def jacobi_sweeps(grid, sweeps):
    """Laplace's equation inside of a border: the right side of the assignment is complete before it is stored."""
    u = grid.copy()
    for _ in range(sweeps):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u[1:-1, 1:-1].sum() + u[1, 2] ** 2


@case(np.array([[0.0, 1.0, 9.0, 9.0], [9.0, 0.0, 1.5, 8.0], [8.0, 9.0, 0.0, 1.2], [0.9, 7.0, 9.0, 0.0]]))
def floyd_warshall(distances):
    """All shortest paths, in a triple loop over different nodes."""
    d = distances.copy()
    n = len(d)
    for k, i, j in permutations(range(n), 3):
        if d[i, k] + d[k, j] < d[i, j]:
            d[i, j] = d[i, k] + d[k, j]
    return d


@case(np.array([[0.5, 2.0, 1.0], [3.0, 1.0, -0.4], [1.0, 0.3, 2.0]]), np.array([1.0, 0.5, -1.5]))
def gaussian_elimination(a, b):
    """Gaussian elimination with pivots: rows are exchanged by fancy indices."""
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for i in reversed(range(n)):
        b[i] = (b[i] - a[i, i + 1 :] @ b[i + 1 :]) / a[i, i]
    return b


@case(np.array([[1.0, 0.4], [0.3, 2.0], [-0.5, 0.7]]))
def gram_schmidt(a):
    """The QR decomposition by the modified Gram-Schmidt method."""
    q, r = a.copy(), dnp.zeros((2, 2))
    for j in range(2):
        r[j, j] = np.sqrt(q[:, j] @ q[:, j])
        q[:, j] /= r[j, j]
        for k in range(j + 1, 2):
            r[j, k] = q[:, j] @ q[:, k]
            q[:, k] -= r[j, k] * q[:, j]
    return {"q": q, "r": r}


@case(SQUARE)
def givens_rotations(a):
    """An upper triangle by rotations of pairs of rows."""
    r = a.copy()
    for j in range(2):
        for i in range(j + 1, 3):
            size = math.hypot(r[j, j], r[i, j])
            c, s = r[j, j] / size, r[i, j] / size
            upper, lower = r[j].copy(), r[i].copy()
            r[j] = c * upper + s * lower
            r[i] = c * lower - s * upper
    return r[np.triu_indices(3)]


@case(np.array([1.0, 0.5, -0.7, 2.0]))
def cosine_transform(signal):
    """The discrete cosine transform by its definition, and the energy of its upper half."""
    n = len(signal)
    spectrum = dnp.empty(n)
    for k in range(n):
        spectrum[k] = sum(signal[i] * math.cos(math.pi / n * (i + 0.5) * k) for i in range(n))
    spectrum[n // 2 :] **= 2
    return spectrum


@case(np.array([0.5, 1.5, -0.2, 0.8, 1.1]))
def prefix_sums(xs):
    """Prefix sums and prefix products in place."""
    sums, products = xs.copy(), xs.copy()
    for i in range(1, len(xs)):
        sums[i] += sums[i - 1]
        products[i] *= products[i - 1]
    return sums @ products


@case(np.array([0.0, 0.8, 1.5, 0.9, 0.2, 0.1]), 0.3, 6)
def heat_equation(u, alpha, steps):
    """Explicit steps of the heat equation with fixed ends."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case(np.array([3.0, 1.0, 2.2, 0.5, 4.0]))
def bubble_sort(xs):
    """Bubble sort by exchange of neighbours."""
    xs = xs.copy()
    for end in range(len(xs) - 1, 0, -1):
        for i in range(end):
            if xs[i] > xs[i + 1]:
                xs[i], xs[i + 1] = xs[i + 1], xs[i]
    return xs * xs[::-1]


@case([2.0, 0.3, 1.1, 3.5, 0.8])
def insertion_sort(xs):
    """Insertion sort on a list, then the differences of neighbours."""
    xs = list(xs)
    for i in range(1, len(xs)):
        x, j = xs[i], i
        while j > 0 and xs[j - 1] > x:
            xs[j] = xs[j - 1]
            j -= 1
        xs[j] = x
    return [(b - a) ** 2 for a, b in pairwise(xs)]


@case(np.array([1.0, 2.0, 3.0, 0.5]))
def change_through_a_view(a):
    """A slice is a view: what is done to it is done to the array."""
    a = a.copy()
    tail = a[1:]
    tail *= 2.0
    tail[0] += a[0] ** 2
    a[-1] *= tail[1]
    return a.sum() + tail @ a[:-1]


@case(np.arange(1.0, 7.0).reshape(2, 3) / 3)
def change_through_a_transpose(a):
    """A transpose and a reversed view share memory with the array."""
    a = a.copy()
    a.T[0] = a.T[1] * a.T[2]
    a[::-1, 1] -= a[:, 0]
    a.T[2, 1] += 1.0
    return a


@case(np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.7]]))
def change_through_a_reshape(a):
    """A reshape of a contiguous array is a view, and so is a diagonal of strided elements."""
    a = a.copy()
    flat = a.reshape(-1)
    flat[::2] *= flat[1::2]
    row = flat.reshape(2, 3)[1]
    row += a[0, 1]
    return a


@case(np.array([1.0, 0.5, 2.0, -1.0, 0.3]), [3, 0, 4])
def assign_by_fancy_index(a, places):
    """Entries at a list of places are scaled, replaced and exchanged."""
    a = a.copy()
    a[places] *= 3.0
    a[places[:2]] = a[places[1:]] ** 2
    a[[1, 2]] = a[[2, 1]] + a[places[0]]
    return a


@case(np.array([1.5, -0.5, 0.8, -2.0, 0.4]), 0.1)
def assign_by_mask(a, leak):
    """A leaky rectifier, by assignments to masked entries."""
    a = a.copy()
    negative = a < 0
    a[negative] *= leak
    a[a > 1] = a[negative].sum() + 1.0
    a[~negative & (a < 0.6)] **= 2
    return a


@case(np.array([[0.6, 0.4], [0.3, 0.7]]), 6)
def matrix_power_by_squaring(m, n):
    """A matrix power, with in-place matrix products."""
    power, square = np.eye(2), m.copy()
    while n:
        if n % 2:
            power = power @ square
        square = square @ square
        n //= 2
    return power


@case(np.array([1.0, 0.5, -0.3, 2.0]), np.array([0.7, -0.2, 0.4]))
def convolution_in_place(signal, kernel):
    """A full convolution: shifted copies are added to slices."""
    out = dnp.zeros(len(signal) + len(kernel) - 1)
    for k, weight in enumerate(kernel):
        out[k : k + len(signal)] += weight * signal
    return out


@case(np.array([[0.2, 20.0, 0.1], [0.3, 0.2, 0.2], [0.2, 0.1, 0.3]]), 6.0)
def sandpile(heights, limit):
    """Piles above a limit give to their neighbours until all are low."""
    h = dnp.zeros((5, 5))
    h[1:-1, 1:-1] = heights
    for _ in range(6):
        for i, j in np.argwhere(h[1:-1, 1:-1] > limit) + 1:
            share = 0.15 * h[i, j]
            h[i, j] -= 4 * share
            h[i - 1, j] += share
            h[i + 1, j] += share
            h[i, j - 1] += share
            h[i, j + 1] += share
    return (h[1:-1, 1:-1] ** 2).sum() + h[0, 2]


@case(np.array([0.5, 1.2, 0.7, 2.0, 1.1, 0.4]), [0, 2, 0, 1, 2, 0])
def scatter_add(values, bins):
    """A histogram of weights: repeated places add up in a loop."""
    totals = dnp.zeros(3)
    for k, value in zip(bins, values, strict=True):
        totals[k] += value**2
    return totals / totals.sum()


@case(np.array([0.2, 0.9]), 5)
def fill_a_table(start, n):
    """A recurrence that fills rows of a table from the row above."""
    table = dnp.full((n, 2), 0.1)
    table[0] = start
    for i in range(1, n):
        table[i, 0] = np.cos(table[i - 1, 1])
        table[i] += 0.5 * table[i - 1] * table[i, 0]
    return table[-1]


@case(0.8, [0.5, 1.5])
def make_and_store(x, ys):
    """Arrays of constants that take up computed numbers: array, ones, arange and linspace."""
    a, b, c = dnp.array([1.0, 2.0, 3.0]), dnp.ones((2, 2)), dnp.linspace(0.0, 1.0, 3)
    a[1] = x * a[2]
    b[0] = [x, ys[0]]
    b[:, 1] *= ys[1]
    c += a
    return c @ a + (b @ b).trace()


@case(np.array([2.0, 1.0, 0.5]), 0.2, 5)
def ring_buffer(start, gain, steps):
    """A buffer that is read and overwritten in turn."""
    buffer, out = start.copy(), []
    for k in range(steps):
        old = buffer[k % 3]
        buffer[k % 3] = old * 0.5 + gain * buffer[(k + 1) % 3] ** 2
        out.append(old)
    return sum(x * x for x in out) + buffer.prod()
