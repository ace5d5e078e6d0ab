"""Kernel density estimates: of traced points, and of traced samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import real_array
from dualrev.scipy import linalg, special
from dualrev.scipy.calls import InPlaceOf, constants, is_plain, joined

__all__ = ["gaussian_kde"]


class gaussian_kde(InPlaceOf):  # noqa: N801 - SciPy's name
    """Kernel density estimate with Gaussian kernels.

    Args:
        dataset: Sample, of shape (dimensions, points) or (points,); it may be traced.
        bw_method: "scott", "silverman", a function, or a number, which may be traced.
        weights: Weights of the points; they may be traced.

    It takes points of shape (dimensions, points) or (points,), as its methods evaluate, pdf and logpdf do. Other
    attributes are SciPy's, and refused where the dataset, the bandwidth or the weights are traced.

    >>> float(gaussian_kde([0.0, 1.0, 2.0])(1.0).round(6)[0])
    0.318156
    """

    _original = _stats.gaussian_kde
    _cure = "pdf, logpdf or evaluate, or gaussian_kde of dualrev.value(...) of a sample that is a constant"

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self._real = _stats.gaussian_kde(*constants((dataset, bw_method, weights)))
        self._plain = is_plain(dataset, bw_method, weights)
        x = real_array(dataset)
        x = x if x.ndim > 1 else x[None]
        n = x.shape[1]
        w = np.full(n, 1.0 / n) if weights is None else real_array(weights)
        w = w / np.sum(w)
        factor, effective = self._real.factor, 1.0 / np.sum(w * w)
        if bw_method is None or bw_method == "scott":
            factor = effective ** (-1.0 / (len(x) + 4.0))
        elif isinstance(bw_method, str):
            factor = (effective * (len(x) + 2.0) / 4.0) ** (-1.0 / (len(x) + 4.0))
        elif not callable(bw_method):
            factor = bw_method
        away = x - np.sum(w * x, axis=1, keepdims=True)
        covariance = (w * away) @ away.T / (1.0 - np.sum(w * w)) * factor**2
        self._sample, self._logs, self._root = x, np.log(w), np.linalg.cholesky(covariance)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and (self._plain or name in ("d", "n")):
            return getattr(self._real, name)
        return super().__getattr__(name)

    def __call__(self, points: Any) -> Any:
        """Return the density at points."""
        return self.evaluate(points)

    def evaluate(self, points: Any) -> Any:
        """Return the density at points."""
        value = self._real.evaluate(constants(points))
        if self._plain and is_plain(points):
            return value
        return joined(np.exp(self._log_density(points)), value, self._real.evaluate)

    pdf = evaluate

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at points."""
        value = self._real.logpdf(constants(x))
        if self._plain and is_plain(x):
            return value
        return joined(self._log_density(x), value, self._real.logpdf)

    def _log_density(self, points: Any) -> Any:
        points, d = real_array(points), len(self._sample)
        points = points if points.ndim > 1 else np.reshape(points, (d, -1) if d > 1 else (1, -1))
        away = points[:, :, None] - self._sample[:, None]
        root = np.linalg.cholesky(self._real.covariance) if self._plain else self._root  # set_bandwidth changes it
        white = linalg.solve_triangular(root, np.reshape(away, (d, -1)), lower=True)
        energy = 0.5 * np.sum(np.reshape(white, away.shape) ** 2, axis=0)
        scale = np.sum(np.log(np.diag(root))) + 0.5 * d * math.log(2.0 * math.pi)
        return special.logsumexp(self._logs - energy, axis=1) - scale
