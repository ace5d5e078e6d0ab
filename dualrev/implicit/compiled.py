"""Solvers that numba compiles, for numba functions: the implicit function theorem as a rule in numba code.

    fwd(start, *args) = (x, (x, args)),   x = solver(start, *args)
    bwd((x, args), ct) = the cotangents of args by the residual, from -A^-T ct
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from dualrev.derivatives import jacobian, vjp
from dualrev.eager.ruled import Owner
from dualrev.errors import CustomRuleError
from dualrev.reading import signature

__all__ = ["CompiledSolver"]


class CompiledSolver(Owner):
    """A solver with a residual, both of them numba functions."""

    kind = "vjp"

    def __init__(self, solver: Any, residual: Any, call: Callable[..., Any]) -> None:
        super().__init__(solver)
        of_solver, of_residual = (len(signature(f.py_func).parameters) for f in (solver, residual))
        if of_solver != of_residual:
            raise CustomRuleError(solver, f"as many parameters as its residual: {of_residual}, and not {of_solver}")
        if of_residual < 2:
            raise CustomRuleError(solver, "a residual with parameters beside the unknown: its derivative is by those")
        self._call = call
        self._define(*_rule(self, residual))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - that is the solver
        return self._call(self.__wrapped__, args, kwargs)


def _rule(solver: Any, residual: Any) -> tuple[Any, Any]:
    """fwd and bwd, with a parameter for every parameter of the residual after the first."""
    count = len(signature(residual.py_func).parameters) - 1
    args = [f"p_{k}" for k in range(count)]
    named = {"args": "".join(f", {p}" for p in args), "tuple": "".join(f"{p}, " for p in args)}
    text = _TEXT.format(**named, cts=", ".join(f"d{p}" for p in args))
    file = f"<implicit function theorem, {count} parameters>"
    space: dict[str, Any] = {"solver": solver, "residual": residual, "slope": jacobian(residual), "vjp": vjp}
    space |= {"_solved": _solved, "__name__": __name__}
    exec(compile(text, file, "exec"), space)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return njit(space["fwd"]), njit(space["bwd"])


_TEXT = """def fwd(start{args}):
    x = solver(start{args})
    return x, (x, ({tuple}))


def bwd(residuals, ct):
    x, ({tuple}) = residuals
    y, pullback = vjp(residual, x{args})
    _, {cts} = pullback(-_solved(slope(x{args}), ct))
    return None, {cts}
"""


@njit
def _solved(a, ct):
    """a^-T ct"""
    if isinstance(ct, float):
        return ct / a
    return np.linalg.solve(a.T, ct)
