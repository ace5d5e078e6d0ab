"""Branches that the types of the arguments decide, and types that only a called function names."""

from collections import namedtuple

import numpy as np
from numba import njit
from support.case import case

Spring = namedtuple("Spring", "stiffness length")
Chain = namedtuple("Chain", "spring mass")
WITH_TAIL = False
A = np.array([0.5, -1.2, 0.8])
M = np.array([[0.5, -1.2], [0.8, 0.3]])


@case(0.7)
@case(0.7, A)
@case(0.7, A, A * 2.0)
@njit
def optional_arguments(x, w=None, z=None):
    s = x * x
    if w is not None and w.ndim == 1:
        s += x * w[0]
    if w is None or z is None:
        s *= 2.0
    elif x > 0.0 and z is not None and z[1] < 5.0:
        s += z[1] * w[1]
    if not (z is None):  # noqa: E714 - the form matters
        for k in range(2):
            s += z[k]
    if x < 0.0 or w is None or w[2] > 50.0:
        return s
    return s * w[2] + (z[0] if z is not None else x)


@case(A, A * 3.0)
@case(M, M * 3.0)
@njit
def numbers_of_axes(x, y):
    if x.ndim == 1 and y.ndim == 1:
        return x[0] * y[1]
    elif x.ndim == 2:
        s = 0.0
        for i in range(len(x)):
            s += x[i, 0] * y[i, 1]
        return s
    return 0.0


@case((0.3, 0.4), 0.5)
@case((0.3, 0.4, 0.6), 0.5)
@njit
def lengths_of_tuples(t, x, scale=2.0):
    s = t[0] * t[1] if len(t) == 2 else t[2] * x
    if WITH_TAIL and len(t) > 2:
        s += t[7]
    return s * scale


@case(0.7)
@case(0.7, A)
@njit
def arguments_that_are_bound_again(x, w=None):
    w = np.ones(3) * x if w is None else w * 2.0
    for _ in range(2):
        if w is not None:
            w = w * x
    return w[0] + w[1] * w[2]


@njit
def spring_of(x):
    return Spring(x * 2.0, x * x)


@njit
def chain_of(x, m):
    return Chain(spring_of(x * m), m)


@case(0.7, 0.4)
@njit
def named_tuples_of_called_functions(x, m):
    """Nothing here names their classes."""
    c = chain_of(x, m)
    s, n = c.spring, spring_of(c.mass)
    return s.stiffness * s.length * c.mass + n.length * n.stiffness, s


@case(A, M, 1, 0.4)
@njit
def ellipses_that_stand_for_no_axis(a, m, k, x):
    out = np.zeros(3)
    out[..., k] = x
    out[0, ...] += a[..., k] * x
    m[..., k, 0] = x * out[0]
    m[0, ..., k] *= x
    m[..., k] += a[:2]
    return np.sum(out * a) + np.sum(m * m)
