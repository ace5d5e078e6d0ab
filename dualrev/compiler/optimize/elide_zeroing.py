"""Turn the first `+=` into a zeroed shadow into `=`, and elide the zero-fill if the loop covers the shadow.

Core -> core, in both sweeps:

    d_x = zeros                      d_x = new memory
    for i in range(n):               d_x = zeros, unless its shape is (n,)
        d_x[i] += c * d_y            for i in range(n):
                                         d_x[i] = c * d_y

So the element is neither set to 0 nor loaded before. It is so for the first loop that has to do with a new shadow, if
that does nothing with it but add to elements, to each of them once (analysis/dependence.py). If the loop adds to all
elements, which shows when it is run, they need not be zeros before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.analysis.dependence import Access, Dependence
from dualrev.compiler.analysis.ssa import Region, Versions
from dualrev.compiler.ir.core.atom_types import is_real_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Expr, Field, Global, Item, Node, Operator, Var
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Block,
    Copy,
    Discrete,
    For,
    Function,
    Hold,
    Make,
    Statement,
    Store,
    View,
)
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

    def _atom(self, extent: Expr, before: list[Statement], line: int) -> Atom:
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


def _with_stores(s: Statement, chosen: set[Store]) -> Statement:
    """Replace `+=` by `=` in the chosen stores of a statement."""
    if isinstance(s, Store) and s in chosen:
        return replace(s, op="=")
    return with_blocks(s, [tuple(_with_stores(t, chosen) for t in b) for b in blocks(s)])


@dataclass(frozen=True)
class _Place:
    """A store that adds to an element: the element, the store's block and the loops around it."""

    store: Store
    element: Access
    block: Region
    loops: tuple[For, ...]


class _First:
    """First loop that uses a fresh shadow.

    `stores` are those that are the first to add to elements; None if the loop does something else with the shadow.
    """

    def __init__(self, loop: For, shadow: Var) -> None:
        self.loop, self.shadow = loop, shadow
        self.inner = [*statements((loop,))]
        self.wrote = [x for s in self.inner for x in writes(s)]
        self.names = self._parts(shadow)
        self.versions = Versions(Function("", (), (loop,), Node(()), False))
        self.dependence = Dependence(self.versions)
        self.places: list[_Place] = []
        self.stores = self._chosen() if self._collect() else None

    def _parts(self, shadow: Var) -> set[Var]:
        """The shadow and all views into it that the loop takes, in this iteration or an earlier one."""
        names = {shadow}
        while more := {x for s in self.inner if isinstance(s, View) and s.base in names for x in writes(s)} - names:
            names |= more
        return names

    def _collect(self) -> bool:
        """Whether the loop only adds to elements of the shadow, to none of them twice at one place."""
        for s in self.inner:
            if isinstance(s, Store) and s.op == "+=" and s.array in self.names:
                place = self._place(s)
                if place is None:
                    return False
                self.places.append(place)
            elif not isinstance(s, View) and not self.names.isdisjoint(x for x in (*reads(s), *writes(s))):
                return False
        return True

    def _place(self, s: Store) -> _Place | None:
        """The place of a store that each iteration of the loops around it reaches, with another element."""
        block = self.versions.region_of[s]
        loops = self.versions.enclosing_loops(block)
        element = self.dependence.access(s)
        if element.root is not self.shadow or len(loops) < block.nesting:
            return None
        alone = (self.dependence.same_element(element, element, across=loop) == "never" for loop in loops)
        plain = [loop for loop in loops if isinstance(loop, For) and not (loop.exits or loop.parallel)]
        return _Place(s, element, block, tuple(plain)) if len(plain) == len(loops) and all(alone) else None

    def _chosen(self) -> set[Store] | None:
        """The first stores to their elements, which then need no zero there; None if two of them may overlap."""
        found: dict[tuple[Region, Access], _Place] = {}
        for place in self.places:
            found.setdefault((place.block, place.element), place)
        self.places = list(found.values())
        pairs = itertools.combinations((place.element for place in self.places), 2)
        apart = all(self.dependence.same_element(a, b, within=self.loop) == "never" for a, b in pairs)
        return {place.store for place in self.places} if self.places and apart else None

    def _axes(self, place: _Place) -> list[int | For | None]:
        """Indices of an element: constants, loops whose counters they are, or None."""
        counters = {s.target: s for s in place.loops}
        sums = [self.dependence.affine(f) for f in place.element.index]
        return [None if x is None else x[1] if x[0] is None else counters.get(x[0]) if not x[1] else None for x in sums]

    def extents(self) -> list[Expr] | None:
        """Shape of a shadow that the loop covers completely; None if coverage is not known."""
        every = [self._axes(place) for place in self.places]
        fixed = [k for k, x in enumerate(every[0]) if isinstance(x, int)]
        if any(len(axes) != len(fixed) + len(p.loops) for axes, p in zip(every, self.places, strict=True)):
            return None  # such as a diagonal
        found: dict[int, Expr] = {}
        for k in range(len(every[0])):
            if k not in fixed:
                (bound, *others) = {self._extent(axes[k]) for axes in every}
                if others or bound is None:
                    return None
                found[k] = bound
        grid = {tuple(axes[k] for k in fixed) for axes in every}
        sizes = [1 + max(x if isinstance(x, int) else 0 for x in column) for column in zip(*grid, strict=True)]
        if grid != {*itertools.product(*map(range, sizes))}:
            return None
        for k, size in zip(fixed, sizes, strict=True):
            found[k] = Constant(size, _I64)
        return [found[k] for k in range(len(every[0]))]

    def _extent(self, s: int | For | None) -> Expr | None:
        """Extent of an axis that the counter of a loop covers from 0; None if it is not known before the loop."""
        if not isinstance(s, For):
            return None
        if s.step == _ONE:
            return self._before(s.stop, s) if s.start == _ZERO else None
        upper = self._before(s.start, s) if s.step == _MINUS and s.stop == _MINUS else None
        return None if upper is None else Operator("+", (upper, _ONE))

    def _before(self, x: Atom, s: For) -> Expr | None:
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
