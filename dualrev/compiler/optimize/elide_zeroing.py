"""Turn the first `+=` into a zeroed shadow into `=`, and elide the zero-fill if the loop covers the shadow.

Core -> core, in both sweeps:

    d_x = zeros                      d_x = new memory
    for i in range(n):               d_x = zeros, unless its shape is (n,)
        d_x[i] += c * d_y            for i in range(n):
                                         d_x[i] = c * d_y

So the element is neither set to 0 nor loaded before. It is so for the first loop that has to do with a new shadow, if
that does nothing with it but add to elements, to each of them once: the counters of the loops around a place are
indices of it, and two places differ by a constant. If the loop adds to all elements, which shows when it is run, they
need not be zeros before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from numba.core import types

from dualrev.compiler.ir.core.atom_types import is_real_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Field, Global, Item, Operator, Var
from dualrev.compiler.ir.core.nodes import Accumulate, Block, Copy, Discrete, For, Hold, Make, Statement, Store, View
from dualrev.compiler.ir.core.traverse import blocks, reads, rewritten, statements, with_blocks, writes

__all__ = ["Storing"]

_I64 = types.int64
_ZERO, _ONE, _MINUS = Constant(0, _I64), Constant(1, _I64), Constant(-1, _I64)


class Storing:
    """Elision of zero-fills over consecutive blocks; `fresh` are shadows that are zeros before the first block.

    Those of them that need not be zeros are in `covered`, once all the blocks have been seen.
    """

    def __init__(self, fresh: Iterable[Var] = ()) -> None:
        self._fresh: dict[Var, Var | Make] = {x: x for x in fresh if _is_contiguous(x)}  # by all their names
        self._covered: set[Var | Make] = set()

    @property
    def covered(self) -> set[Var]:
        """Shadows among those given that need not be zero-filled."""
        return {x for x in self._covered if isinstance(x, Var)}

    def blocks(self, *some: Block) -> list[Block]:
        """Rewrite the blocks, with the loops at their top and those nested in other statements."""
        made = [self._block(body) for body in some]
        return [rewritten(body, self._made) for body in made]

    def _made(self, s: Statement) -> Statement:
        if s not in self._covered or not isinstance(s, Make) or not isinstance(s.value, Applied):
            return s
        return replace(s, value=replace(s.value, function="np.empty_like"))

    def _block(self, body: Block) -> Block:
        made: list[Statement] = []
        for s in body:
            if isinstance(s, Make) and _makes_zeros(s):
                self._fresh[s.target] = s
                made.append(s)
            elif isinstance(s, Hold) and s.source in self._fresh:
                self._fresh[s.target] = self._fresh[s.source]
                made.append(s)
            else:
                made += self._statement(s)
        return tuple(made)

    def _statement(self, s: Statement) -> Block:
        """A rewritten statement, with the conditional zero-fill before it; shadows that it uses are no longer fresh."""
        inner = [*statements((s,))]
        mentioned = {x for t in inner for x in (*reads(t), *writes(t))}
        found = [x for x in self._fresh if x in mentioned]
        used = [self._fresh[x] for x in found]
        before: list[Statement] = []
        for x, of in zip(found, used, strict=True):
            first = _First(s, x) if isinstance(s, For) and used.count(of) == 1 else None
            if first is None or first.stores is None:
                continue
            s = _with_stores(s, first.stores)
            if (extents := first.extents()) is not None:
                bounds = [self._atom(e, before, s.line) for e in extents]
                before.append(Accumulate(x, "runtime.clear_unless", tuple(bounds), s.line))
                self._covered.add(of)
        self._fresh = {x: of for x, of in self._fresh.items() if of not in used}
        outer, self._fresh = self._fresh, {}
        s = with_blocks(s, map(self._block, blocks(s)))
        self._fresh = outer
        return (*before, s)

    def _atom(self, extent: Any, before: list[Statement], line: int) -> Atom:
        """Bind an extent to an atom, by an operation appended to `before` if it is not one."""
        if isinstance(extent, (Var, Constant, Global)):
            return extent
        made = Var("_", _I64)
        before.append(Discrete(made, extent, line))
        return made


def _is_contiguous(x: Var) -> bool:
    return is_real_array(x) and x.type.layout in "CF"


def _makes_zeros(s: Make) -> bool:
    value = s.value
    return isinstance(value, Applied) and value.function == "np.zeros_like" and _is_contiguous(s.target)


def _with_stores(s: Any, chosen: set[Store]) -> Any:
    """Replace `+=` by `=` in the chosen stores of a statement."""
    if s in chosen:
        return replace(s, op="=")
    return with_blocks(s, [tuple(_with_stores(t, chosen) for t in b) for b in blocks(s)])


@dataclass(frozen=True)
class _Place:
    """A store that adds to an element: its block, its loops, and its indices (counters of these loops or constants)."""

    store: Store
    block: Block
    loops: tuple[For, ...]
    index: tuple[Any, ...]


class _First:
    """First loop that uses a fresh shadow.

    `stores` are those that are the first to add to elements; None if the loop does something else with the shadow.
    """

    def __init__(self, loop: For, shadow: Var) -> None:
        self.loop, self.shadow = loop, shadow
        self.inner = [*statements((loop,))]
        self.wrote = [x for s in self.inner for x in writes(s)]
        self.names = self._parts(shadow)
        self.places: list[_Place] = []
        self.stores = self._first() if self._collect((loop,), (), {shadow: ()}) else None

    def _parts(self, shadow: Var) -> set[Var]:
        """The shadow and all views into it that the loop takes, in this iteration or an earlier one."""
        names = {shadow}
        while more := {x for s in self.inner if isinstance(s, View) and s.base in names for x in writes(s)} - names:
            names |= more
        return names

    def _collect(self, body: Block, loops: tuple[For, ...], rows: dict[Var, tuple[Any, ...]]) -> bool:
        """Whether a block only adds to elements of the shadow at known indices; `rows` are views of parts of it."""
        rows = dict(rows)
        for s in body:
            used = [x for x in (*reads(s), *writes(s)) if x in self.names]
            match s:
                case For():
                    wrote = {x for t in statements(s.body) for x in writes(t)}
                    rows = {x: row for x, row in rows.items() if x not in wrote}
                    if used or (self._uses(s) and not (_is_natural(s) and self._collect(s.body, (*loops, s), rows))):
                        return False
                case View(target, base, Item(_, index)) if {*used} <= {base, target} and base in rows:
                    if not all(isinstance(i, (Var, Constant)) for i in index):
                        return False
                    rows[target] = (*rows[base], *index)
                case Store(array, index, _, _, "+=") if used == [array] and array in rows:
                    place = _Place(s, body, loops, (*rows[array], *index))
                    if not self._is_known(place):
                        return False
                    self.places.append(place)
                case _:
                    if used or self._uses(s):
                        return False
        return True

    def _uses(self, s: Statement) -> bool:
        """Whether a nested statement of `s` reads or writes the shadow."""
        return any(x in self.names for b in blocks(s) for t in statements(b) for x in (*reads(t), *writes(t)))

    def _is_known(self, place: _Place) -> bool:
        """Whether no two iterations add to the same element at this place."""
        counters = [s.target for s in place.loops]
        if len(place.index) != self.shadow.type.ndim or any(map(_changes_counter, place.loops)):
            return False
        if not all(x in place.index for x in counters):
            return False
        return all(i in counters or (isinstance(i, Constant) and _is_index(i)) for i in place.index)

    def _first(self) -> set[Store] | None:
        """The first stores to their elements, which then need no zero there; None if two of them may overlap."""
        found: dict[tuple[Block, tuple[Any, ...]], Store] = {}
        for place in self.places:
            found.setdefault((place.block, place.index), place.store)
        chosen = set(found.values())
        self.places = [place for place in self.places if place.store in chosen]
        if not chosen or not all(_apart(p, q) for p, q in itertools.combinations(self.places, 2)):
            return None
        return chosen

    def extents(self) -> list[Any] | None:
        """Shape of a shadow that the loop covers completely; None if coverage is not known."""
        first = self.places[0]
        axes = [k for k, i in enumerate(first.index) if isinstance(i, Constant)]
        if any(len(p.index) != len(axes) + len(p.loops) for p in self.places):  # such as a diagonal
            return None
        found: list[Any] = [None] * len(first.index)
        for k in range(len(first.index)):
            if k not in axes:
                bounds = {self._extent(p, k) for p in self.places}
                if len(bounds) > 1 or None in bounds:
                    return None
                (found[k],) = bounds
        grid = {tuple(getattr(p.index[k], "value", None) for k in axes) for p in self.places}
        sizes = [1 + max((point[j] or 0) for point in grid) for j in range(len(axes))]
        if grid != {*itertools.product(*map(range, sizes))}:
            return None
        for k, size in zip(axes, sizes, strict=True):
            found[k] = Constant(size, _I64)
        return found

    def _extent(self, place: _Place, k: int) -> Any:
        """Extent of an axis that the counter at index `k` covers from 0; None if it is not known before the loop."""
        for s in place.loops:
            if s.target is place.index[k]:
                if s.step == _ONE:
                    return self._before(s.stop, s) if s.start == _ZERO else None
                upper = self._before(s.start, s) if s.stop == _MINUS else None
                return None if upper is None else Operator("+", (upper, _ONE))
        return None

    def _before(self, x: Any, s: For) -> Any:
        """Loop-invariant expression for a loop's bound, hoisted before the outermost loop; None if not found."""
        if x not in self.wrote or s is self.loop:
            return x
        (first, *others) = [t for t in self.inner if x in writes(t)]
        if others or any(y in self.wrote for y in reads(first)) or not _precedes(first, s, self.loop.body):
            return None
        match first:
            case Copy(_, source):
                return source
            case Discrete(_, Applied("len", (Var(),)) | Item(Field(Var(), "shape"), (Constant(),)) as length):
                return length
        return None


def _precedes(first: Statement, s: For, body: Block) -> bool:
    """Whether `first` precedes every execution of the nested loop `s`, in the same iteration of the loops around it."""
    for k, t in enumerate(body):
        if t is s or (isinstance(t, For) and any(u is s for u in statements(t.body))):
            return any(u is first for u in body[:k]) or (t is not s and _precedes(first, s, t.body))
    return False


def _changes_counter(s: For) -> bool:
    return any(s.target in writes(t) for t in statements(s.body))


def _is_natural(s: For) -> bool:
    """Whether a loop's counter is never negative, and the loop is sequential and has no exits."""
    if s.exits or s.parallel:
        return False
    if s.step == _ONE:
        return isinstance(s.start, Constant) and _is_index(s.start)
    return s.step == _MINUS and isinstance(s.stop, Constant) and s.stop.value >= -1


def _is_index(x: Constant) -> bool:
    return type(x.value) is int and x.value >= 0


def _apart(p: _Place, q: _Place) -> bool:
    """Whether two places never are the same element: two of their indices are different constants."""
    both = zip(p.index, q.index, strict=True)
    return any(isinstance(i, Constant) and isinstance(j, Constant) and i.value != j.value for i, j in both)
