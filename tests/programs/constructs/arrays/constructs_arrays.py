"""Arrays: making them, views of them, their reductions and products, and arithmetic of whole arrays."""

import math

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7]])
SQUARE = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 1.1]])
CUBE = np.linspace(-1.0, 1.3, 24).reshape(2, 3, 4)
single = np.float32


@case(0.7, 3)
@njit
def constructors(x, n):
    """Every function that makes an array of a shape."""
    a, b, c, d = np.zeros(n), np.ones((2, n)), np.empty(n), np.full(n, x)
    for i in range(n):
        c[i] = x * i
    a[0] = x
    a[1:] = c[1:] * d[1:]
    e = np.arange(n) * x + np.arange(1, 2 * n, 2) + np.linspace(0.0, 1.0, n)
    f = np.full((n, n), x * x) + np.eye(n) * x
    g = np.zeros((n, 2, 2), dtype=np.float64)
    g[1, 0, 1] = x
    b[1] = e
    return np.sum(a * b) + np.sum(f) * x + np.sum(g * x) + np.sum(c)


@case(0.7, 0.3, 4)
@njit
def ranges_of_floats(x, low, n):
    """Bounds that are float literals, and bounds that are differentiated."""
    a = np.arange(0.0, 1.0, 0.25) * x
    b = np.linspace(low, x, n)
    return np.sum(a * b) + b[2] * low


@case(A)
@case(A[::2].copy())
@njit
def like_another_array(a):
    """zeros_like and the others, a copy by function and by method; none shares memory with a."""
    z, o, e, f = np.zeros_like(a), np.ones_like(a), np.empty_like(a), np.full_like(a, a[1])
    c, d = np.copy(a), a.copy()
    for i in range(a.size):
        e[i] = a[i] * z[i - 1]
        z[i] = a[i] + o[i]
    c[0] = a[1] * a[0]
    d *= a
    a[2] = 5.0
    return np.sum(z * c) + np.sum(e * f) + np.sum(d * o) * a[2] * a[0]


@case(A, M, CUBE)
@njit
def shapes(a, m, c):
    """len, shape, size and ndim, used as bounds and as factors."""
    n, k = m.shape
    s = a[len(a) - 1] * a.size + m.ndim * c[c.shape[0] - 1, 1, 2] + c.size * a[0]
    for i in range(n):
        for j in range(k):
            s += m[i, j] * (i - k) * c[i, j, -1]
    return s * n + np.shape(m)[1]


@case(A)
@case(np.repeat(A, 2)[::2], name="slices_of_a_strided_array")
@njit
def slices(a):
    """Parts, with steps and from the end, read and written; a view of a view."""
    first, last, even, back = a[:3], a[-3:], a[::2], a[::-1]
    s = first[1] * last[0] + even[1] * back[1]
    first[0] = last[-1] * s
    even[2] += a[0]
    back[1] *= back[4]
    inner = a[1:-1][::2]
    inner[0] = inner[1] * s
    last[:] = last * last
    return np.sum(a * a) + a[1] * back[3]


@case(M)
@case(np.asfortranarray(M), name="views_of_a_fortran_array")
@case(np.repeat(M, 2, axis=1)[:, ::2], name="views_of_a_strided_matrix")
@njit
def views_of_a_matrix(m):
    """Rows, columns, blocks and the transpose: what is written to one is seen by all."""
    row, column, t = m[0], m[:, 1], m.T
    row[2] = column[1] * row[0]
    column[0] *= row[2]
    t[0, 1] += t[2, 0] * m[1, 2]
    block = m[:, 1:]
    block[1, 0] = block[0, 1] * t[1, 0]
    m[1] = m[0] * t[:, 1]
    m[:, 2] += m[:, 0]
    return np.sum(row) * np.sum(t) + column[1] * block[1, 1]


