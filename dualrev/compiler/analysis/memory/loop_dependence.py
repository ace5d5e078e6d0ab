"""Loop dependence analysis: reversed loops whose iterations commute, so that they may run upwards."""

from __future__ import annotations

from typing import Any

from dualrev.compiler.analysis.memory.alias import contents
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Make, Real, Store, View
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, writes

__all__ = ["order_free"]


def order_free(at: LoopContext, code: Block) -> bool:
    """Whether the iterations of a reversed loop may run in any order (then it runs upwards, as LLVM likes it).

    So it is if they only add to cotangents that are shared, have no loop-carried variables, and read or change only
    elements of other memory that belong to one iteration alone: elements with the counter as an index, of arrays whose
    elements do not overlap. `code` is the reverse of the body of the loop `at.source`.
    """
    s = at.source
    if not isinstance(s, For) or s.exits or s.step != Constant(1) or not at.is_nonnegative(s.start):
        return False  # a[-1] and a[n - 1] are one element
    return _Rounds(at, s, code).are_free()


class _Rounds:
    """Array accesses of a reversed loop's iterations, by alias class (shadows and primals apart).

    places    what stands for the elements that belong to one iteration alone: an array, and which of its indices is the
              counter; None for elements that any iteration may see
    taken     where elements are read or replaced, and ...
    changed   ... where they are replaced or added to
    """

    def __init__(self, at: LoopContext, s: For, code: Block) -> None:
        self.at, self.s, self.code = at, s, code
        self.shadows = at.shadows
        self.wrote = wrote = {x for t in statements(code) for x in writes(t)}
        self.shared = {at.facts.cotangent(x) for x in at.facts.crossing(s)} & wrote
        self.moving = {x for x in wrote if is_array(x)}  # views that differ from iteration to iteration
        self.places: dict[Any, set[tuple[Any, int] | None]] = {}
        self.taken: set[Any] = set()
        self.changed: set[Any] = set()

    def are_free(self) -> bool:
        """Whether no iteration depends on another one, but for sums."""
        if not all(map(self.statement, statements(self.code))) or self.hands_on(self.code, set()):
            return False
        return all(len(self.places[key]) == 1 and None not in self.places[key] for key in self.taken & self.changed)

    def hands_on(self, code: Block, known: set[Any]) -> bool:
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

    def element(self, array: Any, index: tuple[Any, ...]) -> Any:
        """Record an access to an element, and return the key of its memory: shadow or not, and the alias class."""
        is_shadow = array in self.shadows
        key = is_shadow, self.shadows[array] if is_shadow else self.at.facts.classes.find(self.at.original(array))
        primal = self.at.original(self.at.primal.get(array, array))
        distinct = array not in self.moving and self.at.has_distinct_elements(primal)
        own = [k for k, i in enumerate(index) if i is self.s.target] if distinct else []
        self.places.setdefault(key, set()).add((array, own[0]) if own else None)
        return key

    def statement(self, t: Any) -> bool:
        """Record a statement's accesses; whether it is reorderable, and uses shared cotangents only as sums."""
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
