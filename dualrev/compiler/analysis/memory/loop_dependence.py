"""Loop dependence analysis: reversed loops whose iterations commute, so that they may run upwards."""

from __future__ import annotations

import itertools
from dataclasses import replace

from dualrev.compiler.analysis.dependence import Element
from dualrev.compiler.analysis.memory.alias import contents
from dualrev.compiler.analysis.memory.loop_context import LoopContext, MemoryKey
from dualrev.compiler.ir.core.atoms import Constant, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Make, Real, Statement, Store, View
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, writes

__all__ = ["order_free"]


def order_free(at: LoopContext, code: Block) -> bool:
    """Whether the iterations of a reversed loop may run in any order (then it runs upwards, as LLVM likes it).

    So it is if they only add to cotangents that are shared, have no loop-carried variables, and read or change only
    elements of other memory that no other iteration touches (analysis/dependence.py). `code` is the reverse of the body
    of the loop `at.source`.
    """
    s = at.source
    if not isinstance(s, For) or s.exits or s.step != Constant(1):
        return False
    return _Iterations(at, s, code).commute()


class _Iterations:
    """Array accesses of a reversed loop's iterations, by the memory that they touch.

    taken     what reads or replaces an element; None for what reads several
    changed   what replaces an element or adds to it
    """

    def __init__(self, at: LoopContext, s: For, code: Block) -> None:
        self.at, self.s = at, replace(s, body=code)
        self.shadows = at.shadows
        self.wrote = wrote = {x for t in statements(code) for x in writes(t)}
        self.shared = {at.facts.cotangent(x) for x in at.facts.crossing(s)} & wrote
        self.taken: dict[MemoryKey, list[Element | None]] = {}
        self.changed: dict[MemoryKey, list[Element]] = {}

    def commute(self) -> bool:
        """Whether no iteration depends on another one, but for sums."""
        code = self.s.body
        if not all(map(self.statement, statements(code))) or self.hands_on(code, set()):
            return False
        return all(self.differ(some, self.taken[key]) for key, some in self.changed.items() if key in self.taken)

    def differ(self, changed: list[Element], taken: list[Element | None]) -> bool:
        """Whether accesses of different iterations certainly touch different elements."""
        dependence = self.at.dependence(self.s)
        some, others = ({dependence.access(t) for t in side if t is not None} for side in (changed, taken))
        pairs = itertools.product(some, others)
        return None not in taken and all(dependence.same_element(a, b, across=self.s) == "never" for a, b in pairs)

    def hands_on(self, code: Block, known: set[Var]) -> bool:
        """Whether a variable is loop-carried; `known` gains the variables that the block certainly writes.

        Sums do not count: their order is left open.
        """
        for t in code:
            if any(x in self.wrote and x not in known and x not in self.shared for x in reads(t)):
                return True
            inner = [known | set(writes(t)) for _ in blocks(t)]
            if any(self.hands_on(b, mine) for b, mine in zip(blocks(t), inner, strict=True)):
                return True
            known |= set(writes(t)) | (inner[0] & inner[1] if isinstance(t, If) else set())
        return False

    def statement(self, t: Statement) -> bool:
        """Record a statement's accesses; whether it is reorderable, and uses shared cotangents only as sums."""
        match t:
            case Store():
                key = self.at.memory(t.array)
                self.changed.setdefault(key, []).append(t)
                if t.op == "=" or t.array not in self.shadows:
                    self.taken.setdefault(key, []).append(t)
                return t.value not in self.shared
            case Load():
                self.taken.setdefault(self.at.memory(t.array), []).append(t)
                return t.target not in self.shared and not any(x in self.shared for x in reads(t))
            case Real() if t.target in self.shared:  # d_x = d_x + y
                return t.rule.name in ("add", "sub") and t.args[0] is t.target and t.args[1] not in self.shared
            case Copy() | View() | Make():
                return t.target not in self.shared and not any(x in self.shared for x in reads(t))
            case Real() | Discrete():
                for x in contents(t):
                    self.taken.setdefault(self.at.memory(x), []).append(None)
                return not any(x in self.shared for x in reads(t))
            case For() | If():
                return not any(x in self.shared for x in reads(t))
        return False
