"""`scipy.interpolate`: interpolants with derivatives by the data and by the points where they are evaluated.

    CubicSpline  CubicHermiteSpline  PchipInterpolator  Akima1DInterpolator  PPoly
    BSpline  make_interp_spline  make_lsq_spline  splrep  splev  splint  splder  splantider
    InterpolatedUnivariateSpline  UnivariateSpline  LSQUnivariateSpline
    interp1d  RegularGridInterpolator  interpn  BarycentricInterpolator  RBFInterpolator
    RectBivariateSpline  LinearNDInterpolator  NearestNDInterpolator  griddata

Values are SciPy's. The data are y, the abscissas x or the grid, and values of boundary conditions. nu, derivative,
antiderivative, integrate and, for piecewise polynomials, solve and roots have derivatives, too. An interpolant of plain
data is an object of a subclass of SciPy's class. One of traced data has the same methods as far as these have a rule.
SciPy's own objects cannot be evaluated at traced points: make them with this module. Every other name is SciPy's own.

>>> import dualrev as dr
>>> x = np.array([0.0, 1.0, 2.0, 3.0])
>>> spline = CubicSpline(x, x**3)
>>> round(dr.grad(spline)(1.5), 6)
6.75
>>> dr.grad(lambda y: interp1d(x, y)(1.5)[()])(x**3)
array([0. , 0.5, 0.5, 0. ])
"""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401 - the example uses it
from scipy import interpolate as _interpolate

from dualrev.scipy.bivariate import RectBivariateSpline
from dualrev.scipy.bsplines import (
    BSpline,
    make_interp_spline,
    make_lsq_spline,
    splantider,
    splder,
    splev,
    splint,
    splrep,
)
from dualrev.scipy.fitpack_splines import InterpolatedUnivariateSpline, LSQUnivariateSpline, UnivariateSpline
from dualrev.scipy.grids import BarycentricInterpolator, RegularGridInterpolator, interp1d, interpn
from dualrev.scipy.piecewise import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator, PPoly
from dualrev.scipy.radial import RBFInterpolator
from dualrev.scipy.scattered import LinearNDInterpolator, NearestNDInterpolator, griddata

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RectBivariateSpline",
    "RegularGridInterpolator",
    "UnivariateSpline",
    "griddata",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "make_lsq_spline",
    "splantider",
    "splder",
    "splev",
    "splint",
    "splrep",
]


def __getattr__(name: str) -> Any:
    return getattr(_interpolate, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_interpolate)})
