"""Linear programs and linear least squares with bounds: solutions of the equations of the active constraints.

    linprog       x = a^-1 b, with the rows of the constraints and bounds that are active for a; fun = c x
    nnls, lsq_linear      the least-squares solution in the columns of the unknowns that are at no bound

The active set does not change near a solution that is unique and not degenerate; SolutionError is raised at others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize as _optimize
from scipy.sparse import issparse

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.values import valued

__all__ = ["linear_sum_assignment", "linprog", "lsq_linear", "nnls"]

_NEAR = 1e-7


@like(_optimize.linprog)
def linprog(*given: Any, **options: Any) -> Any:
    """Solution of a linear program, differentiated in its arrays and bounds: x, fun, slack, marginals and residuals."""
    bound = signature(_optimize.linprog).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    names = ("c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds")
    if is_plain([of[name] for name in names]):
        return _optimize.linprog(**of)
    if of.get("integrality") is not None and np.any(of["integrality"]):
        raise UnsupportedError.call(
            "scipy.optimize.linprog with integrality of numbers that are being differentiated",
            "whole numbers do not move smoothly",
            "the program without integrality, or with its whole numbers as constants",
        )
    made = _optimize.linprog(**of | {name: constant(of[name]) for name in names})
    if not made.success:
        raise SolutionError("scipy.optimize.linprog", f"SciPy's solver says: {made.message.rstrip('.')}")
    c = real_array(of["c"])
    n, x = made.x.size, made.x
    a, b, places = _active_rows(of, x, n)
    if len(a) != n or np.linalg.matrix_rank(plain(a)) < n:
        why = "not unique" if np.linalg.matrix_rank(plain(a)) < n else "degenerate"
        raise SolutionError("scipy.optimize.linprog", f"it is {why}: {len(a)} constraints are active for {n} unknowns")
    duals = np.linalg.solve(a.T, c)
    inequality = np.array([name != "eqlin" for name, _ in places])
    if np.any(inequality & (np.abs(plain(duals)) <= _NEAR * np.max(np.abs(plain(c)), initial=0.0))):
        raise SolutionError("scipy.optimize.linprog", "it is not unique: an active constraint has the multiplier 0")
    made.x = valued(x, np.linalg.solve(a, b))
    made.fun = valued(made.fun, np.sum(c * made.x))
    _set_marginals(made, duals, places)
    _set_residuals(made, of)
    return made


def _active_rows(of: dict[str, Any], x: np.ndarray, n: int) -> tuple[Any, Any, list[tuple[str, int]]]:
    """Return the equations that hold at x: the rows, the right-hand sides, and where each has its multiplier."""
    rows, right, places = [np.zeros((0, n))], [np.zeros(0)], list[tuple[str, int]]()
    for name, a, b in (("eqlin", of["A_eq"], of["b_eq"]), ("ineqlin", of["A_ub"], of["b_ub"])):
        if a is None:
            continue
        a, b = real_array(a.toarray() if issparse(a) else a), np.reshape(real_array(b), -1)
        slack = plain(b) - plain(a) @ x
        scale = 1.0 + np.abs(plain(b)) + np.abs(plain(a)) @ np.abs(x)
        active = np.flatnonzero(np.abs(slack) <= (np.inf if name == "eqlin" else _NEAR) * scale)
        rows.append(a[active])
        right.append(b[active])
        places += [(name, k) for k in active.tolist()]
    ends = _both_ends(of["bounds"], n)
    for name, bound in zip(("lower", "upper"), ends, strict=True):
        active = np.flatnonzero(np.abs(plain(bound) - x) <= _NEAR * (1.0 + np.abs(x)))
        if name == "upper":
            fixed = np.isin(active, [k for other, k in places if other == "lower"])
            active = active[~fixed]
        rows.append(np.eye(n)[active])
        right.append(bound[active])
        places += [(name, k) for k in active.tolist()]
    return np.concatenate(rows), np.concatenate(right), places


def _both_ends(bounds: Any, n: int) -> tuple[Any, Any]:
    """Return the lower and the upper bounds, of one pair or of a pair for each unknown; None is infinite."""
    if bounds is None:
        return np.zeros(n), np.full(n, np.inf)
    if hasattr(bounds, "shape") and np.shape(bounds) == (n, 2):
        return real_array(bounds)[:, 0], real_array(bounds)[:, 1]
    pairs = [bounds] if np.ndim(bounds[0]) == 0 else list(bounds)
    pairs = pairs * n if len(pairs) == 1 else pairs
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return real_array(lower), real_array(upper)


def _set_marginals(made: Any, duals: Any, places: list[tuple[str, int]]) -> None:
    """Put the multipliers, which are derivatives of fun by the right-hand sides, into SciPy's result."""
    for name in ("eqlin", "ineqlin", "lower", "upper"):
        chosen = [k for k, (other, _) in enumerate(places) if other == name]
        if chosen and name in made and made[name].marginals is not None and len(made[name].marginals):
            value = np.asarray(made[name].marginals)
            traced = np.zeros(value.shape) + 0.0 * duals[0]
            traced[[places[k][1] for k in chosen]] = duals[chosen]
            made[name].marginals = valued(value, traced)


