"""np.linalg.norm and np.linalg.cond: of elements by loops, of singular values by svd (factors.py)."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    *["cond", "cond_columns", "cond_least", "cond_rows"],
    *["norm", "norm_1", "norm_columns", "norm_inf", "norm_least", "norm_of_order", "norm_rows", "norm_spectral"],
]


@inner
def norm(a):
    """np.linalg.norm of all elements; very large and very small ones are scaled by a power of 2.

    If elements are infinite, it is hypot of those, which has the limit.
    """
    size = 0.0
    for x in a.flat:
        size = max(size, abs(x))
    scale = 1.0
    if (size > 1e100 or 0.0 < size < 1e-100) and size < math.inf:
        scale = 2.0 ** np.floor(np.log2(size))
    total = np.zeros(1, a.dtype)
    for x in a.flat:
        total[0] += (x / scale) * (x / scale)
    if size == math.inf and not np.isnan(total[0]):
        limit = np.zeros(1, a.dtype)
        for x in a.flat:
            if abs(x) == math.inf:
                limit[0] = np.hypot(limit[0], x)
        return limit[0]
    return np.sqrt(total[0]) * scale


@inner
def norm_1(a):
    """The sum of absolute values."""
    return np.sum(np.abs(a))


@inner
def norm_inf(a, sign):
    """The largest absolute value, or the smallest one."""
    if a.size == 0:
        return 0.0
    return np.max(np.abs(a)) * 1.0 if sign > 0 else np.min(np.abs(a)) * 1.0


@inner
def norm_of_order(a, order):
    """np.linalg.norm of a vector, of any other order: of one without elements 0, as numba's."""
    if len(a) == 0:
        return 0.0
    if order == 0:
        return np.sum(a != 0.0) * 1.0
    total = 0.0
    for x in a:
        total += abs(x) ** order
    return total ** (1.0 / order)


@inner
def norm_columns(a, sign):
    """The largest or the smallest sum of the absolute values of a column."""
    return norm_inf(np.sum(np.abs(a), 0), sign)


@inner
def norm_rows(a, sign):
    """The same, of a row."""
    return norm_inf(np.sum(np.abs(a), 1), sign)


@inner
def norm_spectral(a):
    """The largest singular value."""
    return np.linalg.svd(a, False)[1][0] if a.size > 0 else 0.0


@inner
def norm_least(a):
    """The smallest singular value."""
    return np.linalg.svd(a, False)[1][-1] if a.size > 0 else 0.0


# Condition numbers; NaN, of 0 / 0 or of an infinity, is an infinite one


@inner(error_model="numpy")
def cond(a):
    """np.linalg.cond, by singular values."""
    s = np.linalg.svd(a, False)[1]
    made = s[0] / s[-1]
    return math.inf if np.isnan(made) else made


@inner(error_model="numpy")
def cond_least(a):
    """np.linalg.cond(a, -2)."""
    s = np.linalg.svd(a, False)[1]
    made = s[-1] / s[0]
    return math.inf if np.isnan(made) else made


@inner
def cond_columns(a, sign):
    """np.linalg.cond(a, 1), or (a, -1)."""
    made = norm_columns(a, sign) * norm_columns(np.linalg.inv(a), sign)
    return math.inf if np.isnan(made) else made


@inner
def cond_rows(a, sign):
    """np.linalg.cond(a, inf), or (a, -inf)."""
    made = norm_rows(a, sign) * norm_rows(np.linalg.inv(a), sign)
    return math.inf if np.isnan(made) else made
