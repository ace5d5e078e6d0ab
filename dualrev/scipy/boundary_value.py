"""Boundary value problems: `scipy.integrate.solve_bvp` with its derivative by the implicit function theorem.

SciPy finds the mesh x and the solution on plain numbers. The unknowns are the states y at the nodes and p, and they
solve the equations of collocation, of order 4, with the boundary conditions:

    y[j + 1] - y[j] = h[j] / 6 (f[j] + 4 f(x[j] + h[j] / 2, y_mid) + f[j + 1]),
    y_mid = (y[j] + y[j + 1]) / 2 - h[j] / 8 (f[j + 1] - f[j]),        bc(y[0], y[-1], p) = 0

The solution of these equations is differentiated for the mesh found. Nodes that SciPy inserted move with the
nodes that the user gave.

Source: J. Kierzenka, L. Shampine, "A BVP Solver Based on Residual Control and the Matlab PSE", 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate as _integrate
from scipy.sparse import lil_array
from scipy.sparse.linalg import splu

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.eager.tape import engine
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import Factored, applied, attached, constant
from dualrev.scipy.calls import is_plain, like
from dualrev.scipy.watching import Watch
from dualrev.tree import ravel

__all__ = ["Spline", "solve_bvp"]

_LEAST_MOVE = 1e-6  # relative: rounding errors move the solution, too, however small the tolerance is
_ITERATIONS, _DIGITS, _SMALL = 8, 1e-13, 1e-9  # of Newton's method


@like(_integrate.solve_bvp)
def solve_bvp(*given: Any, **options: Any) -> Any:
    """Solution of y' = fun(x, y, p) with bc(ya, yb, p) = 0, differentiated in x and in what fun and bc read."""
    bound = signature(_integrate.solve_bvp).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    known = watch.options(of)
    made = _integrate.solve_bvp(**known)
    watch.forget()
    if not watch.seen:
        return made
    _check(of, made)
    # x, y, p and yp satisfy the equations to rounding errors, and the derivatives are theirs; the values are SciPy's
    x = _nodes(of["x"], known["x"], made.x)
    problem = _Problem(of, x)
    y, p = problem.solution((made.y, () if made.p is None else made.p), _tolerance(of))
    yp = problem.slope(x, y, p)
    made.sol = Spline(made.sol, x, y, yp)
    made.x, made.y, made.yp = _moved(made.x, x), _moved(made.y, y), _moved(made.yp, yp)
    made.p = None if made.p is None else _moved(made.p, p)
    return made


def _check(of: dict[str, Any], made: Any) -> None:
    """Raise an error if the solution has no derivative."""
    if not is_plain(of["S"]):
        raise UnsupportedError.call(
            "scipy.integrate.solve_bvp with S of numbers that are being differentiated",
            "SciPy solves with a projection that depends on S",
            "dualrev.stop_gradient(S), or fun with S @ y / (x - a) in it, on a mesh that begins after a",
        )
    if not made.success:
        raise SolutionError(of["fun"], f"SciPy's solver says: {made.message.rstrip('.')}")


def _tolerance(of: dict[str, Any]) -> float:
    """Return how far a step of Newton's method may move the solution."""
    tol = plain(of["tol"])
    return max(_LEAST_MOVE, tol, tol if of["bc_tol"] is None else plain(of["bc_tol"]))


def _nodes(given: Any, known: Any, nodes: np.ndarray) -> Any:
    """Return the nodes of the final mesh as combinations of those given, which may be traced."""
    start = np.asarray(known, float)
    k = np.clip(np.searchsorted(start, nodes, side="right") - 1, 0, len(start) - 2)
    part = (nodes - start[k]) / (start[k + 1] - start[k])
    traced = real_array(given)
    return (1.0 - part) * traced[k] + part * traced[k + 1]


def _moved(value: np.ndarray, traced: Any) -> Any:
    """Return traced numbers with SciPy's value."""
    return value if is_plain(traced) else value + (traced - constant(traced))


