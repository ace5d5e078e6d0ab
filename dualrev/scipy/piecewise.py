"""Piecewise polynomials with derivatives: `PPoly`, and the cubic interpolants of SciPy by their slopes.

    CubicSpline  CubicHermiteSpline  PchipInterpolator  Akima1DInterpolator

An interpolant is differentiated by the data x and y, by its boundary conditions and by the points where it is
evaluated. Its coefficients are functions of the data: here they are computed from traced data once more, as SciPy
computes them. All values are SciPy's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import interpolate as _interpolate
from scipy.special import poch

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.linear_algebra.matrices import of_matrices
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import attach, constant
from dualrev.scipy.calls import InPlaceOf, is_plain
from dualrev.scipy.linalg import solve_banded
from dualrev.scipy.values import valued

__all__ = [
    "Akima1DInterpolator",
    "AtTracedPoints",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "Piecewise",
    "in_period",
    "interpolant",
    "intervals",
    "subclass",
    "to_axis",
    "with_arguments",
]


def in_period(x: Any, first: Any, last: Any) -> tuple[Any, np.ndarray]:
    """Return points moved into first..last by whole periods, and how many periods."""
    count = np.floor((plain(x) - plain(first)) / (plain(last) - plain(first)))
    return x - count * (last - first), count


def intervals(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the number of the interval of each point; the first and the last one reach to infinity."""
    x, points = (x, points) if x[-1] >= x[0] else (-x, -points)
    return np.clip(np.searchsorted(x, points, "right") - 1, 0, len(x) - 2)


def to_axis(y: Any, axes: int, axis: int) -> Any:
    """Return values with the axes of the points, which are its first ones, at an axis of the data."""
    if not axis:
        return y
    rest = list(range(axes, np.ndim(y)))
    return np.transpose(y, [*rest[:axis], *range(axes), *rest[axis:]])