@case(M, A)
@njit
def reshapes(m, a):
    """reshape and ravel of a contiguous array are views; flatten is a copy."""
    flat, tall, copied = m.ravel(), m.reshape(3, 2), m.flatten()
    flat[4] *= flat[0]
    tall[2, 1] = m[1, 1] * m[0, 2]
    copied[0] = m[1, 1]
    row = a.reshape((1, 5))
    row[0, 1:3] += flat[:2]
    s = 0.0
    for x in m.flat:
        s = s * 0.5 + x * x
    m.T[1] = tall[0] * a[1]
    return s * np.sum(m) + np.sum(copied) * a[2]


@case(CUBE)
@case(CUBE.transpose(2, 0, 1), name="three_axes_transposed")
@njit
def three_axes(c):
    """Elements, planes and rows of a 3-d array."""
    plane = c[1]
    plane[0] *= 2.0
    c[0, 1] = plane[1] * c[0, 0]
    c[:, 1, 0] += c[:, 0, 1]
    s = 0.0
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(c.shape[2]):
                s += c[i, j, k] * c[i, j, k - 1] * (i + 1)
    t = np.transpose(c)
    return s + np.sum(t[0]) * plane[1, 1]


@case(A, M)
@njit
def reductions(a, m):
    """Sums, means, extremes and products, as functions and as methods, of vectors, matrices, parts and expressions."""
    s = np.sum(a) * np.mean(m) + a.sum() * m.mean() + np.sum(a * a[::-1])
    e = np.max(a) * np.min(a) + a.max() * m.min() + np.max(m[:, 1]) + np.min(a[1:4])
    p = np.prod(a) + a.prod() * np.prod(m) + np.prod(a[:2])
    return s * e + p


@case(M, CUBE)
@njit
def sums_over_an_axis(m, c):
    rows, columns = np.sum(m, axis=1), m.sum(axis=0)
    return np.sum(rows * rows) * columns[1] + np.sum(np.sum(c, axis=1) * c[:, 1, :])


@case(np.array([0.7, 0.0, 1.3, 0.5]), np.array([0.0, 0.0, 2.0]))
@njit
def products_with_zeros(a, b):
    """The derivative of a product with one zero, and with two."""
    return np.prod(a) + np.prod(b) * a[0] + b.prod()


@case(A[:3].copy(), SQUARE, SQUARE[::-1] * 0.5)
@njit
def products(v, a, b):
    """@ and dot of vectors and matrices in all combinations, nested, and with a transpose."""
    s = v @ v + np.dot(v, a @ v)
    s += np.dot(np.dot(a, v), v @ b)
    c = a @ b
    c = np.dot(c, a)
    w = c.T @ v
    w = a.dot(w) + w.dot(b)
    return s + np.sum(c * b) + w[0] * w[2]


@case(A, A[::-1] * 0.7 + 0.2, 0.6, 2)
@njit
def array_arithmetic(a, b, x, n):
    """All operators on arrays and numbers, in either order, and functions of arrays."""
    c = a * b - b / (a * a + x) + x * a - 1.0
    d = -c + n * a + (2.0 - b) * 3 + x / (b * b + 1)
    e = np.sin(a) * np.exp(-c * 0.1) + np.tanh(d) ** 2 + np.abs(c) + np.sqrt(a**2 + 1.5) + a % 0.7
    f = np.maximum(a, b) * np.minimum(c, 0.3) + np.where(a > x, a * d, b) + 2.0 ** (a * 0.3)
    return np.sum(c * d * e) + np.sum(f)


@case(M, A[:3].copy(), np.array([[0.4], [1.7]]), 0.3)
@njit
def broadcasting(m, row, column, x):
    """(n, m) with (m,), (n, 1), (1, m), a number, and an outer product; the result is larger than either."""
    a = m * row + column
    a = a - row * column * x
    outer = column * row.reshape(1, 3) + np.exp(column)
    a += row
    a *= column
    a[:] = a + row * x
    a[1] = x
    a[:, 1] = column[:, 0] * x
    return np.sum(a * outer) + np.sum((row + x) * np.ones((4, 3)))


