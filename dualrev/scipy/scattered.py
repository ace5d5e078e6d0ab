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

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import real_data
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.grids import interp1d
from dualrev.scipy.piecewise import subclass
from dualrev.scipy.values import valued

__all__ = ["LinearNDInterpolator", "NearestNDInterpolator", "griddata"]


def _coordinates(given: Any) -> Any:
    """Return points as one array, whose last axis has the coordinates."""
    if isinstance(given, tuple):
        return np.stack(np.broadcast_arrays(*map(real_array, given)), axis=-1)
    made = real_array(given) + 0.0
    return made[:, None] if made.ndim == 1 else made


def _unscaled(of: dict[str, Any], points: Any) -> tuple[Any, Any]:
    """Return the offset and the scale of the points, as SciPy computes them."""
    if not of["rescale"]:
        return 0.0, 1.0
    size = np.ptp(points, axis=0)
    return np.mean(points, axis=0), np.where(size > 0.0, size, 1.0)


def _linear(of: dict[str, Any], points: Any, f: Any, x: Any) -> Any:
    known = plain(points)
    offset, scale = _unscaled(of, known)
    triangles = _spatial.Delaunay((known - offset) / scale)
    found = triangles.find_simplex((plain(x) - offset) / scale, tol=1e-12)
    corners = triangles.simplices[found]
    edges = points[corners[:, :-1]] - points[corners[:, -1]][:, None, :]
    first = np.linalg.solve(np.swapaxes(edges, 1, 2), (x - points[corners[:, -1]])[..., None])[..., 0]
    weights = np.concatenate([first, 1.0 - np.sum(first, axis=1, keepdims=True)], axis=1)
    made = np.sum(weights[..., None] * f[corners], axis=1)
    return np.where((found < 0)[:, None], of["fill_value"], made)


def _nearest(of: dict[str, Any], points: Any, f: Any, x: Any) -> Any:
    known = plain(points)
    offset, scale = _unscaled(of, known)
    return f[_spatial.cKDTree((known - offset) / scale).query((plain(x) - offset) / scale)[1]]


class _Traced:
    """Interpolant of data or at points that are traced; `real` is SciPy's, with plain data."""

    def __init__(self, real: Any, of: dict[str, Any], evaluate: Callable[..., Any], name: str) -> None:
        self._real, self._of, self._evaluate, self._name = real, of, evaluate, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return the values at points: arrays of coordinates, or one array whose last axis has them."""
        fixed, known = constant((args, options))
        value = self._real(*fixed, **known)
        points = self._of.get("points", self._of.get("x"))
        if isinstance(points, _spatial.Delaunay):
            points = points.points
        points, f = _coordinates(points), real_data(self._of.get("values", self._of.get("y")), self._name)
        x = _coordinates(args if len(args) > 1 else args[0])
        x = np.reshape(x, (-1, points.shape[1]))
        made = self._evaluate(self._of, points, np.reshape(f, (len(f), -1)), x)
        return valued(value, np.reshape(made, np.shape(value)))


def _class(original: Any, evaluate: Callable[..., Any]) -> Any:
    """Return a subclass of SciPy's class whose objects take traced points, and which makes one of traced data."""
    parameters = signature(original)

    class AtTracedPoints:
        """Call of an interpolant of plain data, at points that may be traced."""

        _given: dict[str, Any]

        def __call__(self, *args: Any, **options: Any) -> Any:
            plain_points = is_plain(args, options)
            of: Any = super() if plain_points else _Traced(self, self._given, evaluate, original.__name__)
            return of.__call__(*args, **options)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Make SciPy's object, which keeps its arguments, or one of traced data."""
        if not args and not kwargs:
            return object.__new__(cls)  # copy and pickle set its attributes
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        if is_plain(args, kwargs):
            made: Any = original.__new__(cls)
            made._given = constant(bound.arguments)
            return made
        fixed, options = constant((args, kwargs))
        return _Traced(original(*fixed, **options), bound.arguments, evaluate, original.__name__)

    return subclass(original, AtTracedPoints, __new__=new)


LinearNDInterpolator = _class(_interpolate.LinearNDInterpolator, _linear)
NearestNDInterpolator = _class(_interpolate.NearestNDInterpolator, _nearest)


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