class Piecewise(InPlaceOf):
    """Piecewise polynomial with traced coefficients c or breakpoints x; `real` is SciPy's, with plain ones."""

    _cure = "derivative, antiderivative, integrate, solve or a call"

    def __init__(self, real: Any, c: Any, x: Any) -> None:
        self._original, self._real = type(real), real
        self.c, self.x = valued(np.asarray(real.c), c), valued(np.asarray(real.x), x)
        self.extrapolate, self.axis = real.extrapolate, real.axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or derivatives of order nu, at the points x."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        value = self._real(constant(x), nu, extrapolate)
        return valued(value, self._at(real_array(x), nu, extrapolate))

    def _at(self, points: Any, nu: int, extrapolate: Any) -> Any:
        flat = np.reshape(points, -1)
        if extrapolate == "periodic":
            flat, _ = in_period(flat, self.x[0], self.x[-1])
        i = intervals(plain(self.x), plain(flat))
        c = self._derived(nu)[:, i]
        d = np.reshape(flat - self.x[i], (-1, *(1,) * (np.ndim(c) - 2)))
        y = c[0]
        for row in range(1, len(c)):
            y = y * d + c[row]
        if not extrapolate:  # SciPy's value is NaN outside
            low, high = np.sort(plain(self.x)[[0, -1]])
            inside = (plain(flat) >= low) & (plain(flat) <= high)
            y = np.where(np.reshape(inside, np.shape(d)), y, 0.0)
        return to_axis(np.reshape(y, np.shape(points) + np.shape(self.c)[2:]), np.ndim(points), self.axis)

    def _derived(self, nu: int) -> Any:
        c = self.c[: len(self.c) - nu] if nu < len(self.c) else np.zeros((1, *np.shape(self.c)[1:]))
        return c * np.reshape(poch(np.arange(len(c), 0, -1), nu), (-1, *(1,) * (np.ndim(c) - 1)))

    def derivative(self, nu: int = 1) -> Piecewise:
        """Return the derivative of order nu, a piecewise polynomial."""
        return self.antiderivative(-nu) if nu < 0 else Piecewise(self._real.derivative(nu), self._derived(nu), self.x)

    def antiderivative(self, nu: int = 1) -> Piecewise:
        """Return the antiderivative of order nu, a piecewise polynomial that is 0 at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        shape = (-1, *(1,) * (np.ndim(c) - 1))
        h = np.reshape(self.x[1:] - self.x[:-1], (-1, *(1,) * (np.ndim(c) - 2)))
        for _ in range(nu):
            c = c / np.reshape(np.arange(len(c), 0, -1.0), shape)
            total = c[0]
            for row in range(1, len(c)):
                total = total * h + c[row]
            total = np.cumsum(total * h, axis=0)
            c = np.concatenate([c, np.concatenate([0.0 * total[:1], total[:-1]])[None]])
        return Piecewise(self._real.antiderivative(nu), c, self.x)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral over a..b."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        value = self._real.integrate(*constant((a, b)), extrapolate)
        whole = self.antiderivative()

        def up_to(t: Any) -> Any:
            """Return the integral from the first breakpoint."""
            if extrapolate != "periodic":
                return whole._along(t, extrapolate)
            t, count = in_period(real_array(t), self.x[0], self.x[-1])
            return whole._along(t, True) + count * whole._along(self.x[-1], True)

        return valued(value, up_to(b) - up_to(a))

    def _along(self, t: Any, extrapolate: Any) -> Any:
        """Return the value at one point, with the shape of the coefficients."""
        return np.reshape(self._at(np.reshape(real_array(t), (1,)), 0, extrapolate), np.shape(self.c)[2:])

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the points where the polynomial is y."""
        roots = self._real.solve(float(constant(y)), discontinuity, extrapolate)
        if np.ndim(self.c) > 2:
            raise UnsupportedError.call(
                "scipy.interpolate.PPoly.solve of several polynomials of numbers that are being differentiated",
                "it returns an array of arrays",
                "a polynomial for each column",
            )
        return attach(lambda x: self(x, extrapolate=True) - y, roots, tol=1e-6)

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the points where the polynomial is 0."""
        return self.solve(0.0, discontinuity, extrapolate)


class AtTracedPoints:
    """Methods of an interpolant with plain coefficients, for points that may be traced."""

    c: Any
    x: Any

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:  # noqa: D102 - that is SciPy's
        of: Any = super() if is_plain(x) else Piecewise(self, self.c, self.x)
        return of.__call__(x, nu, extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:  # noqa: D102
        of: Any = super() if is_plain(a, b) else Piecewise(self, self.c, self.x)
        return of.integrate(a, b, extrapolate)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:  # noqa: D102
        of: Any = super() if is_plain(y) else Piecewise(self, self.c, self.x)
        return of.solve(y, discontinuity, extrapolate)


def interpolant(original: Any, base: type, traced: Callable[..., Any]) -> Any:
    """Return a subclass of SciPy's class with the methods of `base`; of traced data, traced(real, arguments)."""
    parameters = signature(original)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Make SciPy's object, or one of traced data."""
        if is_plain(args, kwargs):
            return object.__new__(cls)
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        fixed, options = constant((args, kwargs))
        return traced(cls(*fixed, **options), bound.arguments)

    return subclass(original, base, __new__=new)


#: Options that may be set after an interpolant was made.
_SETTABLE = ("fill_value", "bounds_error", "method")


class _KeepsArguments:
    """Call of an interpolant of plain data, at points that may be traced."""

    _traced: Any
    _given: dict[str, Any]

    def __call__(self, x: Any, *args: Any, **options: Any) -> Any:
        if is_plain(x, args):
            return super().__call__(x, *args, **options)  # type: ignore[misc]
        now = {name: getattr(self, name) for name in _SETTABLE if name in self._given and hasattr(self, name)}
        return self._traced(self, self._given | now)(x, *args, **options)


def with_arguments(original: Any, traced: Any) -> Any:
    """Return a subclass of SciPy's class that keeps its arguments; of traced data, an object of class `traced`."""
    parameters = signature(original)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Make SciPy's object, or one of traced data."""
        if not args and not kwargs:
            return object.__new__(cls)  # copy and pickle set its attributes
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        if is_plain(args, kwargs):
            made = object.__new__(cls)
            made._given = constant(bound.arguments)
            return made
        fixed, options = constant((args, kwargs))
        return traced(original(*fixed, **options), bound.arguments)

    return subclass(original, _KeepsArguments, __new__=new, _traced=traced)


