"""Activity analysis: the variables that carry derivatives (flow-insensitive).

A variable is active if it may depend on an argument of interest (varied) and the result may depend on it (useful). A
class of arrays that may share memory (alias.py) is active as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeGuard

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, given
from dualrev.compiler.analysis.opaque_flows import check_flows, meets_opaque
from dualrev.compiler.analysis.summaries import carries, made_of, sources
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import Call, Function, Statement, Store
from dualrev.compiler.ir.core.traverse import leaves, statements

__all__ = ["Activity", "carries", "sources"]


class Activity:
    """Active variables of a function, given the varied parameters and the useful results."""

    def __init__(
        self,
        f: Function,
        memory: Memory,
        classes: Classes,
        varied: Iterable[Var],
        useful: Iterable[Var],
        without: Iterable[Var] = (),
    ) -> None:
        """`without`: arrays whose alias classes carry no derivatives, whatever they depend on."""
        self._memory, self._classes = memory, classes
        self._varied = {self._key(x) for x in varied}
        self._useful = {self._key(x) for x in useful}
        order = list(statements(f.body))
        self._repeat(self._varied, self._varies, order)
        for s in order:
            if isinstance(s, Call) and memory.is_draw(s) and any(self._in(self._varied, x) for x in given(s)):
                memory.refuse_draw(s)
        if meets_opaque(f, self._calls_opaque):
            check_flows(f, lambda x: self._in(self._varied, x), self._enter)
        self._repeat(self._useful, self._matters, order[::-1])
        self._active = (self._varied & self._useful) - {self._key(x) for x in without}

    def _core(self, s: Call) -> Function | None:
        """Core of the callee, or of the function that it is the gradient of, whose derivatives its own are."""
        gradient = self._memory.program.gradient(s)
        f = self._memory.program.function(s) if gradient is None else gradient.of
        return None if f.opaque else f

    def _calls_opaque(self, s: Call) -> bool:
        """Whether the callee, or a function that it calls, handles opaque values."""
        memory = self._memory
        f = self._core(s)
        if f is None:
            return False
        return memory.opaque.value(memory.program.key(s), lambda: False, lambda: meets_opaque(f, self._calls_opaque))

    def _enter(self, s: Call) -> bool:
        """Check the callee for flows into opaque values, given the varied arguments; False if its core is unknown."""
        memory = self._memory
        f = self._core(s)
        if f is None:
            return False
        if not self._calls_opaque(s):
            return True
        flags = tuple(self._in(self._varied, x) for x in given(s))
        if (key := (memory.program.key(s), flags)) not in memory.entered:
            memory.entered.add(key)
            varied = [x for x, flag in zip((x for p in f.parameters for x in leaves(p)), flags, strict=True) if flag]
            Activity(f, memory, Classes(f, memory), varied, ())
        return True

    def has(self, x: Atom) -> TypeGuard[Var]:
        """Whether an atom is active."""
        return carries(x) and self._key(x) in self._active

    def has_class(self, x: Atom) -> bool:
        """Whether an array's alias class is active."""
        return self._classes.find(x) in self._active

    def _key(self, x: Atom) -> Representative:
        return self._classes.find(x) if is_array(x) else x

    def _repeat(
        self, found: set[Representative], rule: Callable[[Statement], list[Atom]], order: list[Statement]
    ) -> None:
        """Apply a transfer rule until a fixpoint is reached."""
        count = -1
        while count < len(found):
            count = len(found)
            for s in order:
                found |= {self._key(x) for x in rule(s) if carries(x)}

    def _in(self, found: set[Representative], x: Atom) -> bool:
        return carries(x) and self._key(x) in found

    def _varies(self, s: Statement) -> list[Atom]:
        """Forward rule: the variables that a statement makes depend on varied ones."""
        if isinstance(s, Store):
            return [s.array] if self._in(self._varied, s.value) else []
        if isinstance(s, Call):
            moving = {k for k, x in enumerate(given(s)) if self._in(self._varied, x)}
            return [x for x, of in made_of(s, self._memory) if of & moving] if moving else []
        found = any(self._in(self._varied, x) for x in sources(s))
        return [s.target] if found else []  # type: ignore[union-attr]

    def _matters(self, s: Statement) -> list[Atom]:
        """Backward rule: the operands through which a statement makes the results depend on them."""
        if isinstance(s, Store):
            return [s.value] if self._in(self._useful, s.array) else []
        if isinstance(s, Call):
            useful = any(self._in(self._useful, x) for x in [*s.targets, *self._memory.changed(s)])
            return given(s) if useful else []
        found = sources(s)
        return found if found and self._in(self._useful, s.target) else []  # type: ignore[union-attr]
