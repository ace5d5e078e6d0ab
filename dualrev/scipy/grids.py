"""Interpolation with derivatives: `interp1d`, `RegularGridInterpolator`, `interpn` and `BarycentricInterpolator`.

An interpolant is differentiated by its data, the coordinates of the grid included, and by the points where it is
evaluated. All values are SciPy's.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import make_interp_spline, real_data
from dualrev.scipy.calls import InPlaceOf, is_plain, like
from dualrev.scipy.piecewise import to_axis, with_arguments
from dualrev.scipy.values import valued

__all__ = ["BarycentricInterpolator", "RegularGridInterpolator", "interp1d", "interpn"]

_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3, "quintic": 5}


class _Traced(InPlaceOf):
    """Interpolant of data or at points that are traced; `real` is SciPy's, with plain data."""

    _cure = "the data that you gave it, or a call"

    def __init__(self, real: Any, of: dict[str, Any]) -> None:
        self._original, self._real, self._of = type(real), real, of


class _Line(_Traced):
    """`interp1d` with a derivative."""

    def __call__(self, x: Any) -> Any:
        """Return the values at the points x."""
        value = self._real(constant(x))
        points = real_array(x)
        of, flat = self._of, np.reshape(points, -1) + 0.0
        xs, ys = real_array(of["x"]) + 0.0, real_data(of["y"], "interp1d")
        axis = of["axis"] % ys.ndim
        ys = np.moveaxis(ys, axis, 0)
        if not of["assume_sorted"]:
            order = np.argsort(plain(xs), kind="mergesort")
            xs, ys = xs[order], ys[order]
        made = to_axis(np.reshape(self._between(xs, ys, flat), points.shape + ys.shape[1:]), points.ndim, axis)
        return valued(value, np.where(np.isnan(value), 0.0, made))

    def _between(self, xs: Any, ys: Any, flat: Any) -> Any:
        kind, n, at = self._of["kind"], len(xs), plain(flat)
        shape = (-1, *(1,) * (np.ndim(ys) - 1))
        if kind == "linear":
            i = np.clip(np.searchsorted(plain(xs), at), 1, n - 1)
            slope = (ys[i] - ys[i - 1]) / np.reshape(xs[i] - xs[i - 1], shape)
            made = ys[i - 1] + slope * np.reshape(flat - xs[i - 1], shape)
        elif kind in ("nearest", "nearest-up", "previous", "next"):
            made = ys[_neighbours(kind, plain(xs), at)]
        else:
            made = make_interp_spline(xs, ys, _DEGREES.get(kind, kind))(flat)
        fill = self._of["fill_value"]
        if isinstance(fill, str):
            return made
        below, above = fill if isinstance(fill, tuple) and len(fill) == 2 else (fill, fill)
        for outside, value in ((at < plain(xs)[0], below), (at > plain(xs)[-1], above)):
            made = np.where(np.reshape(outside, shape), real_array(value), made)
        return made


