"""Multivariate distributions: log-densities and densities by the point and by all parameters."""

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
from dualrev.scipy.calls import is_plain, valued
from dualrev.scipy.stats.frozen import Freezable

__all__ = ["dirichlet", "multivariate_normal", "multivariate_t"]

_LOG_2_PI = math.log(2.0 * math.pi)


class _Several(Freezable):
    """Multivariate distribution with logpdf and pdf for traced numbers; everything else is SciPy's."""

    def __init__(self, name: str, logpdf: Callable[..., Any]) -> None:
        super().__init__(name)
        self.logpdf = valued(self._of_scipy.logpdf)(logpdf)
        self.entropy: Callable[..., Any] = self._of_scipy.entropy
        self.pdf = valued(self._of_scipy.pdf)(lambda *args, **kwargs: np.exp(logpdf(*args, **kwargs)))


def _covariance(mean: Any, cov: Any) -> Any:
    cov = real_array(cov.covariance if isinstance(cov, _stats.Covariance) else cov)
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

    The derivative comes from a formula for all points, which equals the density at possible ones.
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


def _multivariate_t(x: Any, loc: Any = None, shape: Any = 1.0, df: Any = 1.0) -> Any:
    shape, x = _covariance(loc, shape), real_array(x)
    n = shape.shape[0]
    if not x.ndim or (x.ndim == 1 and n == 1):
        x = x[..., None]
    away = np.reshape(x if loc is None else x - real_array(loc), (-1, n))
    factor = np.linalg.cholesky(shape)
    white = linalg.solve_triangular(factor, away.T, lower=True)
    square, half = np.sum(white * white, axis=0), 0.5 * (df + n)
    constant = sp.gammaln(half) - sp.gammaln(0.5 * df) - 0.5 * n * np.log(df * np.pi) - np.sum(np.log(np.diag(factor)))
    return real_array(np.reshape(constant - half * np.log1p(square / df), x.shape[:-1]))[()]


multivariate_normal = _Several("multivariate_normal", _multivariate_normal)
multivariate_normal.entropy = valued(_stats.multivariate_normal.entropy)(_entropy)
dirichlet = _Several("dirichlet", _dirichlet)
multivariate_t = _Several("multivariate_t", _multivariate_t)
