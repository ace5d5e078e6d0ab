"""Functions of numpy as numba code: the compiler differentiates them as it does the user's own functions.

Each computes what numba's implementation computes, in the same order. functions.py calls them where an argument is a
real number that may be differentiated.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["arange", "cumsum", "divmod_of", "linspace", "std", "var"]


@njit
def arange(start, stop, step):  # type: ignore[no-untyped-def]
    """np.arange of numbers one of which is a float."""
    if step == 0:
        raise ValueError("Maximum allowed size exceeded")
    a = np.empty(max(math.ceil((stop - start) / step), 0))
    for i in range(len(a)):
        a[i] = start + i * step
    return a


@njit
def linspace(start, stop, num):  # type: ignore[no-untyped-def]
    """np.linspace; the last element is `stop` exactly."""
    a = np.empty(num)
    first, last = start * 1.0, stop * 1.0
    if num > 1:
        step = (last - first) / (num - 1)
        for i in range(num - 1):
            a[i] = first + i * step
        a[num - 1] = last
    elif num == 1:
        a[0] = first
    return a


@njit
def cumsum(a):  # type: ignore[no-untyped-def]
    """np.cumsum of a vector."""
    sums = np.empty(len(a), a.dtype)
    for i in range(len(a)):
        if i == 0:
            sums[i] = a[i]
        else:
            sums[i] = sums[i - 1] + a[i]
    return sums


@njit
def var(a):  # type: ignore[no-untyped-def]
    """np.var of all elements."""
    mean = np.mean(a)
    total = 0.0
    for x in a.flat:
        total += (x - mean) * (x - mean)
    return total / a.size


@njit
def std(a):  # type: ignore[no-untyped-def]
    """np.std of all elements; of one element it is 0 whatever that is, and no root, whose slope at 0 is infinite."""
    if a.size == 1:
        return np.mean(a) - np.mean(a)
    return var(a) ** 0.5


@njit
def divmod_of(a, b):  # type: ignore[no-untyped-def]
    """Python's divmod, which raises what % raises."""
    remainder = a % b
    return a // b, remainder
