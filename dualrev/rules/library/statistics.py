"""Averages, covariances, what leaves NaN out, and interpolation."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "corrcoef_of_two",
    "cov",
    "cov_of_two",
    "interp",
    "interp_each",
    "mean",
    "nan_to_num",
    "nan_to_num_of_number",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
]


@inner
def ptp(a):
    """np.ptp of all elements."""
    return np.max(a) - np.min(a)


# Without NaN


@inner
def nansum(a):
    """np.nansum of a vector."""
    total = np.zeros(1, a.dtype)
    for x in a:
        if not np.isnan(x):
            total[0] += x
    return total[0]


@inner
def nanprod(a):
    """np.nanprod of a vector."""
    total = np.ones(1, a.dtype)
    for x in a:
        if not np.isnan(x):
            total[0] *= x
    return total[0]


@inner
def nancumsum(a):
    """np.nancumsum of a vector."""
    sums = np.empty(len(a), a.dtype)
    total = np.zeros(1, a.dtype)
    for i in range(len(a)):
        if not np.isnan(a[i]):
            total[0] += a[i]
        sums[i] = total[0]
    return sums


@inner
def nancumprod(a):
    """np.nancumprod of a vector."""
    products = np.empty(len(a), a.dtype)
    total = np.ones(1, a.dtype)
    for i in range(len(a)):
        if not np.isnan(a[i]):
            total[0] *= a[i]
        products[i] = total[0]
    return products


@inner(error_model="numpy")
def nanmean(a):
    """np.nanmean of a vector."""
    total = 0.0
    count = 0
    for x in a:
        if not np.isnan(x):
            total += x
            count += 1
    return total / count


@inner(error_model="numpy")
def nanvar(a):
    """np.nanvar of a vector."""
    mean = nanmean(a)
    total = 0.0
    count = 0
    for x in a:
        if not np.isnan(x):
            total += (x - mean) * (x - mean)
            count += 1
    return total / count if count > 0 else np.nan


@inner
def nanstd(a):
    """np.nanstd of a vector; of one number it is 0 whatever that is, and no root, whose slope at 0 is infinite."""
    kept = a[~np.isnan(a)]
    if len(kept) == 1:
        return (kept[0] - kept[0]) * 1.0
    return nanvar(kept) ** 0.5


@inner
def nanmax(a):
    """np.nanmax of a vector."""
    if len(a) == 0:
        raise ValueError("nanmax(): empty array")
    kept = a[~np.isnan(a)]
    return np.max(kept if len(kept) > 0 else a)


@inner
def nanmin(a):
    """np.nanmin of a vector."""
    if len(a) == 0:
        raise ValueError("nanmin(): empty array")
    kept = a[~np.isnan(a)]
    return np.min(kept if len(kept) > 0 else a)


@inner
def nan_to_num(a, nan, high):
    """np.nan_to_num of a vector, whose largest finite number is `high`."""
    made = np.empty(len(a), a.dtype)
    for i in range(len(a)):
        if np.isnan(a[i]):
            made[i] = nan
        elif np.isinf(a[i]):
            made[i] = high if a[i] > 0 else -high
        else:
            made[i] = a[i]
    return made


@inner
def nan_to_num_of_number(x, nan, high):
    """np.nan_to_num of a number, in the precision of the number."""
    return nan_to_num(np.full(1, x), nan, high)[0]


# Averages and covariances


@inner
def mean(a):
    """np.average without weights."""
    return np.mean(a)


@inner
def average(a, weights):
    """np.average with weights."""
    total = np.sum(weights)
    if total == 0.0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized.")
    return np.sum(a * weights) / total


@inner(error_model="numpy")
def cov(m, bias, ddof):
    """np.cov of the rows of a matrix; numba takes two or more rows."""
    k, n = m.shape
    if k == 1:
        raise RuntimeError("2D array containing a single row is unsupported, pass the row as a 1D array, i.e. m[0].")
    means = np.empty(k)
    for i in range(k):
        means[i] = np.sum(m[i]) / n
    factor = max(n - ddof, 0) * 1.0
    made = np.empty((k, k))
    if n == 1:  # one observation is its own mean, whatever it is: 0, or NaN, without a derivative
        for i in range(k):
            for j in range(k):
                made[i, j] = np.sign(m[i, 0] - m[i, 0]) * np.sign(m[j, 0] - m[j, 0]) / factor
        return made
    for i in range(k):
        for j in range(i + 1):
            total = 0.0
            for p in range(n):
                total += (m[i, p] - means[i]) * (m[j, p] - means[j])
            made[i, j] = total / factor
            made[j, i] = total / factor
    return made


@inner
def _rows(x, y):
    """Two vectors as the rows of a matrix."""
    if len(x) != len(y):
        raise ValueError("m and y have incompatible dimensions")
    return np.stack((x, y))


@inner
def cov_of_two(x, y, bias, ddof):
    """np.cov of two vectors."""
    return cov(_rows(x, y), bias, ddof)


@inner(error_model="numpy")
def corrcoef(m):
    """np.corrcoef of the rows of a matrix."""
    c = cov(m, False, 1)
    k = len(c)
    made = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            r = c[i, j] / math.sqrt(c[i, i]) / math.sqrt(c[j, j]) if i != j else c[i, i] / c[i, i]
            made[i, j] = np.sign(r) if abs(r) > 1.0 else r
    return made


@inner
def corrcoef_of_two(x, y):
    """np.corrcoef of two vectors."""
    return corrcoef(_rows(x, y))


@inner
def bincount(a, weights, minlength):
    """np.bincount with weights."""
    if len(a) != len(weights):
        raise ValueError("bincount(): weights and list don't have the same length")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    size = minlength
    for k in a:
        if k < 0:
            raise ValueError("bincount(): first argument must be non-negative")
        size = max(size, k + 1)
    made = np.zeros(size)
    for i in range(len(a)):
        made[a[i]] += weights[i]
    return made


# Interpolation


@inner
def _check_knots(xp, fp):
    """Raise what numba raises."""
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same size.")


@inner
def interp(x, xp, fp):
    """np.interp of a number: the slope is that of the piece to its right; outside 0; at NaN that of the last piece."""
    _check_knots(xp, fp)
    n = len(xp)
    narrow = xp[n - 2] == xp[n - 1]  # the last piece may have no width: n is 1, or knots coincide
    if narrow and np.isnan(x):
        return fp[n - 1] * (1.0 + 0.0 * x)
    if x > xp[n - 1] or (narrow and x == xp[n - 1]):
        return fp[n - 1] * 1.0
    if x < xp[0]:
        return fp[0] * 1.0
    j = min(np.searchsorted(xp, x, side="right") - 1, n - 2)
    return (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]) * (x - xp[j]) + fp[j]


@inner
def interp_each(x, xp, fp):
    """np.interp of a vector."""
    _check_knots(xp, fp)
    made = np.empty(len(x))
    for i in range(len(x)):
        made[i] = interp(x[i], xp, fp)
    return made
