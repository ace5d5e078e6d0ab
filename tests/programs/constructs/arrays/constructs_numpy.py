"""Functions of numpy that are written as loops by the compiler, arrays from literals, dtypes, and global data."""

import math

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7]])
POINT = (1.5, 2.0, -0.5)
NESTED = ((1, 2.5), (3, 0.5))
TABLE = np.array([0.3, 0.7])
PLACES = np.array([1, 0])


@case(0.3, 4)
@njit
def arrays_of_values(x, n):
    """np.array of a list, of a tuple and of nested lists; shapes, values and dtypes by keyword."""
    v, w, m = np.array([x, x * x, 2.0]), np.array((1, x)), np.array([[x, 1.0], [2.0, x * x]])
    counts = np.zeros(shape=n, dtype=np.int64)
    counts[1] = 3
    q, u = np.zeros(shape=(2, n)), np.full(n, x, dtype=np.float64)
    q[1] = x
    return v[0] * w[1] + np.sum(m @ v[:2]) + counts[1] * x + np.sum(q) * u[2]


@case(A, 0.3)
@njit
def statistics(a, x):
    s = np.var(a) + np.std(a) * x + a.var() + np.sum(np.outer(a, a[:2] * x)) + np.sum(np.cumsum(a) * a)
    return s + np.sum(np.clip(a, -0.9, x + 1.0)) + np.sum(np.diff(a) ** 2) + a.cumsum()[2] * np.argmax(a)


@case(A, 0.3)
@njit
def multiples_and_powers(a, x):
    """Functions that are a product or a quotient, of arrays and of numbers; arrays that are joined."""
    both = np.concatenate((a, a[1:] * x))
    s = np.sum(both * both) + np.sum(np.square(a)) + np.sum(np.reciprocal(a)) + np.sum(np.deg2rad(a) * np.degrees(a))
    return s + math.degrees(x) * math.radians(x) + np.square(x) + np.reciprocal(x) + math.ldexp(x, 3)


@case(M, 0.4)
@njit
def flat_elements(m, x):
    s = 0.0
    for y in m.flat:
        s = s * x + y * y
    for i, y in enumerate(m.T.flat):
        s += i * y
        m[0, 0] += 0.1 * y
    return s * m.flat[4]


@case(M, 0.4)
@njit
def whole_arrays(m, x):
    """[:], [...], a tuple as the right-hand side, arrays without axes, and the dtype of another array."""
    m[:] = m * x
    m[...] = m + 1.0
    m[:, 0] = (x, 2.0)
    z = np.zeros(())
    z[()] = x * x
    like = np.zeros(m.shape, m.dtype)
    like[0] = m[1]
    return np.sum(m * m) * np.sum(like) + z[()] * x + z.item() * len(m.shape)


@case(A, np.array([True, False, True, True, False]), 0.4)
@njit
def masks_as_data(a, flags, x):
    """Comparisons of arrays, arrays of bools with & and ~, their elements and their sums."""
    mask, others = a > x, ~flags
    s = 0.0
    for i in range(len(a)):
        if mask[i] and not others[i]:
            s += a[i] * x
    flags[1] = True
    return s * np.sum(flags) + np.sum(np.where(mask & flags, a * a, x * a)) * flags[1]


@case(0.5, 2)
@njit
def global_data(x, k):
    """Numbers, tuples and arrays of the module, in conditions too; constants of numpy; membership."""
    s = x
    if x < POINT[0] and k < NESTED[0][1]:
        s *= 2.0
    if TABLE[1] > x and x < np.inf and x != np.nan:
        s *= math.pi * np.e
    if k in (1, 2) and k not in (3, 4):
        s *= x
    places = (0, k, 5)
    if k in places:
        s += x
    (_, q), r = NESTED
    return s * TABLE[PLACES[0]] * q * r[0] + np.float64(3) * x * len(POINT) * sum(POINT)


@case(np.asfortranarray(M), M * 0.5)
@njit
def layouts_of_results(f, m):
    """Whatever is made of Fortran arrays has their layout, in numba; carried by a loop."""
    g, h, both = f * 2.0, f.copy(), m + f
    s = 0.0
    for _ in range(2):
        g = g * f
        h = np.exp(h)
        s += g[1, 0] * h[0, 1]
    return s + np.sum(both * np.sin(f))
