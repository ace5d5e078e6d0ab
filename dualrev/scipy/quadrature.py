"""Quadrature with derivatives: `quad`, `dblquad`, `tplquad`, `nquad`, `quad_vec` and `fixed_quad`.

The value is SciPy's. It is differentiated by the limits, `args` and all traced numbers that the function reads, as
`integrals` says: under the integral sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate as _integrate
from scipy.special import roots_legendre

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import applied, constant
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.integrals import Integral, Integrand, Runs
from dualrev.scipy.values import valued
from dualrev.scipy.watching import Watch

__all__ = ["dblquad", "fixed_quad", "nquad", "quad", "quad_vec", "tplquad"]

#: Weights of quad that are functions of x at the limits, too; the others are not there, or infinite.
_WEIGHTS = {"cos": np.cos, "sin": np.sin}


@like(_integrate.quad)
def quad(*given: Any, **options: Any) -> Any:
    """Integral of a function, differentiated in a, b, args and captured numbers: see `dualrev.scipy.integrate`."""
    bound = signature(_integrate.quad).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    func, a, b = (of.pop(name) for name in ("func", "a", "b"))
    args = of.pop("args")
    args = args if isinstance(args, tuple) else (args,)
    if not callable(func):
        return _of_pointer(func, a, b, args, of)
    f, runs = applied(func), Runs()
    if of["complex_func"]:
        return _complex(f, a, b, args, of)
    at_ends, rest = constant((a, b)), constant(of)
    made = _integrate.quad(_plain(f, args, runs), *at_ends, **rest)
    runs.add(real_array([a, b]))
    if not is_plain(of["wvar"]):
        raise UnsupportedError.call(
            "scipy.integrate.quad with a weight's parameter wvar of numbers that are being differentiated",
            "it has no derivative rule",
            "the weight as a factor of the function",
        )
    if not runs.inner_first():
        return made
    options = {name: x for name, x in rest.items() if name != "full_output"}
    weight = _weight(of["weight"], of["wvar"], is_plain(a, b))

    def method(f: Integrand, limits: tuple[float, ...], size: int) -> np.ndarray:
        """Integrate every element."""
        element = _elements(f)
        return np.array([_integrate.quad(element, *limits, (k,), **options)[0] for k in range(size)])

    def vector(x: Any) -> Any:
        """Return f as a vector of one element."""
        return np.reshape(real_array(f(x, *args)), (1,))

    integral = Integral(method, 1, weight).traced(vector, (a, b), runs.inner_first())
    return (valued(made[0], integral[0]), *made[1:])


def _complex(f: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...], of: dict[str, Any]) -> Any:
    """Return the integral of a complex function as SciPy does, by its real and its imaginary part."""
    more = of | {"complex_func": False}
    (x, of_x, *rest), (y, of_y, *others) = (
        quad(lambda *x, part=part: part(f(*x)), a, b, args, **more) for part in (np.real, np.imag)
    )
    made = x + 1j * y, of_x + 1j * of_y
    return (*made, {"real": (*rest,), "imag": (*others,)}) if of["full_output"] else made


def _elements(f: Integrand) -> Callable[..., float]:
    """Return f(*x)[k] as a function of (*x, k), with one evaluation of f at a point that several elements take."""
    known: dict[tuple[float, ...], np.ndarray] = {}

    def element(*x_and_k: Any) -> float:
        """Return one element of f(x)."""
        *x, k = x_and_k
        at = tuple(x)
        if at not in known:
            known[at] = f(at if len(at) > 1 else at[0])
        return float(known[at][k])

    return element


def _plain(f: Callable[..., Any], args: tuple[Any, ...], runs: Runs) -> Callable[..., Any]:
    """Return f(x, *args) with plain values, that notes their runs."""

    def call(*x: Any) -> Any:
        """Return the plain value."""
        y = f(*x, *args)
        if is_plain(y):
            return y
        if is_complex(y):
            raise UnsupportedError.call(
                "an integral of a complex function of numbers that are being differentiated",
                "it has no derivative rule",
                "quad with complex_func=True, or one integral of z.real and one of z.imag",
            )
        return runs.add(real_array(y))[()]

    return call


def _of_pointer(func: Any, a: Any, b: Any, args: tuple[Any, ...], of: dict[str, Any]) -> Any:
    if not is_plain(a, b, args):
        raise UnsupportedError.call(
            "scipy.integrate.quad of a LowLevelCallable with numbers that are being differentiated",
            "its derivative is unknown",
            "the Python function or the numba function that it was made of",
        )
    return _integrate.quad(func, a, b, args, **of)


def _weight(name: str | None, wvar: Any, constant_limits: bool) -> Callable[[Any], Any] | None:
    """Return the weight as a function, for limits under differentiation."""
    if name is None or constant_limits:
        return None
    if name not in _WEIGHTS:
        raise UnsupportedError.call(
            f"scipy.integrate.quad with weight={name!r} and limits that are being differentiated",
            "the weight is infinite at a point that moves with them",
            "it over 0..1, with x = a + (b - a) * t in the function",
        )
    of_x = _WEIGHTS[name]
    return lambda x: of_x(wvar * x)


@like(_integrate.quad_vec)
def quad_vec(*given: Any, **options: Any) -> Any:
    """Integral of a vector-valued function, differentiated in a, b, args and captured numbers."""
    bound = signature(_integrate.quad_vec).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    f, a, b = (of.pop(name) for name in ("f", "a", "b"))
    args = of.pop("args", ())
    called, runs = applied(f), Runs()
    args = args if isinstance(args, tuple) else (args,)
    rest = constant(of)
    made = _integrate.quad_vec(_plain(called, args, runs), *constant((a, b)), **rest)
    runs.add(real_array([a, b]))
    if not runs.inner_first():
        return made
    shape, options = np.shape(made[0]), rest | {"full_output": False}

    def method(f: Integrand, limits: tuple[float, ...], size: int) -> np.ndarray:
        """Integrate all elements at once."""
        found: np.ndarray = _integrate.quad_vec(f, *limits, **options)[0] if size else np.zeros(0)
        return found

    def vector(x: Any) -> Any:
        """Return f as a vector."""
        return np.reshape(real_array(called(x, *args)), -1)

    size = int(np.prod(shape))
    integral = Integral(method, size).traced(vector, (a, b), runs.inner_first())
    return (valued(made[0], np.reshape(integral, shape)), *made[1:])


@like(_integrate.fixed_quad)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Integral by Gauss's rule of order n, differentiated in a, b, args and captured numbers."""
    watch, f = Watch(), applied(func)
    made = _integrate.fixed_quad(watch.plain(func), *constant((a, b)), constant(args), n)
    watch.forget()
    if not watch.seen and is_plain(a, b, args):
        return made
    x, w = roots_legendre(n)
    y = real_array(f((b - a) * (x + 1.0) / 2.0 + a, *args))
    return (valued(made[0], (b - a) / 2.0 * np.sum(w * y, axis=-1)), *made[1:])


