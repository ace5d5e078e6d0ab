"""Statistics of samples: means, moments, scores, quantiles, entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import holds_duals, plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import valued

__all__ = [
    "boxcox_llf",
    "entropy",
    "gmean",
    "gzscore",
    "hmean",
    "iqr",
    "kurtosis",
    "median_abs_deviation",
    "moment",
    "pmean",
    "sem",
    "skew",
    "trim_mean",
    "variation",
    "zmap",
    "zscore",
]


def _checked(name: str, a: Any, nan_policy: str) -> Any:
    """Return a sample as an array; UnsupportedError where NaN are to be left out."""
    if nan_policy == "omit" and np.any(np.isnan(plain(real_array(a)))):
        raise UnsupportedError(f"scipy.stats.{name} with nan_policy='omit'", f"{name} of x[~np.isnan(x)]")
    return np.atleast_1d(real_array(a))


def _moments(a: Any, orders: tuple[int, ...], axis: Any, keepdims: bool) -> list[Any]:
    away = a - np.mean(a, axis=axis, keepdims=True)
    return [np.mean(away**n, axis=axis, keepdims=keepdims) for n in orders]


def _count(a: Any, axis: Any) -> int:
    return int(a.size if axis is None else np.prod([a.shape[k] for k in np.atleast_1d(axis)]))


@valued(_stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Distances from the mean, relative to the standard deviation.

    >>> zscore([1.0, 3.0])
    array([-1.,  1.])
    """
    a = _checked("zscore", a, nan_policy)
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


@valued(_stats.zmap)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Distances of scores from the mean of another sample, relative to its standard deviation.

    >>> zmap([5.0], [1.0, 3.0])
    array([3.])
    """
    a = _checked("zmap", compare, nan_policy)
    mean, deviation = np.mean(a, axis=axis, keepdims=True), np.std(a, axis=axis, ddof=ddof, keepdims=True)
    return (real_array(scores) - mean) / deviation


@valued(_stats.gzscore)
def gzscore(a: Any, *, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Scores of the logarithms.

    >>> gzscore([1.0, 10.0])
    array([-1.,  1.])
    """
    a = np.log(_checked("gzscore", a, nan_policy))
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


@valued(_stats.skew, size=1.0)
def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """Skewness: the third central moment over the second one's power of 3/2.

    >>> round(float(skew([0.0, 0.0, 1.0])), 6)
    0.707107
    """
    a = _checked("skew", a, nan_policy)
    second, third = _moments(a, (2, 3), axis, keepdims)
    made, n = np.divide(third, second**1.5), _count(a, axis)  # NaN for 0 / 0, as SciPy
    return made if bias or n < 3 else np.sqrt(n * (n - 1.0)) / (n - 2.0) * made


@valued(_stats.kurtosis, size=1.0)
def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """Kurtosis: the fourth central moment over the square of the second one, minus 3.

    >>> float(kurtosis([0.0, 1.0]))
    -2.0
    """
    a = _checked("kurtosis", a, nan_policy)
    second, fourth = _moments(a, (2, 4), axis, keepdims)
    made, n = np.divide(fourth, second**2), float(_count(a, axis))
    if not bias and n > 3:
        made = ((n * n - 1.0) * made - 3.0 * (n - 1.0) ** 2) / (n - 2.0) / (n - 3.0) + 3.0
    return made - 3.0 if fisher else made


@valued(_stats.moment, linear=True)
def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None, keepdims: bool = False
) -> Any:
    """Central moment, or the one around `center`; of several orders an array.

    >>> float(moment([1.0, 3.0], 2))
    1.0
    """
    a = _checked("moment", a, nan_policy)
    away = a - (np.mean(a, axis=axis, keepdims=True) if center is None else center)
    if holds_duals(order):
        raise UnsupportedError("scipy.stats.moment by its order", "dualrev.value(order), which is a whole number")
    made = [np.mean(away**n, axis=axis, keepdims=keepdims) for n in np.atleast_1d(order)]
    return np.stack(made) if np.ndim(order) else made[0]