def _neighbours(kind: str, xs: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the indices of the samples whose values the points take."""
    n = len(xs)
    if kind.startswith("nearest"):
        middles = xs[1:] / 2.0 + xs[:-1] / 2.0
        return np.clip(np.searchsorted(middles, at, "left" if kind == "nearest" else "right"), 0, n - 1)
    if kind == "previous":
        return np.clip(np.searchsorted(np.nextafter(xs, -np.inf), at, "left"), 1, n) - 1
    return np.clip(np.searchsorted(np.nextafter(xs, np.inf), at, "right"), 0, n - 1)


class _Grid(_Traced):
    """`RegularGridInterpolator` with a derivative."""

    def __call__(self, xi: Any, method: Any = None, **options: Any) -> Any:
        """Return the values at the points xi, an array of shape (..., number of dimensions)."""
        nu = options.get("nu")
        value = self._real(constant(xi), method, **options)
        method = self._of["method"] if method is None else method
        points = [real_array(p) + 0.0 for p in self._of["points"]]
        values = real_data(self._of["values"], "RegularGridInterpolator")
        for k, p in enumerate(points):
            if plain(p)[0] > plain(p)[-1]:
                points[k], values = p[::-1], np.flip(values, k)
        x = np.reshape(_coordinates(xi, len(points)), (-1, len(points))) + 0.0
        if method in ("linear", "nearest"):
            made = _multilinear(points, values, x, method == "nearest")
        elif method in ("slinear", "cubic", "quintic"):
            made = _by_splines(points, values, x, _DEGREES[method], nu or [0] * len(points))
        else:
            raise UnsupportedError.call(
                f"scipy.interpolate.RegularGridInterpolator with method={method!r} of numbers that are being"
                " differentiated",
                "it has no derivative rule",
                "method='cubic' or 'linear'",
            )
        if not self._of["bounds_error"] and self._of["fill_value"] is not None:
            low, high = (np.array([plain(p)[k] for p in points]) for k in (0, -1))
            outside = np.any((plain(x) < low) | (plain(x) > high), axis=1)
            shape = (-1, *(1,) * (np.ndim(made) - 1))
            made = np.where(np.reshape(outside, shape), real_array(self._of["fill_value"]), made)
        return valued(value, np.reshape(np.where(np.isnan(np.reshape(value, made.shape)), 0.0, made), np.shape(value)))


def _coordinates(xi: Any, dimensions: int) -> Any:
    """Return points as an array of shape (..., dimensions)."""
    if isinstance(xi, tuple) and len(xi) == 1 and dimensions > 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        parts = np.broadcast_arrays(*map(constant, map(real_array, xi)))
        return np.stack([np.broadcast_to(real_array(u), parts[0].shape) for u in xi], axis=-1)
    x = real_array(xi)
    return x[..., None] if dimensions == 1 and (not x.ndim or x.shape[-1] != 1) else x


def _multilinear(points: list[Any], values: Any, x: Any, nearest: bool) -> Any:
    """Return the multilinear interpolant, or the nearest values."""
    cells, parts = [], []
    for k, p in enumerate(points):
        i = np.clip(np.searchsorted(plain(p), plain(x[:, k]), "right") - 1, 0, max(len(p) - 2, 0))
        if len(p) == 1:
            raise UnsupportedError.call(
                "scipy.interpolate.RegularGridInterpolator of one point along an axis, differentiated",
                "there is no interval",
                "the grid without that axis",
            )
        cells.append(i)
        parts.append((x[:, k] - p[i]) / (p[i + 1] - p[i]))
    if nearest:
        return values[tuple(np.where(plain(u) <= 0.5, i, i + 1) for i, u in zip(cells, parts, strict=True))]
    shape = (-1, *(1,) * (np.ndim(values) - len(points)))
    made: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(points)):
        weight: Any = 1.0
        for up, u in zip(corner, parts, strict=True):
            weight = weight * (u if up else 1.0 - u)
        made = made + np.reshape(weight, shape) * values[tuple(i + up for i, up in zip(cells, corner, strict=True))]
    return made


def _by_splines(points: list[Any], values: Any, x: Any, degree: int, nu: Any) -> Any:
    """Return the tensor-product spline: a spline is linear in the values, with a matrix for each axis."""
    made = values
    for k, p in enumerate(points):
        weights = make_interp_spline(p, np.eye(len(p)), degree)(x[:, k], nu[k])
        if not k:
            made = np.tensordot(weights, made, 1)
        else:
            made = np.sum(np.reshape(weights, (*weights.shape, *(1,) * (np.ndim(made) - 2))) * made, axis=1)
    return made


class _Polynomial(_Traced):
    """`BarycentricInterpolator` with a derivative."""

    def __call__(self, x: Any) -> Any:
        """Return the values at the points x, by Lagrange's formula."""
        value = self._real(constant(x))
        points, nodes = real_array(x), real_array(self._of["xi"]) + 0.0
        ys = real_data(self._of["yi"], "BarycentricInterpolator")
        axis = self._of["axis"] % ys.ndim
        ys = np.moveaxis(ys, axis, 0)
        flat, n = np.reshape(points, (-1, 1)), len(nodes)
        off = ~np.eye(n, dtype=bool)
        scale = 4.0 / (np.max(plain(nodes)) - np.min(plain(nodes))) if n > 1 else 1.0  # its products are of size 1
        weights = 1.0 / np.prod(np.where(off, scale * (nodes[:, None] - nodes), 1.0), axis=1)
        factors = scale * (flat - nodes)
        before, after = [np.ones(len(flat))], [np.ones(len(flat))]
        for k in range(n - 1):
            before.append(before[-1] * factors[:, k])
            after.append(after[-1] * factors[:, n - 1 - k])
        others = np.stack(before, axis=1) * np.stack(after[::-1], axis=1)
        made = np.tensordot(others * weights, ys, 1)
        return valued(value, to_axis(np.reshape(made, points.shape + ys.shape[1:]), points.ndim, axis))


interp1d = with_arguments(_interpolate.interp1d, _Line)
RegularGridInterpolator = with_arguments(_interpolate.RegularGridInterpolator, _Grid)
BarycentricInterpolator = with_arguments(_interpolate.BarycentricInterpolator, _Polynomial)


@like(_interpolate.interpn)
def interpn(*given: Any, **options: Any) -> Any:
    """Interpolation on a regular grid, differentiated by points, values and xi: see `RegularGridInterpolator`."""
    bound = signature(_interpolate.interpn).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    value = _interpolate.interpn(**{k: constant(v) for k, v in of.items()})
    if is_plain(of):
        return value
    if of["method"] == "splinef2d":
        raise UnsupportedError.call(
            "scipy.interpolate.interpn with method='splinef2d' of numbers that are being differentiated",
            "it has no derivative rule",
            "RectBivariateSpline(*points, values).ev(*xi.T)",
        )
    xi = of.pop("xi")
    return valued(value, np.reshape(RegularGridInterpolator(**of)(xi), np.shape(value)))
