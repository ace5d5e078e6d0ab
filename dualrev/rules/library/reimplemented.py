"""Functions that numba compiles from definitions of its own, defined once more: these can be differentiated.

`STAND_INS` tells which function each of them stands for. They are called as the user's numba functions are.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import vectorize
from numba.np import extensions
from numpy.polynomial import polynomial

from dualrev.rules.library.njit_internal import inner

__all__ = ["cross2d", "fmax", "fmin", "histogram", "ldexp", "logaddexp2", "polyadd", "polymul", "polysub", "polyval"]


@inner
def cross2d(a, b):
    """numba.np.extensions.cross2d of vectors."""
    if a.shape[-1] != 2 or b.shape[-1] != 2:
        raise ValueError("Incompatible dimensions for 2D cross product\n(dimension must be 2 for both inputs)")
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


@inner
def histogram(a, bins=10, range=None):
    """np.histogram of bins of the same width: counts, and the edges of the bins."""
    if range is None:
        return _histogram(a, bins, _end(a, 1.0), _end(a, -1.0))
    return _histogram(a, bins, range[0], range[1])


@inner
def _end(a, sign):
    """The least element of an array, or the greatest."""
    end = sign * np.inf
    for x in a.flat:
        if sign * x < sign * end:
            end = x
    return end


@inner
def _histogram(a, bins, low, high):
    """Between bins of the same width."""
    if bins <= 0:
        raise ValueError("histogram(): `bins` should be a positive integer")
    if not low <= high:
        raise ValueError("histogram(): max must be larger than min in range parameter")
    counts = np.zeros(bins, np.intp)
    if high > low:
        ratio = bins / (high - low)
        for x in a.flat:
            b = math.floor((x - low) * ratio)
            if 0 <= b < bins:
                counts[int(b)] += 1
            elif x == high:
                counts[bins - 1] += 1
    return counts, np.linspace(low, high, bins + 1)


@inner
def _trimmed(c):
    """A series without the zeros at its end, but for the first element."""
    n = len(c)
    while n > 1 and c[n - 1] == 0:
        n -= 1
    return c[:n]


@inner
def _sum(a, b, sign):
    a, b = _trimmed(a), _trimmed(b)
    made = np.zeros(max(len(a), len(b)))
    made[: len(a)] += a
    for i in range(len(b)):
        made[i] += sign * b[i]
    return _trimmed(made)


@inner
def polyadd(c1, c2):
    """np.polynomial.polynomial.polyadd of vectors."""
    return _sum(c1, c2, 1.0)


@inner
def polysub(c1, c2):
    """np.polynomial.polynomial.polysub of vectors."""
    return _sum(c1, c2, -1.0)


@inner
def polymul(c1, c2):
    """np.polynomial.polynomial.polymul of vectors."""
    return _trimmed(np.convolve(_trimmed(c1), _trimmed(c2)))


@inner
def polyval(x, c):
    """np.polynomial.polynomial.polyval of a vector of coefficients."""
    y = c[-1] + x * 0
    for i in range(2, len(c) + 1):
        y = c[-i] + y * x
    return y


@vectorize
def fmax(a, b):
    """np.fmax: the number, where the other is NaN."""
    if a != a:
        return b
    if b != b:
        return a
    return np.maximum(a, b)


@vectorize
def fmin(a, b):
    """np.fmin: the number, where the other is NaN."""
    if a != a:
        return b
    if b != b:
        return a
    return np.minimum(a, b)


@vectorize
def ldexp(x, n):
    """np.ldexp."""
    return math.ldexp(x, n)


@vectorize
def logaddexp2(a, b):
    """np.logaddexp2."""
    return np.logaddexp(a * math.log(2.0), b * math.log(2.0)) / math.log(2.0)


#: The functions that the definitions stand for, by identity, with their names.
STAND_INS: dict[int, tuple[Any, str]] = {
    id(f): (f, name)
    for f, name in [
        *((f, "cross2d") for f in [getattr(extensions, "cross2d", None)] if f),  # gone with numpy 2.5
        (np.histogram, "histogram"),
        *((getattr(np, name), name) for name in ("fmax", "fmin", "ldexp", "logaddexp2")),
        *((getattr(polynomial, name), name) for name in ("polyadd", "polysub", "polymul", "polyval")),
    ]
}
