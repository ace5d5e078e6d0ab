"""Optimization problem for Ipopt, by `cyipopt`: objective and constraints, with sparse first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cyipopt
import numpy as np
from numba import njit
from numba.extending import is_jitted
from scipy import sparse

from dualrev.api import derivatives
from dualrev.errors import BridgeError
from dualrev.interop.jacobian_products import axes_error, result_error
from dualrev.sparse import sparse_hessian, sparse_jacobian
from dualrev.transformed import name_of

__all__ = ["Problem"]


def __dir__() -> list[str]:
    return __all__


class Problem:
    """Minimization of f(x) subject to `low <= c(x) <= high`, with the methods that `cyipopt.Problem` calls.

    Args:
        f: Objective, a numba function or a Python function of an array. It returns a number.
        start: Array at which the search starts, and where the patterns of the derivatives are found.
        c: Constraints, a function like f that returns an array. None: no constraints.
        low: Lower bounds of the constraints, or one for all.
        high: Upper bounds of the constraints, or one for all.
        bounds: Lower and upper bounds of x: a pair of arrays, or of numbers.

    Raises:
        BridgeError: The start or the results have other shapes; or a branch gives a derivative entries that it lacks at
            the start, because Ipopt asks for the pattern once.

    `problem.solve(**options)` returns x and Ipopt's report; docs/interop.md has an example.
    """

    def __init__(
        self, f: Callable[..., Any], start: Any, c: Callable[..., Any] | None = None, low: Any = 0.0, high: Any = 0.0,
        bounds: tuple[Any, Any] = (-np.inf, np.inf),
    ) -> None:  # fmt: skip
        self.start = np.array(start, dtype=np.float64)
        if self.start.ndim != 1:
            raise axes_error("start", self.start.shape, "Ipopt")
        if found := np.shape(f(self.start)):
            raise result_error(getattr(f, "__name__", "f"), found, ())
        n, self.m = len(self.start), 0
        self.objective, self.gradient = f, derivatives.grad(f)
        if c is not None:
            self.m = len(np.atleast_1d(c(self.start)))
            if np.shape(c(self.start)) != (self.m,):
                raise result_error(getattr(c, "__name__", "c"), np.shape(c(self.start)), (self.m,))
            self.constraints, self._jacobian = c, sparse_jacobian(c)
            self._jacobian_at = sparse.coo_array(self._jacobian(self.start))
        self._hessian = sparse_hessian(lagrangian(f, c))
        pattern = sparse.coo_array(self._hessian(self.start, 1.0, np.ones(self.m)))
        self._lower = pattern.row >= pattern.col
        self._hessian_at = pattern.row[self._lower], pattern.col[self._lower]
        self._bounds = [np.broadcast_to(np.asarray(b, np.float64), (n,)) for b in bounds]
        self._limits = [np.broadcast_to(np.asarray(b, np.float64), (self.m,)) for b in (low, high)]

    def __repr__(self) -> str:
        name = name_of(self.objective)
        return f"<dualrev.interop.cyipopt.Problem of {name}, {len(self.start)} variables, {self.m} constraints>"

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return the rows and columns of the entries of the constraints' Jacobian."""
        if not self.m:
            return np.zeros(0, int), np.zeros(0, int)
        return self._jacobian_at.row, self._jacobian_at.col

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the entries of the constraints' Jacobian."""
        return _entries(self._jacobian(x), self._jacobian_at.nnz, "Jacobian") if self.m else np.zeros(0)

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return the rows and columns of the Hessian's entries on the diagonal and below it."""
        return self._hessian_at

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float) -> np.ndarray:
        """Return the entries of the Lagrangian's Hessian on the diagonal and below it."""
        made = self._hessian(x, float(factor), np.asarray(multipliers, np.float64))
        return _entries(made, len(self._lower), "Hessian")[self._lower]

    def solve(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Run Ipopt from `start`.

        Args:
            **options: Options of Ipopt, such as `tol=1e-10` or `print_level=0`.

        Returns:
            (x, report), as `cyipopt.Problem.solve` returns it.
        """
        (lb, ub), (cl, cu) = self._bounds, self._limits
        ipopt = cyipopt.Problem(len(self.start), self.m, problem_obj=self, lb=lb, ub=ub, cl=cl, cu=cu)
        for name, value in options.items():
            ipopt.add_option(name, value)
        return ipopt.solve(self.start)


def _entries(made: Any, count: int, name: str) -> np.ndarray:
    """The entries in the order of the pattern at the start, which Ipopt knows; a pattern only grows."""
    if made.nnz != count:
        what, why = (
            f"the {name} at another point than the start",
            f"it has {made.nnz} entries, where Ipopt knows {count}",
        )
        raise BridgeError(what, why, "Problem(f, start=x, ...) with a point x where these entries take part")
    found: np.ndarray = sparse.coo_array(made).data
    return found


def lagrangian(f: Callable[..., Any], c: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return factor f(x) + multipliers c(x), as a numba function if f and c are numba functions."""
    compiled = njit if is_jitted(f) and (c is None or is_jitted(c)) else lambda function: function
    if c is None:

        @compiled
        def alone(x, factor, multipliers):  # type: ignore[no-untyped-def]
            """Return the Lagrangian without constraints."""
            return factor * f(x)

        return alone

    @compiled
    def weighted(x, factor, multipliers):  # type: ignore[no-untyped-def]
        """Return the Lagrangian."""
        return factor * f(x) + np.sum(multipliers * c(x))

    return weighted
