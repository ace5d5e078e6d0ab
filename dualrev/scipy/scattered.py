"""Interpolants of scattered data: on simplices and by the nearest point, with derivatives by the data and the points.

On a simplex with the vertices v_0 to v_n, the value is sum_k b_k f_k. The barycentric coordinates b solve
sum_k b_k v_k = x and sum_k b_k = 1. The triangulation is SciPy's; it is held fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import interpolate as _interpolate
from scipy import spatial as _spatial

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import real_data
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.grids import interp1d
from dualrev.scipy.piecewise import with_arguments
from dualrev.scipy.values import valued

__all__ = ["LinearNDInterpolator", "NearestNDInterpolator", "griddata"]


def _coordinates(given: Any) -> Any:
    """Return points as one array, whose last axis has the coordinates."""
    if isinstance(given, tuple):
        return np.stack(np.broadcast_arrays(*map(real_array, given)), axis=-1)
    made = real_array(given) + 0.0
    return made[:, None] if made.ndim == 1 else made


class _Scattered:
    """Interpolant of data or at points that are traced; `real` is SciPy's, with plain data."""

    _evaluated: Callable[..., Any]

    def __init__(self, real: Any, of: dict[str, Any]) -> None:
        self._real, self._of = real, of

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return the values at points: arrays of coordinates, or one array whose last axis has them."""
        fixed, known = constant((args, options))
        value = self._real(*fixed, **known)
        points = self._of.get("points", self._of.get("x"))
        points = _coordinates(points.points if isinstance(points, _spatial.Delaunay) else points)
        f = real_data(self._of.get("values", self._of.get("y")), type(self).__name__.lstrip("_"))
        x = np.reshape(_coordinates(args if len(args) > 1 else args[0]), (-1, points.shape[1]))
        at = plain(x) if self._real.scale is None else (plain(x) - self._real.offset) / self._real.scale
        made = self._evaluated(points, np.reshape(f, (len(f), -1)), x, at, known)
        return valued(value, np.reshape(made, np.shape(value)))


class _LinearNDInterpolator(_Scattered):
    def _evaluated(self, points: Any, f: Any, x: Any, at: np.ndarray, options: dict[str, Any]) -> Any:
        triangles = self._real.tri
        found = triangles.find_simplex(at)
        corners = triangles.simplices[found]
        last = points[corners[:, -1]]
        edges = np.swapaxes(points[corners[:, :-1]] - last[:, None, :], 1, 2)
        first = np.linalg.solve(edges, (x - last)[..., None])[..., 0]
        weights = np.concatenate([first, 1.0 - np.sum(first, axis=1, keepdims=True)], axis=1)
        made = np.sum(weights[..., None] * f[corners], axis=1)
        return np.where((found < 0)[:, None], self._of["fill_value"], made)


class _NearestNDInterpolator(_Scattered):
    def _evaluated(self, points: Any, f: Any, x: Any, at: np.ndarray, options: dict[str, Any]) -> Any:
        nothing = np.full((1, f.shape[1]), np.nan)  # where no point is within distance_upper_bound
        return np.concatenate([f, nothing])[self._real.tree.query(at, **options)[1]]


LinearNDInterpolator = with_arguments(_interpolate.LinearNDInterpolator, _LinearNDInterpolator)
NearestNDInterpolator = with_arguments(_interpolate.NearestNDInterpolator, _NearestNDInterpolator)


@like(_interpolate.griddata)
def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """Interpolation of scattered data, differentiated by the data and the points: "linear", "nearest", 1-D "cubic"."""
    if is_plain(points, values, xi, fill_value):
        fixed = constant((points, values, xi))
        return _interpolate.griddata(*fixed, method, constant(fill_value), rescale)
    where = _coordinates(points)
    if where.shape[-1] == 1:
        x = np.reshape(where, -1)
        order = np.argsort(plain(x))
        beyond = "extrapolate" if method == "nearest" else fill_value
        of_line = interp1d(x[order], real_array(values)[order], method, axis=0, bounds_error=False, fill_value=beyond)
        return of_line(xi[0] if isinstance(xi, tuple) else xi)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale=rescale)(xi)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value=fill_value, rescale=rescale)(xi)
    raise UnsupportedError(f"scipy.interpolate.griddata with method={method!r}", "method='linear', or RBFInterpolator")
