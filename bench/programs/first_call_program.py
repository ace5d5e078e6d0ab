"""A program of `bench/first_calls.py`, and the transforms that its derivatives come from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import dualrev as dr

__all__ = ["TRANSFORMS", "Program", "table"]

#: The transforms by name. Each takes the function and the positions of the arguments.
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "value_and_grad": dr.value_and_grad,
    "hessian": dr.hessian,
    "grad of grad": lambda f, argnums: dr.grad(dr.grad(f, argnums), argnums),
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A numba function, and its derivative.

    function    the numba function
    make        returns its arguments
    argnums     positions of the arguments to differentiate with respect to
    transform   which derivative: a key of TRANSFORMS
    """

    function: Any
    make: Callable[[], tuple[Any, ...]]
    argnums: int | tuple[int, ...] = 0
    transform: str = "value_and_grad"

    @property
    def name(self) -> str:
        """The name in the table: the function's."""
        name: str = self.function.__name__
        return name

    def derivative(self) -> Any:
        """Return the derivative, not compiled yet."""
        return TRANSFORMS[self.transform](self.function, self.argnums)


def table(*programs: Program) -> dict[str, Program]:
    """Return programs by name."""
    return {program.name: program for program in programs}
