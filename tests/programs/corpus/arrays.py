"""Everyday numpy: broadcasting, reductions, indices, shapes, linear algebra."""

import numpy as np

from programs.corpus.case import case

X = np.array([[1.5, 0.5, 0.9, 1.0], [0.6, 1.1, 2.4, 1.2], [0.3, 1.6, 0.8, 1.0]])
Y = np.array([[1.3, -0.3, 0.6, -1.5], [-0.8, 0.5, 2.0, -0.2], [0.3, -1.4, 0.75, -0.7]])
M = np.array([[3.0, 0.5, -0.2], [0.4, 2.0, 0.7], [0.1, -0.6, 1.5]])
V = np.array([0.5, -1.2, 0.8])


@case(X, V)
def broadcasting(x, v):
    """A column against a matrix, and a row against it."""
    return (x * v[:, None] + x[0] / (1 + x[:, 1:2] ** 2)).sum(axis=0)


@case(Y, 0.3)
def where_and_clip(y, slope):
    """A leaky rectifier by where, and a clip."""
    return np.where(y > 0, y, slope * y).sum() + np.clip(y, -1.1, 0.9).mean() * slope


@case(X, Y)
def concatenate_and_stack(x, y):
    """Arrays joined along old and new axes."""
    joined = np.concatenate([x, y[:1], x[:2] * y[:2]])
    stacked = np.stack([x, y, x + y], axis=-1)
    return joined[::2].sum(axis=1), stacked.prod(axis=-1)[1]


@case(V, 0.7)
def cumulative_sums(v, x):
    """cumsum and diff, one after the other."""
    c = np.cumsum(v**2 + x)
    return np.diff(c * v) @ c[1:]


@case(X, Y, V)
def einsum_contractions(x, y, v):
    """Three einsums: a bilinear form, a trace of products, and an outer product."""
    bilinear = np.einsum("i,ij,kj->k", v, x, y)
    return bilinear + np.einsum("ij,ij->i", x, y) + np.einsum("i,j->ij", v, bilinear).sum(axis=1)


@case(np.array([[[2.0, 0.1], [0.3, 1.8], [0.2, 0.4]], [[0.1, 0.9], [0.4, 0.2], [4.0, 0.3]]]), M)
def tensordot_and_matmul(t, m):
    """A contraction of a tensor with a matrix, and a batch of products."""
    contracted = np.tensordot(m, t, axes=([1], [1]))
    return contracted.sum(axis=(0, 2)), (m @ t).max(axis=1)


@case(M, V)
def norms(m, v):
    """Norms of vectors and matrices."""
    return np.linalg.norm(v) + np.linalg.norm(m) * np.linalg.norm(m @ v, ord=1) + np.linalg.norm(m, axis=1).sum()


@case(M, V)
def solve_twice(m, v):
    """A linear system with a vector, and with a matrix on the right."""
    x = np.linalg.solve(m, v)
    return x @ x, np.linalg.solve(m.T, np.outer(v, x))


@case(M)
def inverse_and_determinant(m):
    """An adjugate: the inverse times the determinant."""
    return np.linalg.inv(m) * np.linalg.det(m)


@case(M)
def slogdet_of_a_product(m):
    """The logarithm of a determinant."""
    sign, logarithm = np.linalg.slogdet(m @ m.T + np.eye(3))
    return sign * logarithm


@case(M, V)
def cholesky_and_quadratic_form(m, v):
    """A covariance from a factor, its Cholesky factor, and a whitened vector."""
    factor = np.linalg.cholesky(m @ m.T)
    return np.linalg.solve(factor, v)


@case(np.stack([M, M.T + np.eye(3), 2 * M]), np.stack([V, V + 1, -V]))
def batches_of_systems(ms, vs):
    """Linear algebra on a stack of matrices."""
    xs = np.linalg.solve(ms, vs[..., None])[..., 0]
    return (xs * vs).sum(axis=-1) + np.linalg.det(ms)


@case(V, np.array([[1.0, 0.3], [0.2, 0.8]]))
def outer_and_kron(v, m):
    """Outer and Kronecker products."""
    return np.kron(m, np.outer(v, v)[:2, :2])[1:3].sum(axis=0)


@case(M, V)
def diagonals_and_triangles(m, v):
    """diag in both directions, triu, tril and trace."""
    rebuilt = np.triu(m, 1) @ np.diag(v) + np.tril(m) * np.diag(m)
    return rebuilt @ v + np.trace(m @ m)


@case(Y)
def roll_pad_tile_repeat(y):
    """Shifts and copies."""
    shifted = np.roll(y, 1, axis=1) * y
    padded = np.pad(shifted, ((0, 0), (1, 2)))
    return np.tile(padded[0], 2)[3:9] @ np.repeat(y[1], 2)[:6] + padded[:, 2].sum()


