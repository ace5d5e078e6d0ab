"""B-splines with derivatives: `BSpline`, `make_interp_spline`, `make_lsq_spline`, and functions of (t, c, k).

A spline is differentiated by its coefficients c, by its knots t and by the points: de Boor's algorithm computes it from
traced numbers. The coefficients of an interpolating spline solve the equations spline(x) = y, those of a least-squares
spline the normal equations; dualrev.implicit differentiates them by y, and by x.

Source: C. de Boor, "A Practical Guide to Splines", 1978, chapter 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate as _interpolate
from scipy.sparse import csc_array, vstack
from scipy.sparse.linalg import splu

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import attached, constant
from dualrev.scipy.calls import InPlaceOf, is_plain, like
from dualrev.scipy.piecewise import in_period, interpolant, to_axis
from dualrev.scipy.values import valued

__all__ = [
    "BSpline",
    "Spline",
    "make_interp_spline",
    "make_lsq_spline",
    "real_data",
    "splantider",
    "splder",
    "splev",
    "splint",
    "splrep",
]


class Spline(InPlaceOf):
    """B-spline with traced coefficients, knots or points; `real` is SciPy's, with plain ones."""

    _original = _interpolate.BSpline
    _cure = "derivative, antiderivative, integrate or a call"

    def __init__(self, real: Any, t: Any, c: Any) -> None:
        self._real = real
        self.t, self.c = valued(np.asarray(real.t), t), valued(np.asarray(real.c), c)
        self.k, self.extrapolate, self.axis = real.k, real.extrapolate, real.axis

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or derivatives of order nu, at the points x."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        value = self._real(constant(x), nu, extrapolate)
        x = real_array(x)
        y = _evaluated(*_derived(self.t, self.c, self.k, nu), np.reshape(x, -1), extrapolate)
        return valued(value, to_axis(np.reshape(y, x.shape + np.shape(self.c)[1:]), x.ndim, self.axis))

    def derivative(self, nu: int = 1) -> Spline:
        """Return the derivative of order nu, a spline."""
        if nu <= 0:
            return self if nu == 0 else self.antiderivative(-nu)
        real = self._real.derivative(nu)
        t, c, _ = _derived(self.t, self.c, self.k, nu)
        return Spline(real, t, _padded(c, len(real.c), 0.0))

    def antiderivative(self, nu: int = 1) -> Spline:
        """Return the antiderivative of order nu, a spline that is 0 at the first knot."""
        if nu <= 0:
            return self.derivative(-nu)
        real = self._real.antiderivative(nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            t, c, k = _integrated(t, c, k)
        return Spline(real, t, _padded(c, len(real.c), 1.0))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral over a..b."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        value = self._real.integrate(*constant((a, b)), extrapolate)
        n = len(self.t) - self.k - 1
        first, last = self.t[self.k], self.t[n]
        whole = _integrated(self.t, self.c, self.k)

        def up_to(u: Any) -> Any:
            """Return the antiderivative at a limit."""
            u = np.reshape(real_array(u), (1,))
            if extrapolate == "periodic":
                u, count = in_period(u, first, last)
                period = _evaluated(*whole, real_array([first, last]), True)
                return _evaluated(*whole, u, True)[0] + count[0] * (period[1] - period[0])
            if not extrapolate:  # SciPy takes the part of the interval that is inside
                low, high = np.reshape(first, (1,)), np.reshape(last, (1,))
                u = np.where(plain(u) < plain(low), low, np.where(plain(u) > plain(high), high, u))
            return _evaluated(*whole, u, True)[0]

        return valued(value, np.reshape(up_to(b) - up_to(a), np.shape(value)))


def _coefficients(t: Any, c: Any, k: int) -> Any:
    """Return the coefficients that count; others may follow, which SciPy ignores."""
    return real_array(c)[: len(t) - k - 1]


def _derived(t: Any, c: Any, k: int, nu: int) -> tuple[Any, Any, int]:
    """Return knots, coefficients and degree of a derivative of a spline."""
    t, c = real_array(t), _coefficients(t, c, k)
    for _ in range(nu):
        if not k:
            return t, 0.0 * c, 0
        width = t[k + 1 : -1] - t[1 : -k - 1]
        there = plain(width) > 0.0
        factor = np.where(there, k / np.where(there, width, 1.0), 0.0)
        c = np.diff(c, axis=0) * np.reshape(factor, (-1, *(1,) * (np.ndim(c) - 1)))
        t, k = t[1:-1], k - 1
    return t, c, k


def _integrated(t: Any, c: Any, k: int) -> tuple[Any, Any, int]:
    """Return knots, coefficients and degree of the antiderivative."""
    c = _coefficients(t, c, k)
    width = np.reshape(t[k + 1 :] - t[: -k - 1], (-1, *(1,) * (np.ndim(c) - 1)))
    whole = np.cumsum(c * width, axis=0) / (k + 1.0)
    return np.concatenate([t[:1], t, t[-1:]]), np.concatenate([np.zeros((1, *np.shape(c)[1:])), whole]), k + 1


def _padded(c: Any, count: int, factor: float) -> Any:
    """Return as many coefficients as SciPy's object has: those that do not count are the last one times a factor."""
    return np.concatenate([c, *[factor * c[-1:]] * (count - len(c))])


def _evaluated(t: Any, c: Any, k: int, x: Any, extrapolate: Any) -> Any:
    """Return a spline at points, by de Boor's algorithm; 0 outside, where SciPy has NaN."""
    n = len(t) - k - 1
    knots = plain(t)
    if extrapolate == "periodic":
        x, _ = in_period(x, t[k], t[n])
    i = np.clip(np.searchsorted(knots, plain(x), "right") - 1, k, n - 1)
    while k and np.any(empty := (knots[i] == knots[i + 1]) & (i > k)):
        i = i - empty
    shape = (-1, *(1,) * (np.ndim(c) - 1))
    d = [c[i - k + j] for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[j + i - k], t[j + 1 + i - r]
            weight = np.reshape((x - low) / (high - low), shape)
            d[j] = (1.0 - weight) * d[j - 1] + weight * d[j]
    if extrapolate:
        return d[k]
    inside = (plain(x) >= knots[k]) & (plain(x) <= knots[n])
    return np.where(np.reshape(inside, shape), d[k], 0.0)


class _AtTracedPoints:
    """Methods of a spline with plain coefficients, for points that may be traced."""

    t: Any
    c: Any

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        of: Any = super() if is_plain(x) else Spline(self, self.t, self.c)
        return of.__call__(x, nu, extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        of: Any = super() if is_plain(a, b) else Spline(self, self.t, self.c)
        return of.integrate(a, b, extrapolate)


def _of_arguments(real: Any, of: dict[str, Any]) -> Spline:
    c = np.moveaxis(real_data(of["c"], "BSpline"), of["axis"], 0)
    return Spline(real, real_array(of["t"]), c)


def real_data(y: Any, what: str) -> Any:
    """Return data as an array of floats; UnsupportedError for complex numbers."""
    if is_complex(y):
        raise UnsupportedError.call(
            f"scipy.interpolate.{what} of complex numbers that are being differentiated",
            "it has no derivative rule",
            "one interpolant for the real part and one for the imaginary part",
        )
    return real_array(y) + 0.0


BSpline: Any = interpolant(_interpolate.BSpline, _AtTracedPoints, _of_arguments)


def _like_ours(real: Any) -> Any:
    """Return SciPy's spline as one that takes traced points."""
    return BSpline.construct_fast(real.t, real.c, real.k, real.extrapolate, real.axis)


def _knots(x: Any, k: int, ends: bool) -> Any:
    """Return the knots that make_interp_spline takes for x; `ends` says whether there are boundary conditions."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    if k == 1 or ends:
        return np.concatenate([*[x[:1]] * k, x, *[x[-1:]] * k])
    half = (k + 1) // 2 if k % 2 else k // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2.0
    return np.concatenate([*[x[:1]] * (k + 1), inner[half:-half], *[x[-1:]] * (k + 1)])


@like(_interpolate.make_interp_spline)
def make_interp_spline(*given: Any, **options: Any) -> Any:
    """Interpolating B-spline, differentiated by y, by x and by the values of boundary conditions."""
    bound = signature(_interpolate.make_interp_spline).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    real = _like_ours(_interpolate.make_interp_spline(**{k: constant(v) for k, v in of.items()}))
    if is_plain(of):
        return real
    k, bc = real.k, of["bc_type"]
    periodic = isinstance(bc, str) and bc == "periodic"
    x, y = real_array(of["x"]) + 0.0, np.moveaxis(real_data(of["y"], "make_interp_spline"), of["axis"], 0)
    sides = [None, None] if bc is None or bc == "not-a-knot" or periodic else [bc, bc] if isinstance(bc, str) else bc
    t = _knots(x, k, any(u is not None for u in sides)) if of["t"] is None and not periodic else of["t"]
    if not is_plain(x, of["t"]) and (periodic or t is None or not np.array_equal(constant(t), real.t)):
        raise UnsupportedError.call(
            "scipy.interpolate.make_interp_spline with bc_type='periodic' and x that is being differentiated",
            "its knots have no derivative rule",
            "CubicSpline(x, y, bc_type='periodic')",
        )
    t = real.t if periodic else real_array(t)
    if k == 0 or (k == 1 and of["t"] is None):
        return Spline(real, t, y)
    conditions = [_condition(side, np.shape(y)[1:]) for side in sides]
    values = [value for side in conditions for _, value in side]
    orders = [[order for order, _ in side] for side in conditions]
    if periodic:
        orders, values = [list(range(1, k)), []], [np.zeros(np.shape(y)[1:])] * (k - 1)
    c = _interpolating(real, (t, x, y, values), orders, periodic)
    return Spline(real, t, c)


def _condition(side: Any, shape: tuple[int, ...]) -> list[tuple[int, Any]]:
    """Return the boundary conditions at one end: orders and values of derivatives."""
    if side is None:
        return []
    if isinstance(side, str):
        return [({"clamped": 1, "natural": 2}[side], np.zeros(shape))]
    return [(order, np.broadcast_to(real_array(value), shape)) for order, value in side]


def _interpolating(real: Any, data: Any, orders: list[list[int]], periodic: bool) -> Any:
    """Return the coefficients of the interpolating spline: the solution of its linear equations."""
    k = real.k
    n = len(real.t) - k - 1

    def rows(t: Any, c: Any, x: Any) -> Any:
        """Return the spline at x, between its derivatives at the ends."""
        at_ends = [
            _evaluated(*_derived(t, c, k, order), x[:1] if side == 0 else x[-1:], True)
            - (_evaluated(*_derived(t, c, k, order), x[-1:], True) if periodic else 0.0)
            for side in (0, 1)
            for order in orders[side]
        ]
        return np.concatenate([_evaluated(t, c, k, x, True), *at_ends])

    def residual(c: Any, t: Any, x: Any, y: Any, values: Any) -> Any:
        """Return the values less the data."""
        return rows(t, c, x) - np.concatenate([y, *[np.reshape(v, (1, *np.shape(y)[1:])) for v in values]])

    t, x, *_ = constant(data)
    of_points = _interpolate.BSpline.design_matrix(x, t, k, extrapolate=True)
    ends = rows(t, np.eye(n), x)[len(x) :]
    factors = splu(csc_array(vstack([of_points, csc_array(ends)]) if len(ends) else of_points))
    residual.__qualname__ = "make_interp_spline"
    start = np.asarray(real.c, dtype=float)[:n]
    return attached(residual, start, data, lambda _, b: factors.solve(b), lambda _, b: factors.solve(b, "T"), 1e-6)


@like(_interpolate.make_lsq_spline)
def make_lsq_spline(*given: Any, **options: Any) -> Any:
    """Least-squares B-spline with constant knots, differentiated by x, y and the weights."""
    bound = signature(_interpolate.make_lsq_spline).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    real = _like_ours(_interpolate.make_lsq_spline(**{k: constant(v) for k, v in of.items()}))
    if is_plain(of):
        return real
    x, y = real_array(of["x"]) + 0.0, np.moveaxis(real_data(of["y"], "make_lsq_spline"), of["axis"], 0)
    t, k, n = real_array(of["t"]), real.k, len(real.t) - real.k - 1
    design = _evaluated(t, np.eye(n), k, x, True)
    weight = np.ones(len(y)) if of["w"] is None else real_array(of["w"])
    weighted = design * np.reshape(weight, (-1, 1))
    right = np.reshape(y, (len(y), -1)) * np.reshape(weight, (-1, 1))
    c = np.linalg.solve(weighted.T @ weighted, weighted.T @ right)
    return Spline(real, t, np.reshape(c, (n, *np.shape(y)[1:])))


@like(_interpolate.splrep)
def splrep(*given: Any, **options: Any) -> Any:
    """B-spline (t, c, k) of data; with s=0, which is the default without weights, differentiated by x and y."""
    bound = signature(_interpolate.splrep).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    made = _interpolate.splrep(**{k: constant(v) for k, v in of.items()})
    if is_plain(of):
        return made
    t, c, k = made[0] if of["full_output"] else made
    free = of["w"] is None and of["xb"] is None and of["xe"] is None and of["t"] is None and not of["per"]
    if not free or of["s"] not in (None, 0, 0.0):
        raise UnsupportedError.call(
            "scipy.interpolate.splrep with s, w, t, xb, xe or per of numbers that are being differentiated",
            "its choice of knots has no derivative rule",
            "make_interp_spline, or make_lsq_spline with the knots",
        )
    spline = make_interp_spline(of["x"], of["y"], k)
    if not np.allclose(constant(spline.t), t, rtol=1e-12, atol=0.0):
        raise UnsupportedError.call(
            f"scipy.interpolate.splrep with k={k} of numbers that are being differentiated",
            "its choice of knots has no derivative rule",
            "make_interp_spline",
        )
    ours = valued(t, spline.t), valued(c, np.concatenate([spline.c, np.zeros(len(c) - len(spline.c))])), k
    return (ours, *made[1:]) if of["full_output"] else ours


@like(_interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """B-spline at points, differentiated by the points and by (t, c, k)."""
    real = tck._real if isinstance(tck, Spline) else tck
    if not isinstance(real, _interpolate.BSpline):
        return _interpolate.splev(x, tck, der, ext) if is_plain(x, tck) else _interpolated(x, tck, der, ext)
    value = _interpolate.splev(constant(x), real, der, ext)  # or SciPy's error
    if real is tck:
        return value if is_plain(x) else _like_ours(tck)(x, der, extrapolate=True)
    return tck(x, der, extrapolate=True)


def _interpolated(x: Any, tck: Any, der: int, ext: int) -> Any:
    t, c, k = tck
    if isinstance(c, (list, tuple)) and np.ndim(c[0]):
        return [_interpolated(x, (t, part, k), der, ext) for part in c]
    value = _interpolate.splev(constant(x), constant((t, c, k)), der, ext)
    x, t = real_array(x), real_array(t)
    flat, low, high = np.reshape(x, -1), t[k], t[len(t) - k - 1]
    outside = (plain(flat) < plain(low)) | (plain(flat) > plain(high))
    if ext == 3 and not der:  # the value at the boundary; derivatives are continued
        flat = np.where(plain(flat) < plain(low), low, np.where(plain(flat) > plain(high), high, flat))
    y = _evaluated(*_derived(t, real_array(c), k, der), flat, True)
    y = np.where(outside, 0.0, y) if ext == 1 else y
    return valued(value, np.reshape(y, x.shape))


@like(_interpolate.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Integral of a B-spline, differentiated by the limits and by (t, c, k)."""
    if is_plain(a, b, tck) and not isinstance(tck, Spline):
        return _interpolate.splint(a, b, tck, full_output)
    t, c, k = tck.tck if hasattr(tck, "tck") else tck
    if full_output:
        raise UnsupportedError.call(
            "scipy.interpolate.splint with full_output of numbers that are being differentiated",
            "its second result has no derivative rule",
            "it without full_output",
        )
    return BSpline(t, c, k, extrapolate=False).integrate(a, b)


def _of_order(original: Any, name: str) -> Any:
    """Return a function of a B-spline and an order that is a method of `Spline`, too."""

    @like(original)
    def call(tck: Any, n: int = 1) -> Any:
        """B-spline (t, c, k), differentiated by t and c."""
        if isinstance(tck, Spline):
            return getattr(tck, name)(n)
        if isinstance(tck, _interpolate.BSpline):
            return original(tck, n)
        made = original(constant(tck), n)  # or SciPy's error
        return made if is_plain(tck) else getattr(BSpline(*tck), name)(n).tck

    return call


splder = _of_order(_interpolate.splder, "derivative")
splantider = _of_order(_interpolate.splantider, "antiderivative")
