"""Phases of a kernel: data races on the arrays that the threads of a block share, between two barriers.

All threads of a block leave a barrier together, and none leaves the next one before all are there. So two threads race
only by accesses that both can reach from one barrier, without another barrier between:

    while s > 0:
        if i < s:                             thread j stores into [j] with j < s, while thread i loads [i + s]
            total[i] += total[i + s]
        cuda.syncthreads()                    here all of them are done
        s //= 2

Two accesses of a phase do not race if both load, or both add atomically. Else they have to have one index, which
depends on all coordinates of a thread in its block, or indices that are proven to differ: by what the tests around them
say, by 0 <= threadIdx.x < blockDim.x, and by common divisors of the coefficients.

If a loop leads from one access to the other, the integers that it changes may differ in both. All threads of a block
take one way at a test that is the same for all, so two of them do not race from both sides of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

from dualrev.compiler.analysis.ssa import Loop
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import Barrier, Block, For, If, Load, Statement, While
from dualrev.compiler.ir.core.traverse import blocks, statements
from dualrev.cuda.accesses import BLOCK, Access, Accesses, Coordinates
from dualrev.cuda.apart import are_apart
from dualrev.cuda.telling import coordinates, covers, fixed

__all__ = ["check_barriers", "check_shared", "said"]


class _Reached(NamedTuple):
    """How a statement is reached from a barrier.

    once, often    the loops that led on to a next iteration, once or more often
    sides          the sides that were taken at tests, in the last iteration of the loops around
    """

    barrier: Barrier | None  # None: from the beginning of the kernel
    once: frozenset[Loop] = frozenset()
    often: frozenset[Loop] = frozenset()
    sides: frozenset[tuple[If, int]] = frozenset()

    def again(self, s: Loop) -> _Reached:
        """The same after another iteration of a loop."""
        sides = frozenset(side for side in self.sides if side[0] not in statements((s,)))
        return _Reached(self.barrier, self.once | {s}, self.often | ({s} & self.once), sides)

    def by(self, s: If, side: int) -> _Reached:
        """The same on one side of a test."""
        return self._replace(sides=self.sides | {(s, side)})

    def later(self, other: _Reached, around: Callable[[Loop], list[Loop]]) -> frozenset[Loop]:
        """Loops of which this is one iteration later than the other one."""
        moved = self.once | other.once
        some = self.once - other.once - self.often
        return frozenset(s for s in some if moved.isdisjoint(around(s)))


def check_barriers(made: Accesses) -> None:
    """Raise UnsupportedError for a barrier that some threads of a block may not come to."""

    def check(body: Block, around: str) -> None:
        """Check the barriers of a block, below what `around` says."""
        for s in body:
            below = around
            match s:
                case Barrier() if around:
                    what = f"cuda.syncthreads() {around} that may differ between the threads of a block"
                    instead = "cuda.syncthreads() outside of it, and the test around what a thread does between"
                    made.source.refuse(s.line, what, "all threads of a block have to come to it", instead)
                case If() | For() | While() if made.varying.differs(s):
                    below = around or ("after or below a test" if isinstance(s, If) else "in a loop with an end")
            for inner in blocks(s):
                check(inner, below)

    check(made.f.body, "")


def check_shared(made: Accesses, x: Var, some: list[Access]) -> None:
    """Raise UnsupportedError for a race on an array that the threads of a block share."""
    reached, ways = _reached(made), _Ways(made)
    for a in some:
        if not a.known:
            what, why = f"an access to a part of {x}", "a branch or a loop chooses the part"
            made.source.refuse(a.s.line, what, why, f"{x} with all its indices, such as {x}[i, j] for row[j]")
        if a.kind == "atomic" and isinstance(a.s, Load):
            what, why = f"cuda.atomic.add to {x}, an array of ints that a block shares,", "it is not read yet"
            made.source.refuse(a.s.line, what, why, f"an array of floats for {x}")
    for a, b in itertools.combinations_with_replacement(some, 2):
        if {a.kind, b.kind} in ({"load"}, {"atomic"}):
            continue
        pairs = [
            (p, q)
            for p in reached[a.s]
            for q in reached[b.s]
            if p.barrier is q.barrier and not ways.exclude(a.s, p, b.s, q)
        ]
        for p, q in pairs:
            if not _are_apart(made, a, p, b, q):
                _refuse(made, x, a, b)


def _refuse(made: Accesses, x: Var, a: Access, b: Access) -> None:
    first, last = (a, b) if a.kind != "store" else (b, a)
    verb = {"load": "a load from", "store": "a store into", "atomic": "an atomic addition to"}
    if a is b:
        missing = made.asked - BLOCK - coordinates(made, [a]) - fixed(made, [a])
        why = f"threads that differ in {said(missing)} write to one element between two barriers"
        instead = f"cuda.atomic.add({x}, index, value) to add, or an index for each thread"
        made.source.refuse(a.s.line, f"a store into {x}", why, instead)
    what = f"{verb[first.kind]} {x}, into which line {last.s.line} stores,"
    why = "no barrier stands between, and another thread may access the same element"
    made.source.refuse(first.s.line, what, why, "cuda.syncthreads() between both")


def _are_apart(made: Accesses, a: Access, p: _Reached, b: Access, q: _Reached) -> bool:
    """Whether two threads of a block certainly access different elements, each reached as said."""
    loops = (p.once ^ q.once) | p.often | q.often
    if covers(made, [a, b], made.asked - BLOCK, loops):
        return True

    def around(s: Loop) -> list[Loop]:
        """Loops around a loop."""
        return made.versions.enclosing_loops(made.versions.region_of[s])

    later, earlier = p.later(q, around), q.later(p, around)
    return are_apart(made, a, b, loops, later) if later else are_apart(made, b, a, loops, earlier)


class _Ways:
    """Ways through a kernel that all threads of a block take together, by tests that are the same for all."""

    def __init__(self, made: Accesses) -> None:
        self.versions, self.varying = made.versions, made.varying

    def exclude(self, a: Statement, p: _Reached, b: Statement, q: _Reached) -> bool:
        """Whether no way from one barrier leads to both statements, each reached as said."""
        one, two = self._around(a), self._around(b)
        both = {s for s, side in p.sides if (s, 1 - side) in q.sides}
        return any(self._is_one_time(s, p, q) for s in both) or any(
            self._parts(s, a, p, b, q) or self._parts(s, b, q, a, p)
            for s in {**one, **two}
            if not self.varying.differs(s) and self._is_one_time(s, p, q)
        )

    def _around(self, s: Statement) -> dict[Statement, int]:
        """Branches and loops around a statement, each with the number of its block."""
        found: dict[Statement, int] = {}
        region = self.versions.region_of[s]
        while region.parent is not None and region.owner is not None:
            found[region.owner] = next(k for k in (0, 1) if self.versions.regions.get((region.owner, k)) is region)
            region = region.parent
        return found

    def _is_one_time(self, s: Statement, p: _Reached, q: _Reached) -> bool:
        """Whether both are reached in the same iteration of all loops around a statement."""
        loops = self.versions.enclosing_loops(self.versions.region_of[s])
        return all((x in p.once) == (x in q.once) and x not in p.often | q.often for x in loops)

    def _parts(self, s: Statement, a: Statement, p: _Reached, b: Statement, q: _Reached) -> bool:
        """Whether the ways part at a statement: to both sides of a test, or on in a loop and out of it before."""
        one, two = self._around(a).get(s), self._around(b).get(s)
        if one is None or isinstance(s, If):
            return two is not None and one is not None and one != two
        is_after = two is None and self.versions.extent[b][0] > self.versions.extent[s][1]
        is_test = isinstance(s, While) and one == 0
        on, out = ((s in of.once) + (s in of.often) for of in (p, q))  # iterations, 2 for more
        return is_after and not is_test and out <= on and out < 2


def _reached(made: Accesses) -> dict[Statement, set[_Reached]]:
    """For each statement, the barriers from which it is reached without another one between."""
    found: dict[Statement, set[_Reached]] = {}

    def visit(some: Block, state: set[_Reached]) -> set[_Reached]:
        """Visit a block; return how its end is reached."""
        for s in some:
            found.setdefault(s, set()).update(state)
            match s:
                case Barrier():
                    state = {_Reached(s)}
                case If() if not made.varying.differs(s) and any(isinstance(t, Barrier) for t in statements((s,))):
                    sides = [{of.by(s, k) for of in state} for k in (0, 1)]
                    state = visit(s.then, sides[0]) | visit(s.orelse, sides[1])
                case If():
                    state = visit(s.then, state) | visit(s.orelse, state)
                case For():
                    state = loop(s, (), state)
                case While():
                    state = loop(s, s.before, state)
        return state

    def loop(s: Loop, before: Block, state: set[_Reached]) -> set[_Reached]:
        """Visit a loop, as often as its iterations may reach statements in another way."""
        if made.runs(s):
            state = {of.again(s) for of in visit(s.body, visit(before, state))}
        while True:
            tested = visit(before, state)
            more = state | {of.again(s) for of in visit(s.body, tested)}
            if more == state:
                return tested
            state = more

    visit(made.f.body, {_Reached(None)})
    return found


def said(coordinates: Coordinates) -> str:
    """Name coordinates of a thread as CUDA does."""
    parts = (x.partition("_") for x in sorted(coordinates))
    return " and ".join(f"cuda.{part}Idx.{axis}" for part, _, axis in parts)
