"""Alias analysis: classes of arrays that may share memory, and the effects of calls (flow-insensitive).

Arrays of one function that may share memory form a class. What a function does to the memory of its arguments is its
`Effects`; for functions that call one another in a circle, the least that agrees with their calls.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from dualrev.compiler.analysis.fixpoint import FixedPoint
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Field, Global, Index, Var
from dualrev.compiler.ir.core.nodes import Barrier, Call, Copy, Discrete, Function, Hold, Load, Statement, Store, View
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, parts, statements
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.types.aliases import UserValue
from dualrev.rules.library.random.drawing import is_draw

__all__ = ["Carried", "Classes", "Effects", "Memory", "Representative", "contents", "given"]

#: What stands for an alias class: one of its arrays, or the name of a global. Any other atom is a class of its own.
Representative: TypeAlias = Atom | str


@dataclass
class Effects:
    """Memory effects of a function, by the leaves of its arguments and results."""

    writes: list[bool]
    aliases: list[list[int]]  # the arguments that a result may share memory with
    shared: list[list[int]] = field(default_factory=list)  # results that may share memory with one another
    groups: list[list[int]] = field(default_factory=list)  # arguments that it treats as one memory


@dataclass(frozen=True)
class Carried:
    """Indices of the array arguments and results whose shadows cross a call in the augmented primal: shadow_flow.py."""

    arguments: frozenset[int]
    results: frozenset[int]


class Classes:
    """Alias classes of a function's arrays."""

    def __init__(self, f: Function, memory: Memory, together: Iterable[tuple[Var, ...]] = ()) -> None:
        """`together`: parameters that may share memory."""
        self._sets = Sets[Representative]()
        for group in together:
            self.join(group)
        for s in statements(f.body):
            if isinstance(s, (Copy, Hold)) and is_array(s.target) and isinstance(s.source, (Var, Global)):
                self.join((s.target, s.source))
            elif isinstance(s, View):
                self.join((s.target, s.base))
            elif isinstance(s, Call):
                self._call(s, memory.effects(s))

    def _call(self, s: Call, effects: Effects) -> None:
        inputs, results = given(s), leaves(s.result)
        for t, sources in zip(results, effects.aliases, strict=True):
            if is_array(t):
                self.join([t, *(inputs[k] for k in sources if is_array(inputs[k]))])
        for group in effects.groups:
            self.join([inputs[k] for k in group if is_array(inputs[k])])
        for group in effects.shared:
            self.join([results[k] for k in group if is_array(results[k])])

    def find(self, x: Atom) -> Representative:
        """Return the representative of an array's alias class. Globals are known by their names."""
        return self._sets.find(_known_as(x))

    def indices(self, some: Iterable[Atom | None]) -> dict[Representative, list[int]]:
        """Indices of the arrays among some atoms, by their alias classes."""
        found: dict[Representative, list[int]] = {}
        for k, x in enumerate(some):
            if x is not None and is_array(x):
                found.setdefault(self.find(x), []).append(k)
        return found

    def join(self, some: Iterable[Atom]) -> None:
        """Merge the alias classes of several arrays."""
        known = [*map(_known_as, some)]
        for x in known[1:]:
            self._sets.join(x, known[0])


def _known_as(x: Atom) -> Representative:
    return x.name if isinstance(x, Global) else x


def _no_place(s: Call) -> NoReturn:
    raise AssertionError(f"{s}: who made this knows no lines of the user's to refuse")