class _Problem:
    """Equations of collocation on a mesh; the unknowns are (y, p), and p is () if there are no parameters."""

    def __init__(self, of: dict[str, Any], x: Any) -> None:
        self._fun, self._bc, self._x = of["fun"], of["bc"], x
        self._singular = None if of["S"] is None else np.asarray(of["S"])

    def solution(self, found: Any, tol: float) -> Any:
        """Return the solution of the equations near the one found, with its derivative."""

        def residual(unknowns: Any) -> Any:
            """Return the value that is 0 at the solution."""
            return self._equations(*unknowns)

        residual.__qualname__ = getattr(self._fun, "__qualname__", repr(self._fun))
        factored = _Sparse(found)
        exact = _newton(residual, found, factored, tol)
        return attached(residual, exact, (), None, None, None, factored)

    def _equations(self, y: Any, p: Any) -> tuple[Any, Any]:
        x = self._x
        h = x[1:] - x[:-1]
        f = self.slope(x, y, p)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        f_middle = self.slope(x[:-1] + 0.5 * h, middle, p)
        collocation = y[:, 1:] - y[:, :-1] - h / 6.0 * (f[:, :-1] + f[:, 1:] + 4.0 * f_middle)
        ends = y[:, 0].copy(), y[:, -1].copy()
        bc = np.ravel(_array(applied(self._bc)(*ends, *_given(p))))
        return collocation, bc + 0.0j if np.iscomplexobj(plain(y)) else bc

    def slope(self, x: Any, y: Any, p: Any) -> Any:
        """Return the right-hand side, with the singular term, at some points."""
        f = np.reshape(_array(applied(self._fun)(x, y, *_given(p))), y.shape)
        if self._singular is None:
            return f
        a, n = self._x[0], len(y)
        if plain(x[0]) != plain(a):
            return f + self._singular @ y / (x - a)
        first = np.linalg.pinv(np.eye(n) - self._singular) @ f[:, :1]
        return np.concatenate([first, f[:, 1:] + self._singular @ y[:, 1:] / (x[1:] - a)], axis=1)


def _newton(residual: Callable[[Any], Any], found: Any, factored: Factored, tol: float) -> Any:
    """Return the solution of the equations to rounding errors; SciPy stops at its tolerance."""
    start, unravel = ravel(found)
    exact, last = start, np.inf
    for _ in range(_ITERATIONS):
        value, linear = engine.linearize(lambda u: ravel(residual(unravel(u)))[0], exact)
        try:
            step = factored(linear)(plain(value), False)
        except np.linalg.LinAlgError as error:
            raise SolutionError(residual, "its Jacobian is singular there") from error
        exact = exact - step
        moved, size, least = np.max(np.abs(exact - start)), np.max(np.abs(step)), np.max(np.abs(exact))
        if not moved <= tol * (1.0 + np.max(np.abs(start))):
            raise SolutionError(
                residual, f"Newton's method moves it by {moved:.1e}, more than the tolerance of solve_bvp allows"
            )
        if size <= _DIGITS * least or last <= size < _SMALL * least:
            break
        last = size
    return unravel(exact)


def _array(found: Any) -> Any:
    """Return what a function of the user returned as an array; an array of complex traced numbers is one."""
    return real_array(found) if isinstance(found, (list, tuple)) else found


def _given(p: Any) -> tuple[Any, ...]:
    return (p,) if len(p) else ()


