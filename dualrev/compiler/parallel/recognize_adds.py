"""Recognise accumulation into array elements (core -> core): load, add and store become one `+=`, free of order.

    t = a[k]                y = g(x)
    y = g(x)                a[k] += y
    t = t + y
    a[k] = t

The front end writes the former if g may have effects. In a parallel loop, they must not concern a[k].
"""

from __future__ import annotations

from typing import Any

from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.ir.core.nodes import Block, Load, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, with_blocks, writes

__all__ = ["with_additions"]


def with_additions(body: Block, classes: Classes, memory: Memory) -> Block:
    """Rewrite load, add and store of an element in the body of a loop as one accumulation."""
    uses: dict[Any, int] = {}
    for t in statements(body):
        for x in (*reads(t), *writes(t)):
            uses[x] = uses.get(x, 0) + 1
    return _Adding(classes, memory, uses).block(body)


class _Adding:
    def __init__(self, classes: Classes, memory: Memory, uses: dict[Any, int]) -> None:
        self.classes, self.memory, self.uses = classes, memory, uses

    def block(self, body: Block) -> Block:
        """Rewrite a block, its inner blocks first."""
        made: list[Statement] = []
        for s in body:
            inner = blocks(s)
            made.append(with_blocks(s, map(self.block, inner)) if inner else s)
            if isinstance(s, Store) and s.op == "=":
                self.join(made, s)
        return tuple(made)

    def join(self, made: list[Statement], s: Store) -> None:
        """Merge the last statements into one accumulation, if they load an element, add to it, and store it."""
        if len(made) < 3 or self.uses[s.value] != 4:  # loaded, read and written by the addition, stored
            return
        match made[-2]:
            case Real(target, rule, _, (first, value)) if target is first is s.value is not value:
                op = {"add": "+=", "sub": "-="}.get(rule.name)
            case _:
                return
        for k in range(len(made) - 3, -1, -1):
            t = made[k]
            if isinstance(t, Load) and t.target is s.value and (t.array, t.index) == (s.array, s.index):
                if op is not None:
                    del made[-2:], made[k]
                    made.append(Store(s.array, s.index, value, s.line, op))
                return
            if self.concerns(t, s):
                return

    def concerns(self, t: Statement, s: Store) -> bool:
        """Whether a statement may change the element that is added to, or its array or index."""
        key = self.classes.find(s.array)
        inner = list(statements((t,)))
        changed = any(self.classes.find(x) == key for u in inner for x in self.memory.changed(u))
        return changed or any(x in reads(s) for u in inner for x in writes(u) if x is not s.value)
