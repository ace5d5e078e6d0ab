"""Formulas of distributions whose own formulas in SciPy cannot be traced.

They are functions of the standardized variable and the shapes: "log" is the log-density, "cdf" the distribution
function, "logcdf" and "logsf" its logarithms where the function itself underflows. "moments" (mean and variance) and
"entropy" are functions of the shapes. Only the derivatives of all these are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import special as sp

from dualrev.eager.arrays.memory.storage import plain
from dualrev.scipy.special import polygamma

__all__ = ["FORMULAS", "UNTRACED", "Formulas"]

Formulas = Mapping[str, Callable[..., Any]]

_LOG_2_PI = math.log(2.0 * math.pi)


def _normal(z: Any) -> Any:
    return -0.5 * z * z - 0.5 * _LOG_2_PI


def _t(z: Any, df: Any) -> Any:
    tail = (df + 1.0) / 2.0 * np.log1p(z * z / df)
    return sp.gammaln((df + 1.0) / 2.0) - sp.gammaln(df / 2.0) - 0.5 * np.log(np.pi * df) - tail


def _f(z: Any, m: Any, n: Any) -> Any:
    half = m / 2.0 * np.log(m) + n / 2.0 * np.log(n) + sp.xlogy(m / 2.0 - 1.0, z)
    return half - (m + n) / 2.0 * np.log(n + m * z) - sp.betaln(m / 2.0, n / 2.0)


def _beta_ratio(z: Any, a: Any, b: Any) -> Any:
    """betainc(a, b, z / (1 + z))"""
    far = plain(z) > 1.0
    near, other = np.where(far, 1.0, z), np.where(far, z, 1.0)
    below = sp.betainc(a, b, near / (1.0 + near))
    return np.where(far, 1.0 - sp.betainc(b, a, 1.0 / (1.0 + other)), below)


def _logistic(z: Any) -> Any:
    y = -np.abs(z)
    return y - 2.0 * np.log1p(np.exp(y))


def _below(z: Any) -> Any:
    """Return the distribution function of Laplace's distribution."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(plain(z) < 0.0, tail, 1.0 - tail)


def _log1p_over(c: Any, z: Any) -> Any:
    """log(1 + c z) / c, also where c is 0."""
    small = np.abs(plain(c * z)) < 0.1
    series = z * sp.hyp2f1(1.0, 1.0, 2.0, np.where(small, -c * z, 0.0))
    divisor = np.where(small, 1.0, c)
    return np.where(small, series, np.log1p(divisor * np.where(small, 0.0, z)) / divisor)


def _genextreme(z: Any, c: Any) -> Any:
    level = _log1p_over(-c, z)
    return -np.exp(-level) - level - np.log1p(-c * z)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal distribution's mass between a and b, from the tail where both have digits."""
    right = plain(a) > 0.0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    return sp.log_ndtr(high) + np.log(-np.expm1(sp.log_ndtr(low) - sp.log_ndtr(high)))


def _triangle(z: Any, c: Any) -> Any:
    left = plain(z) < plain(c)
    below, above = np.where(left, c, 1.0), np.where(left, 0.0, c)
    return np.where(left, z * z / below, 1.0 - (1.0 - z) ** 2 / (1.0 - above))


def _log_triangle(z: Any, c: Any) -> Any:
    left = plain(z) < plain(c)
    below, above = np.where(left, c, 1.0), np.where(left, 0.0, c)
    return math.log(2.0) + np.where(left, np.log(z / below), np.log1p(-z) - np.log1p(-above))


def _burr(z: Any, c: Any, d: Any = 1.0) -> Any:
    return np.log(c * d) - (c + 1.0) * np.log(z) - (d + 1.0) * np.log1p(z**-c)


def _exponnorm(z: Any, k: Any) -> Any:
    u = (1.0 / k - z) / math.sqrt(2.0)
    above, below = np.where(u > 0.0, u, 0.0), np.where(u > 0.0, 0.0, -u)
    tail = np.log(sp.erfcx(above)) - math.log(2.0) - 0.5 * z * z  # log_ndtr has less digits there
    rest = (0.5 / k - z) / k + sp.log_ndtr(math.sqrt(2.0) * below)
    return np.where(u > 0.0, tail, rest) - np.log(k)


