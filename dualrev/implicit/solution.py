"""Implicit function theorem: `attach` gives a solution its derivative.

    residual(x, p) = 0,    A = the Jacobian of the residual by x        dx = -A^-1 (the residual's derivative by p) dp

One step of Newton's method from the solution has this derivative, if the value of the residual there is subtracted:

    step(x) = x - A^-1 (residual(x, p) - c),    c = residual(x, p) as plain numbers,    A plain, too

It moves no value. A second step, from the result of the first, has the second derivatives, for each step of the method
corrects one order more; so there are as many steps as derivative calls are nested. The residual is evaluated where the
user wrote it, so a parameter that it reads from an enclosing function counts as an argument does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev.diagnostics.progress import progress
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, strip
from dualrev.eager.py_func_globals import numeric
from dualrev.eager.tape import engine
from dualrev.eager.tape.tape import Tape
from dualrev.errors import SolutionError
from dualrev.transformed import check_functions
from dualrev.tree import flatten_leaves, ravel

__all__ = ["Factored", "Solve", "applied", "attach", "attached", "constant", "values"]

#: solve(matvec, b) returns u with matvec(u) = b, for data of the structure of a solution.
Solve = Callable[[Callable[[Any], Any], Any], Any]

#: factored(linear), for the linear map of a residual's tangents, returns solved(b, turned): the solution of a system of
#: plain numbers with the Jacobian, or with its transpose if `turned`.
Factored = Callable[[Any], Callable[[np.ndarray, bool], np.ndarray]]


_LARGE = 64  # unknowns


def attach(
    residual: Callable[..., Any], x: Any, *args: Any, solve: Solve | None = None, tol: float | None = 1e-6
) -> Any:
    """Solution x of residual(x, *args) = 0, with its derivative by the implicit function theorem.

    Args:
        residual: Function (x, *args) that returns as many numbers as x holds. It may be a numba function, and may use
            traced numbers that are not among args.
        x: The solution, found by any program: a float, an array or nested data. It is a constant here.
        *args: Arguments of the residual. The result is differentiated with respect to these, and to all traced numbers
            that the residual uses.
        solve: Linear solver: solve(matvec, b) returns u with matvec(u) = b, for plain data of the structure of x. It is
            called with the Jacobian and with its transpose. No matrix is made, if all traced numbers are among args.
            None: numpy solves, with a dense Jacobian.
        tol: How far a step of Newton's method may move x, relative to 1 + |x|. None: no check.

    Returns:
        x, with derivatives in both modes and of any order. The first derivative of a numba residual is compiled.

    Raises:
        SolutionError: While it is differentiated: Newton's method would move x by more than tol (1 + |x|), the Jacobian
            is singular, or the numbers of equations and unknowns differ (a RuntimeError).

    >>> import math
    >>> import dualrev as dr
    >>> dr.grad(lambda a: dr.implicit.attach(lambda x: x * x - a, math.sqrt(2.0)))(2.0)
    0.353553390593...
    """
    check_functions(residual, residual if solve is None else solve)
    return attached(residual, constant(x), args, solve, None, tol)


def attached(
    residual: Callable[..., Any],
    x: Any,
    args: tuple[Any, ...],
    solve: Solve | None,
    transpose_solve: Solve | None,
    tol: float | None,
    factored: Factored | None = None,
) -> Any:
    """Attach the derivative to a plain x; transposed systems, or all, may have a solver of their own."""
    start, unravel = ravel(x)
    function = applied(residual)

    def flat(vector: Any, *given: Any) -> Any:
        """Return the residual as a vector, for an unknown that is a vector."""
        found = ravel(function(*_copied((unravel(vector), *given))))[0]  # it may write to its arguments
        if not start.size and found.size:
            raise SolutionError(residual, "x holds no unknown: floats are, ints are constants")
        if found.shape != start.shape:
            raise SolutionError(residual, f"it has {start.size} unknowns and {found.size} equations")
        return found

    r = flat(start, *args)
    order = _order(r)
    if not order:
        return x
    fixed = constant(args)
    slope = _Slope(lambda vector: flat(vector, *fixed), start, unravel, solve, transpose_solve, residual, factored)
    target = plain(r)
    slope.check(target, tol)
    moved = start - slope.inverse(r - target)
    for _ in range(1, order):
        moved = moved - slope.inverse(flat(moved, *args) - target)
    return unravel(moved)


def applied(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f as a function of traced numbers, too: a numba function's first derivative is compiled."""
    python = numeric(f)
    if not isinstance(f, Dispatcher):
        return python
    compiled: Any = f
    made = hasattr(f, "derivative_of")
    lifted: Any = vars(f).get("_dualrev_lifted")
    if lifted is None or lifted.__wrapped__ is not f:  # functools.wraps copies the dictionary to another function
        from dualrev.compiler.bridge.tape_block import lift  # it takes time to import

        lifted = vars(f)["_dualrev_lifted"] = lift(compiled)

    def call(*args: Any) -> Any:
        """Call the lifted numba function, or its Python function where runs are nested."""
        found = flatten_leaves(args)[0]
        run = innermost(found)
        # a derivative has a Python function, too, which does the same by the tape
        nested = run is not None and (made or any(holds_duals(strip(leaf, run)) for leaf in found))
        return python(*args) if nested else lifted(*args)

    return call


def constant(x: Any) -> Any:
    """Return nested data with plain numbers in place of traced ones, and copies of the arrays."""
    found, structure = flatten_leaves(x)
    return structure.owned().rebuild_leaves([values(leaf) for leaf in found])


