"""Which reversed loops may run upwards: those whose rounds do not depend on their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualrev.compiler.analysis.memory.alias import contents, is_array
from dualrev.compiler.ir.core.atoms import Constant, Global, Item, Operator, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Make, Real, Store, View
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, writes

if TYPE_CHECKING:
    from dualrev.compiler.ad.reverse.gradient_context import Facts

__all__ = ["has_distinct_elements", "is_natural", "known", "order_free", "shadow_classes"]


def order_free(facts: Facts, s: For, code: Block) -> bool:
    """Whether the rounds of a reversed loop may come in any order; then they run upwards, as compilers like it.

    So it is if they only add to cotangents that others see, hand no variable on, and read or change only elements of
    other memory that belong to one round alone: those with the counter as an index, of arrays whose elements do not
    overlap. `code` is the reverse of the body of s.
    """
    if s.exits or s.step != Constant(1) or not is_natural(facts, s.start):
        return False  # a[-1] and a[n - 1] are one element
    return _Rounds(facts, s, code).are_free()


def is_natural(facts: Facts, x: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether a whole number is certainly not below 0: a constant, a counter that starts so, and sums of these.

    What is computed from itself, in a loop, is not known; `seen` are the variables on the way to x.
    """
    if not isinstance(x, Var):
        return isinstance(x, Constant) and x.value >= 0
    if x in facts.parameters or x in seen:
        return False
    seen |= {x}

    def is_natural_there(s: Any) -> bool:
        match s:
            case For(start=start, step=Constant(value=step)):
                return step > 0 and is_natural(facts, start, seen)
            case Discrete(value=Operator("+", args)):
                return all(is_natural(facts, y, seen) for y in args)
        return False

    made = [s for s in statements(facts.f.body) if x in writes(s)]
    return bool(made) and all(map(is_natural_there, made))


class _Rounds:
    """What the rounds of a reversed loop do to arrays, by the memory of these: a class, of shadows or of the others.

    places    what stands for the elements that belong to one round alone: an array, and which of its indices is the
              counter; None for elements that any round may see
    taken     where elements are read or replaced, and ...
    changed   ... where they are replaced or added to
    """

    def __init__(self, facts: Facts, s: For, code: Block) -> None:
        self.facts, self.s, self.code = facts, s, code
        self.shadows = shadow_classes(facts)
        self.wrote = wrote = {x for t in statements(code) for x in writes(t)}
        self.primal = {d: x for x, d in facts.cotangents.items()}
        self.shared = {facts.cotangent(x) for x in facts.crossing(s)} & wrote
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
        key = is_shadow, self.shadows[array] if is_shadow else self.facts.classes.find(known(self.facts, array))
        primal = known(self.facts, self.primal.get(array, array))
        distinct = array not in self.moving and has_distinct_elements(self.facts, primal)
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


def shadow_classes(facts: Facts) -> dict[Var, Any]:
    """The shadows of arrays, with the classes of these."""
    return {d: facts.classes.find(known(facts, x)) for x, d in facts.cotangents.items() if is_array(x)}


def has_distinct_elements(facts: Facts, x: Any) -> bool:
    """Whether no two elements of an array have one place in memory: windows overlap, and so do steps of 0."""
    todo, seen = [x], set[Any]()
    while todo:
        x = todo.pop()
        if x in seen or x.type.layout in "CF":
            continue
        seen.add(x)
        made = [t for t in statements(facts.f.body) if x in writes(t)]
        if x in facts.parameters or not made:
            return False
        if not all(isinstance(t, View) and isinstance(t.value, Item) and t.value.base is t.base for t in made):
            return False
        todo += [t.base for t in made if isinstance(t, View)]
    return True


def known(facts: Facts, x: Any) -> Any:
    """The function's own variable for a residual (residuals.py): an earlier value of it."""
    return x if isinstance(x, Global) or x in facts.order or x.of is None else x.of
