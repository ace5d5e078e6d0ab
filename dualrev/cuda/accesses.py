"""Accesses of a thread to the arrays of a kernel: their indices as linear forms, and the tests around them.

For each integer, the analysis knows on which coordinates of a thread (its index in the block, the index of its block,
on each axis) it may depend. A test around an access tells more: below `if i == 0`, the coordinates of i are fixed, and
below `if i < s`, s - 1 - i is not negative.

The sums and products of an index are taken not to overflow: an element with such an index does not exist.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from numba.core import types

from dualrev.compiler.analysis.dependence import Access as Element
from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, constant, is_natural, minus, plus
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Comparison,
    Constant,
    Expr,
    Field,
    Index,
    Item,
    Logical,
    Operator,
    Pack,
    Var,
)
from dualrev.compiler.ir.core.nodes import (
    Block,
    Copy,
    Discrete,
    For,
    Function,
    If,
    Load,
    Statement,
    Store,
    View,
)
from dualrev.compiler.ir.core.traverse import atoms_of, blocks, parts, reads, statements, writes

__all__ = ["KINDS", "NONE", "Access", "Accesses", "Coordinates", "is_mark", "is_same"]

Coordinates = frozenset[str]
NONE: Coordinates = frozenset()

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


#: Kinds of accesses, by how many views of the whole array mark them (thread_function.py).
KINDS = None, "atomic", "max", "min"


def is_mark(s: Statement | None) -> TypeGuard[View]:
    """Whether a statement takes a view of a whole array that marks atomic accesses."""
    return isinstance(s, View) and isinstance(s.value, Item) and s.value.index == (...,)


@dataclass(frozen=True)
class Access:
    """Access to an element of a parameter.

    kind      "load", "store"; "atomic", of additions; "max" or "min", atomic, too
    element   the element: a linear form for each index
    fixed     coordinates that the tests around the access fix
    facts     linear forms that are not negative, by these tests
    """

    s: Statement
    kind: str
    element: Element
    fixed: Coordinates
    facts: tuple[Form, ...]

    @property
    def known(self) -> bool:
        """Whether the array is the parameter, or a view of it that does not depend on a branch or a loop."""
        return isinstance(self.element.root, Value) and self.element.root.kind == "param"


class _Indices(Dependence):
    def bounded(self, a: Form) -> Form:
        """Return a form as it is: indices do not overflow."""
        return a

    def _part(self, s: View, a: Element) -> Element | None:
        """The element of the base of a view; also of the view of a record, whose fields have no axes."""
        match s.value:
            case Applied("runtime.row", (of, Pack(places))) if of is s.base:
                return replace(a, root=self._version(s.base) or s.base, index=(*map(self._index, places), *a.index))
        return super()._part(s, a)


class Accesses:
    """Accesses of a function of one thread; `threads` has the coordinates by which its parameters tell threads apart.

    `names` are those parameters, by the keys of thread_function.INDICES.
    """

    def __init__(
        self, f: Function, memory: Memory, threads: Mapping[Var, Coordinates], names: Mapping[str, Var]
    ) -> None:
        self.f, self.source = f, f.origin.source
        self.versions = Versions(f)
        self.dependence = _Indices(self.versions)
        self.classes = Classes(f, memory)
        self.depends = _dependent(f.body, dict(threads))
        self.asked = frozenset(c for some in threads.values() for c in some)
        self._bound_indices(names)
        self._bound_counters()
        self.numbers = self._numbers()

    def _bound_indices(self, names: Mapping[str, Var]) -> None:
        """Tell the dependence analysis what is known of the indices of a thread: 0 <= threadIdx.x < blockDim.x."""
        sizes = [x for x in names if "dim" in x or "size" in x]
        forms = {x: self.dependence.form_of(self.versions.parameters[names[x]]) for x in sizes}
        for form in forms.values():
            for number in form.factors:
                number.lower.append(constant(1))
        for x in names.keys() - forms.keys():
            part, _, axis = x.partition("_")
            limit = forms.get({"thread": f"blockdim_{axis}", "block": f"griddim_{axis}"}.get(part, f"gridsize_{axis}"))
            for number in self.dependence.form_of(self.versions.parameters[names[x]]).factors:
                number.lower.append(constant(0))
                number.upper += [minus(limit, constant(1))] if limit is not None else []

    def _bound_counters(self) -> None:
        """Tell it what is known of counters whose steps are as unknown as blockDim.x, but positive."""
        for s in statements(self.f.body):
            if not isinstance(s, For) or isinstance(s.step, Constant):
                continue
            start, stop, step = (self.dependence.form(s, x) for x in (s.start, s.stop, s.step))
            for number in self.dependence.counter_of(s).factors if is_natural(minus(step, constant(1))) else ():
                number.lower.append(start)
                number.upper.append(minus(stop, constant(1)))

    def _numbers(self) -> dict[Number, Coordinates]:
        """Coordinates that the unknown integers of linear forms depend on."""
        found: dict[Number, Coordinates] = {}
        for v in self.versions.values:
            if is_array(v.variable):
                continue
            mine = self.depends.get(v.variable, NONE)
            for x in self.dependence.form_of(v).factors:
                found[x] = found.get(x, mine) & mine  # i + n depends on the coordinates of i, and n does not
        return found

    def all(self) -> Iterator[tuple[Access, Var]]:
        """All accesses, each with its array."""
        return self._accesses(self.f.body, NONE, ())

    def coordinates(self, some: list[Access]) -> Coordinates:
        """Coordinates that the indices depend on, on the axes where all accesses have one index."""
        found = NONE
        first = some[0].element.index
        if any(len(a.element.index) != len(first) for a in some):
            return found
        for k, form in enumerate(first):
            others = [a.element.index[k] for a in some]
            if form is None or not all(g is not None and is_same(form, g) for g in others):
                continue
            found |= frozenset(c for x in form.factors for c in self.numbers.get(x, NONE))
        return found

    def covers(self, some: list[Access], asked: Coordinates) -> bool:
        """Whether threads that differ in `asked` certainly access different elements, by what indices depend on."""
        fixed = frozenset.intersection(*(a.fixed for a in some))
        return self.coordinates(some) | fixed >= asked

    def _mark(self, s: Statement, x: Var) -> str | None:
        """The kind of an atomic access to an array; None of any other access."""
        depth, made = 0, self.versions.at(s, x).statement
        while is_mark(made):
            depth += 1
            made = self.versions.at(made, made.base).statement if isinstance(made.base, Var) else None
        return KINDS[depth]

    def _accesses(self, body: Block, fixed: Coordinates, facts: tuple[Form, ...]) -> Iterator[tuple[Access, Var]]:
        def access(kind: str, x: Var, index: tuple[Index, ...]) -> tuple[Access, Var]:
            """Describe an access of the statement."""
            return Access(s, kind, self.dependence.element(s, x, index), fixed, facts), x

        for s in body:
            match s:
                case Load(array=Var() as x):  # of an int, an atomic addition is a load and a store
                    yield access(self._mark(s, x) or "load", x, s.index)
                case Store(array=x):
                    kind = self._mark(s, x) or "store"
                    yield access(kind, x, s.index)
                    if kind == "store" and s.op != "=":
                        yield access("load", x, s.index)
                case Discrete():
                    for x, index in _items(s.value):
                        yield access("load", x, index)
            for k, inner in enumerate(blocks(s)):
                tests = [*self._tests(s, s.test, k == 0)] if isinstance(s, If) else []
                more = [form for test in tests for form in self._facts(*test)]
                yield from self._accesses(inner, fixed.union(*(self._fixed(*test) for test in tests)), (*facts, *more))

    # Tests

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

    def _fixed(self, s: Statement, symbol: str, a: Expr, b: Expr) -> Coordinates:
        """Coordinates that a comparison fixes: of an index of the thread with what is the same for all."""
        found = [self._depend(x) for x in (a, b)]
        axes = {coordinate[-1] for some in found for coordinate in some}
        exact = symbol == "==" and len(axes) == 1 and not all(found)
        return found[0] | found[1] if exact and all(self._is_exact(s, x) for x in (a, b)) else NONE

    def _facts(self, s: Statement, symbol: str, a: Expr, b: Expr) -> list[Form]:
        """Linear forms that are not negative if a comparison of integers holds."""
        if not all(isinstance(x.type, types.Integer) or is_array(x) for e in (a, b) for x in atoms_of(e)):
            return []
        more = minus(self.dependence.form(s, a), self.dependence.form(s, b))
        less = minus(constant(0), more)
        found = {"<": [plus(less, constant(-1))], "<=": [less], "==": [less, more]}
        return (found | {">": [plus(more, constant(-1))], ">=": [more]}).get(symbol, [])

    def _depend(self, e: Index) -> Coordinates:
        return NONE.union(*(self.depends.get(x, NONE) for x in _expressions(e) if isinstance(x, Var)))

    def _is_exact(self, s: Statement, e: Index) -> bool:
        """Whether an integer is a sum or a product of indices of the thread, numbers and lengths."""
        match e:
            case Constant() | Field() | Item(Field()):
                return True
            case Operator("+" | "-" | "*", args) | Applied("np.int64" | "np.intp" | "int", args):
                return all(self._is_exact(s, x) for x in args)
            case Var():
                v = self.versions.reads[s].get(e)
                made = None if v is None else v.statement
                if isinstance(made, Copy | Discrete):
                    return self._is_exact(made, made.source if isinstance(made, Copy) else made.value)
                return v is not None and v.kind == "param"
        return False


def is_same(a: Form, b: Form) -> bool:
    """Whether two linear forms are equal."""
    apart = minus(a, b)
    return not apart.factors and not apart.constant


def _expressions(e: Index) -> Iterator[Index]:
    yield e
    for part in parts(e):
        yield from _expressions(part)


def _items(e: Expr) -> Iterator[tuple[Var, tuple[Index, ...]]]:
    """Elements of arrays that an expression reads."""
    for x in _expressions(e):
        if isinstance(x, Item) and isinstance(x.base, Var) and is_array(x.base):
            yield x.base, x.index


def _dependent(body: Block, found: dict[Var, Coordinates]) -> dict[Var, Coordinates]:
    """Coordinates that each variable may depend on, by what it is computed from."""
    every = list(statements(body))
    changed = True
    while changed:
        changed = False
        for s in every:
            given = frozenset(c for x in _sources(s) for c in found.get(x, NONE))
            for x in writes(s):
                if not given <= found.get(x, NONE) and not isinstance(s, Store):
                    found[x], changed = found.get(x, NONE) | given, True
    return found


def _sources(s: Statement) -> list[Var]:
    if isinstance(s, For):  # two threads whose loops begin at one number, count the same numbers
        return [s.start] if isinstance(s.start, Var) else []
    return [x for x in reads(s) if isinstance(x, Var)]
