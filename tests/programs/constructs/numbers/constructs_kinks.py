"""Where functions have no derivative, and where numbers are not finite: docs/conventions.md.

The reference is the eager tape. `zero_cotangents` is rule 3: a known zero takes no part.
"""

import math

import numpy as np
from numba import njit
from support.case import case


@case(1.5, 1.5, 1.5, smooth=False, each=True)
@case(-2.0, 2.0, -2.0, smooth=False, each=True)
@njit
def ties(x, y, z):
    """Python's max and min give the first of those that tie, numpy's maximum shares."""
    return (
        (max(x, y), min(x, y), max(x, y, z), min(y, x, z), max(z, y, x), min(3.0 * x, 2.0 * y, z)),
        (np.maximum(x, y), np.minimum(x, z), max(x, x * x - 0.75), max(abs(x), abs(y))),
    )


@case(np.array([1.0, 3.0, 3.0]), smooth=False, each=True)
@case(np.array([2.0, 2.0, 2.0]), smooth=False, each=True)
@njit
def ties_of_arrays(a):
    """np.max shares among all that tie, a loop keeps the first."""
    best = a[0]
    for x in a:
        best = max(best, x)
    return np.max(a), a.min(), np.maximum(a, 3.0), best, np.max(a * a)


@case(0.0, 2.0, smooth=False, each=True)
@case(0.0, 0.0, smooth=False, each=True)
@case(2.0, 1.0, smooth=False, each=True)
@njit
def edges(x, y):
    """At zero and at whole numbers: slopes that are 0, as the table has them."""
    return (
        (abs(x), np.sign(x) * 3.0, x**y, x**0, x**2, x**1, np.floor(x), np.ceil(x), np.rint(x)),
        (math.atan2(x, y + 1.0), math.copysign(x, 1.0), x % (y + 1.0), x // 2.0, round(x) * 1.0),
    )


@case(0.0, smooth=False, each=True)
@case(4.0, smooth=False, each=True)
@njit
def infinite_slopes(x):
    return math.sqrt(x), np.sqrt(x), x**0.5, np.hypot(x, 0.0), np.cbrt(x)


@case(0.0, smooth=False)
@njit
def an_infinite_slope(x):
    return math.sqrt(x) * 2.0


@case(-1.5, 3.0, smooth=False, each=True)
@njit
def a_negative_base(x, n):
    """By the base as ever, by the exponent NaN."""
    return x**n, math.pow(x, n), np.power(x, n)


@case(np.array([0.0, 4.0]), smooth=False)
@njit
def zero_cotangents(x):
    """sqrt has an infinite slope at 0; its value there is stored, and neither read nor summed."""
    root = np.zeros(2)
    for i in range(2):
        root[i] = math.sqrt(x[i])
    unused = math.sqrt(x[0])
    if x[1] > 100.0:
        return unused
    return root[1] * 3.0


@case(np.array([0.0, 4.0]), smooth=False)
@njit
def zero_cotangents_of_arrays(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


@case(0.0, smooth=False)
@njit
def zero_factors(x):
    """Rule 4: the result depends on the root, with the factor 0: NaN."""
    return math.sqrt(x) * math.sqrt(x)


@case(np.array([1.0, np.nan, 2.0]), np.array([np.inf, 3.0]), smooth=False)
@njit
def not_finite(a, b):
    """NaN and infinities go where they go in arithmetic, and nowhere else."""
    s = a[0] * 2.0 + math.exp(-b[0]) + max(a[2], a[0])
    for x in a:
        if not np.isnan(x):
            s += x * x
    return s + min(b[0], b[1])
