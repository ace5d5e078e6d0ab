"""`scipy.stats`: log-densities, densities and distribution functions of usual distributions, as differentiable
formulas.

They take SciPy's parameters, which may be traced, are -inf outside of the support and NaN for parameters that are not
allowed, and can be frozen: `norm(mean, deviation).logpdf(x)`. Every other name (rvs, fit, other distributions) is
SciPy's own.

>>> import dualrev as dr
>>> dr.grad(lambda rate: np.sum(poisson.logpmf([1, 4], rate)))(2.0)
0.5
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy import linalg
from dualrev.scipy.calls import instead_of, is_plain, without_duals

__all__ = ["Distribution", "dirichlet", "multivariate_normal"]

_LOG_2_PI = math.log(2.0 * math.pi)

#: Functions of the standardised variable and the shapes; "log" is the logarithm of the density or of the probability.
_Formulas = dict[str, Callable[..., Any]]


def __getattr__(name: str) -> Any:
    return getattr(_stats, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_stats)})


class Distribution:
    """Distribution of SciPy whose density and distribution functions take traced numbers.

    Args:
        name: Name of the distribution in scipy.stats.
        formulas: Functions of the standardized variable and the shapes: "log", the log-density, and where they are
            known "cdf", "sf", "logcdf" and "logsf".

    Its methods are pdf and logpdf, or pmf and logpmf, and cdf, sf, logcdf and logsf. They take (x, *shapes, loc,
    scale), which broadcast. Other attributes are SciPy's.

    >>> bool(norm.logpdf(0.0) == _stats.norm.logpdf(0.0))
    True
    """

    def __init__(self, name: str, formulas: _Formulas) -> None:
        self._of_scipy: Any = getattr(_stats, name)
        self._formulas = formulas
        self._shapes: list[str] = (self._of_scipy.shapes or "").replace(",", " ").split()
        self._discrete = hasattr(self._of_scipy, "logpmf")
        density = "pmf" if self._discrete else "pdf"
        if "cdf" in formulas:
            self.cdf, self.sf = self._function("cdf"), self._function("sf")
            self.logcdf, self.logsf = self._function("logcdf"), self._function("logsf")
        setattr(self, density, self._function(density))
        setattr(self, f"log{density}", self._function(f"log{density}"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the frozen distribution with these parameters."""
        return self._of_scipy(*args, **kwargs) if is_plain(args, kwargs) else _Frozen(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_scipy, name)

    def __repr__(self) -> str:
        return f"<dualrev.scipy.stats.{self._of_scipy.name}>"

    def _function(self, name: str) -> Callable[..., Any]:
        @instead_of(getattr(self._of_scipy, name))
        def method(x: Any, *args: Any, **kwargs: Any) -> Any:
            """Compute the function from its formula."""
            with np.errstate(all="ignore"):  # what is left out in the end may lie outside of a domain
                return self._compute(name, real_array(x), *self._parameters(args, kwargs))

        method.__name__ = name
        return method

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        """Return the shapes, loc and scale of a call."""
        names = [*self._shapes, "loc", *([] if self._discrete else ["scale"])]
        if len(args) > len(names) or kwargs.keys() - set(names[len(args) :]):
            raise TypeError(f"{self._of_scipy.name} takes the parameters {', '.join(names)}")
        given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, args, strict=False)), **kwargs}
        if missing := [name for name in self._shapes if name not in given]:
            raise TypeError(f"{self._of_scipy.name} has no value for its parameter {missing[0]}")
        return [real_array(given[name]) for name in self._shapes], real_array(given["loc"]), real_array(given["scale"])

    def _compute(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        values = [plain(shape) for shape in shapes]
        allowed = (plain(scale) > 0.0) & np.asarray(self._of_scipy._argcheck(*values), bool)
        z = (x - loc) / scale
        if self._discrete and name not in ("pmf", "logpmf"):
            z = np.floor(z)
        inside = np.asarray(self._of_scipy._support_mask(plain(z), *values), bool) & allowed
        if self._discrete:
            inside &= plain(z) == np.floor(plain(z))
        safe = np.asarray(self._of_scipy.median(*values)) if values else np.asarray(0.5)
        z = np.where(inside, z, np.nan_to_num(np.round(safe) if self._discrete else safe, nan=0.5))  # no NaN from there
        above = plain(x - loc) > np.asarray(self._of_scipy._get_support(*values)[1]) * plain(scale)
        made, outside = self._at(name, z, shapes, above)
        if name in ("pdf", "logpdf"):
            made = made / scale if name == "pdf" else made - np.log(scale)
        return real_array(np.where(allowed, np.where(inside, made, outside), np.nan))[()]

    def _at(self, name: str, z: Any, shapes: list[Any], above: Any) -> tuple[Any, Any]:
        """The value inside of the support, and outside of it: above, or below."""
        f = self._formulas
        if name in ("logpdf", "logpmf"):
            return f["log"](z, *shapes), -np.inf
        if name in ("pdf", "pmf"):
            return np.exp(f["log"](z, *shapes)), 0.0
        upper = name in ("sf", "logsf")
        outside = np.where(above == upper, 0.0, 1.0)
        if name.startswith("log"):
            outside = np.where(outside == 1.0, 0.0, -np.inf)
        if name in f:
            return f[name](z, *shapes), outside
        below = f["cdf"](z, *shapes)
        beyond = f["sf"](z, *shapes) if "sf" in f else 1.0 - below
        p, rest = (beyond, below) if upper else (below, beyond)
        return _log(p, rest) if name.startswith("log") else p, outside


def _log(p: Any, rest: Any) -> Any:
    """The logarithm of p, where p + rest = 1: to all digits where p is almost 1, too."""
    small = plain(p) < 0.5
    return np.where(small, np.log(np.where(small, p, 0.5)), np.log1p(-np.where(small, 0.5, rest)))


class _Frozen:
    """Frozen distribution with traced parameters."""

    def __init__(self, of: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._of, self._args, self._kwargs = of, args, kwargs

    def __repr__(self) -> str:
        return f"<{self._of!r} with parameters that are being differentiated>"

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._of, name)
        return lambda *x: method(*x, *self._args, **self._kwargs)


def _t(z: Any, df: Any) -> Any:
    return sp.gammaln((df + 1.0) / 2.0) - sp.gammaln(df / 2.0) - 0.5 * np.log(np.pi * df) - _tail(z, df)


def _tail(z: Any, df: Any) -> Any:
    return (df + 1.0) / 2.0 * np.log1p(z * z / df)


def _f(z: Any, m: Any, n: Any) -> Any:
    half = m / 2.0 * np.log(m) + n / 2.0 * np.log(n) + sp.xlogy(m / 2.0 - 1.0, z)
    return half - (m + n) / 2.0 * np.log(n + m * z) - sp.betaln(m / 2.0, n / 2.0)


def _logistic(z: Any) -> Any:
    y = -np.abs(z)
    return y - 2.0 * np.log1p(np.exp(y))


def _at_most(k: Any, n: Any, p: Any) -> Any:
    """Return the probability of at most k of n."""
    return np.where(plain(k) < plain(n), sp.betainc(np.maximum(n - k, 0.5), k + 1.0, 1.0 - p), 1.0)


def _more(k: Any, n: Any, p: Any) -> Any:
    return np.where(plain(k) < plain(n), sp.betainc(k + 1.0, np.maximum(n - k, 0.5), p), 0.0)


def _below(z: Any) -> Any:
    """Return the distribution function of Laplace's distribution, from the tail that has all digits."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(plain(z) < 0.0, tail, 1.0 - tail)


def _chosen(n: Any, k: Any) -> Any:
    return sp.gammaln(n + 1.0) - sp.gammaln(k + 1.0) - sp.gammaln(n - k + 1.0)


# fmt: off
_FORMULAS: dict[str, _Formulas] = {
    "norm": {"log": lambda z: -0.5 * z * z - 0.5 * _LOG_2_PI, "cdf": sp.ndtr, "sf": lambda z: sp.ndtr(-z),
             "logcdf": sp.log_ndtr, "logsf": lambda z: sp.log_ndtr(-z)},
    "expon": {"log": lambda z: -z, "cdf": lambda z: -np.expm1(-z), "sf": lambda z: np.exp(-z), "logsf": lambda z: -z},
    "gamma": {"log": lambda z, a: sp.xlogy(a - 1.0, z) - z - sp.gammaln(a), "cdf": lambda z, a: sp.gammainc(a, z),
              "sf": lambda z, a: sp.gammaincc(a, z)},
    "beta": {"log": lambda z, a, b: sp.xlogy(a - 1.0, z) + sp.xlog1py(b - 1.0, -z) - sp.betaln(a, b),
             "cdf": lambda z, a, b: sp.betainc(a, b, z), "sf": lambda z, a, b: sp.betainc(b, a, 1.0 - z)},
    "t": {"log": _t, "cdf": lambda z, df: sp.stdtr(df, z), "sf": lambda z, df: sp.stdtr(df, -z)},
    "chi2": {"log": lambda z, n: sp.xlogy(n / 2.0 - 1.0, z) - z / 2.0 - sp.gammaln(n / 2.0) - math.log(2.0) * n / 2.0,
             "cdf": lambda z, df: sp.gammainc(df / 2.0, z / 2.0), "sf": lambda z, df: sp.gammaincc(df / 2.0, z / 2.0)},
    "f": {"log": _f, "cdf": lambda z, m, n: sp.betainc(m / 2.0, n / 2.0, m * z / (m * z + n)),
          "sf": lambda z, m, n: sp.betainc(n / 2.0, m / 2.0, n / (m * z + n))},
    "lognorm": {"log": lambda z, s: -0.5 * (np.log(z) / s) ** 2 - np.log(s * z) - 0.5 * _LOG_2_PI,
                "cdf": lambda z, s: sp.ndtr(np.log(z) / s), "sf": lambda z, s: sp.ndtr(-np.log(z) / s)},
    "uniform": {"log": lambda z: 0.0 * z, "cdf": lambda z: z},
    "laplace": {"log": lambda z: -np.abs(z) - math.log(2.0), "cdf": _below, "sf": lambda z: _below(-z)},
    "logistic": {"log": _logistic, "cdf": sp.expit, "sf": lambda z: sp.expit(-z), "logcdf": sp.log_expit,
                 "logsf": lambda z: sp.log_expit(-z)},
    "cauchy": {"log": lambda z: -np.log(np.pi * (1.0 + z * z)), "cdf": lambda z: 0.5 + np.arctan(z) / np.pi,
               "sf": lambda z: 0.5 - np.arctan(z) / np.pi},
    "weibull_min": {"log": lambda z, c: np.log(c) + sp.xlogy(c - 1.0, z) - z**c, "cdf": lambda z, c: -np.expm1(-(z**c)),
                    "sf": lambda z, c: np.exp(-(z**c)), "logsf": lambda z, c: -(z**c)},
    "pareto": {"log": lambda z, b: np.log(b) - (b + 1.0) * np.log(z), "cdf": lambda z, b: 1.0 - z**-b,
               "sf": lambda z, b: z**-b},
    "invgamma": {"log": lambda z, a: -(a + 1.0) * np.log(z) - sp.gammaln(a) - 1.0 / z,
                 "cdf": lambda z, a: sp.gammaincc(a, 1.0 / z), "sf": lambda z, a: sp.gammainc(a, 1.0 / z)},
    "invgauss": {"log": lambda z, mu: -0.5 * _LOG_2_PI - 1.5 * np.log(z) - 0.5 * (z / mu - 1.0) ** 2 / z},
    "halfnorm": {"log": lambda z: 0.5 * math.log(2.0 / math.pi) - 0.5 * z * z,
                 "cdf": lambda z: sp.erf(z / math.sqrt(2.0)), "sf": lambda z: 2.0 * sp.ndtr(-z)},
    "halfcauchy": {"log": lambda z: math.log(2.0 / math.pi) - np.log1p(z * z),
                   "cdf": lambda z: 2.0 / math.pi * np.arctan(z), "sf": lambda z: 2.0 / math.pi * np.arctan2(1.0, z)},
    "rayleigh": {"log": lambda z: np.log(z) - 0.5 * z * z, "cdf": lambda z: -np.expm1(-0.5 * z * z),
                 "sf": lambda z: np.exp(-0.5 * z * z), "logsf": lambda z: -0.5 * z * z},
    "gumbel_r": {"log": lambda z: -z - np.exp(-z), "cdf": lambda z: np.exp(-np.exp(-z)),
                 "sf": lambda z: -np.expm1(-np.exp(-z)), "logcdf": lambda z: -np.exp(-z)},
    "gumbel_l": {"log": lambda z: z - np.exp(z), "cdf": lambda z: -np.expm1(-np.exp(z)),
                 "sf": lambda z: np.exp(-np.exp(z)), "logsf": lambda z: -np.exp(z)},
    "skewnorm": {"log": lambda z, a: math.log(2.0) - 0.5 * z * z - 0.5 * _LOG_2_PI + sp.log_ndtr(a * z)},
    "poisson": {"log": lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1.0) - mu,
                "cdf": lambda k, mu: sp.gammaincc(k + 1.0, mu), "sf": lambda k, mu: sp.gammainc(k + 1.0, mu)},
    "bernoulli": {"log": lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1.0 - k, -p),
                  "cdf": lambda k, p: np.where(plain(k) < 1.0, 1.0 - p, 1.0),
                  "sf": lambda k, p: np.where(plain(k) < 1.0, p, 0.0)},
    "binom": {"log": lambda k, n, p: _chosen(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p),
              "cdf": _at_most, "sf": _more},
    "nbinom": {"log": lambda k, n, p: _chosen(n + k - 1.0, k) + n * np.log(p) + sp.xlog1py(k, -p),
               "cdf": lambda k, n, p: sp.betainc(n, k + 1.0, p), "sf": lambda k, n, p: sp.betainc(k + 1.0, n, 1.0 - p)},
    "geom": {"log": lambda k, p: sp.xlog1py(k - 1.0, -p) + np.log(p),
             "cdf": lambda k, p: -np.expm1(k * np.log1p(-p)), "sf": lambda k, p: np.exp(k * np.log1p(-p))},
}
# fmt: on

for _name, _formulas in _FORMULAS.items():
    globals()[_name] = Distribution(_name, _formulas)
__all__ += _FORMULAS


# Of several variables


class _Several:
    """Multivariate distribution with logpdf and pdf for traced numbers; everything else is SciPy's."""

    def __init__(self, name: str, logpdf: Callable[..., Any]) -> None:
        self._name = name
        self._of_scipy: Any = getattr(_stats, name)
        self.logpdf = instead_of(self._of_scipy.logpdf)(logpdf)
        self.entropy: Callable[..., Any] = self._of_scipy.entropy
        self.pdf = instead_of(self._of_scipy.pdf)(lambda *args, **kwargs: np.exp(logpdf(*args, **kwargs)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the frozen distribution with these parameters."""
        if is_plain(args, kwargs):
            return self._of_scipy(*without_duals(args), **without_duals(kwargs))
        return _Frozen(self, args, kwargs)  # type: ignore[arg-type]  # it has the methods that it is asked for

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_scipy, name)

    def __repr__(self) -> str:
        return f"<dualrev.scipy.stats.{self._name}>"


def _covariance(mean: Any, cov: Any) -> Any:
    cov = real_array(cov)
    if cov.ndim == 2:
        return cov
    return np.diag(cov) if cov.ndim else cov * np.eye(1 if mean is None else np.size(mean))


def _multivariate_normal(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    cov, x = _covariance(mean, cov), real_array(x)
    n = cov.shape[0]
    if not x.ndim or (x.ndim == 1 and n == 1):
        x = x[..., None]
    away = np.reshape(x if mean is None else x - real_array(mean), (-1, n))
    if allow_singular and len(_along(plain(cov))[0]) < n:
        made = _singular(away, cov)
    else:
        factor = np.linalg.cholesky(cov)
        white = linalg.solve_triangular(factor, away.T, lower=True)
        made = -0.5 * np.sum(white * white, axis=0) - np.sum(np.log(np.diag(factor))) - 0.5 * n * _LOG_2_PI
    return real_array(np.reshape(made, x.shape[:-1]))[()]


def _along(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the variances that SciPy does not take for 0, and their directions."""
    variances, directions = np.linalg.eigh(cov)
    large = variances > 1e6 * np.finfo(float).eps * np.max(np.abs(variances), initial=0.0)
    return variances[large], directions[:, large]


def _singular(away: Any, cov: Any) -> Any:
    """Return the log-density at possible points, given their distances from the mean; -inf at others.

    The derivative is that of a formula for all points, which is the density at possible ones.
    """
    if not is_plain(cov):
        raise UnsupportedError.call(
            "scipy.stats.multivariate_normal with a singular covariance that is being differentiated",
            "the density jumps where the rank changes",
            "the density in coordinates that vary",
        )
    cov = plain(cov)
    possible = np.isfinite(_stats.multivariate_normal.logpdf(plain(away), None, cov, allow_singular=True))
    variances, directions = _along(cov)
    z = away @ directions
    return np.where(possible, -0.5 * np.sum(z * z / variances + np.log(2.0 * math.pi * variances), axis=-1), -np.inf)


def _entropy(mean: Any = None, cov: Any = 1) -> Any:
    cov = _covariance(mean, cov)
    return 0.5 * cov.shape[0] * (_LOG_2_PI + 1.0) + np.sum(np.log(np.diag(np.linalg.cholesky(cov))))


def _dirichlet(x: Any, alpha: Any) -> Any:
    x, alpha = real_array(x), real_array(alpha)
    if len(x) == len(alpha) - 1:  # the last part is what is left
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
    powers = sp.xlogy(np.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1)), x)
    return np.sum(powers, axis=0) + sp.gammaln(np.sum(alpha)) - np.sum(sp.gammaln(alpha))


multivariate_normal = _Several("multivariate_normal", _multivariate_normal)
multivariate_normal.entropy = instead_of(_stats.multivariate_normal.entropy)(_entropy)
dirichlet = _Several("dirichlet", _dirichlet)
