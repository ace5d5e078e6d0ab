"""Accesses of a thread to the arrays of a kernel: their indices as linear forms, and the tests around them.

For each integer, the analysis knows on which coordinates of a thread (its index in the block, the index of its block,
on each axis) it may depend. A test around an access tells more: below `if i == 0`, the coordinates of i are fixed, and
below `if i < s`, s - 1 - i is not negative.

The sums and products of an index are taken not to overflow: an element with such an index does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from dualrev.compiler.analysis.dependence import Access as Element
from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.analysis.ssa import Loop, Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    minus,
    substituted,
)
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import (
    Comparison,
    Constant,
    Index,
    Item,
    Span,
    Var,
)
from dualrev.compiler.ir.core.nodes import (
    Block,
    Discrete,
    For,
    Function,
    If,
    Load,
    Statement,
    Store,
    View,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, expressions, reads, statements, writes
from dualrev.cuda.conditions import Conditions, Tests
from dualrev.cuda.divergence import Varying
from dualrev.cuda.indices import Indices
from dualrev.cuda.one_thread import told

__all__ = ["BLOCK", "KINDS", "NONE", "Access", "Accesses", "Coordinates", "is_mark"]

Coordinates = frozenset[str]
NONE: Coordinates = frozenset()
BLOCK: Coordinates = frozenset({"block_x", "block_y", "block_z"})


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
    tests     what the tests around the access say
    """

    s: Statement
    kind: str
    element: Element
    tests: Tests

    @property
    def known(self) -> bool:
        """Whether the array is the parameter, or a view of it that does not depend on a branch or a loop."""
        return isinstance(self.element.root, Value) and self.element.root.kind == "param"