def subclass(original: Any, base: type, **space: Any) -> Any:
    """Return a subclass of SciPy's class with the methods of `base`, and SciPy's text without its examples."""
    text, _, _ = (inspect.getdoc(original) or "").partition("Examples\n----")
    first = f"scipy.interpolate.{original.__name__} with derivatives: see `dualrev.scipy.interpolate`."
    space |= {"__doc__": f"{first}\n\n{text.rstrip()}", "__module__": "dualrev.scipy.interpolate"}
    return type(original.__name__, (base, original), space)


def _columns(x: Any, y: Any) -> Any:
    """Return a vector as a column for every axis of y."""
    return np.reshape(x, (-1, *(1,) * (np.ndim(y) - 1)))


def _hermite(x: Any, y: Any, s: Any) -> Any:
    """Return the coefficients of the cubic polynomials with the values y and the slopes s at x."""
    h = _columns(np.diff(x), y)
    slope = np.diff(y, axis=0) / h
    t = (s[:-1] + s[1:] - 2.0 * slope) / h
    return np.stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]])


def _by_slopes(slopes: Callable[..., Any]) -> Callable[..., Piecewise]:
    """Return the function that makes a cubic interpolant of traced data, by slopes(x, y, arguments)."""

    def made(real: Any, of: dict[str, Any]) -> Piecewise:
        """Compute the coefficients."""
        x = real_array(of["x"]) + 0.0
        y = np.moveaxis(of_matrices(of["y"]), of["axis"], 0) + 0.0
        return Piecewise(real, _hermite(x, y, slopes(x, y, of)), x)

    return made


def _given(x: Any, y: Any, of: dict[str, Any]) -> Any:
    return np.moveaxis(of_matrices(of["dydx"]), of["axis"], 0)


