"""Correlation and linear regression of two samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special as sp
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import constants, instead_of, joined

__all__ = ["linregress", "pearsonr"]


class _Correlation(NamedTuple):
    """Result of `pearsonr`."""

    statistic: Any
    pvalue: Any


def _vector(name: str, u: Any) -> Any:
    """Return a sample as an array; UnsupportedError for several ones."""
    u = real_array(u)
    if u.ndim != 1:
        raise UnsupportedError(
            f"scipy.stats.{name} of {u.ndim} axes", f"a call for each row: [{name}(u, v) for u, v in zip(x, y)]"
        )
    return u


@instead_of(_stats.pearsonr)
def pearsonr(x: Any, y: Any) -> Any:
    """Pearson's correlation of two samples, and the p-value for two sides.

    >>> round(float(pearsonr([1.0, 2.0, 4.0], [1.0, 3.0, 4.0]).statistic), 6)
    0.928571
    """
    found = _stats.pearsonr(*constants((x, y)))  # or SciPy's error
    x, y = (u - np.mean(u) for u in (_vector("pearsonr", x), _vector("pearsonr", y)))
    r = np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))
    made = r, _p_value(r, x.size) if x.size > 2 else 1.0
    return _Correlation(*joined(made, (found.statistic, found.pvalue), _stats.pearsonr, size=1.0))


def _p_value(r: Any, n: int) -> Any:
    """Return the probability of a correlation of at least this size."""
    return 2.0 * sp.betaincc(n / 2.0 - 1.0, n / 2.0 - 1.0, 0.5 * (1.0 + np.abs(r)))


class _Line(NamedTuple):
    """Result of `linregress` as a tuple."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class _Regression(_Line):
    """Result of `linregress`."""

    intercept_stderr: Any


@instead_of(_stats.linregress)
def linregress(x: Any, y: Any) -> Any:
    """Line of least squares: slope, intercept, correlation, p-value for two sides and standard errors.

    >>> round(float(linregress([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]).slope), 6)
    2.0
    """
    fixed = constants((x, y))
    found = _stats.linregress(*fixed)  # or SciPy's error
    x, y = _vector("linregress", x), _vector("linregress", y)
    n, mean = x.size, np.mean(x)
    away, rest = x - mean, y - np.mean(y)
    square, other, both = np.mean(away * away), np.mean(rest * rest), np.mean(away * rest)
    slope, r = both / square, both / np.sqrt(square * other)
    # for two points: constants, or from SciPy 1.18 on NaN, and so are their derivatives
    p, error = found.pvalue, found.stderr * slope if np.isnan(found.stderr) else 0.0
    if n > 2:
        p, error = _p_value(r, n), np.sqrt((1.0 - r * r) * other / square / (n - 2.0))
    made = slope, np.mean(y) - slope * mean, r, p, error, error * np.sqrt(square + mean * mean)
    known = tuple(map(float, (*found, found.intercept_stderr)))
    *line, last = joined(made, known, _stats.linregress, size=1.0)
    result = _Regression(*line)
    result.intercept_stderr = last
    return result
