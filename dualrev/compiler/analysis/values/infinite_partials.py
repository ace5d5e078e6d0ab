"""Infinite-partials analysis: variables whose known zeros must be marked.

    y = sqrt(x)     the partial is infinite at 0, where the value is finite; so are those of x ** 1.5, asin, hypot

A second derivative multiplies such partials, and what is made of them, with tangents and cotangents. There a zero that
is known takes no part, and one that was computed gives NaN: they are marked (ir/core/known_zeros.py), at the price of a
comparison for each product, and only in the functions and for the variables that this concerns:

    before      their tangents meet such a partial, or a factor that depends on the result of such an operation
    after       they depend on such a result: their cotangents come to such a partial

After an infinite value, as that of log at 0, nothing is left that a mark could save, unless a branch hides it; that is
the matter of nonzero_cotangents.py.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.values.finiteness import names_in
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Constant, Var
from dualrev.compiler.ir.core.known_zeros import PRODUCTS
from dualrev.compiler.ir.core.nodes import Call, Function, Real, Statement, Whole
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import reads, statements, writes

__all__ = ["Steep", "is_steep"]

#: Lines of the table, and their partials as lines (rules/derived.py).
_STEEP = {"acos", "acosh", "asin", "atan2", "cbrt", "hypot", "sqrt"}
_EXPONENT = re.compile(r"power\(x, ([^()]*)\)")


def is_steep(f: Function, program: Program) -> bool:
    """Whether a function or its callees have an operation with an infinite partial at a finite value."""
    return any(_is_steep(s, program, set()) for s in statements(f.body))


class Steep:
    """Variables before and after operations with infinite partials; in a callee (`called`), all variables."""

    def __init__(self, f: Function, memory: Memory, classes: Classes, called: bool = False) -> None:
        self._memory, self._classes, self._every = memory, classes, called
        self._steep: set[Statement] = set()
        self._after: set[Representative] = set()
        self._before: set[Representative] = set()
        if called:
            return
        body = [*statements(f.body)]
        self._steep = {s for s in body if _is_steep(s, memory.program, set())}
        while True:
            more = {self._key(x) for s in body if self._comes_after(s) for x in (*writes(s), *memory.changed(s))}
            if more <= self._after:
                break
            self._after |= more
        while True:
            more = {self._key(x) for s in body for x in self._met(s)}
            if more <= self._before:
                break
            self._before |= more

    def after(self, x: Atom) -> bool:
        """Whether an atom depends on the result of an operation with an infinite partial."""
        return isinstance(x, Var) and (self._every or self._key(x) in self._after)

    def before(self, x: Atom) -> bool:
        """Whether the tangent of an atom is multiplied by such a partial, or by a factor that depends on one."""
        return isinstance(x, Var) and (self._every or self._key(x) in self._before)

    def factor(self, s: Real, k: int) -> bool:
        """Whether the k-th partial of an operation may be infinite, or depends on a result after one that may."""
        if self._every or s in self._steep or s.rule in PRODUCTS:
            return True
        named = {name for name, x in zip(s.rule.parameters, s.args, strict=True) if self.after(x)}
        if self.after(s.target):
            named.add("y")
        return not named.isdisjoint(names_in(s.rule.partials[k]))

    def _key(self, x: Atom) -> Representative:
        return self._classes.find(x) if is_array(x) else x

    def _comes_after(self, s: Statement) -> bool:
        return s in self._steep or any(map(self.after, reads(s)))

    def _met(self, s: Statement) -> list[Atom]:
        """Operands whose tangents a statement multiplies by such a partial, or passes on to one that does."""
        made = any(map(self.before, (*writes(s), *self._memory.changed(s))))
        if isinstance(s, Real):
            return [x for k, x in enumerate(s.args) if made or self.factor(s, k)]
        if made or s in self._steep or (isinstance(s, (Call, Whole)) and any(map(self.after, reads(s)))):
            return [x for x in reads(s) if isinstance(x, Var)]
        return []


def _is_steep(s: Statement, program: Program, seen: set[Hashable]) -> bool:
    """Whether a statement is such an operation, or calls a function that has one."""
    if isinstance(s, Call):
        key = program.key(s)
        if key in seen:
            return False
        seen.add(key)
        gradient = program.gradient(s)
        f = program.function(s) if gradient is None else gradient.of
        return any(_is_steep(t, program, seen) for t in statements(f.body))
    if not isinstance(s, Real):
        return False
    name, _, slope = s.rule.name.partition("_slope")
    if name != "pow":
        return name in _STEEP
    if slope and len(s.args) == 1:  # the exponent stands in the text
        return any(not x.isdigit() for x in _EXPONENT.findall(s.rule.value))
    return not (isinstance(s.args[1], Constant) and isinstance(s.args[1].value, int) and s.args[1].value >= 0)
