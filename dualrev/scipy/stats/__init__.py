"""`scipy.stats`: distributions, and statistics of samples, of traced numbers and arrays.

Distributions take SciPy's parameters, which may be traced, and can be frozen: `norm(mean, deviation).logpdf(x)`. Their
values are SciPy's own. SciPy's formula is differentiated, where it can be traced, or a formula here; without either,
UnsupportedError names the method. Outside of the support a log-density is -inf and its derivative 0.
Every other name (rvs, fit, tests) is SciPy's own.

>>> import numpy as np
>>> import dualrev as dr
>>> dr.grad(lambda rate: np.sum(poisson.logpmf([1, 4], rate)))(2.0)
0.5
>>> round(dr.grad(lambda a: gamma.ppf(0.5, a))(2.0), 6)
0.993295
"""

from __future__ import annotations

from typing import Any

from scipy import stats as _stats

from dualrev.scipy.stats.formulas import FORMULAS
from dualrev.scipy.stats.kernels import gaussian_kde
from dualrev.scipy.stats.multivariate import dirichlet, multivariate_normal, multivariate_t
from dualrev.scipy.stats.regression import linregress, pearsonr
from dualrev.scipy.stats.samples import (
    boxcox_llf,
    entropy,
    gmean,
    gzscore,
    hmean,
    iqr,
    kurtosis,
    median_abs_deviation,
    moment,
    pmean,
    sem,
    skew,
    trim_mean,
    variation,
    zmap,
    zscore,
)
from dualrev.scipy.stats.univariate import Distribution

__all__ = [
    "Distribution",
    "boxcox_llf",
    "dirichlet",
    "entropy",
    "gaussian_kde",
    "gmean",
    "gzscore",
    "hmean",
    "iqr",
    "kurtosis",
    "linregress",
    "median_abs_deviation",
    "moment",
    "multivariate_normal",
    "multivariate_t",
    "pearsonr",
    "pmean",
    "sem",
    "skew",
    "trim_mean",
    "variation",
    "zmap",
    "zscore",
]

#: Of these, the derivative is not known: SciPy's formulas select elements in a way that drops it.
_LEFT_OUT = {"kappa4"}

_NAMES = [
    name
    for name, found in vars(_stats).items()
    if isinstance(found, _stats.rv_continuous | _stats.rv_discrete) and name not in _LEFT_OUT
]
for _name in _NAMES:
    globals()[_name] = Distribution(_name, FORMULAS.get(_name, {}))
__all__ += _NAMES


def __getattr__(name: str) -> Any:
    return getattr(_stats, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_stats)})
