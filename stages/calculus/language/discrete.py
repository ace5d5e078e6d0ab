r"""Operations that AD does not act upon: on Int, and comparisons of reals, whose answer is a branch to take.

The paper's source language has Int as an example of such a type, and none of its operations. Programs that recurse need
a few. Their names end in # where the operands are of type Int, as those of GHC's unboxed integers.

    +#, -#, *#            (Int, Int) -> Int        integers without bound
    //#, %#               (Int, Int) -> Int        quotient, rounded down, and remainder, of the divisor's sign
    <#, <=#, ==#          (Int, Int) -> ()+()
    <, <=                 (R, R) -> ()+()          of the values; false if one is NaN, as IEEE says
    real                  Int -> R                 its derivative is 0: nothing depends on an Int smoothly

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
    """A line of the table above: its name, types, and how to compute it."""

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