class Accesses:
    """Accesses of a function of one thread; `threads` has the coordinates by which its parameters tell threads apart.

    `names` are those parameters, by the keys of thread_function.INDICES.
    """

    def __init__(
        self, f: Function, memory: Memory, threads: Mapping[Var, Coordinates], names: Mapping[str, Var]
    ) -> None:
        self.f, self.source = f, f.origin.source
        self.versions = Versions(f)
        self.dependence = Indices(self.versions)
        self.classes = Classes(f, memory)
        self.depends = _dependent(f.body, dict(threads))
        self.asked = frozenset(c for some in threads.values() for c in some)
        self._bound_indices(names)
        for v in self.versions.values:
            if v.kind == "header":
                self.dependence.form_of(v)
        self._bound_counters()
        self.numbers = self._numbers()
        in_block = {x for x, of in threads.items() if of - BLOCK}
        self.varying = Varying(f, self.classes, self.versions, in_block)
        self._everywhere = Varying(f, self.classes, self.versions, [x for x, of in threads.items() if of])
        self._uniform, self._constant = self._same(self.varying), self._same(self._everywhere)
        self.telling = self._telling(names)
        self.conditions = Conditions(self.versions, self.dependence, self.fixed_by, self._everywhere.differs)

    def _same(self, varying: Varying) -> set[Number]:
        """Unknown integers that are the same for all threads."""
        some = [v for v in self.versions.values if v not in varying.values and not is_array(v.variable)]
        return {x for v in some for x in self.dependence.form_of(v).factors}

    def _telling(self, names: Mapping[str, Var]) -> dict[Number, str]:
        """The keys of the indices of a thread, by their integers."""
        forms = {key: self.dependence.form_of(self.versions.parameters[x]) for key, x in names.items()}
        return {x: key for key, form in forms.items() for x in form.factors}

    def differs(self, x: Number, everywhere: bool = False) -> bool:
        """Whether an integer may differ between threads of a block, or anywhere."""
        operands, of = self.dependence.made_of.get(x), self.dependence.lengths.get(x)
        if operands is not None:
            return any(self.differs(y, everywhere) for y in operands)
        varying, same = (self._everywhere, self._constant) if everywhere else (self.varying, self._uniform)
        return x not in same and (of is None or of in varying.variables)

    def depends_on(self, x: Number) -> Coordinates:
        """Coordinates of the thread that an integer depends on, by what it is computed from."""
        operands = self.dependence.made_of.get(x)
        if operands is None:
            return self.numbers.get(x, NONE)
        return NONE.union(*map(self.depends_on, operands))

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

    def fixed_by(self, f: Form) -> Coordinates:
        """Coordinates of which no two threads have the same where a form is zero."""
        inside, whole = ([x for x in f.factors if self.differs(x, everywhere)] for everywhere in (False, True))
        return (told(f, inside, self.dependence, self.telling) - BLOCK) | told(f, whole, self.dependence, self.telling)

    def loops_around(self, s: Statement) -> list[Loop]:
        """Loops around a statement, outermost first."""
        return self.versions.enclosing_loops(self.versions.region_of[s])

    def around(self, s: Statement) -> dict[If | Loop, int]:
        """Branches and loops around a statement, innermost first, each with the number of its block."""
        found: dict[If | Loop, int] = {}
        region = self.versions.region_of[s]
        while region.parent is not None and region.owner is not None:
            found[region.owner] = next(k for k in (0, 1) if self.versions.regions.get((region.owner, k)) is region)
            region = region.parent
        return found

    def runs(self, s: Loop) -> bool:
        """Whether a loop certainly has an iteration, whenever it is reached."""
        form = self.dependence.form
        if isinstance(s, For):
            apart = minus(form(s, s.stop), form(s, s.start))
            is_up = isinstance(s.step, Constant) and s.step.value > 0
            return is_up and is_natural(minus(apart, constant(1)))
        v = self.versions.reads[s].get(s.test) if isinstance(s.test, Var) else None
        if v is None or v.kind != "op" or not isinstance(v.statement, Discrete):
            return False
        match v.statement.value:
            case Comparison((symbol,), (a, b)):
                first: dict[Number, Form] = {}
                for x in self.versions.headers[s].values():
                    of = self.dependence.form_of(x).factors
                    if len(x.parts) == 2 and len(of) == 1:
                        first |= dict.fromkeys(of, self.dependence.form_of(x.parts[0]))
                facts = self.conditions.told(v.statement, symbol, a, b).facts
                return bool(facts) and all(is_natural(substituted(f, first)) for f in facts)
        return False

    def all(self) -> Iterator[tuple[Access, Var]]:
        """All accesses, each with its array."""
        return self._accesses(self.f.body, Tests())

    def _mark(self, s: Statement, x: Var) -> str | None:
        """The kind of an atomic access to an array; None of any other access."""
        depth, made = 0, self.versions.at(s, x).statement
        while is_mark(made):
            depth += 1
            made = self.versions.at(made, made.base).statement if isinstance(made.base, Var) else None
        return KINDS[depth]

    def _accesses(self, body: Block, tests: Tests) -> Iterator[tuple[Access, Var]]:
        def access(kind: str, x: Var, index: tuple[Index, ...]) -> tuple[Access, Var]:
            """Describe an access of the statement."""
            return Access(s, kind, self.dependence.element(s, x, index), tests), x

        for s in body:
            if isinstance(s, Load | Store):
                yield from (access("load", *item) for i in s.index for item in _items(i))
            match s:
                case Load(array=Var() as x):  # of an int, an atomic addition is a load and a store
                    yield access(self._mark(s, x) or "load", x, s.index)
                case Store(array=x):
                    kind = self._mark(s, x) or "store"
                    yield access(kind, x, s.index)
                    if kind == "store" and s.op != "=":
                        yield access("load", x, s.index)
                case Discrete() | View():
                    yield from (access("load", *item) for item in _items(s.value))
            for k, inner in enumerate(blocks(s)):
                holds = k == int(isinstance(s, While))
                is_test = isinstance(s, If) or (isinstance(s, While) and holds)
                more = self.conditions.below(s, holds) if is_test else Tests()  # type: ignore[arg-type]
                yield from self._accesses(inner, tests + more)


def _items(e: Index) -> Iterator[tuple[Var, tuple[Index, ...]]]:
    """Elements of arrays that an expression reads."""
    for x in expressions(e):
        if isinstance(x, Item) and isinstance(x.base, Var) and is_array(x.base):
            is_part = len(x.index) < x.base.type.ndim or any(i is ... or isinstance(i, Span) for i in x.index)
            if not is_part:
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
