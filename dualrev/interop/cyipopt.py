"""A problem for Ipopt, by `cyipopt`: the objective and constraints, with sparse first and second derivatives."""

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
    """What `cyipopt.Problem` calls, for f(x) to be least where `low <= c(x) <= high`.

    Args:
        f: The objective, a numba function or any other, of an array. It gives a number.
        start: An array, at which the patterns of the derivatives are found, and the search starts.
        c: The constraints, a function of the same kind, which gives an array. None: there are none.
        low: The least values of the constraints, or one for all.
        high: The greatest values of the constraints, or one for all.
        bounds: The least and the greatest values of x: a pair of arrays, or of numbers.

    Raises:
        BridgeError: where the start or the results do not have the shapes that these words say; and where a branch
            gives a derivative entries that it does not have at the start, because Ipopt asks for them once.

    `problem.solve(**options)` returns x and what Ipopt says of it; the methods are those that cyipopt asks for.
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
        if not self.m:
            return np.zeros(0, int), np.zeros(0, int)
        return self._jacobian_at.row, self._jacobian_at.col

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        return _entries(self._jacobian(x), self._jacobian_at.nnz, "Jacobian") if self.m else np.zeros(0)

    def hessianstructure(self) -> tuple[Any, Any]:
        return self._hessian_at

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float) -> np.ndarray:
        """Of the Lagrangian: the entries on the diagonal and below it."""
        made = self._hessian(x, float(factor), np.asarray(multipliers, np.float64))
        return _entries(made, len(self._lower), "Hessian")[self._lower]

    def solve(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Ipopt's answer from `start`. `options` are Ipopt's own: `tol=1e-10`, `print_level=0`."""
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
    """factor f(x) + multipliers c(x): a numba function where f and c are."""
    compiled = njit if is_jitted(f) and (c is None or is_jitted(c)) else lambda function: function
    if c is None:

        @compiled
        def alone(x, factor, multipliers):  # type: ignore[no-untyped-def]
            return factor * f(x)

        return alone

    @compiled
    def weighted(x, factor, multipliers):  # type: ignore[no-untyped-def]
        return factor * f(x) + np.sum(multipliers * c(x))

    return weighted