def _set_residuals(made: Any, of: dict[str, Any]) -> None:
    """Put the distances from the constraints and the bounds into SciPy's result."""
    lower, upper = _both_ends(of["bounds"], len(made.x))
    rests = {"lower": made.x - lower, "upper": upper - made.x}
    for name, a, b in (("ineqlin", of["A_ub"], of["b_ub"]), ("eqlin", of["A_eq"], of["b_eq"])):
        if a is not None:
            rests[name] = np.reshape(real_array(b), -1) - real_array(a.toarray() if issparse(a) else a) @ made.x
    for name, rest in rests.items():
        if name in made and made[name].residual is not None:
            value = np.asarray(made[name].residual)
            made[name].residual = valued(value, np.where(np.isfinite(value), rest, 0.0))
    if "ineqlin" in rests:
        made.slack = valued(np.asarray(made.slack), rests["ineqlin"])
    if "eqlin" in rests:
        made.con = valued(np.asarray(made.con), rests["eqlin"])


def _in_columns(a: Any, b: Any, x: np.ndarray, free: np.ndarray, at_bounds: Any) -> Any:
    """Return the least-squares solution x with some unknowns at their bounds."""
    columns = np.flatnonzero(free)
    rest = b - a[:, ~free] @ at_bounds[~free]
    inner = a[:, columns]
    if columns.size and np.linalg.matrix_rank(plain(inner)) < columns.size:
        raise SolutionError("scipy.optimize", "it is not unique: columns of the unknowns at no bound are dependent")
    found = np.linalg.lstsq(inner, rest, None)[0] if columns.size else np.zeros(0)
    order = np.argsort(np.concatenate([columns, np.flatnonzero(~free)]))
    return valued(x, np.concatenate([found, at_bounds[~free]])[order])


def _check_slopes(a: Any, b: Any, x: np.ndarray, free: np.ndarray) -> None:
    """Raise SolutionError if an unknown is at a bound that it would not leave without the bound."""
    a, b = plain(a), plain(b)
    size = np.linalg.norm(a, axis=0) * (np.linalg.norm(b) + np.linalg.norm(a @ x))
    if np.any(~free & (np.abs(a.T @ (a @ x - b)) <= 1e-9 * size)):
        raise SolutionError("scipy.optimize", "an unknown is at its bound, and would be without it")


@like(_optimize.nnls)
def nnls(*given: Any, **options: Any) -> Any:
    """Nonnegative least-squares solution (x, norm of the residual), differentiated in A and b."""
    bound = signature(_optimize.nnls).bind(*given, **options)
    of = bound.arguments
    if is_plain(of["A"], of["b"]):
        return _optimize.nnls(*bound.args, **bound.kwargs)
    known = of | {name: constant(of[name]) for name in ("A", "b")}
    x, norm = _optimize.nnls(**known)
    a, b = real_array(of["A"]), np.reshape(real_array(of["b"]), -1)
    free = x > 0.0
    _check_slopes(a, b, x, free)
    found = _in_columns(a, b, x, free, np.zeros(x.size))
    return found, valued(norm, np.linalg.norm(a @ found - b))


@like(_optimize.lsq_linear)
def lsq_linear(*given: Any, **options: Any) -> Any:
    """Least-squares solution with bounds, differentiated in A, b and the bounds: x, fun and cost."""
    bound = signature(_optimize.lsq_linear).bind(*given, **options)
    bound.apply_defaults()
    of = bound.arguments
    ends = (of["bounds"].lb, of["bounds"].ub) if hasattr(of["bounds"], "lb") else tuple(of["bounds"])
    if is_plain(of["A"], of["b"], ends):
        return _optimize.lsq_linear(**of)
    if issparse(of["A"]) or not hasattr(real_array(of["A"]), "shape"):
        raise UnsupportedError.call(
            "scipy.optimize.lsq_linear with a sparse matrix of numbers that are being differentiated",
            "its columns at no bound are needed as an array",
            "A.toarray()",
        )
    made = _optimize.lsq_linear(**of | {name: constant(of[name]) for name in ("A", "b")} | {"bounds": constant(ends)})
    if not made.success:
        raise SolutionError("scipy.optimize.lsq_linear", f"SciPy's solver says: {made.message.rstrip('.')}")
    a, b = real_array(of["A"]), np.reshape(real_array(of["b"]), -1)
    lower, upper = (np.broadcast_to(real_array(u), made.x.shape) for u in ends)
    free = made.active_mask == 0
    at_bounds = np.where(made.active_mask < 0, lower, np.where(made.active_mask > 0, upper, 0.0))
    _check_slopes(a, b, made.x, free)
    x = _in_columns(a, b, made.x, free, at_bounds)
    made.x, made.fun = x, valued(made.fun, a @ x - b)
    made.cost = valued(made.cost, 0.5 * np.sum((a @ x - b) ** 2))
    return made


@like(_optimize.linear_sum_assignment)
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> Any:
    """Assignment of the lowest cost: indices, which are constants. cost_matrix[rows, columns] has a derivative."""
    return _optimize.linear_sum_assignment(constant(real_array(cost_matrix)), maximize)
