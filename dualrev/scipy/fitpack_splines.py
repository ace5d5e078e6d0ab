"""FITPACK's classes with derivatives: `UnivariateSpline`, `InterpolatedUnivariateSpline`, `LSQUnivariateSpline`.

A spline of plain data is differentiated by the points. An interpolating spline, InterpolatedUnivariateSpline or
UnivariateSpline with s=0, is differentiated by its data, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from dualrev.diagnostics.signatures import signature
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import splev, splint, splrep
from dualrev.scipy.calls import InPlaceOf, is_plain
from dualrev.scipy.piecewise import subclass
from dualrev.scipy.values import valued

__all__ = ["InterpolatedUnivariateSpline", "LSQUnivariateSpline", "UnivariateSpline"]

_EXTRAPOLATIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


class _Spline(InPlaceOf):
    """Spline of traced data; `real` is SciPy's, with plain data."""

    _original = _interpolate.UnivariateSpline
    _cure = "make_interp_spline, which has derivative, antiderivative and integrate"

    def __init__(self, real: Any, tck: Any) -> None:
        self._real, self._tck = real, tck

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Return the values, or derivatives of order nu, at the points x."""
        value = self._real(constant(x), nu, ext)
        ext = self._real.ext if ext is None else ext
        if not np.size(constant(x)):
            return value
        return valued(value, splev(x, self._tck, nu, _EXTRAPOLATIONS.get(ext, ext)))

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral over a..b, of a spline that is 0 outside."""
        return valued(self._real.integral(*constant((a, b))), splint(a, b, self._tck))

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        t, c, k = self._tck
        return c[: len(t) - k - 1]


class _AtTracedPoints:
    """Methods of a spline of plain data, for points that may be traced."""

    _eval_args: Any

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        of: Any = super() if is_plain(x) else _Spline(self, self._eval_args)
        return of.__call__(x, nu, ext)

    def integral(self, a: Any, b: Any) -> Any:
        of: Any = super() if is_plain(a, b) else _Spline(self, self._eval_args)
        return of.integral(a, b)


def _class(original: Any) -> Any:
    """Return a subclass of SciPy's class; of traced data, an object of the class _Spline."""
    parameters = signature(original)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Make SciPy's object, or one of traced data."""
        if is_plain(args, kwargs):
            return object.__new__(cls)
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        of = bound.arguments
        interpolates = original is _interpolate.InterpolatedUnivariateSpline or of.get("s", 1) == 0
        if not interpolates or of["w"] is not None or any(end is not None for end in of["bbox"]):
            raise UnsupportedError.call(
                f"scipy.interpolate.{original.__name__} with s, w, t or bbox of numbers that are being differentiated",
                "its choice of knots has no derivative rule",
                "InterpolatedUnivariateSpline(x, y), or make_lsq_spline with the knots",
            )
        fixed, options = constant((args, kwargs))
        return _Spline(original(*fixed, **options), splrep(of["x"], of["y"], k=of["k"]))

    return subclass(original, _AtTracedPoints, __new__=new)


UnivariateSpline = _class(_interpolate.UnivariateSpline)
InterpolatedUnivariateSpline = _class(_interpolate.InterpolatedUnivariateSpline)
LSQUnivariateSpline = _class(_interpolate.LSQUnivariateSpline)
