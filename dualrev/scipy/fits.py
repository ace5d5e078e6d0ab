"""Nonlinear least squares with derivatives: `least_squares`, `leastsq` and `curve_fit`.

The parameters minimise the cost, a function of the residuals; `optimality` differentiates them by the data, the
bounds and all traced numbers that the function reads. The residuals, their Jacobian and the covariance are functions of
the parameters and of the data, and are differentiated as these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize as _optimize

from dualrev.api.derivatives import jacobian
from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import applied, constant
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.minimizers import succeeded, tuple_of
from dualrev.scipy.optimality import bounded, minimum
from dualrev.scipy.values import valued
from dualrev.scipy.watching import Watch

__all__ = ["curve_fit", "least_squares", "leastsq"]

#: rho(z) of the losses of least_squares, as SciPy defines them; z are squares of residuals.
_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(plain(z) <= 1.0, z, 2.0 * np.sqrt(np.where(plain(z) <= 1.0, 1.0, z)) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def _flat(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """Return f as a function of the parameters that returns a vector of residuals."""
    called = applied(f)
    return lambda x: np.reshape(real_array(called(x, *args, **kwargs)), -1)


def _bounds(bounds: Any) -> Any:
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)


@like(_optimize.least_squares)
def least_squares(*given: Any, **options: Any) -> Any:
    """Least-squares solution, differentiated in args, kwargs, bounds and captured numbers.

    x, fun and cost have derivatives; jac has one with loss="linear".
    """
    bound = signature(_optimize.least_squares).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    args, kwargs, ends = tuple_of(of["args"]), of["kwargs"] or {}, _bounds(of["bounds"])
    known = watch.options({k: v for k, v in of.items() if k not in ("bounds", "loss")} | {"args": args})
    watch.seen = watch.seen or not is_plain(ends)
    known |= {"loss": of["loss"], "bounds": of["bounds"] if is_plain(ends) else constant(ends)}
    made = _optimize.least_squares(**known)
    watch.forget()
    if not watch.seen:
        return made
    succeeded(made, of["fun"])
    if of["loss"] not in _LOSSES:
        raise UnsupportedError.call(
            "scipy.optimize.least_squares with a function as loss of numbers that are being differentiated",
            "its derivatives are arrays of the function",
            f"one of the losses {', '.join(map(repr, _LOSSES))}, or the cost with dualrev.scipy.optimize.minimize",
        )
    f, rho, scale = _flat(of["fun"], args, kwargs), _LOSSES[of["loss"]], of["f_scale"]

    def cost(x: Any) -> Any:
        """Return the cost that SciPy minimises."""
        return 0.5 * np.sum(scale**2 * rho((f(x) / scale) ** 2))

    x = minimum(cost, made.x, bounded(ends, made.x.size), of["fun"])
    made.x, made.fun, made.cost = x, valued(made.fun, f(x)), valued(made.cost, cost(x))
    if of["loss"] == "linear" and isinstance(made.jac, np.ndarray):
        made.jac = valued(made.jac, jacobian(f)(x))
    return made


@like(_optimize.leastsq)
def leastsq(*given: Any, **options: Any) -> Any:
    """Least-squares solution, differentiated in args and captured numbers: x and cov_x."""
    bound = signature(_optimize.leastsq).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    args = tuple_of(of["args"])
    made = _optimize.leastsq(**watch.options(dict(of) | {"args": args}))
    watch.forget()
    if not watch.seen:
        return made
    if not 1 <= made[-1] <= 4:
        raise SolutionError(of["func"], "SciPy's solver says that it has not converged")
    f = _flat(of["func"], args, {})
    x = _least(f, made[0], of["func"])
    if not of["full_output"] or made[1] is None:
        return (x, *made[1:])
    _set_residuals(made[2], f, x)
    return (x, valued(made[1], _covariance(f, x)), *made[2:])


def _least(f: Callable[[Any], Any], x: Any, fun: Any, ends: Any = (-np.inf, np.inf)) -> Any:
    start = np.reshape(np.asarray(x, dtype=float), -1)
    return minimum(lambda x: 0.5 * np.sum(f(x) ** 2), start, bounded(ends, start.size), fun)


def _set_residuals(info: dict[str, Any], f: Callable[[Any], Any], x: Any) -> None:
    """Put the residuals at the solution into SciPy's dictionary."""
    if "fvec" in info:
        info["fvec"] = valued(info["fvec"], f(x))


def _covariance(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the inverse of the normal matrix."""
    slope = jacobian(f)(x)
    return np.linalg.inv(slope.T @ slope)


@like(_optimize.curve_fit)
def curve_fit(*given: Any, **options: Any) -> Any:
    """Fit of a curve: popt and pcov, differentiated in xdata, ydata, sigma, bounds and captured numbers."""
    bound = signature(_optimize.curve_fit).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    more = of["kwargs"]
    ends = _bounds(of["bounds"])
    known = watch.options({k: v for k, v in of.items() if k not in ("kwargs", "bounds")} | more)
    watch.seen = watch.seen or not is_plain(ends)
    known["f"] = _with_signature(known["f"], of["f"])
    known["bounds"] = of["bounds"] if is_plain(ends) else constant(ends)
    made = _optimize.curve_fit(**known)
    watch.forget()
    if not watch.seen:
        return made
    if of["nan_policy"] not in (None, "raise"):
        raise UnsupportedError.call(
            f"scipy.optimize.curve_fit with nan_policy={of['nan_policy']!r} of numbers that are being differentiated",
            "it leaves out elements",
            "the data without NaN: xdata[~np.isnan(ydata)]",
        )
    f = _weighted(of)
    popt = _least(f, made[0], of["f"], ends)
    if of["full_output"]:
        _set_residuals(made[2], f, popt)
    return (popt, _pcov(f, popt, made[1], of["absolute_sigma"]), *made[2:])


def _with_signature(watched: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the watched function with the signature of f, from which SciPy counts the parameters."""
    try:
        made: Any = watched
        made.__signature__ = signature(getattr(f, "py_func", f))
    except (TypeError, ValueError):
        pass
    return watched


def _weighted(of: dict[str, Any]) -> Callable[[Any], Any]:
    """Return the weighted residuals of a curve as a function of its parameters."""
    f, x, sigma = applied(of["f"]), of["xdata"], of["sigma"]
    x = real_array(x) + 0.0 if isinstance(x, (list, tuple, np.ndarray)) else x  # floats, as SciPy converts them
    y = np.reshape(real_array(of["ydata"]), -1)
    sigma = None if sigma is None else real_array(sigma)

    def residuals(p: Any) -> Any:
        """Return f(xdata, *p) - ydata, divided by sigma or by the Cholesky factor of that matrix."""
        r = np.reshape(real_array(f(x, *p)), -1) - y
        if sigma is None:
            return r
        if np.ndim(sigma) < 2 or np.shape(sigma) == (1, 1):
            return r / np.reshape(sigma, -1)
        from dualrev.scipy.linalg import cholesky, solve_triangular

        return solve_triangular(cholesky(sigma, lower=True), r, lower=True)

    return residuals


def _pcov(f: Callable[[Any], Any], popt: Any, value: np.ndarray, absolute: bool) -> Any:
    """Return the covariance of the parameters; SciPy's infinite one is a constant."""
    if not np.isfinite(value).all():
        return value
    r = f(popt)
    made = _covariance(f, popt)
    return valued(value, made if absolute else made * (np.sum(r**2) / (r.size - popt.size)))
