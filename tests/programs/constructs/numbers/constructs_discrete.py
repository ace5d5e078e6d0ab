"""Discrete functions, also of differentiated arrays, and computations with ints and bools: they stay unchanged."""

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])


@case(A)
@njit
def orders_and_places(a):
    """argsort, nonzero and the like, before and after the array changes: places in it are those of then."""
    order = np.argsort(a)
    s = 0.0
    for rank, k in enumerate(order):
        s += rank * a[k] ** 2
    positive = np.flatnonzero(a > 0.0)
    for k in positive:
        a[k] = a[k] * s
    order[0] = 2
    (places,) = np.nonzero(a > 1.0)
    for k in places:
        s += a[k] * a[order[0]]
    return s * a[order[3]]


@case(A, np.array([3, 1, 3, 0, 1]))
@njit
def functions_of_ints(a, k):
    """Functions of ints and bools: np.bincount, np.logical_and and np.logical_not."""
    s = 0.0
    counts = np.bincount(k)
    counts[1] += 1
    mask = np.logical_and(a > -1.0, np.logical_not(k == 0))
    mask[4] = False
    for j in range(len(a)):
        if mask[j]:
            s += a[j] * a[j] * counts[j % 4]
    return s


@case(A, A[::-1].copy())
@case(A, A, smooth=False)
@njit
def comparisons_of_arrays(a, b):
    """array_equal, any and all in conditions."""
    s = a[0] * b[0]
    if np.array_equal(a, b):
        s = s * a[1]
    if (a > 0.0).any() and not np.all(a > 0.0):
        s += np.sum(a * b)
    return s