@case(0.4, 1.1, [0.2, 0.7])
def array_of_computed_numbers(x, y, zs):
    """np.array of numbers that were computed one by one: a rotation matrix, and a vector."""
    rotation = np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]])
    corner = np.array([x * y, y + zs[0]])
    return rotation @ corner * np.array([z**2 for z in zs])


@case(Y)
def boolean_masks(y):
    """Selection by a mask, and counts of it."""
    mask = (y > -0.5) & (y < 1.0)
    chosen = y[mask]
    return (chosen**3).sum() / mask.sum() + y[~mask].max()


@case(X, np.array([2, 0, 0, 1]))
def take_and_fancy_indices(x, places):
    """Entries taken by arrays of places, some of them twice."""
    return x.take(places, axis=0).sum(axis=0) * x[places, [0, 1, 2, 3]] + np.take(x, places[:2], axis=1)[0].sum()


@case(np.array([2.0, 0.5, 1.2, 3.3, 0.9]))
def sorted_weights(v):
    """Sorting, and the order as integers."""
    ranks = np.argsort(np.argsort(v))
    return np.sort(v) @ np.arange(5.0) + (v**2 * ranks).sum()


@case(np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0, 2.5]), np.array([0.5, 1.4, 3.2]))
def piecewise_linear(knots, values, xs):
    """Interpolation between points that searchsorted-like comparisons find."""
    i = (xs[:, None] > knots[1:-1]).sum(axis=1)
    t = (xs - knots[i]) / (knots[i + 1] - knots[i])
    return (1 - t) * values[i] + t * values[i + 1]


@case(np.array([0.2, 0.9, 1.4]), np.array([-0.5, 0.7]), 1.3)
def function_on_a_grid(xs, ys, k):
    """A function of two variables on a grid of columns and rows."""
    z = np.sin(k * xs[:, np.newaxis]) * np.exp(-(ys[np.newaxis, :] ** 2)) + xs[:, None] * ys
    return z.mean(axis=1)


@case(Y)
def standardize(y):
    """Mean, standard deviation and variance along an axis."""
    z = (y - y.mean(axis=0)) / y.std(axis=0)
    return (z**3).sum(axis=0) + y.var(axis=0, ddof=1)


@case(X)
def extremes_and_products(x):
    """max, min and prod over axes, with kept dimensions."""
    span = x.max(axis=1, keepdims=True) - x.min(axis=1, keepdims=True)
    return (x / span).prod(axis=1), np.max(x) * np.min(x)


@case(np.array([0.0, 0.5, 1.2, 2.0]), np.array([1.0, 0.8, 0.3, 0.1]))
def trapezoids(x, y):
    """The trapezoid rule by slices, and the cumulated one."""
    pieces = (x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2
    return pieces.sum(), pieces.cumsum()


@case(X, Y)
def axes_moved_about(x, y):
    """transpose, swapaxes, reshape, ravel and expand_dims."""
    cube = np.expand_dims(x.T, 1) * y.reshape(4, 3)[:, :, None]
    return cube.swapaxes(0, 2).sum(axis=1).ravel()[::3] @ np.moveaxis(cube, 0, -1)[0, 1]


@case(X, 2.5)
def elementwise_functions(x, a):
    """A chain of functions, with powers on both sides."""
    y = np.log1p(x) * np.tanh(x - 1) + np.sqrt(x) ** a - np.arctan2(x, a) + a**x
    return np.hypot(y, np.exp(-x)).sum(axis=0) + np.square(x[0]) - np.abs(y[1])


@case(Y, X)
def pairwise_distances(x, y):
    """All distances between the rows of two matrices."""
    squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
    return np.exp(-squares / 2)


@case(V, np.array([0.3, 0.9, -0.4]))
def cross_and_convolve(u, v):
    """The cross product, dot, vdot and inner."""
    normal = np.cross(u, v)
    return normal * np.dot(u, v) + np.inner(u, normal + 1) * v - np.vdot(u, u)


@case(Y, 0.5)
def logsumexp_of_rows(y, temperature):
    """A softmax with a maximum that is taken out, and the entropy of its rows."""
    z = y / temperature
    z = z - z.max(axis=1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -(p * np.log(p)).sum(axis=1)


@case(X, Y)
def split_and_stack_again(x, y):
    """split, vstack, hstack, flip and column_stack."""
    left, right = np.split(x, 2, axis=1)
    wide = np.hstack([right, np.flip(left, axis=0), y[:, :1]])
    tall = np.vstack([left, y[:2, 1:3]])
    return wide.T @ tall[:3] + np.column_stack([x[0, :2], y[1, 2:]]).sum()
