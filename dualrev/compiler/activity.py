"""Which variables carry derivatives, and which arrays may share memory: without regard to the order of statements.

A variable is active if it may depend on an argument of interest (varied) and the result may depend on it (useful).
Arrays that may share memory form a class; a class is active as a whole, and then each of its arrays has a shadow of
the same shape that holds its cotangent.
"""

from __future__ import annotations

from typing import Any

from dualrev.compiler.core import Call, Let, Ref, Store, leaves, walk
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array

__all__ = ["Activity", "Classes", "atom_name"]


def atom_name(x: Any) -> str | None:
    """The name of an array atom."""
    if isinstance(x, str):
        return x
    return x.name if isinstance(x, Ref) else None


class Classes:
    """Alias classes of the arrays of a function."""

    def __init__(self, e: Expanded, pattern: dict[str, int], effects: Any) -> None:
        self.parent: dict[str, str] = {}
        first: dict[int, str] = {}
        for p, number in pattern.items():
            self.join(p, first.setdefault(number, p))
        for s in walk(e.body):
            if isinstance(s, Let) and is_array(e.types.get(s.target)) and s.op in ("copy", "view"):
                base = atom_name(s.args[0])
                if base is not None:
                    self.join(s.target, base)
            elif isinstance(s, Call):
                inputs = [x for a in s.args for x in leaves(a)]
                for t, sources in zip(s.targets, effects(s).aliases, strict=True):
                    if is_array(e.types.get(t)):
                        for k in sources:
                            x = atom_name(inputs[k]) if isinstance(k, int) else None
                            if x is not None:
                                self.join(t, x)
                for group in effects(s).groups:
                    names = [x for x in (atom_name(inputs[k]) for k in group) if x is not None]
                    for x in names[1:]:
                        self.join(x, names[0])
                # results of one call may share memory among themselves
                arrays = [t for t in s.targets if is_array(e.types.get(t))]
                for t in arrays[1:]:
                    if effects(s).shared:
                        self.join(t, arrays[0])

    def find(self, x: str) -> str:
        """The representative of a class."""
        while self.parent.setdefault(x, x) != x:
            x = self.parent[x]
        return x

    def join(self, x: str, y: str) -> None:
        """One class of two."""
        self.parent[self.find(x)] = self.find(y)


class Activity:
    """Which variables and classes are active."""

    def __init__(
        self,
        e: Expanded,
        classes: Classes,
        effects: Any,
        varied: set[str],
        useful: set[str],
        shadowless: set[str],
    ) -> None:
        self.e, self.classes, self.effects = e, classes, effects
        self.varied = {self.key(x) for x in varied}
        self.useful = {self.key(x) for x in useful}
        self.shadowless = {classes.find(x) for x in shadowless}
        self._forwards()
        self._backwards()
        self.active = {x for x in self.varied & self.useful if x not in self.shadowless}

    def key(self, x: str) -> str:
        return self.classes.find(x) if is_array(self.e.types.get(x)) else x

    def carries(self, x: Any) -> bool:
        """Whether an atom can carry a derivative at all."""
        kind = self.e.types.get(x) if isinstance(x, str) else None
        return kind is not None and (is_real(kind) or is_real_array(kind))

    def is_active(self, x: Any) -> bool:
        """Whether an atom has a cotangent."""
        return self.carries(x) and self.key(x) in self.active

    def _forwards(self) -> None:
        self.repeat(self.varied, self._varies, list(walk(self.e.body)))

    def _backwards(self) -> None:
        self.repeat(self.useful, self._matters, list(walk(self.e.body))[::-1])

    def repeat(self, found: set[str], rule: Any, statements: list[Any]) -> None:
        """Apply a rule until it finds nothing new: in straight-line code, the second time."""
        while True:
            before = len(found)
            for s in statements:
                for x in rule(s):
                    if self.carries(x):
                        found.add(self.key(x))
            if len(found) == before:
                return

    def has(self, found: set[str], x: Any) -> bool:
        return self.carries(x) and self.key(x) in found

    def _varies(self, s: Any) -> list[str]:
        if isinstance(s, Let) and s.op in ("prim", "copy", "load", "view", "array"):
            args = differentiable(s)
            return [s.target] if any(self.has(self.varied, x) for x in args) else []
        if isinstance(s, Store):
            return [s.array] if self.has(self.varied, s.value) else []
        if isinstance(s, Call):
            inputs = [x for a in s.args for x in leaves(a)]
            if any(self.has(self.varied, x) for x in inputs):
                wrote = [x for x, w in zip(inputs, self.effects(s).writes, strict=True) if w]
                return [*s.targets, *(x for x in wrote if isinstance(x, str))]
        return []

    def _matters(self, s: Any) -> list[str]:
        if isinstance(s, Let) and s.op in ("prim", "copy", "load", "view", "array"):
            return [x for x in differentiable(s) if isinstance(x, str)] if self.has(self.useful, s.target) else []
        if isinstance(s, Store):
            return [s.value] if isinstance(s.value, str) and self.has(self.useful, s.array) else []
        if isinstance(s, Call):
            inputs = [x for a in s.args for x in leaves(a)]
            wrote = [x for x, w in zip(inputs, self.effects(s).writes, strict=True) if w]
            if any(self.has(self.useful, x) for x in [*s.targets, *wrote]):
                return [x for x in inputs if isinstance(x, str)]
        return []


def differentiable(s: Let) -> list[Any]:
    """The arguments by which an operation has a derivative."""
    if s.op == "prim":
        return [x for x, partial in zip(s.args, s.info[0].partials, strict=True) if partial != "0.0"]
    if s.op in ("load", "view"):
        return [s.args[0]]
    return list(s.args)
