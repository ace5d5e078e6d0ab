"""`RectBivariateSpline` with derivatives by the points, and with s=0, its default, by the values on the grid.

The interpolating spline is linear in the values, with a matrix for each axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import BSpline, make_interp_spline
from dualrev.scipy.calls import InPlaceOf, is_plain
from dualrev.scipy.piecewise import subclass
from dualrev.scipy.values import valued

__all__ = ["RectBivariateSpline"]


class _Surface(InPlaceOf):
    """Spline of traced values, or at points that are traced; `real` is SciPy's, with plain data."""

    _original = _interpolate.RectBivariateSpline
    _cure = "a call, or ev"

    def __init__(self, real: Any, of: dict[str, Any] | None = None) -> None:
        self._real, self._of = real, of

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Return the values on a grid of points, or at pairs of points with grid=False."""
        value = self._real(*constant((x, y)), dx=dx, dy=dy, grid=grid)
        if not grid:
            return valued(value, self._at(x, y, dx, dy))
        rows, columns = np.reshape(real_array(x), (-1, 1)), np.reshape(real_array(y), (1, -1))
        return valued(value, np.reshape(self._at(rows, columns, dx, dy), np.shape(value)))

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Return the values at pairs of points."""
        return self(xi, yi, dx=dx, dy=dy, grid=False)

    def _at(self, x: Any, y: Any, dx: int, dy: int) -> Any:
        x, y = real_array(x), real_array(y)
        tx, ty, c = self._real.tck
        (kx, ky), axes = self._real.degrees, []
        for u, t, k, order, of in ((x, tx, kx, dx, "x"), (y, ty, ky, dy, "y")):
            low, high = t[k], t[-k - 1]  # FITPACK takes the nearest point inside
            u = np.where(plain(u) < low, low, np.where(plain(u) > high, high, u))
            if self._of is None:
                basis = BSpline(t, np.eye(len(t) - k - 1), k)
            else:
                nodes = self._of[of]
                basis = make_interp_spline(nodes, np.eye(len(nodes)), k)
            axes.append(basis(u, order))
        z = np.reshape(c, (len(tx) - kx - 1, -1)) if self._of is None else real_array(self._of["z"]) + 0.0
        return np.sum((axes[0] @ z) * axes[1], axis=-1)


class _AtTracedPoints:
    """Methods of a spline of plain data, for points that may be traced."""

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        of: Any = super() if is_plain(x, y) else _Surface(self)
        return of.__call__(x, y, dx=dx, dy=dy, grid=grid)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        return self(xi, yi, dx=dx, dy=dy, grid=False)


_PARAMETERS = signature(_interpolate.RectBivariateSpline)


def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make SciPy's object, or one of traced data."""
    if is_plain(args, kwargs):
        return object.__new__(cls)
    bound = _PARAMETERS.bind(*args, **kwargs)
    bound.apply_defaults()
    of = bound.arguments
    if of["s"] or any(end is not None for end in of["bbox"]) or not is_plain(of["s"]):
        raise UnsupportedError.call(
            "scipy.interpolate.RectBivariateSpline with s or bbox of numbers that are being differentiated",
            "its choice of knots has no derivative rule",
            "RectBivariateSpline(x, y, z), or RegularGridInterpolator",
        )
    fixed, options = constant((args, kwargs))
    return _Surface(_interpolate.RectBivariateSpline(*fixed, **options), of)


RectBivariateSpline = subclass(_interpolate.RectBivariateSpline, _AtTracedPoints, __new__=_new)