def _of_pchip(x: Any, y: Any, of: dict[str, Any]) -> Any:
    """Return weighted harmonic means of the differences, 0 at extremes of the data."""
    h = _columns(np.diff(x), y)
    m = np.diff(y, axis=0) / h
    if len(y) == 2:
        return np.concatenate([m, m])
    sign = np.sign(plain(m))
    flat = (sign[1:] != sign[:-1]) | (sign[1:] == 0.0) | (sign[:-1] == 0.0)
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    first, second = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    inner = np.where(flat, 0.0, (first + second) / (first / before + second / after))

    def end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
        """Return the slope at an end, which keeps the shape."""
        d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        turns = np.sign(plain(d)) != np.sign(plain(m0))
        steep = (np.sign(plain(m0)) != np.sign(plain(m1))) & (np.abs(plain(d)) > 3.0 * np.abs(plain(m0)))
        return np.where(turns, 0.0, np.where(steep, 3.0 * m0, d))

    first_slope, last_slope = end(h[0], h[1], m[0], m[1]), end(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([real_array(first_slope)[None], inner, real_array(last_slope)[None]])


def _of_akima(x: Any, y: Any, of: dict[str, Any]) -> Any:
    """Return means of the differences, weighted by how they change."""
    m = np.diff(y, axis=0) / _columns(np.diff(x), y)
    if len(y) == 2:
        return np.concatenate([m, m])
    before, after = 2.0 * m[0] - m[1], 2.0 * m[-1] - m[-2]
    m = np.concatenate([(2.0 * before - m[0])[None], before[None], m, after[None], (2.0 * after - m[-1])[None]])
    change = np.abs(np.diff(m, axis=0))
    if of.get("method", "akima") == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    after, before = change[2:], change[:-2]
    total = after + before
    known = plain(total) > 1e-9 * np.max(plain(total), initial=-np.inf)
    weight = before / np.where(known, total, 1.0)
    return np.where(known, m[1:-2] + weight * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


def _of_spline(x: Any, y: Any, of: dict[str, Any]) -> Any:
    """Return the slopes of the cubic spline, which solve a tridiagonal system."""
    bc = of["bc_type"]
    start, end = (bc, bc) if isinstance(bc, str) else bc
    n, h = len(x), np.diff(x)
    hs = _columns(h, y)
    m = np.diff(y, axis=0) / hs
    if n == 2:
        start, end = ((1, m[0]) if isinstance(u, str) and u in ("not-a-knot", "periodic") else u for u in (start, end))
    if n == 3 and all(isinstance(u, str) and u == "not-a-knot" for u in (start, end)):
        bend = (m[1] - m[0]) / (hs[0] + hs[1])
        return np.stack([m[0] - hs[0] * bend, m[0] + hs[0] * bend, m[1] + hs[1] * bend])
    if isinstance(start, str) and start == "periodic":
        return _of_periodic(h, hs, m)
    one = (1, *np.shape(y)[1:])
    inner = 3.0 * (hs[1:] * m[:-1] + hs[:-1] * m[1:])
    first = _end_row(start, h, hs, m, np.shape(y)[1:], 1.0)
    last = _end_row(end, h[::-1], hs[::-1], m[::-1], np.shape(y)[1:], -1.0)
    diagonal = np.concatenate([_one(first.diagonal), 2.0 * (h[:-1] + h[1:]), _one(last.diagonal)])
    above = np.concatenate([np.zeros(1), _one(first.beside), h[:-1]])
    below = np.concatenate([h[1:], _one(last.beside), np.zeros(1)])
    right = np.concatenate([np.reshape(first.right, one), inner, np.reshape(last.right, one)])
    band = np.stack([above, diagonal, below])
    found = solve_banded((1, 1), band, np.reshape(right, (n, -1)))
    return np.reshape(found, np.shape(y))


def _one(u: Any) -> Any:
    return np.reshape(real_array(u), (1,))


def _end_row(bc: Any, h: Any, hs: Any, m: Any, shape: tuple[int, ...], sign: float) -> _Row:
    """Return the equation at an end: two coefficients and the right-hand side. h counts from that end."""
    if isinstance(bc, str) and bc == "not-a-knot":
        both = hs[0] + hs[1]
        right = ((hs[0] + 2.0 * both) * hs[1] * m[0] + hs[0] ** 2 * m[1]) / both
        return _Row(h[1], h[0] + h[1], right)
    order, value = {"clamped": (1, 0.0), "natural": (2, 0.0)}[bc] if isinstance(bc, str) else bc
    value = np.broadcast_to(of_matrices(value), shape)
    if order == 1:
        return _Row(1.0, 0.0, value)
    return _Row(2.0 * h[0], h[0], 3.0 * m[0] * hs[0] - sign * 0.5 * value * hs[0] ** 2)


class _Row(NamedTuple):
    """Equation at an end of a tridiagonal system."""

    diagonal: Any
    beside: Any
    right: Any


def _of_periodic(h: Any, hs: Any, m: Any) -> Any:
    """Return the slopes of the periodic spline, which solve a cyclic system."""
    n = len(h)
    if n == 2:
        slope = np.sum(m / hs, axis=0) / np.sum(1.0 / hs, axis=0)
        return np.stack([slope] * 3)
    k = np.arange(n)
    before = np.roll(h, 1)
    eye = np.eye(n)
    matrix = (2.0 * (h + before))[:, None] * eye + h[:, None] * eye[k - 1] + before[:, None] * eye[(k + 1) % n]
    right = 3.0 * (hs * np.roll(m, 1, axis=0) + np.roll(hs, 1, axis=0) * m)
    found = np.reshape(np.linalg.solve(matrix, np.reshape(right, (n, -1))), np.shape(right))
    return np.concatenate([found, found[:1]])


def _of_coefficients(real: Any, of: dict[str, Any]) -> Piecewise:
    return Piecewise(real, of_matrices(of["c"]), real_array(of["x"]))


PPoly = interpolant(_interpolate.PPoly, AtTracedPoints, _of_coefficients)
CubicHermiteSpline = interpolant(_interpolate.CubicHermiteSpline, AtTracedPoints, _by_slopes(_given))
PchipInterpolator = interpolant(_interpolate.PchipInterpolator, AtTracedPoints, _by_slopes(_of_pchip))
Akima1DInterpolator = interpolant(_interpolate.Akima1DInterpolator, AtTracedPoints, _by_slopes(_of_akima))
CubicSpline = interpolant(_interpolate.CubicSpline, AtTracedPoints, _by_slopes(_of_spline))