@like(_integrate.nquad)
def nquad(*given: Any, **options: Any) -> Any:
    """Integral over several variables, differentiated in the limits, args and captured numbers."""
    bound = signature(_integrate.nquad).bind(*given, **options)
    bound.apply_defaults()
    func, ranges, args, opts, full_output = bound.args
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    n, called, runs = len(ranges), applied(func), Runs()
    moves = [not callable(r) and not is_plain(r) for r in ranges]

    def limits(k: int) -> Callable[..., Any]:
        """Return the limits of a variable as a function of those further out, with plain values."""

        def call(*outer: Any) -> Any:
            """Call the user's function, and note whether its values are traced."""
            ends = applied(ranges[k])(*outer[: n - 1 - k], *args) if callable(ranges[k]) else ranges[k]
            moves[k] = moves[k] or not is_plain(ends)
            return [runs.add(real_array(u)) for u in ends]

        return call

    if opts is not None and not isinstance(opts, dict):
        fixed = constant(args)
        opts = [_with(o, n - 1 - k, fixed) if callable(o) else o for k, o in enumerate(opts)]
    plain_ranges = [limits(k) for k in range(n)]
    made = _integrate.nquad(_plain(called, args, runs), plain_ranges, None, opts, full_output)
    if not runs.inner_first():
        return made
    for k in range(n - 2, -1, -1):  # its limits are functions of variables that move
        moves[k] = moves[k] or (callable(ranges[k]) and any(moves[k + 1 :]))
    if any(moves) and opts:
        opts = _without_places(opts)
    of_unit = _Unit(called, ranges, args, moves)
    inner = [of_unit.limits(k, r) for k, r in enumerate(plain_ranges)]

    def method(f: Integrand, _: tuple[float, ...], size: int) -> np.ndarray:
        """Integrate every element over all variables."""
        element = _elements(f)
        return np.array([_integrate.nquad(element, inner, (k,), opts)[0] for k in range(size)])

    integral = Integral(method, 1).traced(of_unit, (), runs.inner_first())
    return (valued(made[0], integral[0]), *made[1:])