class Memory:
    """Memory effects of the functions of a program, and caches of other analyses."""

    def __init__(self, program: Program, refuse_draw: Callable[[Call], NoReturn] = _no_place) -> None:
        """`refuse_draw` raises for a call that draws by parameters that are differentiated: see activity.py."""
        self.program, self.refuse_draw = program, refuse_draw
        #: Calls that activity.py has looked into, for opaque values: keys, and what varies.
        self.entered: set[tuple[Hashable, tuple[bool, ...]]] = set()
        self.opaque = FixedPoint[bool]()  # whether a function has to do with these
        self.flows = FixedPoint[tuple[frozenset[int], ...]]()  # see summaries.py
        self.carried = FixedPoint[Carried]()  # see shadow_flow.py
        self.wild = FixedPoint[tuple[bool, ...]]()  # see finiteness.py
        self._effects = FixedPoint[Effects]()
        self._asked: dict[tuple[Callable[[UserValue], bool], int], tuple[UserValue, bool]] = {}

    def asked(self, question: Callable[[UserValue], bool], x: UserValue) -> bool:
        """Memoised predicate on a frozen value, such as a large array."""
        key = question, id(x)
        if key not in self._asked:
            self._asked[key] = x, question(x)
        return self._asked[key][1]

    def effects(self, s: Call) -> Effects:
        """Memory effects of a call."""
        nothing = Effects([False] * len(given(s)), [[] for _ in leaves(s.result)])
        if self.program.gradient(s) is not None:  # new arrays; the function changes nothing
            return nothing
        f = self.program.function(s)
        return self._effects.value(self.program.key(s), lambda: nothing, lambda: self._of_function(f))

    def is_draw(self, s: Call) -> bool:
        """Whether a call draws random numbers."""
        return isinstance(s.function, Global) and is_draw(s.function.value)

    def changed(self, s: Statement) -> list[Var]:
        """Arrays whose elements a statement itself may write."""
        if isinstance(s, Store):
            return [s.array]
        if isinstance(s, Barrier):
            return list(s.arrays)
        if isinstance(s, Call):
            pairs = zip(given(s), self.effects(s).writes, strict=True)
            return [x for x, writes in pairs if writes and isinstance(x, Var)]
        return []

    def marks(self, s: Call) -> bool:
        """Whether the callee marks known zeros in its tangents: ir/core/known_zeros.py."""
        return self.program.gradient(s) is None and self.program.function(s).marked

    def written(self, f: Function) -> set[Var]:
        """Parameter leaves whose elements a function may write."""
        classes = Classes(f, self)
        wrote = {classes.find(x) for s in statements(f.body) for x in self.changed(s)}
        return {x for p in f.parameters for x in leaves(p) if is_array(x) and classes.find(x) in wrote}

    def _of_function(self, f: Function) -> Effects:
        inputs = [x for p in f.parameters for x in leaves(p)]
        results = leaves(f.result)
        classes = Classes(f, self)
        of_class = classes.indices(inputs)
        wrote = {classes.find(x) for s in statements(f.body) for x in self.changed(s)}
        writes = [is_array(x) and classes.find(x) in wrote for x in inputs]
        shared = classes.indices(x if isinstance(x, Var) else None for x in results)
        aliases = [of_class.get(classes.find(x), []) if isinstance(x, Var) else [] for x in results]
        return Effects(writes, aliases, *([g for g in of.values() if len(g) > 1] for of in (shared, of_class)))


def given(s: Call) -> list[Atom]:
    """Leaves of a call's arguments."""
    return [x for tree in s.args for x in leaves(tree)]


def contents(s: Statement) -> list[Var | Global]:
    """Arrays whose elements an operation reads (not only their shape)."""
    if isinstance(s, Load):
        return [s.array]
    if isinstance(s, Barrier):
        return list(s.arrays)
    return list(dict.fromkeys(_read_in(s.value))) if isinstance(s, Discrete) else []


def _read_in(e: Index) -> Iterator[Var | Global]:
    if isinstance(e, (Var, Global)):
        if is_array(e):
            yield e
        return
    of_shape = isinstance(e, Field) and e.name in ("shape", "size", "ndim")
    for part in parts(e):
        if not (of_shape or (isinstance(e, Applied) and e.function == "len")) or not isinstance(part, (Var, Global)):
            yield from _read_in(part)