@case(A.astype(single), M.astype(single))
@njit
def single_precision_arrays(a, m):
    """float32 throughout: reductions, expressions, elements, views and a result in place."""
    b = np.zeros_like(a)
    for i in range(len(a)):
        b[i] = a[i] * a[i - 1]
        a[i] += b[i] * np.float32(0.5)
    m[0] *= a[:3]
    m[1, 1] = np.sum(b)
    t = m.T * m[0, 1]
    return np.sum(t) + np.sum(np.sin(b) * a) * np.mean(m)


@case(A.astype(single), A[::-1] * 0.5, single(0.75), 0.5)
@njit
def both_precisions(a, b, x, y):
    """float32 beside float64: every gradient comes back in its argument's precision."""
    c = a + b
    d = a * x + np.float32(y)
    b[1] = a[2] * b[0]
    a[3] = b[1] * y
    e = a.astype(np.float64) * y
    s = np.float32(0.0)
    for i in range(len(a)):
        s += a[i] * x
    return np.sum(c * d) + np.sum(e) * s + np.dot(b, b)


@case(A, M, each=True)
@njit
def several_arrays_as_result(a, m):
    """New arrays, views and an argument itself as results."""
    c = np.cumsum(a) if False else a * a[0]
    m[0, 1] = c[1] * m[1, 1]
    return c, m[0] * 2.0, m.T, np.sum(c), a


@case(M.astype(single), single(0.5))
@njit
def a_single_precision_array_as_result(m, x):
    return m * x + m[0, 1] * m


@case(A)
@njit
def the_argument_as_result(a):
    """The array that was given is changed and returned."""
    for i in range(1, len(a)):
        a[i] *= a[i - 1]
    return a


@case(A)
@njit
def a_view_as_result(a):
    b = a * a
    b[1] = b[0] * a[2]
    return b[::2]


@case(np.zeros(0), np.zeros((0, 3)), 0.7)
@njit
def arrays_of_size_zero(a, m, x):
    """Arrays without elements: loops over them, their sums, their shapes."""
    s = x
    for y in a:
        s *= y
    for row in m:
        s += row[0]
    b = a * x + np.zeros(len(m))
    return s * x + np.sum(a * a) + np.sum(m) + np.sum(b) + a.size * x + m.shape[1] * x


@case(A, 1)
@case(A, -1)
@njit
def elements_by_variable_indices(a, k):
    """Negative indices, computed ones, a pair as an index, and an index that changes between write and read."""
    m = np.zeros((3, 3))
    i = k
    a[i] = a[i - 1] * a[-1]
    i += 1
    m[i, -1] = a[i] * a[k]
    place = (i, 2)
    m[place] = m[place] * a[place[0]]
    m[k, k] += a[-len(a)]
    return np.sum(m * m) + a[k]


@case(CUBE, 0.3)
@njit
def mean_and_variance(c, x):
    """Batch normalisation: means, differences, squares and a square root."""
    total = 0.0
    for i in range(c.shape[0]):
        m = c[i]
        mean = np.mean(m)
        spread = np.mean((m - mean) ** 2)
        z = (m - mean) / np.sqrt(spread + x)
        total += np.sum(z * z * m) + math.log(spread)
    return total


@case(np.array([0.3, 1.7, -0.6]), np.array([[1.0, 0.5, 0.2], [0.3, -0.8, 1.1]]), 2)
@njit
def softmax_cross_entropy(x, weights, label):
    """Logits by a product, the greatest for safety, exponentials, and the logarithm of their sum."""
    logits = np.zeros(3)
    logits[:2] = weights @ x
    logits[2] = x[1]
    top = logits.max()
    return top + math.log(np.sum(np.exp(logits - top))) - logits[label]
