"""May-be-non-finite analysis of cotangents, for a function whose own cotangents are finite.

A tangent of 0 contributes nothing to what it is multiplied with, whatever the cotangent of the product is. Compiled
code asks at run time whether the tangent is 0, but only where that cotangent may be infinite or NaN: where a partial
may (finite.py), and from there on back to the arguments.
"""

from __future__ import annotations

from typing import Any

from dualrev.compiler.analyses.activity import Activity
from dualrev.compiler.analyses.finite import Wild
from dualrev.compiler.analyses.memory import Classes, Memory, given, is_array
from dualrev.compiler.core.terms import Call, Copy, Function, Load, Real, Statement, Store, Whole
from dualrev.compiler.core.walks import leaves, reads, statements

__all__ = ["Steep"]


class Steep:
    """The variables of a function whose cotangents may be infinite or NaN."""

    def __init__(
        self, f: Function, memory: Memory, classes: Classes, activity: Activity, wild: Wild, given_ones: bool
    ) -> None:
        """`given_ones`: whether those may be that the function is given, of its results and of arrays."""
        self._memory, self._classes, self._activity, self._wild = memory, classes, activity, wild
        self._found: set[Any] = set()
        if given_ones:
            arrays = (x for p in f.parameters for x in leaves(p) if is_array(x))
            self._add((*leaves(f.result), *arrays))
        body, count = [*statements(f.body)][::-1], -1
        while count < len(self._found):
            count = len(self._found)
            for s in body:
                self._statement(s)

    def has(self, x: Any) -> bool:
        """Whether that of an atom may be."""
        return self._key(x) in self._found

    def _key(self, x: Any) -> Any:
        return self._classes.find(x) if is_array(x) else x

    def _add(self, some: Any) -> None:
        self._found.update(self._key(x) for x in some if self._activity.has(x))

    def _statement(self, s: Statement) -> None:
        match s:
            case Real():
                steep = self.has(s.target)
                self._add(x for k, x in enumerate(s.args) if steep or self._wild.partial(s, k))
            case Copy() | Load() if self.has(s.target):
                self._add(reads(s))
            case Store() if self.has(s.array):
                self._add((s.value,))
            case Whole() if self.has(s.target) or any(map(self._wild.has, s.args)):
                self._add(s.args)
            case Call():
                made = (*s.targets, *self._memory.changed(s))
                if any(self.has(x) or self._wild.has(x) for x in made):
                    self._add((*given(s), *s.targets))
