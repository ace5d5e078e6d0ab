"""Which reversed loops may run upwards: those whose rounds do not depend on their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualrev.compiler.analyses.memory import is_array
from dualrev.compiler.core.atoms import Constant, Var
from dualrev.compiler.core.terms import Block, Copy, Discrete, For, If, Load, Make, Real, Store, View
from dualrev.compiler.core.walks import reads, statements, writes

if TYPE_CHECKING:
    from dualrev.compiler.transforms.facts import Facts

__all__ = ["order_free"]


def order_free(facts: Facts, s: For, code: Block) -> bool:
    """Whether the rounds of a reversed loop may come in any order; then they run upwards, as compilers like it.

    So it is if they only add to cotangents that others see, or read and clear elements of a shadow that belong to one
    round alone: those with the counter as an index. `code` is the reverse of the body of s.
    """
    if s.exits or s.step != Constant(1) or not isinstance(s.start, Constant) or s.start.value < 0:
        return False  # a[-1] and a[n - 1] are one element
    return _Rounds(facts, s, code).are_free()


def _known(facts: Facts, x: Var) -> Var:
    """The function's own variable for one that stands for an earlier value of it in the reverse sweep (crossing.py)."""
    return x if x in facts.order or x.of is None else x.of


class _Rounds:
    def __init__(self, facts: Facts, s: For, code: Block) -> None:
        self.s, self.code = s, code
        self.shadows = {d: facts.classes.find(_known(facts, x)) for x, d in facts.cotangents.items() if is_array(x)}
        wrote = {x for t in statements(code) for x in writes(t)}
        self.shared = {facts.cotangent(x) for x in facts.crossing(s)} & wrote
        self.moving = wrote & set(self.shadows)  # views that differ from round to round
        self.added: set[Any] = set()
        self.cleared: set[Any] = set()
        self.taken: dict[Any, set[Any]] = {}

    def are_free(self) -> bool:
        if not all(map(self.statement, statements(self.code))):
            return False
        alone = all(len(self.taken[key]) == 1 and None not in self.taken[key] for key in self.cleared)
        return not self.added & set(self.taken) and alone

    def take(self, array: Var, index: tuple[Any, ...]) -> None:
        """An element of a shadow is read or cleared; None where it may be any."""
        own = array not in self.moving and any(i is self.s.target for i in index)
        self.taken.setdefault(self.shadows[array], set()).add((array, index) if own else None)

    def statement(self, t: Any) -> bool:
        """Whether a statement leaves the order open."""
        match t:
            case Store() if t.array in self.shadows:
                if t.op == "=":
                    self.take(t.array, t.index)
                    self.cleared.add(self.shadows[t.array])
                else:
                    self.added.add(self.shadows[t.array])
                return t.value not in self.shared
            case Load() if t.array in self.shadows:
                self.take(t.array, t.index)
                return t.target not in self.shared
            case Real() if t.target in self.shared:  # d_x = d_x + y
                return t.rule.name in ("add", "sub") and t.args[0] is t.target and t.args[1] not in self.shared
            case Copy() | View() | Make():
                return t.target not in self.shared and not any(x in self.shared for x in reads(t))
            case Real() | Discrete() | Load():
                read = reads(t)
                return not any(x in self.shared or (is_array(x) and x in self.shadows) for x in read)
            case For() | If():
                return not any(x in self.shared for x in reads(t))
        return False
