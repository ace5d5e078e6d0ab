"""SciPy's minimisers with the derivative of the minimum: `minimize`, `minimize_scalar` and others.

SciPy finds the minimum on plain numbers. `optimality` gives it its derivative in `args`, in the bounds and in all
traced numbers that the function reads. The value of the function there is differentiated, too. Other results, such as
hess_inv and the number of iterations, are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize as _optimize

from dualrev.api.derivatives import grad
from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import applied, constant
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.optimality import Constraint, Scalar, bounded, minimum
from dualrev.scipy.values import valued
from dualrev.scipy.watching import Watch

__all__ = ["minimize", "minimizer", "one_value", "search", "succeeded", "tuple_of", "with_x"]


def tuple_of(args: Any) -> tuple[Any, ...]:
    """Return additional arguments as a tuple."""
    return args if isinstance(args, tuple) else (args,)


def one_value(f: Callable[..., Any], args: tuple[Any, ...], pairs: bool = False) -> Scalar:
    """Return f with its arguments as a function of x that returns a number; with `pairs`, f returns (value, slope)."""
    called = applied(f)

    def value(x: Any) -> Any:
        """Return the value, which SciPy takes out of an array of one element."""
        made = called(x, *args)
        made = made[0] if pairs else made
        return np.reshape(real_array(made), -1)[0] if np.ndim(made) else made

    return value


def with_x(made: Any, x: Any, value: Any) -> Any:
    """Put a traced x and the value of the function there into SciPy's result."""
    made.x, made.fun = x, valued(made.fun, value)
    return made


@like(_optimize.minimize)
def minimize(*given: Any, **options: Any) -> Any:
    """Minimum of a function, differentiated in args, bounds and captured numbers: see `dualrev.scipy.optimize`."""
    bound = signature(_optimize.minimize).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    args = tuple_of(of["args"])
    ends, constraints = _ends(of["bounds"]), _listed(of["constraints"])
    left = {k: v for k, v in of.items() if k not in ("bounds", "constraints", "method")}
    known = watch.options(left | {"args": args})
    watch.seen = watch.seen or not is_plain(ends)
    known["method"] = of["method"]
    known["bounds"] = of["bounds"] if is_plain(ends) else _optimize.Bounds(*constant(ends))
    known["constraints"] = [_watched(watch, c) for c in constraints] or ()
    made = _optimize.minimize(**known)
    watch.forget()
    if not watch.seen:
        return made
    succeeded(made, of["fun"])
    f = one_value(of["fun"], args, not callable(of["jac"]) and not isinstance(of["jac"], str) and bool(of["jac"]))
    conditions = [_constraint(c) for c in constraints]
    if ends is not None:
        conditions += bounded(ends, made.x.size)
    x = minimum(f, made.x, conditions, of["fun"])
    if "jac" in made and np.shape(made.jac) == made.x.shape:
        made.jac = valued(made.jac, grad(f)(x))
    return with_x(made, x, f(x))


def succeeded(made: Any, fun: Any) -> None:
    """Raise SolutionError if SciPy reports no minimum; a loss of precision can be one, which Newton's method tells."""
    if not made.success and "precision loss" not in str(made.message):
        raise SolutionError(fun, f"SciPy's solver says: {' '.join(str(made.message).split()).rstrip('.')}")


def _ends(bounds: Any) -> Any:
    """Return bounds as (lower, upper), from a Bounds object or from pairs in which None is infinite; None for none."""
    if bounds is None or hasattr(bounds, "lb"):
        return None if bounds is None else (bounds.lb, bounds.ub)
    pairs = list(bounds)
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return real_array(lower), real_array(upper)


def _listed(constraints: Any) -> list[Any]:
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        return [constraints]
    return list(constraints)


def _watched(watch: Watch, constraint: Any) -> Any:
    """Return a constraint for SciPy."""
    if isinstance(constraint, dict):
        return watch.options(constraint)
    if isinstance(constraint, _optimize.NonlinearConstraint):
        jac = watch.plain(constraint.jac) if callable(constraint.jac) else constraint.jac
        hess = watch.plain(constraint.hess) if callable(constraint.hess) else constraint.hess
        rest = {"keep_feasible": constraint.keep_feasible, "finite_diff_rel_step": constraint.finite_diff_rel_step}
        ends = constant((constraint.lb, constraint.ub))
        watch.seen = watch.seen or not is_plain(constraint.lb, constraint.ub)
        return _optimize.NonlinearConstraint(watch.plain(constraint.fun), *ends, jac=jac, hess=hess, **rest)
    data = constraint.A, constraint.lb, constraint.ub
    if is_plain(data):
        return constraint
    watch.seen = True
    return _optimize.LinearConstraint(*constant(data), keep_feasible=constraint.keep_feasible)


