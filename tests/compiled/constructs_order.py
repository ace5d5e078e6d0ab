"""The order in which things happen, and names: each of these has been, or might have been, a wrong gradient."""

import math

import numpy as np
from numba import njit

import dualrev as dr
from compiled.case import case

A = np.array([0.5, -1.2, 0.8, 2.0])
WEIGHTS = np.array([1.0, 2.0])


@njit
def touch(a):
    a[0] = a[0] * 3.0
    return a[1]


@case(A)
@njit
def a_callee_that_writes_an_operand(a):
    """The old element is read before the call; so are the operands at its left."""
    a[0] += touch(a)
    s = a[0] + touch(a) * a[0]
    a[1:3] *= touch(a)
    return s * a[0] * a[1]


@case(A, 0.7)
@njit
def expressions_of_names_that_are_bound_again(a, x):
    a, b = a * 2.0, a * 3.0 * x
    x, c = 2.0 * x, a * x
    s = 0.0
    for y in a:
        a = a * 1.5
        s += y * a[0]
    return np.sum(a * b) * x + np.sum(c) * s


@case(A, -3, 0.3)
@case(A, 2, 0.3)
@njit
def conditions_with_effects(a, n, x):
    """A chain ends with the first comparison that fails; a target that the condition reads."""
    s = a[3]
    if 0 <= n < touch(a) + 4.0:
        s = a[0] * a[n]
    ok = x > 0.1
    ok = touch(a) > 3.0 or ok
    y = touch(a) if ok else a[0]
    return a[0] * x * s + y * (1 if n > 0 else x)


@case(A)
@njit
def names_of_functions(a):
    """Variables that are called as functions are, and as the compiler's own variables."""
    max, sum, abs, len, k, d_a = a[0], 0.0, a[1], 4, 1.0, 2.0
    result, tape, trips, float = a[1], a[2], 3, 0.5
    for range_ in range(len):
        sum += a[range_] * abs
        if a[range_] > max:
            max = a[range_]
    while trips > 0:
        tape = math.sin(tape * result) + max
        trips -= 1
        if tape > 5.0:
            break
    return sum * max * k * d_a * float * tape


@case(A, 0.5)
@njit
def overlapping_assignments(a, x):
    """Assignments read before they write, as numpy's do; `a[1:] += a[:-1]` does not in numba, and is not compared."""
    a[1:] = a[:-1] * x
    a[:2] = a[2:]
    b = a
    b += x
    c = b * 2.0
    c -= b[::-1] * a
    a[:2], a[2:] = a[2:] * x, a[:2] * a[2:]
    return np.sum(a * a * c)


@njit
def three(a, b, c=2.0):
    return a * b + c


@njit
def weighted(a, b=WEIGHTS, scale=None):
    if scale is None:
        s = 2.0
    else:
        s = scale
    return a * b[1] * s


lifted = dr.lift(three)


@case((1.0, 2.0), 0.5)
@njit
def arguments_from_tuples(t, x):
    """* before tuples, in calls of all kinds; defaults that are arrays or None; a function that is lifted."""
    s = three(*t) * three(x, *t) + three(*t, x) + three(*(x, t[0])) + math.hypot(*t) + max(*t) * x + min(*t, x)
    return s + weighted(x) * weighted(x, scale=3.0) + lifted(x, t[1])


@case(A, 1)
@njit
def quotients_with_remainders(a, k):
    q, r = divmod(a[3], 0.7)
    i, j = divmod(7, k + 1)
    return q * r * a[0] + i * j * a[1]


@case((A, 0.5), 0.25)
@njit
def parameters_with_names_of_functions(min, _t):
    a, x = min
    return a[0] * x * _t