@valued(_stats.sem)
def sem(a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """Standard error of the mean.

    >>> float(sem([1.0, 3.0]))
    1.0
    """
    a = _checked("sem", a, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(_count(a, axis))


def _power_mean(
    name: str, axis: Any, nan_policy: str, weights: Any, keepdims: bool, a: Any, f: Callable[[Any], Any]
) -> Any:
    a = f(_checked(name, a, nan_policy))
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    weights = real_array(weights)
    if weights.ndim == 1 and a.ndim > 1:
        weights = np.reshape(weights, [-1 if k == axis % a.ndim else 1 for k in range(a.ndim)])
    total = np.sum(weights + 0.0 * plain(a), axis=axis, keepdims=keepdims)
    return np.sum(weights * a, axis=axis, keepdims=keepdims) / total


@valued(_stats.gmean)
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Geometric mean.

    >>> round(float(gmean([1.0, 4.0])), 6)
    2.0
    """
    return np.exp(_power_mean("gmean", axis, nan_policy, weights, keepdims, a, np.log))


@valued(_stats.hmean)
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Harmonic mean.

    >>> float(hmean([1.0, 0.5]))
    0.6666666666666666
    """
    return 1.0 / _power_mean("hmean", axis, nan_policy, weights, keepdims, a, lambda x: 1.0 / x)


@valued(_stats.pmean)
def pmean(
    a: Any,
    p: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Power mean with the exponent p.

    >>> float(pmean([1.0, 7.0], 2))
    5.0
    """
    if holds_duals(p) and plain(p) == 0:
        raise UnsupportedError("scipy.stats.pmean by the exponent 0", "dualrev.value(p), if it is a constant")
    if plain(p) == 0:
        return np.exp(_power_mean("pmean", axis, nan_policy, weights, keepdims, a, np.log))
    return _power_mean("pmean", axis, nan_policy, weights, keepdims, a, lambda x: x**p) ** (1.0 / p)


@valued(_stats.variation)
def variation(a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False) -> Any:
    """Coefficient of variation: the standard deviation over the mean.

    >>> float(variation([1.0, 3.0]))
    0.5
    """
    a = _checked("variation", a, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(a, axis=axis, keepdims=keepdims)


@valued(_stats.trim_mean)
def trim_mean(
    a: Any, proportiontocut: float, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """Mean without a proportion of the smallest and of the largest elements.

    >>> float(trim_mean([1.0, 2.0, 9.0], 0.34))
    2.0
    """
    a = _checked("trim_mean", a, nan_policy)
    axes = list(range(a.ndim)) if axis is None else [k % a.ndim for k in np.atleast_1d(axis)]
    rest = [k for k in range(a.ndim) if k not in axes]
    n = _count(a, axis)
    a = np.sort(np.reshape(np.transpose(a, rest + axes), (*(a.shape[k] for k in rest), n)), axis=-1)
    cut = int(proportiontocut * n)
    made = np.mean(a[..., cut : n - cut], axis=-1)
    return np.expand_dims(made, tuple(axes)) if keepdims else made


@valued(_stats.iqr)
def iqr(
    x: Any,
    axis: Any = None,
    rng: tuple[float, float] = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Interquartile range.

    >>> float(iqr([0.0, 1.0, 2.0, 3.0, 4.0]))
    2.0
    """
    x = _checked("iqr", x, nan_policy)
    how: Any = interpolation
    low, high = (np.percentile(x, q, axis=axis, method=how, keepdims=keepdims) for q in sorted(rng))
    divisor = 1.3489795003921634 if scale == "normal" else scale
    return (high - low) / divisor


@valued(_stats.median_abs_deviation)
def median_abs_deviation(
    x: Any,
    axis: Any = 0,
    center: Any = None,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """Median of the distances from the median.

    >>> float(median_abs_deviation([1.0, 2.0, 4.0]))
    1.0
    """
    x = _checked("median_abs_deviation", x, nan_policy)
    center = np.median if center is None else center
    away = np.abs(x - (center(x) if axis is None else np.expand_dims(center(x, axis=axis), axis)))
    return np.median(away, axis=axis, keepdims=keepdims) / (0.6744897501960817 if scale == "normal" else scale)


@valued(_stats.entropy)
def entropy(
    pk: Any,
    qk: Any = None,
    base: Any = None,
    axis: Any = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """Shannon entropy of probabilities pk, or the relative entropy of pk and qk.

    >>> float(entropy([1.0, 1.0], base=2))
    1.0
    """
    samples = [_checked("entropy", u, nan_policy) for u in (pk, qk) if u is not None]
    shape = np.broadcast_shapes(*(u.shape for u in samples))
    p, *others = (u / np.sum(u, axis=axis, keepdims=True) for u in (np.broadcast_to(u, shape) for u in samples))
    terms = sp.rel_entr(p, *others) if others else sp.entr(p)
    made = np.sum(terms, axis=axis, keepdims=keepdims)
    return made if base is None else made / np.log(base)


@valued(_stats.boxcox_llf)
def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    """Log-likelihood of the exponent of a Box-Cox transformation.

    >>> round(float(boxcox_llf(1.0, [1.0, 2.0, 4.0])), 6)
    -0.662749
    """
    data = _checked("boxcox_llf", data, nan_policy)
    logs = np.sum(np.log(data), axis=axis, keepdims=keepdims)
    variance = np.var(sp.boxcox(data, lmb), axis=axis, keepdims=keepdims)
    return (lmb - 1.0) * logs - _count(data, axis) / 2.0 * np.log(variance)
