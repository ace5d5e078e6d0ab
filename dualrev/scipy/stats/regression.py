"""Correlation and linear regression of two samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special as sp
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import constants, is_plain, joined, without_duals

__all__ = ["linregress", "pearsonr"]


class _Correlation(NamedTuple):
    """Result of `pearsonr`."""

    statistic: Any
    pvalue: Any


def pearsonr(x: Any, y: Any, **kwargs: Any) -> Any:
    """Pearson's correlation of two samples, and the p-value for two sides.

    >>> round(float(pearsonr([1.0, 2.0, 4.0], [1.0, 3.0, 4.0]).statistic), 6)
    0.928571
    """
    if is_plain(x, y):
        return _stats.pearsonr(*without_duals((x, y)), **kwargs)
    if kwargs:
        raise UnsupportedError(f"scipy.stats.pearsonr with {', '.join(kwargs)}", "it with two vectors")
    found = _stats.pearsonr(*constants((x, y)))
    x, y = (real_array(u) - np.mean(real_array(u)) for u in (x, y))
    r = np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))
    made = r, _p_value(r, x.size)
    return _Correlation(*joined(made, (found.statistic, found.pvalue), _stats.pearsonr))


def _p_value(r: Any, n: int) -> Any:
    """Return the probability of a correlation of at least this size."""
    return 2.0 * sp.betaincc(n / 2.0 - 1.0, n / 2.0 - 1.0, 0.5 * (1.0 + np.abs(r))) if n > 2 else 1.0


class _Line(NamedTuple):
    """What `linregress` returns as a tuple."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class _Regression(_Line):
    """Result of `linregress`."""

    intercept_stderr: Any


def linregress(x: Any, y: Any, alternative: str = "two-sided") -> Any:
    """Line of least squares: slope, intercept, correlation, p-value and standard errors.

    >>> round(float(linregress([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]).slope), 6)
    2.0
    """
    if is_plain(x, y):
        return _stats.linregress(*without_duals((x, y)), alternative=alternative)
    if alternative != "two-sided":
        raise UnsupportedError(f"scipy.stats.linregress with alternative={alternative!r}", "it with two sides")
    found = _stats.linregress(*constants((x, y)))
    x, y = real_array(x), real_array(y)
    n, mean = x.size, np.mean(x)
    away, rest = x - mean, y - np.mean(y)
    square, other, both = np.mean(away * away), np.mean(rest * rest), np.mean(away * rest)
    slope, r = both / square, both / np.sqrt(square * other)
    error = np.sqrt((1.0 - r * r) * other / square / (n - 2.0)) if n > 2 else 0.0
    made = slope, np.mean(y) - slope * mean, r, _p_value(r, n), error, error * np.sqrt(square + mean * mean)
    *line, last = joined(made, tuple(map(float, (*found, found.intercept_stderr))), _stats.linregress)
    result = _Regression(*line)
    result.intercept_stderr = last
    return result
