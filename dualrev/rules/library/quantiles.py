"""Medians and quantiles: of sorted numbers, as numba computes them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanpercentiles",
    "nanquantile",
    "nanquantiles",
    "percentile",
    "percentiles",
    "quantile",
    "quantiles",
]


@inner
def median(a):
    """np.median of a vector: NaN counts as the largest number."""
    n = len(a)
    if n == 0:
        return np.nan
    s = np.sort(a)
    if n % 2 == 1:
        return s[n // 2]
    return (s[n // 2 - 1] + s[n // 2]) / 2


@inner
def nanmedian(a):
    """np.nanmedian of a vector."""
    return median(a[~np.isnan(a)])


# Quantiles


@inner
def _the_nan(a):
    """The last element that is NaN: the quantile is that, as the median is."""
    found = a[0]
    for x in a:
        if np.isnan(x):
            found = x
    return found * 1.0


@inner
def _undefined(a):
    """NaN where infinite elements leave no quantile; so are its derivatives."""
    return np.nan * np.sum(a)


@inner
def _lowest(s):
    """Whether numba makes NaN of the 0th percentile of these sorted numbers."""
    high = low = 0
    for x in s:
        if x == np.inf:
            high += 1
        if x == -np.inf:
            low += 1
    finite = len(s) - high - low
    if high + low == 0:
        return False
    return finite == 0 or (high == 1 and len(s) == 2) or low > 1 or (finite == 1 and high > 1 and low != 1)


@inner
def _at(s, q):
    """The q-th percentile of sorted numbers."""
    n = len(s)
    if n == 1:
        return s[0] * 1.0
    if q == 100:
        return s[n - 1] * 1.0 if np.isfinite(s[n - 1]) and np.isfinite(s[0]) else _last(s)
    if q == 0:
        return _undefined(s) if _lowest(s) else s[0] * 1.0
    rank = 1 + (n - 1) * (q / 100.0)
    f = math.floor(rank)
    m = rank - f
    k = int(f) - 1
    upper = s[k + 1] if k + 1 < n else s[k]
    return s[k] * (1 - m) + upper * m


@inner
def _last(s):
    """100th percentile of sorted numbers that may be infinite."""
    x = s[len(s) - 1] * 1.0
    return x if np.isfinite(x) else _undefined(s)


@inner
def _percentile(a, q):
    """Percentile of a vector without NaN."""
    if len(a) == 0 or (len(a) == 1 and not np.isfinite(a[0])):
        return _undefined(a)
    return _at(np.sort(a), q)


@inner
def _percentiles(a, q, factor):
    found = np.empty(len(q))
    if len(a) == 0 or (len(a) == 1 and not np.isfinite(a[0])):
        found[:] = _undefined(a)
        return found
    s = np.sort(a)
    for i in range(len(q)):
        found[i] = _at(s, q[i] * factor)
    return found


@inner
def _check_elements(a, q):
    """Raise what numba raises at the percentage q of a vector without elements."""
    if len(a) == 0:
        if q == 0:
            raise ValueError("zero-size array to reduction operation minimum which has no identity")
        if q == 100:
            raise ValueError("zero-size array to reduction operation maximum which has no identity")
        raise AssertionError()


@inner
def _check(q, top):
    """Raise what numba raises."""
    if not 0 <= q <= top:
        if top == 100.0:
            raise ValueError("Percentiles must be in the range [0, 100]")
        raise ValueError("Quantiles must be in the range [0, 1]")


@inner
def percentile(a, q):
    """np.percentile of a vector."""
    _check(q, 100.0)
    _check_elements(a, q)
    return _the_nan(a) if np.any(np.isnan(a)) else _percentile(a, q)


@inner
def percentiles(a, q):
    """The same, for a vector of percentages."""
    for x in q:
        _check(x, 100.0)
    for x in q:
        _check_elements(a, x)
    return np.full(len(q), _the_nan(a)) if np.any(np.isnan(a)) else _percentiles(a, q, 1.0)


@inner
def quantile(a, q):
    """np.quantile of a vector."""
    _check(q, 1.0)
    _check_elements(a, q * 100.0)
    return _the_nan(a) if np.any(np.isnan(a)) else _percentile(a, q * 100.0)


@inner
def quantiles(a, q):
    """The same, for a vector of shares."""
    for x in q:
        _check(x, 1.0)
    for x in q:
        _check_elements(a, x * 100.0)
    return np.full(len(q), _the_nan(a)) if np.any(np.isnan(a)) else _percentiles(a, q, 100.0)


@inner
def nanpercentile(a, q):
    """np.nanpercentile of a vector."""
    _check(q, 100.0)
    return _percentile(a[~np.isnan(a)], q)


@inner
def nanpercentiles(a, q):
    """The same, for a vector of percentages."""
    for x in q:
        _check(x, 100.0)
    return _percentiles(a[~np.isnan(a)], q, 1.0)


@inner
def nanquantile(a, q):
    """np.nanquantile of a vector."""
    _check(q, 1.0)
    return _percentile(a[~np.isnan(a)], q * 100.0)


@inner
def nanquantiles(a, q):
    """The same, for a vector of shares."""
    for x in q:
        _check(x, 1.0)
    return _percentiles(a[~np.isnan(a)], q, 100.0)
