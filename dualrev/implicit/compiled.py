"""Solvers that numba compiles, for numba functions: the implicit function theorem as a rule in numba code.

fwd keeps the solution and the arguments; bwd solves A^T w = ct, where A is the Jacobian of the residual by x, and takes
the cotangents of the arguments from the residual's pullback of -w.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from dualrev.api.derivatives import jacobian, vjp
from dualrev.diagnostics.quoting import execute, remember
from dualrev.diagnostics.signatures import signature
from dualrev.eager.numba_rules import Owner
from dualrev.errors import CustomRuleError, SolutionError
from dualrev.rules.library.linalg.systems import solved

__all__ = ["CompiledSolver", "difference"]


class CompiledSolver(Owner):
    """Solver with a residual, both of them numba functions."""

    kind = "vjp"
    made_by = "implicit.custom_root"

    def __init__(self, solver: Any, residual: Any, call: Callable[..., Any], tol: float | None) -> None:
        super().__init__(solver)
        of_solver, of_residual = (len(signature(f.py_func).parameters) for f in (solver, residual))
        if of_solver != of_residual:
            raise CustomRuleError(solver, f"as many parameters as its residual: {of_residual}, and not {of_solver}")
        if of_residual < 2:
            raise CustomRuleError(solver, "a residual with parameters beside the unknown: its derivative is by those")
        self._call = call
        self._define(*_rule(self, residual, tol))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - that is the solver
        return self._call(self.__wrapped__, args, kwargs)


def difference(f: Any) -> Any:
    """f(x, *args) - x, the residual of a fixed point, as a numba function."""
    return _made(_DIFFERENCE, f, {"f": f}, ["residual"])[0]


def _rule(solver: Any, residual: Any, tol: float | None) -> tuple[Any, ...]:
    """fwd and bwd, with a parameter for every parameter of the residual after the first."""
    space = {"solver": solver, "residual": residual, "slope": jacobian(residual), "vjp": vjp}
    space |= {"transposed": _transposed, "fault": _fault, "is_lost": _is_lost}
    space |= {"tol": np.inf if tol is None else float(tol)}
    return _made(_RULE, residual, {**space, "SolutionError": SolutionError}, ["fwd", "bwd"])


def _made(template: str, f: Any, space: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    """The numba functions of a text; the compiler reads it again, so that it is kept where Python looks for lines."""
    count, name = len(signature(f.py_func).parameters) - 1, f.py_func.__qualname__.rpartition(".")[2]
    args = [f"p_{k}" for k in range(count)]
    parts = {"args": "".join(f", {p}" for p in args), "tuple": "".join(f"{p}, " for p in args)}
    text = template.format(**parts, name=repr(name), cts=", ".join(f"d{p}" for p in args))
    file = f"<implicit function theorem: {names[-1]} of {name}, {count} parameters>"
    space = {**space, "__name__": __name__}
    execute(text, space, file)
    remember(text, file)
    if template is _DIFFERENCE:
        space["residual"].__qualname__ = name  # that of the function whose fixed point it is, for errors
    return tuple(njit(space[name]) for name in names)


_DIFFERENCE = """def residual(x{args}):
    return f(x{args}) - x
"""
_RULE = """def fwd(start{args}):
    x = solver(start{args})
    return x, (x, ({tuple}))


def bwd(residuals, ct):
    x, ({tuple}) = residuals
    a = slope(x{args})
    y, pullback = vjp(residual, x{args})
    found = fault(a, x, y, tol)
    if found == 1:
        raise SolutionError({name}, "it has not as many equations as unknowns")
    if found == 2:
        raise SolutionError({name}, "its value there is not finite")
    if found == 3:
        raise SolutionError({name}, "its Jacobian there is not finite")
    if found == 4:
        raise SolutionError({name}, "its Jacobian is singular there")
    if found == 5:
        raise SolutionError({name}, "Newton's method would move it by more than tol allows")
    w = transposed(a, ct)
    if is_lost(w, ct):
        raise SolutionError({name}, "its Jacobian is singular there")
    _, {cts} = pullback(-w)
    return None, {cts}
"""


@njit
def _transposed(a, ct):
    """a^-T ct; NaN where a is singular"""
    if isinstance(ct, float):
        return ct / a
    return solved(np.ascontiguousarray(a.T), ct)  # the same types as below: numba compiles it once


@njit
def _fault(a, x, y, tol):
    """Return the number of the error of `bwd` that x and its Jacobian a show before a cotangent is read; 0 for none."""
    if isinstance(x, float):
        if not np.isfinite(y):
            return 2
        if np.isnan(a):
            return 3
        if a == 0.0:
            return 4
        return 0 if abs(y) <= tol * (1.0 + abs(x)) * abs(a) else 5
    if len(x) != len(y):
        return 1
    if not _all_finite(y):
        return 2
    if np.any(np.isnan(a)):
        return 3
    step = solved(a, y)
    if not _all_finite(step):
        return 4
    return 0 if _largest(step) <= tol * (1.0 + _largest(x)) else 5


@njit
def _is_lost(w, ct):
    """Whether the solution of the transposed system is not finite, though the cotangent is."""
    if isinstance(ct, float):
        return np.isfinite(ct) and not np.isfinite(w)
    return _all_finite(ct) and not _all_finite(w)


@njit
def _all_finite(x):
    return bool(np.all(np.isfinite(x)))


@njit
def _largest(x):
    """The largest absolute value, 0 of none."""
    largest = 0.0
    for k in range(len(x)):
        largest = max(largest, abs(x[k]))
    return largest