class _Sparse:
    """Factors of the Jacobian of the equations; an equation belongs to an interval or to both ends.

    The unknowns of a node are in the equations of two intervals, so every second node moves at once: the Jacobian takes
    4 n + k products for n equations and k parameters, whatever the mesh is.
    """

    def __init__(self, found: Any) -> None:
        y, p = found
        n, m = y.shape
        equations = y[:, 1:], np.append(y[:, 0], p)
        self._nodes, self._last = _tags(found, np.arange(m), -1), m - 1
        self._intervals = _tags(equations, np.arange(m - 1), -1)
        kinds = _tags(found, np.arange(n)[:, None], n + np.arange(len(p)), n + len(p))
        colours = np.where(self._nodes <= 0, 0, np.where(self._nodes == m - 1, 3, 1 + self._nodes % 2))
        groups = np.unique(np.stack([kinds, colours]), axis=1, return_inverse=True)[1].ravel()
        self._groups = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]

    def __call__(self, linear: Any) -> Callable[[np.ndarray, bool], np.ndarray]:
        """Return the solver of linear systems with the Jacobian `linear`."""
        size = len(self._nodes)
        matrix = lil_array((size, size))
        for columns in self._groups:
            product = plain(linear.push(np.isin(np.arange(size), columns).astype(float)))
            for column in columns:
                rows = self._equations_of(self._nodes[column])
                matrix[rows, column] = product[rows]
        try:
            factors = splu(matrix.tocsc())
        except RuntimeError as error:  # it is singular
            raise np.linalg.LinAlgError(str(error)) from error
        return lambda b, turned: factors.solve(b, "T" if turned else "N")

    def _equations_of(self, node: int) -> np.ndarray:
        """Return the indices of the equations in which the unknowns of a node are; parameters (-1) are in all."""
        on = self._intervals
        near = (on == node) | ((on == node - 1) & (node > 0)) | ((on < 0) & (node in (0, self._last)))
        return np.flatnonzero(near | (node < 0))


def _tags(like: Any, of_y: Any, of_rest: Any, apart: int = 0) -> np.ndarray:
    """Return an int for each number in the order of ravel, which takes complex numbers `apart`."""
    made = []
    for tags, x in zip((of_y, of_rest), like, strict=True):
        full = np.broadcast_to(tags, np.shape(x)).astype(float)
        made.append(full + 1.0j * (full + apart) if np.iscomplexobj(x) else full)
    return ravel(tuple(made))[0].astype(int)


class Spline:
    """Cubic spline of a solution of `solve_bvp`, as traced numbers: `sol(x)` has shape (n,) + x.shape.

    Attributes:
        x: Nodes, of shape (m,).
        c: Coefficients of the powers 3, 2, 1 and 0 of the distance from the node before, of shape (4, m - 1, n).
    """

    def __init__(self, of_scipy: Any, x: Any, y: Any, slopes: Any) -> None:
        h = x[1:] - x[:-1]
        chord = (y[:, 1:] - y[:, :-1]) / h
        bend = (slopes[:, :-1] + slopes[:, 1:] - 2.0 * chord) / h
        traced = [bend / h, (chord - slopes[:, :-1]) / h - bend, slopes[:, :-1], y[:, :-1]]
        self._x, self._c, self._of_scipy = x, np.stack([part.T for part in traced]), of_scipy
        self.x, self.c = _moved(of_scipy.x, x), _moved(of_scipy.c, self._c)
        self.axis, self.extrapolate = 1, True

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | None = None) -> Any:
        """Evaluate the spline or its derivative of order nu; outside the nodes the polynomials go on."""
        if extrapolate == "periodic":
            raise UnsupportedError.call(
                "a spline of solve_bvp with extrapolate='periodic' for", "it is not periodic", "extrapolate=True"
            )
        given = real_array(x)
        flat, nodes = np.reshape(given, (-1,)), plain(self.x)
        at = plain(flat)
        k = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2)
        distance = (flat - self._x[k])[:, None]
        made = np.zeros((len(at), self._c.shape[2]))
        for power in range(3, nu - 1, -1):
            made = made * distance + math.perm(power, nu) * self._c[3 - power][k]
        value = self._of_scipy(at, nu, extrapolate).T
        return np.reshape(_moved(value, made).T, (made.shape[1], *given.shape))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self._of_scipy, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise UnsupportedError.call(
            f"{name} of the spline of scipy.integrate.solve_bvp", "it has plain coefficients", "sol(x, nu)"
        )
