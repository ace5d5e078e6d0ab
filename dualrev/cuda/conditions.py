"""Path conditions: what the tests around a statement say of integers.

if i < n:                 n - 1 - i is not negative
if i == n - 1:            i - n + 1 is zero, for no two threads
if t % (2 * s) == 0:      t is a multiple of 2 * s
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from numba.core import types

from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import Form, constant, minus, plus
from dualrev.compiler.analysis.values.linear_forms import is_whole
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Comparison, Constant, Expr, Index, Logical, Operator, Var
from dualrev.compiler.ir.core.nodes import Copy, Discrete, If, Statement, While
from dualrev.compiler.ir.core.traverse import atoms_of
from dualrev.cuda.indices import Indices

__all__ = ["Conditions", "Tests"]

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Tests:
    """Path condition: what tests say where they hold.

    facts      linear forms that are not negative
    zeros      forms that are zero and fix coordinates of the thread: no two threads have the same
    multiples  forms, with integers that they are multiples of
    others     whether other tests, too, let only some of the threads through
    """

    facts: tuple[Form, ...] = ()
    zeros: tuple[tuple[Form, frozenset[str]], ...] = ()
    multiples: tuple[tuple[Form, Form], ...] = ()
    others: bool = False

    def __add__(self, other: Tests) -> Tests:
        return Tests(
            self.facts + other.facts,
            self.zeros + other.zeros,
            self.multiples + other.multiples,
            self.others or other.others,
        )


class Conditions:
    """Analysis of path conditions.

    fixed_by    gives the coordinates of which no two threads have the same where a form is zero
    differs     says whether threads may take different ways at a branch
    """

    def __init__(
        self,
        versions: Versions,
        dependence: Indices,
        fixed_by: Callable[[Form], frozenset[str]],
        differs: Callable[[Statement], bool],
    ) -> None:
        self.versions, self.dependence, self.fixed_by, self.differs = versions, dependence, fixed_by, differs

    def below(self, s: If | While, holds: bool) -> Tests:
        """What is known where the test of a statement holds, or where it does not."""
        some = [self.told(*test) for test in self._tests(s, s.test, holds)]
        found = sum(some, Tests())
        others = self.differs(s) and not (some and all(x.facts for x in some))
        return found + Tests(self._joined(s, holds) if isinstance(s, If) else (), (), (), others)

    def _joined(self, s: If, holds: bool) -> tuple[Form, ...]:
        """Forms that are not negative: what an earlier branch by the same test has assigned, is known below it."""
        test = _single(self.versions.reads[s].get(s.test)) if isinstance(s.test, Var) else None
        found: list[Form] = []
        for other, joins in self.versions.joins.items() if test is not None else ():
            if other is s or not isinstance(other, If) or not isinstance(other.test, Var):
                continue
            if _single(self.versions.reads[other].get(other.test)) is not test:
                continue
            for v in joins.values():
                if len(v.parts) == 2 and is_whole(v.variable):
                    apart = minus(self.dependence.form_of(v), self.dependence.form_of(v.parts[0 if holds else 1]))
                    found += [apart, minus(constant(0), apart)]
        return (*found,)

    def _tests(self, s: Statement, test: Index, holds: bool) -> Iterator[tuple[Statement, str, Expr, Expr]]:
        """Comparisons that certainly hold where a test does, or where it does not."""
        match test:
            case Var():
                yield from self._tests_of(self.versions.reads[s].get(test), holds)
            case Operator("not", (x,)):
                yield from self._tests(s, x, not holds)
            case Logical(symbol, args) if symbol == ("and" if holds else "or"):
                for x in args:
                    yield from self._tests(s, x, holds)
            case Comparison(symbols, args) if holds or len(symbols) == 1:
                for symbol, (a, b) in zip(symbols, itertools.pairwise(args), strict=True):
                    if symbol in _NEGATED:
                        yield s, symbol if holds else _NEGATED[symbol], a, b

    def _tests_of(self, v: Value | None, holds: bool) -> Iterator[tuple[Statement, str, Expr, Expr]]:
        """The same of a condition, which may be the join of a branch: `a and b` is `b if a else a`."""
        v = _single(v)
        s = None if v is None else v.statement
        match s:
            case Copy(source=Var() as x):
                yield from self._tests(s, x, holds)
            case Discrete(value=value):
                yield from self._tests(s, value, holds)
            case If(test=Var() as x) if v is not None and v.kind == "join" and len(v.parts) == 2:
                first, (then, orelse) = self.versions.reads[s].get(x), v.parts
                if first is (orelse if holds else then):
                    yield from self._tests_of(first, holds)
                    yield from self._tests_of(then if holds else orelse, holds)

    def told(self, s: Statement, symbol: str, a: Expr, b: Expr) -> Tests:
        """What a comparison of integers says."""
        if not all(isinstance(x.type, types.Integer) or is_array(x) for e in (a, b) for x in atoms_of(e)):
            return Tests()
        more = minus(self.dependence.form(s, a), self.dependence.form(s, b))
        less = minus(constant(0), more)
        facts = {"<": [plus(less, constant(-1))], "<=": [less], "==": [less, more]}
        facts |= {">": [plus(more, constant(-1))], ">=": [more]}
        if symbol != "==":
            return Tests((*facts.get(symbol, []),))
        fixed = self.fixed_by(more)
        multiples = [self._multiple(s, x, y) for x, y in ((a, b), (b, a))]
        return Tests((less, more), ((more, fixed),) if fixed else (), tuple(x for x in multiples if x is not None))

    def _multiple(self, s: Statement, a: Expr, b: Expr) -> tuple[Form, Form] | None:
        """A form, and what it is a multiple of, if `a` is a remainder that equals `b`."""
        at, form = s, self.dependence.form
        while isinstance(a, Var) and (v := self.versions.reads[at].get(a)) and isinstance(v.statement, Copy | Discrete):
            at, a = v.statement, v.statement.source if isinstance(v.statement, Copy) else v.statement.value
        match a:
            case Operator("%", (x, y)):
                return minus(form(at, x), form(s, b)), form(at, y)
            case Operator("&", (x, Constant(value=mask))) if mask > 0 and mask & (mask + 1) == 0:
                return minus(form(at, x), form(s, b)), constant(mask + 1)
        return None


def _single(v: Value | None) -> Value | None:
    """Return the value behind branches whose other side leaves a variable undefined."""
    while v is not None and v.kind == "join" and len(v.parts) == 1:
        v = v.parts[0]
    return v
