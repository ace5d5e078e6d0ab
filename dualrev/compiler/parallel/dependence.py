"""Dependence analysis of parallel loops: how iterations use shared memory, and whether they may run in threads.

For each class of arrays from outside of the loop:

    read        all iterations read it, nobody writes
    own         an iteration reads and writes its own elements only: those with the counter (+ a constant) as an index
    near        iterations only add to it, at the counter plus several constants, or through several views of it: those
                of every other chunk of iterations may run at the same time, as they are far enough apart
    private     iterations only add to it, at any place: each chunk has an array of its own, and these are added up

Whether views lie so is seen when the loop runs, from their addresses and strides (runtime/threads.py): if not, there is
one chunk. Anything else has to run in one thread.

Sums do not depend on the number of threads: there are as many chunks as the bounds of the loop say, and what they come
to is added in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, contents, given
from dualrev.compiler.analysis.ssa import Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Expr, Index, Item, Operator, Span, Var
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Block,
    Call,
    Columns,
    Copy,
    Discrete,
    Effect,
    For,
    Function,
    Hold,
    Keep,
    Kept,
    Load,
    Make,
    Opaque,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.ir.core.traverse import leaves, reads, statements, writes
from dualrev.compiler.parallel.recognize_reductions import total_of
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["Sharing", "sharing", "uses_of"]

#: An axis of an array, and what is added to the counter there.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Sharing:
    """Result of the dependence analysis: how the iterations of a loop run in several threads.

    totals     the numbers that they put together, and how
    private    the arrays that each chunk has of its own, which are added up
    direct     other arrays that they write to
    low        the least number that is added to the counter where elements are written, ...
    spread     ... and how far such elements of an iteration may lie apart
    looked_at  groups of `direct` whose memory decides, when the loop runs: how far apart elements of an iteration lie
    works      whether an iteration may do a lot
    """

    totals: dict[Var, str]
    private: tuple[Var, ...]
    direct: tuple[Var, ...]
    low: int
    spread: int
    looked_at: tuple[Group, ...]
    works: bool

    @property
    def near(self) -> bool:
        """Whether iterations may write to elements of neighbouring iterations."""
        return self.spread > 0 or any(group.near for group in self.looked_at)


@dataclass(frozen=True)
class Group:
    """May-alias group of arrays that an iteration accesses with the counter as its index on one axis.

    Parts of several arrays may be `near` one another, if iterations only add to them.
    """

    arrays: tuple[Var, ...]
    axis: int
    near: bool


def sharing(f: Function, loop: For, memory: Memory) -> Sharing | None:
    """Dependence analysis of a loop: how its iterations may run in threads; None if they have to run in one."""
    body = list(statements(loop.body))
    if loop.exits or loop.step != Constant(1) or any(isinstance(t, (Opaque, Effect)) for t in body):
        return None
    if any(is_array(x) and not x.type.ndim for t in body for x in reads(t)):
        return None  # numba hands threads an array without axes as a number
    versions = Versions(f)
    carried = [x for x, v in versions.headers[loop].items() if v.used]
    totals = {x: total_of(x, loop.body) for x in carried}
    if any(is_array(x) or totals[x] is None for x in carried):
        return None
    classes = Classes(f, memory, f.together)
    known = {x: k for k, x in enumerate(x for p in f.parameters for x in leaves(p))}

    def sort(some: Iterable[Var]) -> tuple[Var, ...]:
        """Arrays in the order of the parameters."""
        return tuple(sorted(some, key=lambda x: known.get(x, -1)))

    dependence = Dependence(versions)
    uses = _Uses(memory, classes, loop.body, lambda s, i: dependence.distance(s, i, loop), set()).found
    private: list[Var] = []
    direct: list[Var] = []
    looked_at: list[Group] = []
    offsets, spread = [0], 0
    for some in uses.values():
        modes, roots = {mode for _, _, mode in some}, {root for root, _, _ in some}
        if modes == {"read"}:
            continue
        places = {place for _, place, _ in some}
        axes = {place[0] if place is not None else None for place in places}
        apart = None not in places and len(axes) == 1
        if apart and (len(places) == 1 or modes == {"add"}):
            here = [place[1] for place in places if place is not None]
            offsets, spread = [*offsets, *here], max(spread, max(here) - min(here))
            direct += roots
            if len(roots) > 1 or any(x.type.layout == "A" for x in roots):
                (axis,) = {place[0] for place in places if place is not None}
                looked_at.append(Group(sort(roots), axis, len(roots) > 1 and modes == {"add"}))
        elif modes == {"add"}:
            private += roots
        else:
            return None
    if any(x not in known for x in private):
        return None
    works = any(isinstance(t, (For, While, Call, Whole, Accumulate)) for t in body)
    found = {x: str(kind) for x, kind in totals.items()}
    return Sharing(found, sort(private), sort(direct), min(offsets), spread, tuple(looked_at), works)


@dataclass(frozen=True)
class _Origin:
    """Origin of an array in an iteration: the outer arrays that it may be a view of, and its index there if known.

    `whole` says that it has the same indices as these.
    """

    roots: frozenset[Var]
    place: Place | None = None
    whole: bool = False

    def part(self, place: Place | None) -> _Origin:
        """The origin of a part of the array."""
        return _Origin(self.roots, self.place or (place if self.whole else None))

    def joined(self, other: _Origin) -> _Origin:
        """The join of two origins: either may hold."""
        place = self.place if self.place == other.place else None
        return _Origin(self.roots | other.roots, place, self.whole and other.whole and self.roots == other.roots)


_NEW = _Origin(frozenset())


class _Uses:
    """Access summary of statements: the elements of outer arrays that they read, set and add to, by alias classes."""

    def __init__(
        self,
        memory: Memory,
        classes: Classes,
        body: Block,
        distance: Callable[[Statement, Expr], int | None],
        seen: set[Hashable],
    ) -> None:
        """`distance` gives the offset of an index from the counter; None for another index."""
        self.memory, self.classes, self.distance, self.seen = memory, classes, distance, seen
        self.found: dict[Representative, set[tuple[Var, Place | None, str]]] = {}
        every = list(statements(body))
        self.inside = {x for t in every for x in writes(t)}
        self.origins: dict[Var, _Origin] = {}
        self.kept: dict[NumbaType, _Origin] = {}
        before: tuple[dict[Var, _Origin], dict[NumbaType, _Origin]] | None = None
        while before != (self.origins, self.kept):
            before = dict(self.origins), dict(self.kept)
            for t in every:
                self._learn(t)
        for t in every:
            self._use(t)

    # What variables stand for

    def _learn(self, t: Statement) -> None:
        """Transfer function: update the origins of arrays by a statement."""
        if isinstance(t, Keep):
            made_of = self.origin(t.array)
            self.kept[t.array.type] = self.kept[t.array.type].joined(made_of) if t.array.type in self.kept else made_of
        for x in filter(is_array, writes(t)):
            found = self._made(t, x)
            self.origins[x] = self.origins[x].joined(found) if x in self.origins else found

    def origin(self, x: Atom) -> _Origin:
        """The origin of an array: the outer arrays that it may be a view of."""
        if not isinstance(x, Var):
            return _NEW  # frozen
        if x in self.inside:
            return self.origins.get(x, _NEW)
        return _Origin(frozenset((x,)), None, True)

    def _made(self, t: Statement, x: Var) -> _Origin:
        match t:
            case Copy() | Hold():
                return self.origin(t.source)
            case View(_, base, Item(of, index)) if of is base:
                return self.origin(base).part(self._place(t, index))
            case View():
                return self.origin(t.base).part(None)
            case Kept():
                return self.kept.get(x.type, _NEW)
            case Call():
                inputs, effects = given(t), self.memory.effects(t)
                made = _NEW
                for result, sources in zip(leaves(t.result), effects.aliases, strict=True):
                    for k in sources if result is x else ():
                        made = made.joined(self.origin(inputs[k]).part(None))
                return made
        return _NEW

    def _place(self, s: Statement, index: tuple[Index, ...]) -> Place | None:
        """The first axis whose index is the loop counter plus a constant, with that constant."""
        for axis, i in enumerate(index):
            if isinstance(i, (Var, Operator)) and (distance := self.distance(s, i)) is not None:
                return axis, distance
            if i is None or i is Ellipsis or not isinstance(i, (Var, Constant, Operator, Span)):
                return None
        return None

    # What statements do

    def _touch(self, x: Atom, mode: str, place: Place | None = None) -> None:
        if not is_array(x):
            return
        origin = self.origin(x)
        place = origin.part(place).place
        for root in origin.roots:
            self.found.setdefault(self.classes.find(root), set()).add((root, place, mode))

    def _use(self, t: Statement) -> None:
        match t:
            case Load():
                self._touch(t.array, "read", self._place(t, t.index))
            case Store():
                self._touch(t.array, "set" if t.op == "=" else "add", self._place(t, t.index))
                self._touch(t.value, "read")
            case Accumulate():
                self._touch(t.array, "add")
                for x in t.args:
                    self._touch(x, "read")
            case Whole() | Keep():
                for x in reads(t):
                    self._touch(x, "read")
            case Make():
                shape = isinstance(t.value, Applied) and str(t.value.function).endswith(("zeros_like", "empty_like"))
                for x in () if shape else reads(t):
                    self._touch(x, "read")
            case Discrete():
                for x in contents(t):
                    self._touch(x, "read")
            case Call():
                for x, modes in zip(given(t), uses_of(t, self.memory, self.seen), strict=True):
                    for mode in modes:
                        self._touch(x, mode)
            case Columns() | Kept() | Copy() | View() | Hold() | For():
                pass


def uses_of(s: Call, memory: Memory, seen: Iterable[Hashable] = ()) -> list[set[str]]:
    """Access modes of a call, for each leaf of its arguments: read, set, add."""
    seen, inputs = set(seen), given(s)
    program = memory.program
    if program.gradient(s) is not None:
        return [{"read"} for _ in inputs]
    key, f = program.key(s), program.function(s)
    if f.opaque or key in seen:
        writing = [True] * len(inputs) if key in seen else memory.effects(s).writes
        return [{"read", "set"} if wrote else {"read"} for wrote in writing]
    classes = Classes(f, memory, f.together)
    found = _Uses(memory, classes, f.body, lambda s, i: None, {*seen, key}).found
    parameters = [x for p in f.parameters for x in leaves(p)]
    return [
        {mode for _, _, mode in found.get(classes.find(x), ())} if isinstance(x, Var) and is_array(x) else set()
        for x in parameters
    ]