def _constraint(constraint: Any) -> Constraint:
    """Return a constraint as a function of x."""
    if isinstance(constraint, dict):
        f, args = applied(constraint["fun"]), tuple_of(constraint.get("args", ()))
        return Constraint(lambda x: f(x, *args), constraint["type"].lower() == "ineq")
    lower, upper = (real_array(u) for u in (constraint.lb, constraint.ub))
    linear = isinstance(constraint, _optimize.LinearConstraint)
    f = (lambda x: constraint.A @ x) if linear else applied(constraint.fun)
    equal = constant(lower) == constant(upper)
    if np.all(equal):
        return Constraint(lambda x: np.reshape(real_array(f(x)), -1) - lower, False)
    if np.any(equal):
        raise UnsupportedError.call(
            "scipy.optimize.minimize with a constraint that has equations and inequalities",
            "one constraint has one kind here",
            "two constraints, one with the equations and one with the inequalities",
        )

    def distances(x: Any) -> Any:
        """Return the distances from the finite ends."""
        y = np.reshape(real_array(f(x)), -1)
        below = np.isfinite(np.broadcast_to(constant(lower), y.shape))
        above = np.isfinite(np.broadcast_to(constant(upper), y.shape))
        return np.concatenate([(y - lower)[below], (upper - y)[above]])

    return Constraint(distances, True)


def minimizer(
    original: Callable[..., Any],
    bounds: Sequence[str] = (),
    scalar: bool = False,
    pairs: Callable[[dict[str, Any]], bool] = lambda of: False,
) -> Any:
    """Return a minimiser of SciPy with the derivative of its minimum.

    `bounds` names the parameters of the bounds. A `scalar` minimiser has one unknown. `pairs` says by the arguments
    whether the function returns its value and its gradient.
    """
    parameters = signature(original)

    @like(original)
    def call(*given: Any, **options: Any) -> Any:
        """Minimum, with its derivative in args and in what the function reads: see `dualrev.scipy.optimize`."""
        bound = parameters.bind(*given, **options)
        of, watch = bound.arguments, Watch()
        fun, args = next(iter(of.values())), tuple_of(of.get("args", ()))
        ends = _bounds(of, bounds)
        watch.seen = not is_plain(ends)
        known = watch.options({k: v for k, v in of.items() if k not in ("method", "strategy", *bounds)})
        for k in filter(of.__contains__, bounds):
            known[k] = _optimize.Bounds(*constant(ends)) if hasattr(of[k], "lb") else constant(of[k])
        bound.arguments |= known
        made = original(*bound.args, **bound.kwargs)
        watch.forget()
        if not watch.seen:
            return made
        f = one_value(fun, args, pairs(of))
        return _with_minimum(made, f, fun, ends, scalar)

    return call


def _bounds(of: dict[str, Any], names: Sequence[str]) -> Any:
    """Return (lower, upper) from one parameter with pairs, or from one with (lower, upper), or from two."""
    if not names or of.get(names[0]) is None:
        return None
    if len(names) == 2:
        return of[names[0]], of[names[1]]
    bounds = of[names[0]]
    if not hasattr(bounds, "lb") and np.ndim(bounds) == 1:  # of minimize_scalar
        return bounds[0], bounds[1]
    return _ends(bounds)


def _with_minimum(made: Any, f: Scalar, fun: Any, ends: Any, scalar: bool) -> Any:
    """Return SciPy's result with the derivative of the minimum, and of the value there, in it."""
    if isinstance(made, _optimize.OptimizeResult):
        succeeded(made, fun)
        found = made.x
    else:
        found = made[0] if isinstance(made, tuple) else made
    start = np.reshape(np.asarray(found, dtype=float), -1)
    value = (lambda x: f(x[0])) if scalar else f
    x = minimum(value, start, bounded(ends, start.size) if ends is not None else [], fun)
    at = value(x)
    x = x[0] if scalar and not np.ndim(found) else np.reshape(x, np.shape(found))
    if isinstance(made, _optimize.OptimizeResult):
        return with_x(made, x, at)
    if not isinstance(made, tuple):
        return x
    return (x, valued(made[1], at), *made[2:])


def search(original: Callable[..., Any], instead: str) -> Any:
    """Return a search for a minimum that refuses traced functions."""
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
                "its result is a point of a search on plain numbers",
                instead,
            )
        return made

    return call
