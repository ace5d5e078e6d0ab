"""Functions that numba compiles without njit: those of register_jitable and of vectorize."""

import math

import numpy as np
from numba import njit, vectorize
from numba.extending import register_jitable
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7]])


@register_jitable
def damped(x, rate=0.5):
    if x < 0.0:
        return rate * x
    return math.sin(x)


@register_jitable
def shifted(v, x):
    for k in range(len(v)):
        v[k] = damped(v[k], x) + x
    return v[1:]


@case(0.7, A)
@njit
def registered_functions(x, a):
    """Calls of functions of numbers and arrays that change their arguments; one function calls the other."""
    b = shifted(a, x)
    b[0] *= x
    return damped(x) * damped(a[1], rate=x) + np.sum(a * a)


@vectorize
def kinked(x, k):
    if x > 0.0:
        return x * x * k
    return k - x


@vectorize(["float64(float64, float64)"])
def swing(x, y):
    return math.exp(-x) * y


@case(0.7, A, M)
@njit
def ufuncs_of_vectorize(x, a, m):
    """Their kernels are differentiated: of numbers, arrays, both, ints where floats are declared; broadcast."""
    s = kinked(x, 2.0) * swing(x, 3)
    b = kinked(a, x)
    m = swing(m.T, m[:, 0])
    a[0] = s
    return np.sum(b * a) + np.sum(m * m)
