"""Matrix equations: Sylvester's, Lyapunov's and Riccati's, for `dualrev.scipy.linalg`.

The derivative of a solution solves a linear equation of the same kind.

Source: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008;
T.-C. Kao and G. Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations", 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, of_matrices, rule
from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import attached, constant
from dualrev.scipy.banded_systems import sum_of
from dualrev.scipy.calls import instead_of

__all__ = [
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
]


@instead_of(_linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solution of a x + x b = q. If one of the matrices is complex, all are converted.

    >>> solve_sylvester(np.eye(1), np.eye(1), 4.0 * np.eye(1))
    array([[2.]])
    """
    if is_complex(a) or is_complex(b) or is_complex(q):
        a, b, q = (u if is_complex(u) else of_matrices(u) + 0j for u in (a, b, q))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -w y^H, -y^H w and w, where a^H w + w b^H = g."""
        g, y = solve_sylvester(adjoint(xs[0]), adjoint(xs[1]), gs[0]), adjoint(ys[0])
        return [-(g @ y), -(y @ g), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the solution for the right-hand side dq - da y - y db."""
        da, db, dq = ts
        right = sum_of(dq, None if da is None else -(da @ ys[0]), None if db is None else -(ys[0] @ db))
        return [solve_sylvester(xs[0], xs[1], right)]

    return rule(solve_sylvester, pull, push, a, b, q)


@instead_of(_linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solution of a x + x a^H = q.

    >>> solve_continuous_lyapunov(np.eye(1), 4.0 * np.eye(1))
    array([[2.]])
    """
    a = of_matrices(a)
    return solve_sylvester(a, adjoint(a), q)


@instead_of(_linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solution of a x a^H - x + q = 0.

    >>> solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
    array([[4.]])
    """
    if is_complex(a) or is_complex(q):
        a, q = (u if is_complex(u) else of_matrices(u) + 0j for u in (a, q))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return w a x^H + w^H a x, and w, where a^H w a - w + g = 0."""
        w = solve_discrete_lyapunov(adjoint(xs[0]), gs[0], method)
        return [w @ xs[0] @ adjoint(ys[0]) + adjoint(w) @ xs[0] @ ys[0], w]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the solution for the right-hand side dq + da x a^H + a x da^H."""
        da, dq = ts
        moved = None if da is None else da @ ys[0] @ adjoint(xs[0]) + xs[0] @ ys[0] @ adjoint(da)
        return [solve_discrete_lyapunov(xs[0], sum_of(dq, moved), method)]

    return rule(lambda a, q: solve_discrete_lyapunov(a, q, method), pull, push, a, q)


def _riccati(name: str, of: tuple[Any, ...], e: Any, s: Any) -> Any:
    """Return the matrices as real arrays; UnsupportedError for options without a rule."""
    if e is not None or s is not None or any(map(is_complex, of)):
        raise UnsupportedError.call(
            f"scipy.linalg.{name} with e, s or complex matrices of numbers that are being differentiated",
            "it has no derivative rule",
            "the equation of a, b, q and r that it can be brought to",
        )
    return tuple(real_array(u) + 0.0 for u in of)


@instead_of(_linalg.solve_continuous_are)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Solution of the Riccati equation a^T x + x a - x b r^-1 b^T x + q = 0.

    >>> solve_continuous_are(np.zeros((1, 1)), np.eye(1), 4.0 * np.eye(1), np.eye(1)).round(6)
    array([[2.]])
    """
    data = _riccati("solve_continuous_are", (a, b, q, r), e, s)
    fixed = constant(data)
    x = _linalg.solve_continuous_are(*fixed, balanced=balanced)

    def residual(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        """Return the left-hand side."""
        return a.T @ x + x @ a - x @ b @ np.linalg.solve(r, b.T @ x) + q

    residual.__qualname__ = "scipy.linalg.solve_continuous_are"
    a, b, _, r = fixed
    closed = a - b @ np.linalg.solve(r, b.T @ x)
    return attached(
        residual,
        x,
        data,
        lambda _, right: _linalg.solve_sylvester(closed.T, closed, right),
        lambda _, right: _linalg.solve_sylvester(closed, closed.T, right),
        1e-6,
    )


@instead_of(_linalg.solve_discrete_are)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Solution of the Riccati equation a^T x a - x - a^T x b (r + b^T x b)^-1 b^T x a + q = 0.

    >>> solve_discrete_are(np.zeros((1, 1)), np.eye(1), 4.0 * np.eye(1), np.eye(1)).round(6)
    array([[4.]])
    """
    data = _riccati("solve_discrete_are", (a, b, q, r), e, s)
    fixed = constant(data)
    x = _linalg.solve_discrete_are(*fixed, balanced=balanced)

    def residual(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        """Return the left-hand side."""
        return a.T @ x @ a - x - a.T @ x @ b @ np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a) + q

    residual.__qualname__ = "scipy.linalg.solve_discrete_are"
    a, b, _, r = fixed
    closed = a - b @ np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
    return attached(
        residual,
        x,
        data,
        lambda _, right: _linalg.solve_discrete_lyapunov(closed.T, -right),
        lambda _, right: _linalg.solve_discrete_lyapunov(closed, -right),
        1e-6,
    )