def _at_most(k: Any, n: Any, p: Any) -> Any:
    """Return the probability of at most k of n."""
    return np.where(plain(k) < plain(n), sp.betainc(np.maximum(n - k, 0.5), k + 1.0, 1.0 - p), 1.0)


def _chosen(n: Any, k: Any) -> Any:
    return sp.gammaln(n + 1.0) - sp.gammaln(k + 1.0) - sp.gammaln(n - k + 1.0)


def _truncated_moments(a: Any, b: Any) -> tuple[Any, Any]:
    mass = _log_mass(a, b)
    ends = [np.where(np.isfinite(plain(u)), u, 0.0) for u in (a, b)]
    below, above = (
        np.where(np.isfinite(plain(u)), np.exp(_normal(end) - mass), 0.0) for u, end in zip((a, b), ends, strict=True)
    )
    mean = below - above
    return mean, 1.0 + ends[0] * below - ends[1] * above - mean * mean


def _f_moments(m: Any, n: Any) -> tuple[Any, Any]:
    return n / (n - 2.0), 2.0 * n * n * (m + n - 2.0) / (m * (n - 2.0) ** 2 * (n - 4.0))


def _gamma_entropy(a: Any) -> Any:
    return a + sp.gammaln(a) + (1.0 - a) * sp.psi(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    both = (a + b - 2.0) * sp.psi(a + b)
    return sp.betaln(a, b) - (a - 1.0) * sp.psi(a) - (b - 1.0) * sp.psi(b) + both


def _t_entropy(df: Any) -> Any:
    half = 0.5 * (df + 1.0)
    return half * (sp.psi(half) - sp.psi(0.5 * df)) + 0.5 * np.log(df) + sp.betaln(0.5 * df, 0.5)


def _trigamma(x: Any) -> Any:
    return polygamma(1, x)


def _noncentral(z: Any, df: Any, nc: Any) -> Any:
    bessel = np.log(sp.ive(0.5 * df - 1.0, np.sqrt(nc * z)))
    return -0.5 * (np.sqrt(z) - np.sqrt(nc)) ** 2 + (0.25 * df - 0.5) * np.log(z / nc) + bessel - math.log(2.0)


# fmt: off
FORMULAS: Mapping[str, Formulas] = {
    "norm": {"log": _normal, "cdf": sp.ndtr, "logcdf": sp.log_ndtr, "logsf": lambda z: sp.log_ndtr(-z)},
    "expon": {"log": lambda z: -z, "cdf": lambda z: -np.expm1(-z), "logsf": lambda z: -z},
    "gamma": {"log": lambda z, a: sp.xlogy(a - 1.0, z) - z - sp.gammaln(a), "cdf": lambda z, a: sp.gammainc(a, z),
             "entropy": _gamma_entropy},
    "erlang": {"entropy": _gamma_entropy},
    "gengamma": {"log": lambda z, a, c: np.log(np.abs(c)) + sp.xlogy(c * a - 1.0, z) - z**c - sp.gammaln(a)},
    "loggamma": {"log": lambda z, c: c * z - np.exp(z) - sp.gammaln(c), "cdf": lambda z, c: sp.gammainc(c, np.exp(z)),
             "moments": lambda c: (sp.psi(c), _trigamma(c)),
                 "entropy": lambda c: sp.gammaln(c) - c * sp.psi(c) + c},
    "beta": {"log": lambda z, a, b: sp.xlogy(a - 1.0, z) + sp.xlog1py(b - 1.0, -z) - sp.betaln(a, b),
             "cdf": lambda z, a, b: sp.betainc(a, b, z),
             "entropy": _beta_entropy},
    "betaprime": {"cdf": _beta_ratio},
    "t": {"log": _t, "cdf": lambda z, df: sp.stdtr(df, z),
             "moments": lambda df: (0.0 * df, df / (df - 2.0)), "entropy": _t_entropy},
    "chi2": {"log": lambda z, n: sp.xlogy(n / 2.0 - 1.0, z) - z / 2.0 - sp.gammaln(n / 2.0) - math.log(2.0) * n / 2.0,
             "cdf": lambda z, df: sp.gammainc(df / 2.0, z / 2.0),
             "entropy": lambda df: _gamma_entropy(0.5 * df) + math.log(2.0)},
    "f": {"log": _f, "cdf": lambda z, m, n: _beta_ratio(m / n * z, m / 2.0, n / 2.0),
             "moments": _f_moments},
    "lognorm": {"log": lambda z, s: -0.5 * (np.log(z) / s) ** 2 - np.log(s * z) - 0.5 * _LOG_2_PI,
                "cdf": lambda z, s: sp.ndtr(np.log(z) / s)},
    "gibrat": {"log": lambda z: _normal(np.log(z)) - np.log(z), "cdf": lambda z: sp.ndtr(np.log(z))},
    "exponnorm": {"log": _exponnorm, "cdf": lambda z, k: sp.ndtr(z) - k * np.exp(_exponnorm(z, k)),
                  "logsf": lambda z, k: np.log(sp.ndtr(-z) + k * np.exp(_exponnorm(z, k)))},
    "uniform": {"log": lambda z: 0.0 * z, "cdf": lambda z: z},
    "triang": {"log": _log_triangle, "cdf": _triangle},
    "laplace": {"log": lambda z: -np.abs(z) - math.log(2.0), "cdf": _below},
    "logistic": {"log": _logistic, "cdf": sp.expit, "logcdf": sp.log_expit, "logsf": lambda z: sp.log_expit(-z)},
    "cauchy": {"log": lambda z: -np.log(np.pi * (1.0 + z * z)), "cdf": lambda z: 0.5 + np.arctan(z) / np.pi},
    "weibull_min": {"log": lambda z, c: np.log(c) + sp.xlogy(c - 1.0, z) - z**c, "cdf": lambda z, c: -np.expm1(-(z**c)),
                    "logsf": lambda z, c: -(z**c)},
    "pareto": {"log": lambda z, b: np.log(b) - (b + 1.0) * np.log(z), "cdf": lambda z, b: 1.0 - z**-b,
             "moments": lambda b: (b / (b - 1.0), b / ((b - 1.0) ** 2 * (b - 2.0)))},
    "burr": {"log": _burr},
    "fisk": {"log": _burr},
    "genpareto": {"log": lambda z, c: -_log1p_over(c, z) - np.log1p(c * z),
                  "cdf": lambda z, c: -np.expm1(-_log1p_over(c, z)), "logsf": lambda z, c: -_log1p_over(c, z),
             "moments": lambda c: (1.0 / (1.0 - c), 1.0 / ((1.0 - c) ** 2 * (1.0 - 2.0 * c)))},
    "genextreme": {"log": _genextreme,
                   "cdf": lambda z, c: np.exp(-np.exp(-_log1p_over(-c, z))),
                   "logcdf": lambda z, c: -np.exp(-_log1p_over(-c, z))},
    "invgamma": {"log": lambda z, a: -(a + 1.0) * np.log(z) - sp.gammaln(a) - 1.0 / z,
                 "cdf": lambda z, a: sp.gammaincc(a, 1.0 / z),
             "moments": lambda a: (1.0 / (a - 1.0), 1.0 / ((a - 1.0) ** 2 * (a - 2.0))),
                 "entropy": lambda a: a + sp.gammaln(a) - (1.0 + a) * sp.psi(a)},
    "invgauss": {"log": lambda z, mu: -0.5 * _LOG_2_PI - 1.5 * np.log(z) - 0.5 * (z / mu - 1.0) ** 2 / z},
    "halfnorm": {"log": lambda z: 0.5 * math.log(2.0 / math.pi) - 0.5 * z * z,
                 "cdf": lambda z: sp.erf(z / math.sqrt(2.0)), "logsf": lambda z: sp.log_ndtr(-z)},
    "halfcauchy": {"log": lambda z: math.log(2.0 / math.pi) - np.log1p(z * z),
                   "cdf": lambda z: 2.0 / math.pi * np.arctan(z)},
    "rayleigh": {"log": lambda z: np.log(z) - 0.5 * z * z, "cdf": lambda z: -np.expm1(-0.5 * z * z),
                 "logsf": lambda z: -0.5 * z * z},
    "gumbel_r": {"log": lambda z: -z - np.exp(-z), "cdf": lambda z: np.exp(-np.exp(-z)),
                 "logcdf": lambda z: -np.exp(-z)},
    "gumbel_l": {"log": lambda z: z - np.exp(z), "cdf": lambda z: -np.expm1(-np.exp(z)),
                 "logsf": lambda z: -np.exp(z)},
    "skewnorm": {"log": lambda z, a: math.log(2.0) + _normal(z) + sp.log_ndtr(a * z),
                 "cdf": lambda z, a: sp.ndtr(z) - 2.0 * sp.owens_t(z, a)},
    "truncnorm": {"log": lambda z, a, b: _normal(z) - _log_mass(a, b),
                  "cdf": lambda z, a, b: np.exp(_log_mass(a, z) - _log_mass(a, b)),
                  "logcdf": lambda z, a, b: _log_mass(a, z) - _log_mass(a, b),
                  "logsf": lambda z, a, b: _log_mass(z, b) - _log_mass(a, b),
             "moments": _truncated_moments},
    "truncpareto": {"log": lambda z, b, c: np.log(b) - np.log1p(-(c**-b)) - (b + 1.0) * np.log(z),
                    "cdf": lambda z, b, c: (1.0 - z**-b) / (1.0 - c**-b)},
    "lomax": {"moments": lambda c: (1.0 / (c - 1.0), c / ((c - 1.0) ** 2 * (c - 2.0)))},
    "ncx2": {"log": _noncentral},
    "poisson": {"log": lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1.0) - mu,
                "cdf": lambda k, mu: sp.gammaincc(k + 1.0, mu),
             "moments": lambda mu: (mu, mu)},
    "bernoulli": {"log": lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1.0 - k, -p),
                  "cdf": lambda k, p: np.where(plain(k) < 1.0, 1.0 - p, 1.0)},
    "binom": {"log": lambda k, n, p: _chosen(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p), "cdf": _at_most},
    "nbinom": {"log": lambda k, n, p: _chosen(n + k - 1.0, k) + n * np.log(p) + sp.xlog1py(k, -p),
               "cdf": lambda k, n, p: sp.betainc(n, k + 1.0, p),
             "moments": lambda n, p: (n * (1.0 - p) / p, n * (1.0 - p) / (p * p))},
    "geom": {"log": lambda k, p: sp.xlog1py(k - 1.0, -p) + np.log(p), "cdf": lambda k, p: -np.expm1(k * np.log1p(-p))},
}
# fmt: on

_DENSITY, _CDF = ("pdf", "logpdf", "pmf", "logpmf"), ("cdf", "sf", "logcdf", "logsf", "ppf", "isf", "median")
_BOTH = _DENSITY + _CDF

#: Methods without a formula that can be traced, here and in SciPy.
UNTRACED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cosine", "ncx2", "norminvgauss", "rice", "vonmises", "vonmises_line", "wrapcauchy"), _CDF),
    **dict.fromkeys(("dlaplace", "hypergeom"), _CDF),
    **dict.fromkeys(("gausshyper", "recipinvgauss"), _DENSITY),
    **dict.fromkeys(
        ("crystalball", "dpareto_lognorm", "genhalflogistic", "genhyperbolic", "geninvgauss"), _DENSITY + _CDF
    ),
    **dict.fromkeys(
        ("irwinhall", "ksone", "kstwo", "kstwobign", "landau", "levy_stable", "ncf", "nct"), _DENSITY + _CDF
    ),
    **dict.fromkeys(("nchypergeom_fisher", "nchypergeom_wallenius", "nhypergeom", "pearson3"), _BOTH),
    **dict.fromkeys(("skellam", "studentized_range", "trapezoid", "tukeylambda", "zipf", "zipfian"), _BOTH),
}
