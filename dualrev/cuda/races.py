"""Data races of a kernel: which elements do several threads touch, at least one of which writes?

For each array, the analysis knows on which coordinates of a thread (its index in the block, the index of its block, on
each axis) each index may depend. An array that the kernel writes to has to be one of these:

    atomic    all accesses are atomic additions: threads may add to one element
    written   stores only, each with indices that depend on all coordinates that the kernel asks for
    own       loads, too: on the axes where all accesses have one index, the index depends on all coordinates

An index such as `k[i]` depends on the coordinates of i. The analysis takes it that different threads then get different
elements, which it cannot know: as in CUDA itself, that is up to the kernel. What certainly is a race is refused, and
what is read at one index and written at another one, for another thread may write there at any time.

A store under a test for equality, such as `if i == 0`, may be the store of one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.ssa import Versions
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, minus
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Comparison, Expr, Index, Item, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, If, Load, Statement, Store, View
from dualrev.compiler.ir.core.traverse import blocks, leaves, parts, reads, statements, writes

__all__ = ["check_races", "is_atomic_view"]

Coordinates = frozenset[str]
_NONE: Coordinates = frozenset()


def is_atomic_view(s: Statement | None) -> bool:
    """Whether a statement takes the view of a whole array that marks atomic additions (thread_function.py)."""
    return isinstance(s, View) and isinstance(s.value, Item) and s.value.index == (...,)


def check_races(f: Function, memory: Memory, threads: Mapping[Var, Coordinates]) -> tuple[set[Var], set[Var]]:
    """Raise UnsupportedError for a race; return the parameters that are stored into, and those that are added to.

    `threads` has the coordinates by which parameters distinguish threads. The latter are only added to, atomically.
    """
    return _Races(f, memory, threads).check()


@dataclass(frozen=True)
class _Access:
    """Access to an element: by forms of its indices, and the coordinates that these depend on."""

    s: Statement
    kind: str  # "load", "store" or "atomic"
    forms: tuple[Form | None, ...]
    guarded: bool


class _Races:
    def __init__(self, f: Function, memory: Memory, threads: Mapping[Var, Coordinates]) -> None:
        self.f, self.source = f, f.origin.source
        self.versions = Versions(f)
        self.dependence = Dependence(self.versions)
        self.classes = Classes(f, memory)
        self.depends = _dependent(f.body, dict(threads))
        self.asked = frozenset(c for some in threads.values() for c in some)
        self.defined = {x: s for s in statements(f.body) for x in writes(s)}
        self.numbers = self._numbers()
        parameters = [x for tree in f.parameters for x in leaves(tree) if isinstance(x, Var) and is_array(x)]
        self.names: dict[Representative, Var] = {self.classes.find(x): x for x in parameters}

    def _numbers(self) -> dict[Number, Coordinates]:
        """Coordinates that the unknown integers of linear forms depend on."""
        found: dict[Number, Coordinates] = {}
        for v in self.versions.values:
            if is_array(v.variable):
                continue
            mine = self.depends.get(v.variable, _NONE)
            for x in self.dependence._of(v).factors:
                found[x] = found.get(x, mine) & mine  # i + n depends on the coordinates of i, and n does not
        return found

    def check(self) -> tuple[set[Var], set[Var]]:
        """Check all arrays of the kernel; return those with stores, and those with atomic additions."""
        found: dict[Representative, list[_Access]] = {}
        for access, array in self._accesses(self.f.body, False):
            found.setdefault(self.classes.find(array), []).append(access)
        given = {key: some for key, some in found.items() if key in self.names}
        for key, some in given.items():
            self._check_array(self.names[key], some)
        kinds = {self.names[key]: {a.kind for a in some} for key, some in given.items()}
        return tuple({x for x, found in kinds.items() if kind in found} for kind in ("store", "atomic"))  # type: ignore[return-value]

    def _check_array(self, x: Var, some: list[_Access]) -> None:
        kinds = {a.kind for a in some}
        if kinds <= {"load"} or kinds == {"atomic"}:
            return
        if "atomic" in kinds:
            other = next(a for a in some if a.kind != "atomic")
            what = (
                f"{'a load from' if other.kind == 'load' else 'a store into'} {x}, to which the kernel adds atomically,"
            )
            why = "another thread may add to the element before or after that"
            self.source.refuse(other.s.line, what, why, "a kernel for each of both, launched one after the other")
        for a in some:
            if a.kind == "store" and not a.guarded and not self._covered([a]):
                self._refuse_shared(x, a)
        if "load" in kinds and not all(a.guarded for a in some) and not self._covered(some):
            first = next(a for a in some if a.kind == "load")
            what = f"a load from {x}, which the kernel writes to at another index,"
            why = "another thread may write to the element before or after that"
            self.source.refuse(first.s.line, what, why, "an array for the results, other than the one that is read")

    def _refuse_shared(self, x: Var, a: _Access) -> None:
        s = a.s
        missing = sorted(self.asked - self._coordinates([a]))
        why = f"threads that differ in {' and '.join(map(_said, missing))} write to one element"
        instead = f"cuda.atomic.add({x}, index, value) to add, or an index for each thread"
        self.source.refuse(s.line, f"a store into {x}", why, instead)

    def _covered(self, some: list[_Access]) -> bool:
        return self._coordinates(some) >= self.asked

    def _coordinates(self, some: list[_Access]) -> Coordinates:
        """Coordinates that the indices depend on, on the axes where all accesses have one index."""
        found = _NONE
        first = some[0].forms
        if any(len(a.forms) != len(first) for a in some):
            return found
        for k, form in enumerate(first):
            others = [a.forms[k] for a in some]
            if form is None or not all(g is not None and _is_same(form, g) for g in others):
                continue
            found |= frozenset(c for x in form.factors for c in self.numbers.get(x, _NONE))
        return found

    def _accesses(self, body: Block, guarded: bool) -> Iterator[tuple[_Access, Var]]:
        for s in body:
            match s:
                case Load(array=Var() as x):  # of an int, an atomic addition is a load and a store
                    kind = "atomic" if is_atomic_view(self.versions.at(s, x).statement) else "load"
                    yield _Access(s, kind, self.dependence.access(s).index, guarded), x
                case Store(array=x):
                    v = self.versions.at(s, x)
                    kind = "atomic" if is_atomic_view(v.statement) else "store"
                    yield _Access(s, kind, self.dependence.access(s).index, guarded), x
                    if kind == "store" and s.op != "=":
                        yield _Access(s, "load", self.dependence.access(s).index, guarded), x
                case Discrete():
                    for x, index in _items(s.value):
                        yield _Access(s, "load", self.dependence.element(s, x, index).index, guarded), x
            inside = guarded or (isinstance(s, If) and self._is_equality(s.test))
            for inner in blocks(s):
                yield from self._accesses(inner, inside)

    def _is_equality(self, test: object) -> bool:
        """Whether a test compares for equality what depends on coordinates."""
        todo, seen = [test], set[object]()
        while todo:
            x = todo.pop()
            s = self.defined.get(x) if isinstance(x, Var) and x not in seen else None
            seen.add(x)
            match s:
                case Discrete(value=value) if any(_compares(e) for e in _expressions(value)):
                    if any(self.depends.get(y) for y in reads(s) if isinstance(y, Var)):
                        return True
                case Copy() | Discrete():
                    todo += reads(s)
        return False


def _said(coordinate: str) -> str:
    part, _, axis = coordinate.partition("_")
    return f"cuda.{part}Idx.{axis}"


def _is_same(a: Form, b: Form) -> bool:
    apart = minus(a, b)
    return not apart.factors and not apart.constant


def _compares(e: Index) -> bool:
    return isinstance(e, Comparison) and bool({"==", "!="} & {*e.symbols})


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
            given = frozenset(c for x in _sources(s) for c in found.get(x, _NONE))
            for x in writes(s):
                if not given <= found.get(x, _NONE) and not isinstance(s, Store):
                    found[x], changed = found.get(x, _NONE) | given, True
    return found


def _sources(s: Statement) -> list[Var]:
    if isinstance(s, For):  # two threads whose loops begin at one number, count the same numbers
        return [s.start] if isinstance(s.start, Var) else []
    return [x for x in reads(s) if isinstance(x, Var)]
