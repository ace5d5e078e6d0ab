"""Which reversed loops may run upwards: those whose rounds do not depend on their order."""

from __future__ import annotations

from typing import Any

from dualrev.compiler.analysis.memory.alias import contents, is_array
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Make, Real, Store, View
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, writes

__all__ = ["order_free"]


def order_free(at: LoopContext, code: Block) -> bool:
    """Whether the rounds of a reversed loop may come in any order; then they run upwards, as compilers like it.

    So it is if they only add to cotangents that others see, hand no variable on, and read or change only elements of
    other memory that belong to one round alone: those with the counter as an index, of arrays whose elements do not
    overlap. `code` is the reverse of the body of the loop `at.source`.
    """
    s = at.source
    if not isinstance(s, For) or s.exits or s.step != Constant(1) or not at.is_nonnegative(s.start):
        return False  # a[-1] and a[n - 1] are one element
    return _Rounds(at, s, code).are_free()


class _Rounds:
    """What the rounds of a reversed loop do to arrays, by the memory of these: a class, of shadows or of the others.

    places    what stands for the elements that belong to one round alone: an array, and which of its indices is the
              counter; None for elements that any round may see
    taken     where elements are read or replaced, and ...
    changed   ... where they are replaced or added to
    """

    def __init__(self, at: LoopContext, s: For, code: Block) -> None:
        self.at, self.s, self.code = at, s, code
        self.shadows = at.shadows
        self.wrote = wrote = {x for t in statements(code) for x in writes(t)}
        self.shared = {at.facts.cotangent(x) for x in at.facts.crossing(s)} & wrote
        self.moving = {x for x in wrote if is_array(x)}  # views that differ from round to round
        self.places: dict[Any, set[tuple[Any, int] | None]] = {}
        self.taken: set[Any] = set()
        self.changed: set[Any] = set()

    def are_free(self) -> bool:
        """Whether no round sees what another one does, but for sums."""
        if not all(map(self.statement, statements(self.code))) or self.hands_on(self.code, set()):
            return False
        return all(len(self.places[key]) == 1 and None not in self.places[key] for key in self.taken & self.changed)

    def hands_on(self, code: Block, known: set[Any]) -> bool:
        """Whether a round reads a variable that another one has written; `known` gains what the block certainly writes.

        Sums are none: their order is left open.
        """
        for t in code:
            if any(x in self.wrote and x not in known and x not in self.shared for x in reads(t)):
                return True
            inner = [known | set(writes(t)) for _ in blocks(t)]
            if any(self.hands_on(b, mine) for b, mine in zip(blocks(t), inner, strict=True)):
                return True
            known |= set(writes(t)) | (inner[0] & inner[1] if isinstance(t, If) else set())
        return False

    def element(self, array: Any, index: tuple[Any, ...]) -> Any:
        """Note that an element is read or changed; the memory that it is in."""
        is_shadow = array in self.shadows
        key = is_shadow, self.shadows[array] if is_shadow else self.at.facts.classes.find(self.at.original(array))
        primal = self.at.original(self.at.primal.get(array, array))
        distinct = array not in self.moving and self.at.has_distinct_elements(primal)
        own = [k for k, i in enumerate(index) if i is self.s.target] if distinct else []
        self.places.setdefault(key, set()).add((array, own[0]) if own else None)
        return key

    def statement(self, t: Any) -> bool:
        """Whether a statement leaves the order open."""
        match t:
            case Store():
                key = self.element(t.array, t.index)
                self.changed.add(key)
                if t.op == "=" or t.array not in self.shadows:
                    self.taken.add(key)
                return t.value not in self.shared
            case Load():
                self.taken.add(self.element(t.array, t.index))
                return t.target not in self.shared and not any(x in self.shared for x in reads(t))
            case Real() if t.target in self.shared:  # d_x = d_x + y
                return t.rule.name in ("add", "sub") and t.args[0] is t.target and t.args[1] not in self.shared
            case Copy() | View() | Make():
                return t.target not in self.shared and not any(x in self.shared for x in reads(t))
            case Real() | Discrete():
                for x in contents(t):
                    self.taken.add(self.element(x, ()))
                return not any(x in self.shared for x in reads(t))
            case For() | If():
                return not any(x in self.shared for x in reads(t))
        return False
