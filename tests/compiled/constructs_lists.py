"""Lists of numbers: comprehensions, displays, and arrays of them."""

import math

import numpy as np
from numba import njit

from compiled.case import case, raises

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])


@case(A, 0.7)
@njit
def comprehensions(a, x):
    """Over arrays, ranges and enumerate, with conditions; a name of its own for the variable; sums and arrays."""
    k = 2
    ys = [x * k + math.sin(x) for k, x in enumerate(a)]
    zs = [y * x for y in ys if y > 0.0 if y < 5.0]
    s = ys[k] * zs[-1] + sum(zs) * len(ys)
    b = np.array([a[i] * a[i - 1] for i in range(1, len(a))])
    c = np.asarray([u for u in a if u > 100.0])
    for y, w in zip(ys, b):  # noqa: B905 - numba has no strict
        s += y * w * x
    return s + np.sum(b * b) + len(c) * x


@case(A, 1)
@njit
def lists_that_change(a, k):
    """Two names for one list; [x] * n; lists of ints as indices; a list in a loop."""
    ys = [a[0], 2.0, a[1] * a[2]]
    other = ys
    other[0] *= a[3]
    sums = [0.0] * len(a)
    places = [0, 2, k]
    for i in places:
        sums[i] += a[i] * ys[0]
        parts = [a[i] * u for u in ys]
        sums[i] = sums[i] + parts[1] * parts[k]
    return ys[0] * ys[2] + sum(sums) + sums[places[-1]]


@raises(IndexError, A, 3)
@njit
def an_index_behind_a_list(a, k):
    ys = [a[0], a[1], a[2]]
    a[0] = 5.0
    return ys[k]
