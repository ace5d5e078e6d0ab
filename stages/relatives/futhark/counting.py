"""Counts of a program and of its derivative: scalar operations, and numbers that loops store."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stages.relatives.bulk.language import Program
from stages.relatives.futhark import compiled, derivative, primal

__all__ = ["Work", "work"]


class Work(NamedTuple):
    """Scalar operations of the program and of its derivative; the most numbers that the derivative stores at once."""

    program: int
    derivative: int
    stored: int


def work(program: Program, *args: Any) -> Work:
    """Run both on counting numbers.

    >>> from stages.relatives.bulk.language import program
    >>> from stages.relatives.futhark.terms import loop
    >>> work(program(lambda x: loop(x, 10, lambda v, i: v * x)), 1.1)
    Work(program=10, derivative=72, stored=10)
    """
    ticks = [0]
    stored = [0, 0]

    class Kept(list[Any]):
        """What a loop stores; the numbers in all of these lists are counted now, and at most."""

        def append(self, u: Any) -> None:
            super().append(u)
            stored[0] += math.prod(_sizes(u))
            stored[1] = max(stored)

        def __del__(self) -> None:
            stored[0] -= sum(math.prod(_sizes(u)) for u in self)

    number, functions = _counting(ticks)
    ranks = [len(_sizes(u)) for u in args]
    given = [_mapped(number, u) for u in args]
    also = {**functions, "keep": Kept}
    y = compiled(primal(program, *ranks), "primal", also)(*given)
    first = ticks[0]
    compiled(derivative(program, *ranks), "derivative", also)(*given, _mapped(lambda _: number(1.0), y))
    return Work(first, ticks[0] - first, stored[1])


def _counting(ticks: list[int]) -> tuple[type[float], dict[str, Any]]:
    """A class of floats whose operations are counted, and functions on it."""

    def counted(f: Any) -> Any:
        def called(*args: Any) -> Any:
            ticks[0] += 1
            return number(f(*args))

        return called

    names = [f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv") for side in ("", "r")]
    number = type("number", (float,), {name: counted(getattr(float, name)) for name in (*names, "__neg__")})
    functions = {name: counted(getattr(math, name)) for name in ("sin", "cos", "exp", "log", "sqrt")}
    return number, {**functions, "maximum": counted(max)}


def _mapped(f: Any, u: Any) -> Any:
    return [_mapped(f, v) for v in u] if isinstance(u, list) else f(u)


def _sizes(u: Any) -> list[int]:
    return [len(u), *_sizes(u[0])] if isinstance(u, list) else []