def _with(options: Callable[..., Any], count: int, args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return a function of the user that takes `count` variables of SciPy's call, and then `args`."""
    return lambda *outer: options(*outer[:count], *args)


def _without_places(opts: Any) -> Any:
    """Return the options; UnsupportedError for points or weights, which would move with the limits."""
    if not isinstance(opts, dict) or {"points", "weight"} & set(opts):
        raise UnsupportedError.call(
            "scipy.integrate.nquad with points, a weight or a list of opts and limits that are being differentiated",
            "the variables are scaled to constant limits",
            "constant limits 0..1, with x = a + (b - a) * t in the function, or opts as a dict of tolerances",
        )
    return opts


class _Unit:
    """The integrand of `nquad` as a function of variables with constant limits, where the limits are traced.

    x = low + (high - low) t with t in 0..1; x = low + t or x = high - t if the other limit is infinite.
    """

    def __init__(self, f: Callable[..., Any], ranges: Any, args: tuple[Any, ...], moves: list[bool]) -> None:
        self._f, self._args, self._moves = f, args, moves
        self._ranges = [applied(r) if callable(r) else r for r in ranges]

    def limits(self, k: int, given: Callable[..., Any]) -> Any:
        """Return the limits of a variable for SciPy."""
        if not self._moves[k]:
            return given

        def call(*outer: Any) -> list[float]:
            """Return the limits of t, of a variable that is scaled."""
            low, high = constant(self._ends(k, self._scaled(outer[: len(self._moves) - 1 - k], k + 1)[0]))
            return [
                0.0 if np.isfinite([low, high]).any() else -np.inf,
                1.0 if np.isfinite([low, high]).all() else np.inf,
            ]

        return call

    def __call__(self, t: Any) -> Any:
        """Return the integrand, with the factor of the scaling, as a vector."""
        t = t if isinstance(t, tuple) else (t,)
        x, factor = self._scaled(t, 0)
        return np.reshape(real_array(self._f(*x, *self._args) * factor), (1,))

    def _ends(self, k: int, outer: tuple[Any, ...]) -> Any:
        ends = self._ranges[k]
        low, high = ends(*outer, *self._args) if callable(ends) else ends
        return low, high

    def _scaled(self, t: tuple[Any, ...], first: int) -> tuple[tuple[Any, ...], Any]:
        """Return the variables from the number `first` on, and the factor of their scaling."""
        x: tuple[Any, ...] = ()
        factor: Any = 1.0
        for k in range(len(self._moves) - 1, first - 1, -1):
            u = t[k - first]
            if self._moves[k]:
                low, high = self._ends(k, x)
                below, above = np.isfinite(constant((low, high)))
                if below and above:
                    u, factor = low + (high - low) * u, factor * (high - low)
                elif below or above:
                    u = low + u if below else high - u
            x = (u, *x)
        return x, factor


@like(_integrate.dblquad)
def dblquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: float = 1.49e-8, epsrel: float = 1.49e-8
) -> Any:
    """Double integral of func(y, x) over x in a..b and y in gfun(x)..hfun(x): see `nquad`."""

    def inner(x: Any, *_: Any) -> Any:
        """Return the limits of y."""
        return [_at(gfun, x), _at(hfun, x)]

    return nquad(func, [inner, [a, b]], args=args, opts={"epsabs": epsabs, "epsrel": epsrel})


@like(_integrate.tplquad)
def tplquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Triple integral of func(z, y, x) over x in a..b, y in gfun(x)..hfun(x) and z in qfun(x, y)..rfun(x, y)."""

    def innermost(y: Any, x: Any, *_: Any) -> Any:
        """Return the limits of z."""
        return [_at(qfun, x, y), _at(rfun, x, y)]

    def inner(x: Any, *_: Any) -> Any:
        """Return the limits of y."""
        return [_at(gfun, x), _at(hfun, x)]

    return nquad(func, [innermost, inner, [a, b]], args=args, opts={"epsabs": epsabs, "epsrel": epsrel})


def _at(limit: Any, *x: Any) -> Any:
    return applied(limit)(*x) if callable(limit) else limit
