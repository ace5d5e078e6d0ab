"""Constructors of arrays of numbers, cumulative sums and products, variances."""

from __future__ import annotations

import math

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    "arange",
    "cumprod",
    "cumsum",
    "diff_of_order",
    "divmod_of",
    "geomspace",
    "grown",
    "lengthened",
    "linspace",
    "logspace",
    "std",
    "union1d",
    "vander",
    "vander_square",
    "var",
]


@inner
def arange(start, stop, step):  # type: ignore[no-untyped-def]
    """np.arange of numbers, at least one of them a float."""
    if step == 0:
        raise ValueError("Maximum allowed size exceeded")
    a = np.empty(max(math.ceil((stop - start) / step), 0))
    for i in range(len(a)):
        a[i] = start + i * step
    return a


@inner
def grown(a, n):  # type: ignore[no-untyped-def]
    """A larger array with the first n elements of a vector."""
    b = np.empty(2 * n + 4, a.dtype)
    for i in range(n):
        b[i] = a[i]
    return b


@inner
def lengthened(a, n):  # type: ignore[no-untyped-def]
    """A larger array with room for n elements, with the elements of a vector."""
    b = np.empty(2 * n + 4, a.dtype)
    for i in range(len(a)):
        b[i] = a[i]
    return b


@inner
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


@inner
def cumsum(a):  # type: ignore[no-untyped-def]
    """np.cumsum of a vector."""
    sums = np.empty(len(a), a.dtype)
    for i in range(len(a)):
        if i == 0:
            sums[i] = a[i]
        else:
            sums[i] = sums[i - 1] + a[i]
    return sums


@inner
def cumprod(a):  # type: ignore[no-untyped-def]
    """np.cumprod of a vector."""
    products = np.empty(len(a), a.dtype)
    for i in range(len(a)):
        if i == 0:
            products[i] = a[i]
        else:
            products[i] = products[i - 1] * a[i]
    return products


@inner
def logspace(start, stop, num):  # type: ignore[no-untyped-def]
    """np.logspace."""
    a = linspace(start, stop, num)
    for i in range(num):
        a[i] = 10.0 ** a[i]
    return a


@inner
def geomspace(start, stop, num):  # type: ignore[no-untyped-def]
    """np.geomspace of numbers of the same sign; the ends are exact."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    sign = np.sign(start * 1.0)
    first, last = start / sign, stop / sign
    a = logspace(np.log10(first), np.log10(last), num)
    if num > 0:
        a[0] = first
        if num > 1:
            a[num - 1] = last
    return a * sign


@inner
def diff_of_order(a, n):  # type: ignore[no-untyped-def]
    """np.diff of a vector, n times."""
    if n < 0:
        raise ValueError("diff(): order must be non-negative")
    work = a.copy()
    for k in range(n):
        for i in range(len(a) - k - 1):
            work[i] = work[i + 1] - work[i]
    return work[: max(len(a) - n, 0)]


@inner
def vander(x, n, increasing):  # type: ignore[no-untyped-def]
    """np.vander."""
    if n < 0:
        raise ValueError("Negative dimensions are not allowed")
    powers = np.empty((len(x), n))
    for i in range(len(x)):
        power = 1.0
        for k in range(n):
            if k > 0:  # the first power is x itself: 1 times an infinity has no derivative by the 1
                power = x[i] if k == 1 else power * x[i]
            powers[i, k if increasing else n - 1 - k] = power
    return powers


@inner
def union1d(a, b):  # type: ignore[no-untyped-def]
    """np.union1d of two vectors: of numbers that are equal, the first is taken."""
    return np.unique(np.concatenate((a, b)))


@inner
def var(a):  # type: ignore[no-untyped-def]
    """np.var of all elements."""
    mean = np.mean(a)
    total = 0.0
    for x in a.flat:
        total += (x - mean) * (x - mean)
    return total / a.size


@inner
def std(a):  # type: ignore[no-untyped-def]
    """np.std of all elements; of one element it is 0 whatever that is, and no root, whose slope at 0 is infinite."""
    if a.size == 1:
        return np.mean(a) - np.mean(a)
    return var(a) ** 0.5


@inner
def divmod_of(a, b):  # type: ignore[no-untyped-def]
    """Python's divmod, which raises what % raises."""
    remainder = a % b
    return a // b, remainder


@inner
def vander_square(x, increasing):  # type: ignore[no-untyped-def]
    """np.vander with as many columns as rows."""
    return vander(x, len(x), increasing)
