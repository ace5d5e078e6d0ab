"""`scipy.optimize` with derivatives by the implicit function theorem (dualrev.implicit): roots, minima and fits.

    root  root_scalar  fsolve  fixed_point  newton  bisect  brentq  brenth  ridder  toms748
    minimize  minimize_scalar  brent  golden  fminbound  fmin  fmin_bfgs  fmin_cg  fmin_ncg  fmin_powell
    fmin_l_bfgs_b  differential_evolution  dual_annealing
    least_squares  leastsq  curve_fit  linprog  nnls  lsq_linear

SciPy finds the solution, on plain numbers. It is differentiated with respect to `args` and to all traced numbers that
the function reads; the start, the bracket and the options are constants. Bounds and constraints may be traced, too; the
active ones are equations. If the solver reports that it did not converge, or Newton's method would move the solution
by more than 1e-4 (1 + |x|) (1e-3 for minima), the derivative raises SolutionError. So does a minimum whose Hessian is
singular, or a constraint that is active with the multiplier 0. Without traced numbers these are SciPy's functions.

Of a minimum, x, fun and jac are differentiated; other results, such as hess_inv, are constants.
`linear_sum_assignment` returns indices, which are constants. `basinhopping`, `brute`, `direct` and `shgo` raise
UnsupportedError for traced functions. Every other name is SciPy's own.

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
from dualrev.errors import SolutionError
from dualrev.implicit.solution import applied, attach
from dualrev.scipy.calls import like
from dualrev.scipy.fits import curve_fit, least_squares, leastsq
from dualrev.scipy.linear_programs import linear_sum_assignment, linprog, lsq_linear, nnls
from dualrev.scipy.minimizers import minimize, minimizer, search
from dualrev.scipy.watching import Watch

__all__ = [
    "basinhopping",
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "brute",
    "curve_fit",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "fixed_point",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_l_bfgs_b",
    "fmin_ncg",
    "fmin_powell",
    "fminbound",
    "fsolve",
    "golden",
    "least_squares",
    "leastsq",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "shgo",
    "toms748",
]

#: Searches for a minimum, which are refused: they have no derivative to name where SciPy's own are called.
REFUSED = ("basinhopping", "brute", "direct", "shgo")
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

brent, golden = (minimizer(f, scalar=True) for f in (_optimize.brent, _optimize.golden))
fminbound = minimizer(_optimize.fminbound, bounds=("x1", "x2"), scalar=True)
minimize_scalar = minimizer(_optimize.minimize_scalar, bounds=("bounds",), scalar=True)
fmin, fmin_bfgs, fmin_cg, fmin_ncg, fmin_powell = (
    minimizer(f)
    for f in (_optimize.fmin, _optimize.fmin_bfgs, _optimize.fmin_cg, _optimize.fmin_ncg, _optimize.fmin_powell)
)
fmin_l_bfgs_b = minimizer(
    _optimize.fmin_l_bfgs_b,
    bounds=("bounds",),
    pairs=lambda of: of.get("fprime") is None and not of.get("approx_grad", False),
)
differential_evolution = minimizer(_optimize.differential_evolution, bounds=("bounds",))
dual_annealing = minimizer(_optimize.dual_annealing, bounds=("bounds",))
_CURE = "scipy.optimize.minimize of dualrev.scipy, started at the point that the search finds on plain numbers"
basinhopping, brute, direct, shgo = (
    search(f, _CURE) for f in (_optimize.basinhopping, _optimize.brute, _optimize.direct, _optimize.shgo)
)
