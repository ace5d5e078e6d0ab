r"""A program as a chain of transition functions: Pearlmutter and Siskind 2008, section 2.

    x1 = f1 x0; ..; xn = fn x(n-1)                                  machine states, x0 the input
    J f x0     = (J fn x(n-1)) .. (J f1 x0)                         forward_jacobian, from the right
    (J f x0)^T = (J f1 x0)^T .. (J fn x(n-1))^T                     reverse_jacobian, from the right: rows of J f

    dx(i) = (J fi x(i-1)) dx(i-1)                                   forward_mode: interleaved with x(i) = fi x(i-1)
    ct(i-1) = (J fi x(i-1))^T ct(i)                                 reverse_mode: after all x(i), which are kept

A local transformation for reverse mode replaces each line by one of its own:

    xi = fi x(i-1);  bi = \ct. b(i-1) ((J fi x(i-1))^T ct);  b0 = \ct. ct           local
    b := \(). begin ct[R] +:= u' ct[L]; ct[L] := 0; b () end;  x[L] := u x[R]       side_effects

In the first one, a backpropagator belongs to a whole state: states cannot be split into variables, each with its own
one, as dual numbers can. (naive, the stage, splits them, and calls backpropagators twice.) In the second one, b is one
global variable, the tape, made of closures; x and ct are updated in place. It keeps the old values of u' only. Both
call backpropagators as deep as the program is long, on Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stages.relatives.states.transitions import Assignment, State, forward, jacobian, partials, reverse, step

__all__ = ["forward_jacobian", "forward_mode", "local", "reverse_jacobian", "reverse_mode", "side_effects", "states"]

Program = Sequence[Assignment]
Matrix = list[State]


def states(program: Program, x: Sequence[Any]) -> list[State]:
    """x0, x1, .., xn"""
    found = [list(x)]
    for a in program:
        found.append(step(a, found[-1]))
    return found


def product(left: Matrix, right: Matrix) -> Matrix:
    """The product of two matrices."""
    columns = list(zip(*right, strict=True))
    return [[sum(p * q for p, q in zip(row, column, strict=True)) for column in columns] for row in left]


def transposed(matrix: Matrix) -> Matrix:
    """The transpose."""
    return [list(column) for column in zip(*matrix, strict=True)]


def identity(size: int) -> Matrix:
    """The identity matrix."""
    return [[float(j == k) for k in range(size)] for j in range(size)]


def forward_jacobian(program: Program, x: Sequence[Any]) -> Matrix:
    """J f x0, by (J fi x(i-1)) X(i-1). Each X(i) has as many entries as the square of the state."""
    found = identity(len(x))
    for a, before in zip(program, states(program, x), strict=False):
        found = product(jacobian(a, before), found)
    return found


def reverse_jacobian(program: Program, x: Sequence[Any]) -> Matrix:
    """(J f x0)^T, by (J fi x(i-1))^T X(i)."""
    found, visited = identity(len(x)), states(program, x)
    for a, before in zip(reversed(program), reversed(visited[:-1]), strict=True):
        found = product(transposed(jacobian(a, before)), found)
    return found


def forward_mode(program: Program, x: Sequence[Any], dx: Sequence[Any]) -> tuple[State, State]:
    """xn, and (J f x0) dx0; one state at a time."""
    x, dx = list(x), list(dx)
    for a in program:
        x, dx = step(a, x), forward(a, x, dx)
    return x, dx


def reverse_mode(program: Program, x: Sequence[Any], ct: Sequence[Any]) -> tuple[State, State]:
    """xn, and (J f x0)^T ct; all states are kept for the reverse phase."""
    visited, ct = states(program, x), list(ct)
    for a, before in zip(reversed(program), reversed(visited[:-1]), strict=True):
        ct = reverse(a, before, ct)
    return visited[-1], ct


def local(program: Program, x: Sequence[Any]) -> tuple[State, Callable[[State], State]]:
    """xn, and its backpropagator, which calls that of x(n-1)."""
    back: Callable[[State], State] = _nothing
    x = list(x)
    for a in program:
        x, back = step(a, x), _before(a, x, back)
    return x, back


def _nothing(ct: State) -> State:
    """b0 = \\ct. ct"""
    return ct


def _before(a: Assignment, x: State, back: Callable[[State], State]) -> Callable[[State], State]:
    """bi = \\ct. b(i-1) ((J fi x(i-1))^T ct)"""
    return lambda ct: back(reverse(a, x, ct))


def side_effects(program: Program, x: State) -> Callable[[State], None]:
    """Run the program in x, in place. Return the global backpropagator b, which updates a sensitivity in place."""
    back: Callable[[State], None] = lambda ct: None  # noqa: E731
    for a in program:
        back = _begin(a.target, partials(a, x), back)
        x[a.target] = step(a, x)[a.target]
    return back


def _begin(target: int, ps: list[tuple[int, Any]], back: Callable[[State], None]) -> Callable[[State], None]:
    """\\(). begin ct[R] +:= u' ct[L]; ct[L] := 0; b () end, with ct[L] taken out first, as L may be R."""

    def begin(ct: State) -> None:
        """The reverse step of one assignment, and then those of the assignments before it."""
        z, ct[target] = ct[target], 0.0
        for i, p in ps:
            ct[i] = ct[i] + p * z
        back(ct)

    return begin
