"""Elide stores of zeros into a shadow that the next iteration overwrites (core -> core, in both sweeps).

    d_t = zeros                          d_t = zeros
    for k in range(m - 1, -1, -1):       for k in range(m - 1, -1, -1):
        for i in range(n):                   for i in range(n):
            d_t[i] += c * d_y[i]                 d_t[i] = c * d_y[i]
        for i in range(n):                   for i in range(n):
            d_x[i] += d_t[i]                     d_x[i] += d_t[i]
            d_t[i] = 0.0

That is the reverse of a loop that fills an array t anew in each iteration. The shadow is zero at the start of every
iteration, so the first additions are stores. These stores leave nothing of the iteration before, so the zeros are dead.

The pass follows the elements that may be nonzero through the only block that has to do with the shadow, as a rectangle
(analysis/rectangles.py). A *phase* begins with a loop that adds once to each element of a rectangle, while all elements
are zero, and ends when all of them are zero again.

- The addition becomes a store if all elements are zero at the end of the block.
- The zeros go if, besides, nothing reads an element after its zero in the same phase, and each phase first stores into
  all elements in which the phase before has left something.

    if 0 < n:                            d_t[i] = sum
        d_t[i] += sum

That is how promote_accumulators.py adds a sum, which is zero if its loop has no iteration. It begins a phase, too, if
the zeros go: the element exists, since a zero was stored there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeGuard

from numba.core import types

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.rectangles import (
    Rectangle,
    are_apart,
    covers,
    difference,
    hull,
    is_invariant,
    touched,
)
from dualrev.compiler.analysis.ssa import Loop, Value, Versions
from dualrev.compiler.ir.core.atom_types import is_real_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Comparison, Constant, Expr, Node, Tree, Var
from dualrev.compiler.ir.core.nodes import (
    Block,
    Copy,
    Discrete,
    For,
    Function,
    Hold,
    If,
    Load,
    Make,
    Statement,
    Store,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, with_blocks, writes

__all__ = ["without_rezeroing"]

_Make: TypeAlias = Make | Hold | Copy

#: Step of a loop, and how its bounds compare if it has an iteration.
_BOUNDS = {(Constant(1, types.int64), "<"), (Constant(-1, types.int64), ">")}


def without_rezeroing(parameters: tuple[Tree, ...], *bodies: Block) -> list[Block]:
    """Elide the zeros in consecutive blocks of a function."""
    code = tuple(s for body in bodies for s in body)
    shadows = _shadows(code)
    if not shadows:
        return [*bodies]
    changes = _Changes()
    dependence = Dependence(Versions(Function("", parameters, code, Node(()), False)))
    for make in shadows:
        _Use(make, dependence).elide(code, changes)
    return [changes.made(body) for body in bodies]


@dataclass
class _Changes:
    """Additions that become stores, branches that such a store leaves, and zeros that go."""

    stores: set[Statement] = field(default_factory=set)
    branches: dict[If, Store] = field(default_factory=dict)
    zeros: set[Statement] = field(default_factory=set)

    def made(self, body: Block) -> Block:
        """The block after the changes."""
        if not self.stores:
            return body
        found: list[Statement] = []
        for s in body:
            if s in self.zeros:
                continue
            t = with_blocks(s, [self.made(block) for block in blocks(s)])
            if isinstance(t, Store) and s in self.stores:
                t = replace(t, op="=")
            if isinstance(s, If) and s in self.branches:
                found.append(replace(self.branches[s], op="="))
            elif t is s or any(blocks(t)) or not any(blocks(s)):
                found.append(t)  # a loop of nothing but zeros goes
        return tuple(found)


def _is_zero(s: Statement) -> TypeGuard[Store]:
    return isinstance(s, Store) and s.op == "=" and s.value == Constant(0.0)


def _shadows(code: Block) -> list[_Make]:
    """Statements that make a shadow, or rename one just made, whose elements are set to zero by that name alone."""
    zeroed = {s.array for s in statements(code) if isinstance(s, Store) and _is_zero(s)}
    if not zeroed:
        return []
    mentions = Counter[Atom]()  # but for elements
    for s in statements(code):
        found = {*reads(s), *writes(s)}
        mentions.update(found - {s.array} if isinstance(s, (Load, Store)) else found)
    accessed = {s.array for s in statements(code) if isinstance(s, (Load, Store))}
    made: list[_Make] = []
    for block in (code, *(b for s in statements(code) for b in blocks(s))):
        fresh: set[Var] = set()
        for s in block:
            match s:
                case Make(x, Applied("np.zeros_like")) if is_real_array(x) and x.type.layout in "CF":
                    fresh.add(x)
                    made.append(s)
                case Hold(y, x) | Copy(y, x) if x in fresh and mentions[x] == 2 and x not in accessed:
                    fresh.add(y)
                    made.append(s)
    return [s for s in made if s.target in zeroed and mentions[s.target] == 1]


@dataclass(frozen=True)
class _Event:
    """What a statement of the block does with elements of the shadow: "add" to them, "load" them, "clear" them.

    store      the first addition, if it alone comes first to each of the elements; the store of zeros
    branch     a branch around this addition, after which it may stand as well
    elements   None if they are not known
    """

    kind: str
    elements: Rectangle | None
    store: Store | None = None
    branch: If | None = None


class _Use:
    """The innermost block with all statements that have to do with a shadow, and the loops that share the shadow."""

    def __init__(self, make: _Make, dependence: Dependence) -> None:
        self.make, self.shadow = make, make.target
        self.dependence, self.versions = dependence, dependence.versions
        self.loops: list[Loop] = []
        self.block: list[Statement] = []  # what has to do with the shadow

    def elide(self, code: Block, changes: _Changes) -> None:
        """Enter the changes, if there are any."""
        phases = _Phases()
        if not self._find(code):
            return
        for s in self.block:
            event = self._event(s)
            if event is None or not phases.follow(event):
                return
        if not phases.firsts or (self.loops and phases.nonzero is not None):
            return
        dead = self._are_dead(phases)
        if phases.branches and (phases.nonzero is not None or not dead):
            return
        changes.stores |= {*phases.firsts}
        changes.zeros |= {*phases.zeros} if dead else set()
        changes.branches |= phases.branches

    def _find(self, block: Block) -> bool:
        """Descend to the block and enter what has to do with the shadow; whether the shadow is made around it."""
        shared = False
        while True:
            some = [s for s in block if self._mentions(s)]
            if not shared and some[0] is self.make:
                shared, some = True, some[1:]
            inner = [b for s in some for b in blocks(s) if any(map(self._mentions, b))]
            if len(some) != 1 or len(inner) != 1:
                self.block = some
                return shared
            (owner,), (block,) = some, inner
            if isinstance(owner, For) and owner.parallel:
                return False
            if shared and isinstance(owner, (For, While)):
                self.loops.append(owner)

    def _mentions(self, s: Statement) -> bool:
        return any(self.shadow in (*reads(t), *writes(t)) for t in statements((s,)))

    def _event(self, s: Statement) -> _Event | None:
        """The event of a statement of the block; None if it is of no known kind."""
        inner = [t for t in statements((s,)) if isinstance(t, (Load, Store)) and t.array is self.shadow]
        elements = [self._elements(t, s) for t in inner]
        stores = [t for t in inner if isinstance(t, Store)]
        whole = elements[0]
        for x in elements[1:]:
            whole = hull(whole, x) if whole is not None and x is not None else None
        if not stores:
            return _Event("load", whole)
        first = stores[0]
        if _is_zero(first):  # after loads of the same element
            alone = stores == inner[-1:] and all(self._is_same(t, first) for t in inner)
            alone = alone and self._is_certain(first, s) and elements[-1] is not None
            return _Event("clear", elements[-1], first) if alone else None
        if any(t.op not in ("+=", "-=") for t in stores):
            return None
        if inner != stores or first.op != "+=" or not all(self._is_same(t, first) for t in stores):
            return _Event("add", whole)
        if self._is_certain(first, s):
            return _Event("add", whole, first)
        branch = self._branch(first)
        is_first = branch is not None and self._is_certain(branch, s)
        return _Event("add", whole, first, branch) if is_first else _Event("add", whole)

    def _elements(self, t: Load | Store, s: Statement) -> Rectangle | None:
        """The elements that a statement inside of `s` touches there."""
        region = self.versions.region_of
        around = len(self.versions.enclosing_loops(region[s]))
        return touched(self.dependence, t, self.versions.enclosing_loops(region[t])[around:])

    def _is_same(self, a: Load | Store, b: Load | Store) -> bool:
        """Whether two statements stand in one block and touch one element there."""
        if self.versions.region_of[a] is not self.versions.region_of[b]:
            return False
        x, y = map(self.dependence.access, (a, b))
        return self.dependence.same_element(x, y) == "always"

    def _is_certain(self, t: Statement, s: Statement) -> bool:
        """Whether `s` certainly executes `t`, which only loops stand around there."""
        region = self.versions.region_of
        depth, around = (len(self.versions.enclosing_loops(region[x])) for x in (t, s))
        return region[t].nesting - region[s].nesting == depth - around

    def _branch(self, s: Store) -> If | None:
        """The branch that only adds a sum, if its loop has iterations; see promote_accumulators.py."""
        versions = self.versions
        branch = versions.region_of[s].owner
        if not isinstance(branch, If) or branch.then != (s,) or branch.orelse:
            return None
        total, test = self._read(s, s.value), self._read(branch, branch.test)
        if total is None or total.kind != "after" or not isinstance(total.statement, For) or test is None:
            return None
        loop = total.statement
        parts = versions.headers[loop][total.variable].parts
        match parts, test.statement:
            case [Value(statement=Copy(source=Constant(value=0.0))), _], Discrete(value=Comparison((symbol,), bounds)):
                same = bounds == (loop.start, loop.stop)
                same = same and all(self._read(test.statement, x) is self._read(loop, x) for x in bounds)
                return branch if same and (loop.step, symbol) in _BOUNDS else None
        return None

    def _read(self, s: Statement, x: Expr) -> Value | None:
        return self.versions.reads.get(s, {}).get(x) if isinstance(x, Var) else None

    def _are_dead(self, phases: _Phases) -> bool:
        """Whether no zero is read before the next phase stores into its element."""
        firsts, left = [*phases.firsts.values()], phases.left
        if self.loops:  # the first phase follows the last one
            firsts.append(firsts[0])
            parts = (*firsts, *left)
            if not all(is_invariant(self.dependence, x, self.loops[0]) for x in parts):
                return False
        return phases.dead and all(map(covers, firsts[1:], left))


class _Phases:
    """The phases of a shadow in a block that begins with zeros.

    nonzero   the elements that may be nonzero now; None: there are none
    firsts    the first additions of the phases, with the elements that they store into
    left      the elements that may be nonzero at any time in each phase
    branches  the conditions on some of these additions
    zeros     the stores of zeros
    dead      whether nothing that is loaded or added to depends on these stores
    """

    def __init__(self) -> None:
        self.nonzero: Rectangle | None = None
        self.firsts: dict[Store, Rectangle] = {}
        self.left: list[Rectangle] = []
        self.branches: dict[If, Store] = {}
        self.zeros: list[Store] = []
        self.dead = True
        self._cleared: list[Rectangle] = []  # in this phase

    def follow(self, event: _Event) -> bool:
        """Take the next event; False if it may leave elements that are not known."""
        if self.nonzero is None:
            if event.kind != "add":
                self.dead = False
                return True
            if event.store is None or event.elements is None:
                return False
            self.firsts[event.store] = self.nonzero = event.elements
            self.left.append(event.elements)
            if event.branch is not None:
                self.branches[event.branch] = event.store
            self._cleared = []
            return True
        self.dead = self.dead and self._is_apart(event.elements)
        if event.kind == "add":
            return self._add(event.elements)
        if event.kind == "clear" and event.elements is not None and event.store is not None:
            self.zeros.append(event.store)
            self._cleared.append(event.elements)
            self.nonzero = difference(self.nonzero, event.elements)
        return True

    def _is_apart(self, elements: Rectangle | None) -> bool:
        """Whether none of the elements has been set to zero in this phase."""
        return all(elements is not None and are_apart(elements, x) for x in self._cleared)

    def _add(self, elements: Rectangle | None) -> bool:
        if elements is None or self.nonzero is None:
            return False
        self.nonzero, left = hull(self.nonzero, elements), hull(self.left[-1], elements)
        if self.nonzero is None or left is None:
            return False
        self.left[-1] = left
        return True
