"""Derivatives of minimisers by the first-order optimality conditions.

A minimum x of f(x, p) is a root of the gradient. With constraints c(x, p) >= 0 or = 0, those that are active at x have
multipliers u, and (x, u) is a root of

    grad f(x, p) - sum(u * grad c(x, p)) = 0,    c(x, p) = 0    for the active constraints

(the conditions of Karush, Kuhn and Tucker). Bounds are constraints. The derivative exists if every active inequality
has a multiplier that is not 0, and the Jacobian of these equations is regular.

Source: A. Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear Programming", 1983, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.api.derivatives import grad, jacobian
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import SolutionError
from dualrev.implicit.solution import attach, constant, name_of
from dualrev.scipy.values import valued

__all__ = ["Constraint", "Scalar", "bounded", "minimum"]

#: Function of a vector that returns a number.
Scalar = Callable[[Any], Any]
_TOLERANCE = 1e-3  # of a step of Newton's method: minimisers stop at 1e-4 or so by default
_EXACT = 1e-9


class Constraint(NamedTuple):
    """Constraint of a minimisation: function(x), a vector, is 0, or at least 0 if it is an inequality."""

    function: Callable[[Any], Any]
    is_inequality: bool


def bounded(ends: tuple[Any, Any], n: int) -> list[Constraint]:
    """Return lower and upper bounds of n unknowns as constraints; infinite bounds are none."""
    made = []
    for bound, sign in zip(ends, (1.0, -1.0), strict=True):
        bound = real_array(bound)
        where = np.flatnonzero(np.isfinite(np.broadcast_to(plain(bound), n)))
        if where.size:
            made.append(Constraint(_distance(np.broadcast_to(bound, (n,))[where], where, sign), True))
    return made


def _distance(bound: Any, where: np.ndarray, sign: float) -> Callable[[Any], Any]:
    return lambda x: sign * (x[where] - bound)


def minimum(f: Scalar, x: np.ndarray, constraints: Sequence[Constraint], fun: Any) -> Any:
    """Return the minimum x of f, a plain vector, with its derivative in all traced numbers that the functions read.

    `fun` is the user's function, which errors name.
    """
    name, slope = name_of(fun), grad(f)
    active = _active(f, x, constraints, name)
    if not active:

        def gradient(x: Any) -> Any:
            """Return the gradient."""
            return slope(x)

        gradient.__qualname__ = name
        return attach(gradient, x, tol=_TOLERANCE)

    def values(x: Any) -> Any:
        """Return the active constraints."""
        return np.concatenate([np.reshape(real_array(c.function(x)), -1)[where] for c, where, _ in active])

    def conditions(z: tuple[Any, Any]) -> Any:
        """Return the gradient of the Lagrangian, and the active constraints."""
        x, multipliers = z
        return grad(lambda x: f(x) - np.sum(multipliers * values(x)))(x), values(x)

    conditions.__qualname__ = name
    multipliers = np.concatenate([u for _, _, u in active])
    found = attach(conditions, (x, multipliers), tol=None)
    _check(conditions, x, multipliers, name)
    return valued(x, found[0])


def _check(conditions: Any, x: np.ndarray, multipliers: np.ndarray, name: str) -> None:
    """Raise SolutionError if Newton's method would move x; the multipliers are only estimates."""
    z, n = np.concatenate([x, multipliers]), x.size

    def flat(z: Any) -> Any:
        """Return the conditions as one vector."""
        return np.concatenate(conditions((z[:n], z[n:])))

    step = np.linalg.lstsq(constant(jacobian(flat)(z)), constant(flat(z)), None)[0][:n]
    far, size = np.max(np.abs(step), initial=0.0), 1.0 + np.max(np.abs(x), initial=0.0)
    if not far <= _TOLERANCE * size:
        raise SolutionError(name, f"Newton's method would move it by {far:.1e}, and {_TOLERANCE * size:.1e} is allowed")


def _active(
    f: Scalar, x: np.ndarray, constraints: Sequence[Constraint], name: str
) -> list[tuple[Constraint, np.ndarray, np.ndarray]]:
    """Return the active constraints, the indices of their active elements, and the multipliers of these."""
    near, rows, kinds, exact = [], [], [], []
    for c in constraints:
        value = np.ravel(constant(real_array(c.function(x))))
        size = 1.0 + np.max(np.abs(x), initial=0.0)
        where = np.flatnonzero(value <= 1e-4 * size) if c.is_inequality else np.arange(value.size)
        if where.size:
            near.append((c, where))
            rows.append(_slopes(c.function, x, where))
            kinds.append(np.full(where.size, c.is_inequality))
            exact.append(value[where] <= _EXACT * size)
    if not near:
        return []
    slopes, inequality = np.concatenate(rows), np.concatenate(kinds)
    multipliers = np.linalg.lstsq(slopes.T, np.asarray(constant(grad(f)(x)), float), None)[0]
    pushes = multipliers > _least(f, x, slopes)
    degenerate = inequality & np.concatenate(exact) & ~pushes
    if degenerate.any():
        raise SolutionError(name, "a constraint or a bound is active there whose multiplier is 0")
    keep, made, start = ~inequality | pushes, [], 0
    for c, where in near:
        chosen = keep[start : start + where.size]
        if chosen.any():
            made.append((c, where[chosen], multipliers[start : start + where.size][chosen]))
        start += where.size
    return made


def _slopes(function: Callable[[Any], Any], x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the Jacobian of some elements of a constraint, as plain numbers."""
    return np.reshape(constant(jacobian(lambda x: np.reshape(real_array(function(x)), -1)[where])(x)), (-1, x.size))


def _least(f: Scalar, x: np.ndarray, slopes: np.ndarray) -> Any:
    """Return the multipliers that are as good as 0: without them, Newton's method would hardly move x."""
    hessian = np.reshape(constant(jacobian(grad(f))(x)), (x.size, x.size))
    length = np.sqrt(np.sum(slopes**2, axis=1)) + 1e-300
    bend = np.abs(np.sum((slopes @ hessian) * slopes, axis=1)) / length**2
    slope = np.max(np.abs(constant(grad(f)(x))), initial=0.0)
    return np.maximum(1e-4 * bend * (1.0 + np.max(np.abs(x), initial=0.0)), 1e-12 * slope) / length
