r"""Discrete operations, which AD does not act upon: on Int, and comparisons of reals.

The paper's source language has Int as an example of a discrete type, but no operations on it. Recursive programs need
a few. Operators on Int end in #, as for GHC's unboxed integers.

    +#, -#, *#            (Int, Int) -> Int        on unbounded integers
    //#, %#               (Int, Int) -> Int        quotient, rounded down; remainder with the divisor's sign
    <#, <=#, ==#          (Int, Int) -> ()+()
    <, <=                 (R, R) -> ()+()          on the values; false if one is NaN, as in IEEE
    real                  Int -> R                 its derivative is 0

D[s < t] = let (x1, d1) = D[s] in let (x2, d2) = D[t] in x1 < x2.     D[real(n)] = D[r] for the literal r.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.calculus.language.types import BOOL, INT, REAL, Type

__all__ = ["DISCRETE", "DiscreteOperation"]


@dataclass(frozen=True, slots=True)
class DiscreteOperation:
    """A line of the table above: its name, its types, and a function that computes it."""

    name: str
    arguments: tuple[Type, ...]
    result: Type
    compute: Callable[..., Any]


DISCRETE: Mapping[str, DiscreteOperation] = {
    line.name: line
    for line in (
        DiscreteOperation("+#", (INT, INT), INT, operator.add),
        DiscreteOperation("-#", (INT, INT), INT, operator.sub),
        DiscreteOperation("*#", (INT, INT), INT, operator.mul),
        DiscreteOperation("//#", (INT, INT), INT, operator.floordiv),
        DiscreteOperation("%#", (INT, INT), INT, operator.mod),
        DiscreteOperation("<#", (INT, INT), BOOL, operator.lt),
        DiscreteOperation("<=#", (INT, INT), BOOL, operator.le),
        DiscreteOperation("==#", (INT, INT), BOOL, operator.eq),
        DiscreteOperation("<", (REAL, REAL), BOOL, operator.lt),
        DiscreteOperation("<=", (REAL, REAL), BOOL, operator.le),
        DiscreteOperation("real", (INT,), REAL, float),
    )
}