def values(leaf: Any) -> Any:
    """Return a number without its derivatives, or a plain copy of an array."""
    return np.array(plain(leaf), order="K") if isinstance(leaf, (RealArray, np.ndarray)) else plain(leaf)


def _copied(x: Any) -> Any:
    """Return nested data with copies of its arrays, traced numbers included."""
    found, structure = flatten_leaves(x)
    return structure.rebuild_leaves(
        [leaf.copy() if isinstance(leaf, (RealArray, np.ndarray)) else leaf for leaf in found]
    )


def name_of(f: Any) -> str:
    """Return the name of a function for error messages."""
    return getattr(f, "__qualname__", getattr(f, "__name__", None)) or repr(f)


def _order(r: Any) -> int:
    """Return how many derivative calls are nested in an array."""
    order = 0
    while holds_duals(r):
        run = innermost([r])
        assert run is not None
        r, order = strip(r, run), order + 1
    return order


class _Slope:
    """Jacobian of a residual at the solution, as plain numbers, and its inverse."""

    def __init__(
        self,
        flat: Callable[[Any], Any],
        x: np.ndarray,
        unravel: Callable[[Any], Any],
        solve: Solve | None,
        transpose_solve: Solve | None,
        residual: Any,
        factored: Factored | None = None,
    ) -> None:
        # the tape will refer to this: nothing here may refer to the tape, as the residual's closure may
        self._x, self._unravel, self._name = x, unravel, name_of(residual)
        self._solve, self._transpose_solve = solve, transpose_solve or solve
        self._linear: Any = None
        self._matrix: Any = None
        y, linear = engine.linearize(flat, x)
        self._factored = None if factored is None else factored(linear)
        if self._factored is not None:
            return
        if solve is None or holds_duals(y):
            rows: list[np.ndarray] = []
            with self._shown("making the Jacobian", lambda: f"{len(rows):,} of {x.size:,} rows done"):
                for unit in np.eye(x.size):
                    rows.append(plain(linear.pull(unit)[0]))
            self._matrix = np.stack(rows)
        else:
            self._linear = linear

    def _shown(self, what: str, note: Callable[[], str]) -> AbstractContextManager[None]:
        """Show long work on a terminal; small systems are done before."""
        return progress(f"{what} of {self._name}", note) if self._x.size >= _LARGE else nullcontext()

    def _pushed(self, u: Any) -> Any:
        return self._linear.push(u) if self._matrix is None else self._matrix @ u

    def _pulled(self, u: Any) -> Any:
        return self._linear.pull(u)[0] if self._matrix is None else u @ self._matrix

    def check(self, r: np.ndarray, tol: float | None) -> None:
        """Raise SolutionError unless r, the residual's value, is small enough for x to be a solution."""
        if not np.isfinite(r).all():
            raise SolutionError(self._name, "its value there is not finite")
        if self._matrix is not None and np.isnan(self._matrix).any():
            raise SolutionError(self._name, "its Jacobian there is not finite")
        if tol is None:
            return
        step, size = np.max(np.abs(self._solved(r, False)), initial=0.0), 1.0 + np.max(np.abs(self._x), initial=0.0)
        if not step <= tol * size:
            raise SolutionError(
                self._name, f"Newton's method would move it by {step:.1e}, and tol={tol:g} allows {tol * size:.1e}"
            )

    def inverse(self, r: Any, turned: bool = False) -> Any:
        """Apply A^-1, or its transpose if `turned`, to traced numbers: a linear map, whose transpose is known."""
        if not holds_duals(r):
            return self._solved(plain(r), turned)
        if not isinstance(innermost([r]), Tape):  # a stage of the paper
            return np.stack([self._solved(unit, not turned) for unit in np.eye(self._x.size)]) @ r

        def pull(xs: Any, ys: Any, gs: Any) -> list[Any]:
            """Apply the transposed inverse to the cotangent."""
            return [self.inverse(gs[0], not turned)]

        def push(xs: Any, ys: Any, ts: Any) -> list[Any]:
            """Apply the inverse to the tangent."""
            return [self.inverse(ts[0], turned)]

        return by_rule(lambda r: self.inverse(r, turned), pull, push, r, keeps_value=False, needs=(False,))

    def _solved(self, b: np.ndarray, turned: bool) -> np.ndarray:
        """Solve a linear system of plain numbers with the Jacobian, or with its transpose if `turned`."""
        solve, times = (self._transpose_solve, self._pulled) if turned else (self._solve, self._pushed)
        if solve is None:
            try:
                if self._factored is not None:
                    found = self._factored(b, turned)
                else:
                    found = np.linalg.solve(self._matrix.T if turned else self._matrix, b)
            except np.linalg.LinAlgError:
                found = np.full_like(b, np.nan)
            if np.isfinite(b).all() and not np.isfinite(found).all():
                raise SolutionError(self._name, "its Jacobian is singular there")
            return found
        if not b.any():
            return np.zeros_like(b)

        done = [0]

        def matvec(u: Any) -> Any:  # a LinearOperator tries int8
            """Multiply data of the structure of x by the Jacobian or its transpose."""
            done[0] += 1
            return self._unravel(times(ravel(u.astype(float) if isinstance(u, np.ndarray) else u)[0]))

        try:
            with self._shown("solving for the derivative", lambda: f"{done[0]:,} products with the Jacobian"):
                made: np.ndarray = ravel(solve(matvec, self._unravel(b)))[0]
        except np.linalg.LinAlgError as error:
            raise SolutionError(self._name, f"`solve` raises LinAlgError: {error}") from error
        if made.shape != b.shape or not np.isfinite(made).all():
            raise SolutionError(self._name, "`solve` gave no solution of the linear system of its derivative")
        return made
