r"""Loops, reduce and scan, beside the terms of the array language (stages/relatives/bulk/terms.py).

    loop x = s for i < n do t       x is s before iteration 0, and t of the last x after each iteration
    reduce op e xs                  e op xs[0] op .. op xs[n - 1], for an associative op with the neutral element e
    scan op e xs                    all reductions of the first k + 1 elements, for k < n

op is add, mul or maximum, or a function \l r. t of its two arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stages.relatives.bulk.terms import Num, Term, Var

__all__ = ["NEUTRAL", "Loop", "Reduce", "Scan", "loop", "reduce", "scan"]

#: The operators that have rules of their own, with their neutral elements.
NEUTRAL = {"add": 0.0, "mul": 1.0, "maximum": float("-inf")}


@dataclass(frozen=True)
class Loop(Term):  # noqa: D101 - the terms are those of the module's grammar
    name: str
    start: Term
    index: str
    size: int
    body: Term

    def binds(self) -> tuple[str, ...]:  # noqa: D102
        return (self.name, self.index)

    def text(self) -> tuple[str, int]:  # noqa: D102
        return f"loop {self.name} = {self.start} for {self.index} < {self.size} do {self.body}", 0


@dataclass(frozen=True)
class Reduce(Term):  # noqa: D101
    op: str
    arguments: tuple[str, ...]
    body: Term
    neutral: float
    array: Term

    def binds(self) -> tuple[str, ...]:  # noqa: D102
        return self.arguments

    def text(self) -> tuple[str, int]:  # noqa: D102
        op = self.op or f"(\\{' '.join(self.arguments)}. {self.body})"
        return f"{type(self).__name__.lower()} {op} {self.neutral:g} ({self.array})", 3


class Scan(Reduce):  # noqa: D101
    pass


def loop(start: Any, n: int, f: Callable[[Term, Term], Any]) -> Loop:
    """loop x = start for i < n do t, for f the function from x and i to t."""
    x, i = inspect.signature(f).parameters
    return Loop(x, _term(start), i, n, _term(f(Var(x), Var(i))))


def reduce(op: str | Callable[[Term, Term], Any], array: Term, neutral: float | None = None) -> Reduce:
    """reduce op e array; a function op needs its neutral element."""
    return _folding(Reduce, op, array, neutral)


def scan(op: str | Callable[[Term, Term], Any], array: Term, neutral: float | None = None) -> Reduce:
    """scan op e array; a function op needs its neutral element."""
    return _folding(Scan, op, array, neutral)


def _folding(kind: type[Reduce], op: Any, array: Term, neutral: float | None) -> Reduce:
    if isinstance(op, str):
        return kind(op, (), Num(0.0), NEUTRAL[op], array)
    if neutral is None:
        raise ValueError("the neutral element of a function is not known: pass it as `neutral`")
    names = tuple(inspect.signature(op).parameters)
    return kind("", names, _term(op(*map(Var, names))), neutral, array)


def _term(u: Any) -> Term:
    return u if isinstance(u, Term) else Num(u)
