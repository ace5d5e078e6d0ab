"""Reduction recognition: scalars that iterations of a parallel loop sum, multiply, or take the extreme of.

    s += x, s -= x      add        n = min(n, x)      min
    p *= x, p /= x      mul        n = max(n, x)      max

Numba knows the same ones. Each chunk of iterations starts from the neutral element; what the chunks come to is put
together in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dualrev.compiler.ir.core.atoms import Atom, Comparison, Operator, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, If, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import atoms_of, blocks, reads, statements, with_blocks, writes

__all__ = ["SYMBOLS", "total_of", "without"]

#: How choices compare; "min of" is min(y, x), which takes y if they are equal.
SYMBOLS = {"min": "<", "min of": "<", "max": ">", "max of": ">"}

_KINDS = {"+": "add", "-": "add", "*": "mul", "/": "mul"}
_REALS = {"add": "add", "sub": "add", "mul": "mul", "div": "mul"}


def total_of(x: Var, body: Block) -> str | None:
    """The reduction kind of a variable: add, mul, or one of SYMBOLS; None if it is no reduction."""
    found = {_kind(x, t) for t in _but_choices(body) if x in reads(t) or x in writes(t)}
    found |= {choice.kind if choice.target is x else None for choice in _choices(body) if x in choice.variables}
    return found.pop() if len(found) == 1 else None


def without(body: Block, dead: Iterable[Var]) -> Block:
    """Dead code elimination: drop the reductions into, and the stores to, the variables in `dead`."""
    dead = set(dead)
    made: list[Statement] = []
    parts = {s for choice in _choices(body) if choice.target in dead for s in choice.parts}
    for s in body:
        inner = [without(b, dead) for b in blocks(s)]
        target = s.array if isinstance(s, Store) else s.target if isinstance(s, (Real, Discrete)) else None
        if target in dead or s in parts or (any(blocks(s)) and not any(inner)):
            continue
        made.append(with_blocks(s, inner) if inner else s)
    return tuple(made)


def _kind(x: Var, s: Statement) -> str | None:
    match s:
        case Real(target, rule, _, (first, second)) if target is x and first is x and second is not x:
            return _REALS.get(rule.name)
        case Discrete(target, Operator(symbol, (first, second))) if target is x and first is x:
            return _KINDS.get(symbol) if symbol != "/" and x not in atoms_of(second) else None
    return None


@dataclass(frozen=True)
class _Choice:
    """A minimum or maximum reduction as core has it: `x = min(x, y)` is `t = x; c = y < t; if c: t = y; x = t`."""

    target: Var
    kind: str
    variables: tuple[Atom, ...]
    parts: tuple[Statement, ...]


def _choices(body: Block) -> Iterator[_Choice]:
    for block in _every(body):
        for k in range(len(block) - 3):
            if (made := _choice(block[k : k + 4])) is not None:
                yield made


def _choice(some: Block) -> _Choice | None:
    match some:
        case (
            Copy(t, first),
            Discrete(c, Comparison((symbol,), (left, right))),
            If(test, (Copy(chosen, second),), ()),
            Copy(x, last),
        ) if test is c and t is right is chosen is last and left is second and x in (first, second):
            if symbol in ("<", ">") and first is not second:
                kind = ("min" if symbol == "<" else "max") + ("" if first is x else " of")
                return _Choice(x, kind, (first, second, x), some)
    return None


def _but_choices(body: Block) -> Iterator[Statement]:
    """All statements outside of minimum and maximum reductions."""
    parts = {t for choice in _choices(body) for s in choice.parts for t in statements((s,))}
    return (t for t in statements(body) if t not in parts)


def _every(body: Block) -> Iterator[Block]:
    yield body
    for s in body:
        for b in blocks(s):
            yield from _every(b)
