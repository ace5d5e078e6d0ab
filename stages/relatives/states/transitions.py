r"""One assignment: Pearlmutter and Siskind 2008, section 2, Figs. 1 to 4.

    x[L] := u x[R]              f x = x with u x[R] at L                         Fig. 1
    x[L] := b (x[R], x[S])      f x = x with b (x[R], x[S]) at L

    (J f x)[j, k]  = the sum of the partial derivatives u', b1', b2' of the operands at k     if j = L       Fig. 2
                     1 if j = k, and 0 otherwise                                              if j /= L
    ((J f x) dx)[j]   = u' dx[R]; b1' dx[R] + b2' dx[S] at L; dx[j] elsewhere                                Fig. 3
    ((J f x)^T ct)[k] = (0 if k = L, else ct[k]) + the partial derivatives of the operands at k, times ct[L] Fig. 4

The figures draw the case of distinct L, R and S. The paper then lists the others, R = L, S = L, R = S and L = R = S:
four lines for unary and eight for binary functions. All of them follow from two steps: the sensitivity of L is taken
out, and set to zero, since the assignment overwrites x[L]; then each operand's element receives its share of it, also
L's. The order matters if L is an operand. tests/relatives/test_relatives_states.py has the paper's lines one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import function, linearize
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["Assignment", "Constant", "forward", "jacobian", "partials", "reverse", "step"]

State = list[Any]


class Constant(NamedTuple):
    """An operand that is a number, not an element of the state."""

    value: Any


class Assignment(NamedTuple):
    """x[target] := op (x[i], ..), for operands i, and an operation of the table of primitives."""

    target: int
    op: str
    operands: tuple[int | Constant, ...]


def arguments(a: Assignment, x: Sequence[Any]) -> list[Any]:
    """The values of the operands."""
    return [i.value if isinstance(i, Constant) else x[i] for i in a.operands]


def step(a: Assignment, x: Sequence[Any]) -> State:
    """f x: Fig. 1."""
    after = list(x)
    after[a.target] = function(PRIMITIVES[a.op])(*arguments(a, x))
    return after


def partials(a: Assignment, x: Sequence[Any]) -> list[tuple[int, Any]]:
    """The operands that are elements, each with its partial derivative at x."""
    ps = linearize(PRIMITIVES[a.op], arguments(a, x))[1]
    return [(i, p) for i, p in zip(a.operands, ps, strict=True) if not isinstance(i, Constant)]


def jacobian(a: Assignment, x: Sequence[Any]) -> list[State]:
    """J f x: Fig. 2. It differs from the identity in one row."""
    rows = [[float(j == k) for k in range(len(x))] for j in range(len(x))]
    rows[a.target] = [0.0] * len(x)
    for i, p in partials(a, x):
        rows[a.target][i] = rows[a.target][i] + p
    return rows


def forward(a: Assignment, x: Sequence[Any], dx: Sequence[Any]) -> State:
    """(J f x) dx: Fig. 3. Only the element L changes."""
    after = list(dx)
    after[a.target] = sum((p * dx[i] for i, p in partials(a, x)), 0.0)
    return after


def reverse(a: Assignment, x: Sequence[Any], ct: Sequence[Any]) -> State:
    """(J f x)^T ct: Fig. 4. The operands' elements accumulate, and L is zeroed."""
    before = list(ct)
    before[a.target] = 0.0
    for i, p in partials(a, x):
        before[i] = before[i] + p * ct[a.target]
    return before
