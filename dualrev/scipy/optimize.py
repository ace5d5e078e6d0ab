"""`scipy.optimize`: roots and fixed points, with derivatives by the implicit function theorem (dualrev.implicit).

    root  root_scalar  fsolve  fixed_point  newton  bisect  brentq  brenth  ridder  toms748

SciPy finds the solution, on plain numbers. It is differentiated with respect to `args` and to all traced numbers that
the function reads; the start, the bracket and the options are constants. If the solver reports that it did not
converge, or Newton's method would move the solution by more than 1e-4 (1 + |x|), the derivative raises SolutionError.
Without traced numbers these are SciPy's functions. `minimize_scalar` and other searches for a minimum raise
UnsupportedError for traced functions, because they compare values. Every other name is SciPy's own.

>>> import dualrev as dr
>>> dr.grad(lambda a: brentq(lambda x: x**3 - a, 0.0, 3.0))(8.0)
0.08333333333...
>>> dr.jacobian(lambda p: root(lambda x: x * x - p, np.ones(2)).x)(np.array([4.0, 16.0])).round(6)
array([[0.25 , 0.   ],
       [0.   , 0.125]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize as _optimize

from dualrev.diagnostics.signatures import signature
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import applied, attach
from dualrev.scipy.calls import like
from dualrev.scipy.watching import Watch

__all__ = [
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "fixed_point",
    "fmin_powell",
    "fminbound",
    "fsolve",
    "golden",
    "minimize_scalar",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]

#: Searches for a minimum, which are refused: they have no derivative to name where SciPy's own are called.
REFUSED = ("brent", "fmin_powell", "fminbound", "golden", "minimize_scalar")
_TOLERANCE = 1e-4  # of some methods the default tolerance is 6e-6, and of the residual


def __getattr__(name: str) -> Any:
    return getattr(_optimize, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_optimize)})


#: These call f(x, *args) for any sequence args; the others take what is no tuple for one argument.
_UNPACKED = (_optimize.newton, _optimize.fixed_point)


def _is_true(option: Any) -> bool:
    return not callable(option) and bool(option)


def _solver(original: Callable[..., Any], equation: Callable[[Any, Any], Any] = lambda found, x: found) -> Any:
    """Return a solver of SciPy with the derivative of its solution; equation(function's value, x) is 0."""
    parameters = signature(original)

    @like(original)
    def call(*given: Any, **options: Any) -> Any:
        """Solution with its derivative in args, and in what the function reads: see `dualrev.scipy.optimize`."""
        bound = parameters.bind(*given, **options)
        function, *_ = bound.args
        args = bound.arguments.get("args", ())
        if original not in _UNPACKED and not isinstance(args, tuple):
            args = (args,)
        watch = Watch()
        bound.arguments |= watch.options(dict(bound.arguments))
        made = original(*bound.args, **bound.kwargs)
        watch.forget()
        if not watch.seen:
            return made
        f = applied(function)
        pairs = any(_is_true(bound.arguments.get(name)) for name in ("jac", "fprime", "fprime2"))

        def residual(x: Any) -> Any:
            """Return the value that is 0 at the solution."""
            found = f(x, *args)
            return equation(found[0] if pairs else found, x)  # fprime=True, jac=True: derivatives follow

        residual.__qualname__ = getattr(function, "__qualname__", repr(function))
        return _attached(made, residual)

    return call


def _attached(made: Any, residual: Callable[..., Any]) -> Any:
    """Return SciPy's result with the derivative of the solution in it."""
    if isinstance(made, tuple):  # full_output
        x, *rest = made
        x = _solution(residual, x)
        if rest and isinstance(rest[0], _optimize.RootResults):
            rest[0].root = x
        return made._replace(root=x) if hasattr(made, "_replace") else (x, *rest)
    if isinstance(made, _optimize.RootResults):
        _check(residual, made.converged, made.flag)
        made.root = _solution(residual, made.root)
    elif isinstance(made, _optimize.OptimizeResult):
        _check(residual, made.success, made.message)
        made.x = _solution(residual, made.x)
    else:
        return _solution(residual, made)
    return made


def _check(residual: Callable[..., Any], converged: bool, message: str) -> None:
    if not converged:
        raise SolutionError(residual, f"SciPy's solver says: {' '.join(message.split()).rstrip('.')}")


def _solution(residual: Callable[..., Any], x: Any) -> Any:
    return attach(residual, x if np.ndim(x) or np.iscomplexobj(x) else float(x), tol=_TOLERANCE)


def _search(original: Callable[..., Any]) -> Any:
    """Return a search for a minimum that refuses traced functions: it compares values, and would have a derivative of
    0.
    """
    parameters = signature(original)

    @like(original)
    def call(*given: Any, **options: Any) -> Any:
        """Search for a minimum, without a derivative: UnsupportedError if the function's values are traced."""
        bound = parameters.bind(*given, **options)
        watch, function = Watch(), next(iter(bound.arguments))
        bound.arguments |= watch.options({k: v for k, v in bound.arguments.items() if k == function or not callable(v)})
        made = original(*bound.args, **bound.kwargs)
        watch.forget()
        if watch.seen:
            raise UnsupportedError.call(
                f"scipy.optimize.{original.__name__} of numbers that are being differentiated",
                "it compares values",
                "dualrev.implicit.attach(dualrev.grad(f), x), for the minimum x that it finds with plain numbers",
            )
        return made

    return call


root = _solver(_optimize.root)
root_scalar = _solver(_optimize.root_scalar)
fsolve = _solver(_optimize.fsolve)
fixed_point = _solver(_optimize.fixed_point, lambda found, x: found - x)
newton = _solver(_optimize.newton)
bisect = _solver(_optimize.bisect)
brentq = _solver(_optimize.brentq)
brenth = _solver(_optimize.brenth)
ridder = _solver(_optimize.ridder)
toms748 = _solver(_optimize.toms748)
brent = _search(_optimize.brent)
fmin_powell = _search(_optimize.fmin_powell)
fminbound = _search(_optimize.fminbound)
golden = _search(_optimize.golden)
minimize_scalar = _search(_optimize.minimize_scalar)
