"""Functions that raise: the gradient's call raises the same, and leaves arrays as the function leaves them."""

import math

import numpy as np
from numba import njit
from support.case import case, raises

A = np.array([0.5, 1.2, 0.8])


class ConvergenceError(ValueError):
    pass


@case(A, 0.1)
@raises(AssertionError, A, 5.0)
@raises(AssertionError, A[:1].copy(), 0.1)
@njit
def an_assertion(a, low):
    """With and without a message, after a write."""
    assert len(a) > 1
    a[0] *= 2.0
    for x in a:
        assert x > low, "an element is too small"
    return a[0] * a[1]


@case(2.0, 1e-12, argnums=(0,))
@raises(ConvergenceError, 2.0, -1.0)
@raises(ValueError, -2.0, 1e-12)
@njit
def an_iteration_that_may_fail(x, tolerance):
    """raise in a branch, and at the end of a loop that found nothing."""
    if x < 0.0:
        raise ValueError("a root of a negative number", 3)
    y = x
    for _ in range(20):
        y = 0.5 * (y + x / y)
        if abs(y * y - x) < tolerance:
            return y
    raise ConvergenceError


@njit
def checked(a, i):
    a[i] += 1.0
    if a[i] > 2.0:
        raise IndexError("too far")
    return a[i] * a[i]


@case(A, 1)
@raises(IndexError, A, 6)
@njit
def an_error_in_a_callee(a, n):
    s = 0.0
    for k in range(n):
        s += checked(a, k % 3)
        a[0] = a[0] * 1.1
    return s


@case(A, 0.5)
@raises(ZeroDivisionError, A, 0.0)
@njit
def a_division_by_zero(a, x):
    a[1] = 7.0
    y = 1.0 / x
    return a[0] * y + math.sin(x)


@case(A, 2)
@raises(IndexError, A, 9)
@njit(boundscheck=True)
def an_index_out_of_bounds(a, k):
    a[0] *= a[1]
    s = 0.0
    for i in range(k):
        s += a[i] * a[i]
        a[i] = s
    return s
