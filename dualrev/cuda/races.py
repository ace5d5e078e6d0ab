"""Data races of a kernel: which elements do several threads touch, at least one of which writes?

For each array, the analysis knows on which coordinates of a thread (its index in the block, the index of its block, on
each axis) each index may depend. An array that the kernel writes to has to be one of these:

    atomic    all accesses are atomic additions: threads may add to one element
    written   stores only, each with indices that depend on all coordinates that the kernel asks for
    own       loads, too: on the axes where all accesses have one index, the index depends on all coordinates

An index such as `k[i]` depends on the coordinates of i. The analysis takes it that different threads then get different
elements, which it cannot know: as in CUDA itself, that is up to the kernel. What certainly is a race is refused, and
what is read at one index and written at another one, for another thread may write there at any time.

A test fixes coordinates where it compares an index of the thread with what is the same for all: below `if i == 0`,
stores need not depend on the coordinates of i.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, minus
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Comparison, Constant, Expr, Field, Index, Item, Logical, Operator, Var
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
    """Access to an element of a parameter, by forms of its indices, below tests that fix coordinates.

    `known` says that the array is the parameter, or a view of it that does not depend on a branch or a loop.
    """

    s: Statement
    kind: str  # "load", "store" or "atomic"
    forms: tuple[Form | None, ...]
    fixed: Coordinates
    known: bool


class _Races:
    def __init__(self, f: Function, memory: Memory, threads: Mapping[Var, Coordinates]) -> None:
        self.f, self.source = f, f.origin.source
        self.versions = Versions(f)
        self.dependence = Dependence(self.versions)
        self.classes = Classes(f, memory)
        self.depends = _dependent(f.body, dict(threads))
        self.asked = frozenset(c for some in threads.values() for c in some)
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
        for access, array in self._accesses(self.f.body, _NONE):
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
            if not a.known:
                what, why = f"an access to a part of {x}", "a branch or a loop chooses the part"
                self.source.refuse(a.s.line, what, why, f"{x} with all its indices, such as {x}[i, j] for row[j]")
            if a.kind == "store" and not self._covered([a]):
                self._refuse_shared(x, a)
        if "load" in kinds and not self._covered(some):
            first = next(a for a in some if a.kind == "load")
            what = f"a load from {x}, which the kernel writes to at another index,"
            why = "another thread may write to the element before or after that"
            self.source.refuse(first.s.line, what, why, "an array for the results, other than the one that is read")

    def _refuse_shared(self, x: Var, a: _Access) -> None:
        s = a.s
        missing = sorted(self.asked - self._coordinates([a]) - a.fixed)
        why = f"threads that differ in {' and '.join(map(_said, missing))} write to one element"
        instead = f"cuda.atomic.add({x}, index, value) to add, or an index for each thread"
        self.source.refuse(s.line, f"a store into {x}", why, instead)

    def _covered(self, some: list[_Access]) -> bool:
        """Whether two threads certainly access different elements, by what the indices depend on."""
        fixed = frozenset.intersection(*(a.fixed for a in some))
        return self._coordinates(some) | fixed >= self.asked

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

    def _accesses(self, body: Block, fixed: Coordinates) -> Iterator[tuple[_Access, Var]]:
        for s in body:
            match s:
                case Load(array=Var() as x):  # of an int, an atomic addition is a load and a store
                    kind = "atomic" if is_atomic_view(self.versions.at(s, x).statement) else "load"
                    yield self._access(s, kind, x, s.index, fixed), x
                case Store(array=x):
                    kind = "atomic" if is_atomic_view(self.versions.at(s, x).statement) else "store"
                    yield self._access(s, kind, x, s.index, fixed), x
                    if kind == "store" and s.op != "=":
                        yield self._access(s, "load", x, s.index, fixed), x
                case Discrete():
                    for x, index in _items(s.value):
                        yield self._access(s, "load", x, index, fixed), x
            for k, inner in enumerate(blocks(s)):
                below = self._fixed_by(s, s.test, k == 0) if isinstance(s, If) else _NONE
                yield from self._accesses(inner, fixed | below)

    def _access(self, s: Statement, kind: str, x: Var, index: tuple[Index, ...], fixed: Coordinates) -> _Access:
        found = self.dependence.element(s, x, index)
        known = isinstance(found.root, Value) and found.root.kind == "param"
        return _Access(s, kind, found.index, fixed, known)

    # Tests

    def _fixed_by(self, s: Statement, test: Index, holds: bool) -> Coordinates:
        """Coordinates that a test fixes where it holds, or where it does not."""
        match test:
            case Var():
                return self._fixed(self.versions.reads[s].get(test), holds)
            case Operator("not", (x,)):
                return self._fixed_by(s, x, not holds)
            case Logical(symbol, args) if symbol == ("and" if holds else "or"):
                return _NONE.union(*(self._fixed_by(s, x, holds) for x in args))
            case Comparison((symbol,), args) if symbol == ("==" if holds else "!="):
                found = [self._depend(x) for x in args]
                axes = {coordinate[-1] for some in found for coordinate in some}
                if len(axes) == 1 and not all(found) and all(self._is_exact(s, x) for x in args):
                    return _NONE.union(*found)
        return _NONE

    def _fixed(self, v: Value | None, holds: bool) -> Coordinates:
        """Coordinates that a condition fixes, which may be the join of a branch: `a and b` is `b if a else a`."""
        s = None if v is None else v.statement
        match s:
            case Copy(source=Var() as x):
                return self._fixed_by(s, x, holds)
            case Discrete(value=value):
                return self._fixed_by(s, value, holds)
            case If(test=Var() as x) if v is not None and v.kind == "join" and len(v.parts) == 2:
                first, (then, orelse) = self.versions.reads[s].get(x), v.parts
                if first is (orelse if holds else then):
                    return self._fixed(first, holds) | self._fixed(then if holds else orelse, holds)
        return _NONE

    def _depend(self, e: Index) -> Coordinates:
        return _NONE.union(*(self.depends.get(x, _NONE) for x in _expressions(e) if isinstance(x, Var)))

    def _is_exact(self, s: Statement, e: Index) -> bool:
        """Whether an integer is a sum or a product of indices of the thread, numbers and lengths."""
        match e:
            case Constant() | Field() | Item(Field()):
                return True
            case Operator("+" | "-" | "*", args):
                return all(self._is_exact(s, x) for x in args)
            case Var():
                v = self.versions.reads[s].get(e)
                made = None if v is None else v.statement
                if isinstance(made, Copy | Discrete):
                    return self._is_exact(made, made.source if isinstance(made, Copy) else made.value)
                return v is not None and v.kind == "param"
        return False


def _said(coordinate: str) -> str:
    part, _, axis = coordinate.partition("_")
    return f"cuda.{part}Idx.{axis}"


def _is_same(a: Form, b: Form) -> bool:
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
            given = frozenset(c for x in _sources(s) for c in found.get(x, _NONE))
            for x in writes(s):
                if not given <= found.get(x, _NONE) and not isinstance(s, Store):
                    found[x], changed = found.get(x, _NONE) | given, True
    return found


def _sources(s: Statement) -> list[Var]:
    if isinstance(s, For):  # two threads whose loops begin at one number, count the same numbers
        return [s.start] if isinstance(s.start, Var) else []
    return [x for x in reads(s) if isinstance(x, Var)]
