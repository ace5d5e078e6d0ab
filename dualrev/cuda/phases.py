"""Data races on the arrays that the threads of a block share, in each phase of a kernel: between two barriers.

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
from dualrev.cuda.disjoint_accesses import are_apart
from dualrev.cuda.distinct_indices import coordinates, covers, fixed

__all__ = ["check_barriers", "check_shared", "said"]


#: A branch or a loop, which loops had led on to a next iteration then, and the side that was taken.
_Way = tuple[Statement, tuple[bool, ...], int]


class _Reached(NamedTuple):
    """How a statement is reached from a barrier.

    once, often    the loops that led on to a next iteration, once or more often
    ways           the ways that were taken at tests
    """

    barrier: Barrier | None  # None: from the beginning of the kernel
    once: frozenset[Loop] = frozenset()
    often: frozenset[Loop] = frozenset()
    ways: frozenset[_Way] = frozenset()

    def again(self, s: Loop) -> _Reached:
        """The same after another iteration of a loop."""
        return self._replace(once=self.once | {s}, often=self.often | ({s} & self.once))

    def by(self, s: If | Loop, side: int, around: list[Loop]) -> _Reached:
        """The same on one side of a test, or in a next iteration of a loop (side 0), or after the loop."""
        loops = [*around, s]
        if any(x in self.often for x in loops):
            return self
        return self._replace(ways=self.ways | {(s, tuple(x in self.once for x in loops), side)})

    def parts_from(self, other: _Reached) -> bool:
        """Whether threads took different ways at one time."""
        return any((s, at, 1 - side) in other.ways for s, at, side in self.ways)

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
            what, why = f"an access to {x} or a part of it", "a branch or a loop chooses the array or the part"
            instead = f"{x} with all its indices, such as {x}[k, i] where k chooses, and one array in place of two"
            made.source.refuse(a.s.line, what, why, instead)
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
    instead = "cuda.syncthreads() between both"
    tests = [s for s in made.around(a.s) if s in made.around(b.s) and made.varying.differs(s)]
    if tests:
        instead += f", outside of the test in line {tests[-1].line}: load into a variable before, and store after it"
    made.source.refuse(first.s.line, what, why, instead)


def _are_apart(made: Accesses, a: Access, p: _Reached, b: Access, q: _Reached) -> bool:
    """Whether two threads of a block certainly access different elements, each reached as said."""
    loops = (p.once ^ q.once) | p.often | q.often
    if covers(made, [a, b], made.asked - BLOCK, loops):
        return True
    later, earlier = p.later(q, made.loops_around), q.later(p, made.loops_around)
    return are_apart(made, a, b, loops, later) if later else are_apart(made, b, a, loops, earlier)


class _Ways:
    """Ways through a kernel that all threads of a block take together, by tests that are the same for all."""

    def __init__(self, made: Accesses) -> None:
        self.made, self.versions, self.varying = made, made.versions, made.varying

    def exclude(self, a: Statement, p: _Reached, b: Statement, q: _Reached) -> bool:
        """Whether no way from one barrier leads to both statements, each reached as said."""
        one, two = self.made.around(a), self.made.around(b)
        return p.parts_from(q) or any(
            self._parts(s, a, p, b, q) or self._parts(s, b, q, a, p)
            for s in {**one, **two}
            if not self.varying.differs(s) and self._is_one_time(s, p, q)
        )

    def _is_one_time(self, s: Statement, p: _Reached, q: _Reached) -> bool:
        """Whether both are reached in the same iteration of all loops around a statement."""
        return all((x in p.once) == (x in q.once) and x not in p.often | q.often for x in self.made.loops_around(s))

    def _parts(self, s: If | Loop, a: Statement, p: _Reached, b: Statement, q: _Reached) -> bool:
        """Whether the ways part at a statement: to both sides of a test, or on in a loop and out of it before."""
        one, two = self.made.around(a).get(s), self.made.around(b).get(s)
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
                case If():
                    state = visit(s.then, sided(s, 0, state)) | visit(s.orelse, sided(s, 1, state))
                case For():
                    state = loop(s, (), state)
                case While():
                    state = loop(s, s.before, state)
        return state

    def sided(s: If | Loop, side: int, state: set[_Reached]) -> set[_Reached]:
        """Note the side of a test, if it is the same for all threads, and barriers stand below it."""
        if made.varying.differs(s) or not any(isinstance(t, Barrier) for t in statements((s,))):
            return state
        return {of.by(s, side, made.loops_around(s)) for of in state}

    def loop(s: Loop, before: Block, state: set[_Reached]) -> set[_Reached]:
        """Visit a loop, as often as its iterations may reach statements in another way."""
        if made.runs(s):
            state = {of.again(s) for of in visit(s.body, sided(s, 0, visit(before, state)))}
        while True:
            tested = visit(before, state)
            more = state | {of.again(s) for of in visit(s.body, sided(s, 0, tested))}
            if more == state:
                return sided(s, 1, tested)
            state = more

    visit(made.f.body, {_Reached(None)})
    return found


def said(coordinates: Coordinates) -> str:
    """Name coordinates of a thread as CUDA does."""
    parts = (x.partition("_") for x in sorted(coordinates))
    return " and ".join(f"cuda.{part}Idx.{axis}" for part, _, axis in parts)
