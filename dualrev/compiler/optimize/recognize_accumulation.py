"""Accumulation recognition (core -> core): sums get the in-place forms that reverse mode recognises.

_1 = t + a          t = t + a           of a number: what has only been added to it is a sum, and its cotangent is
t = _1 - b          t = t - b           the same before and after (ad/reverse/fuse_sweeps.py)

_1 = y[i]                               of an element: neither the old one nor its cotangent takes part, and in a
_2 = g(x)           _2 = g(x)           parallel loop the order is free
_3 = _1 + _2        y[i] += _2
y[i] = _3
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TypeGuard

from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, Function, Load, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements, with_blocks, writes

__all__ = ["with_accumulations"]


def with_accumulations(f: Function, memory: Memory) -> Function:
    """Rewrite sums that replace what they add to as accumulations."""
    return replace(f, body=_Recognition(f, memory).block(f.body))


class _Recognition:
    """Recognition in one function; `single` are the variables that are written once and read once."""

    def __init__(self, f: Function, memory: Memory) -> None:
        self.f, self.memory = f, memory
        self.read = Counter(x for s in statements(f.body) for x in reads(s) if isinstance(x, Var))
        self.read.update(x for x in leaves(f.result) if isinstance(x, Var))
        self.written = Counter(x for s in statements(f.body) for x in writes(s))
        self.single = {x for x, n in self.written.items() if n == self.read[x] == 1}

    @cached_property
    def classes(self) -> Classes:
        """Alias classes of the function's arrays."""
        return Classes(self.f, self.memory, self.f.together)

    def block(self, body: Block) -> Block:
        """Rewrite a block, its inner blocks first."""
        made: list[Statement] = [with_blocks(s, map(self.block, inner)) if (inner := blocks(s)) else s for s in body]
        for k, s in enumerate(made):
            if _is_sum(s) and s.target not in self.single:
                self.sum_up(made, k, s.target)
        k = 0
        while k < len(made):
            k -= self.accumulate(made, k)
            k += 1
        return tuple(made)

    # Numbers

    def sum_up(self, made: list[Statement], end: int, x: Var) -> None:
        """Rewrite the chain of sums from `x` to its next value, the last one at `end`, to update `x` itself.

        What is passed from one sum to the next is of the same type, and nobody else reads it.
        """
        chain = self.chain(made, end, x)
        places = {k for k, _, _ in chain}
        others = (s for k in range(min(places, default=end), end) if k not in places for s in statements((made[k],)))
        if not any(x in reads(s) or x in writes(s) for s in others):
            for k, s, more in chain:
                made[k] = replace(s, target=x, args=(x, more))

    def chain(self, made: list[Statement], k: int, x: Var) -> list[tuple[int, Real, Atom]]:
        """The sums from `x` to what the `k`-th statement makes, with their places and addends; else an empty list."""
        s = made[k]
        if not _is_sum(s):
            return []
        for old, more in (s.args, s.args[::-1])[: 2 if s.rule.name == "add" else 1]:
            if old is x is not more:
                return [(k, s, more)]
            if more is not x and old in self.single and old.type == x.type:
                for j in (j for j in range(k) if old in writes(made[j])):  # the one place, if it is in this block
                    if found := self.chain(made, j, x):
                        return [*found, (k, s, more)]
        return []

    # Elements

    def accumulate(self, made: list[Statement], k: int) -> int:
        """Merge load, sum and store of an element, the last one at `k`; return how many statements there are less."""
        s, add = made[k], made[k - 1]
        if k < 2 or not isinstance(s, Store) or s.op != "=" or not _is_sum(add) or add.target is not s.value:
            return 0
        for j in range(k - 2, -1, -1):
            t = made[j]
            if isinstance(t, Load) and (t.array, t.index) == (s.array, s.index) and t.target in add.args:
                first = add.args[0] is t.target or (add.rule.name == "add" and add.args[1] is t.target)
                if not first or add.args[0] is add.args[1] or not self.are_alone(t.target, add.target):
                    return 0
                value = add.args[1] if add.args[0] is t.target else add.args[0]
                made[k] = Store(s.array, s.index, value, s.line, "+=" if add.rule.name == "add" else "-=")
                del made[k - 1], made[j]
                return 2
            if self.concerns(t, s):
                return 0
        return 0

    def are_alone(self, old: Var, new: Var) -> bool:
        """Whether only the sum reads the old element, and only the store the new one."""
        times = 2 if old is new else 1
        return all(self.read[x] == self.written[x] == times for x in (old, new))

    def concerns(self, t: Statement, s: Store) -> bool:
        """Whether a statement may change the element that is added to, or its array or index."""
        inner = list(statements((t,)))
        if any(x in reads(s) for u in inner for x in writes(u) if x is not s.value):
            return True
        if all(isinstance(u, (Load, Real, Discrete, Copy)) for u in inner):
            return False
        key = self.classes.find(s.array)
        return any(self.classes.find(x) == key for u in inner for x in self.memory.changed(u))


def _is_sum(s: Statement) -> TypeGuard[Real]:
    return isinstance(s, Real) and s.rule.name in ("add", "sub")
