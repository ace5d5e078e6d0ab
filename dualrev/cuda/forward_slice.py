"""Slice of the forward sweep that a thread needs: dead code elimination in both sweeps of a kernel (core -> core).

The adjoint is launched for the cotangents alone. So the forward sweep computes only what the reverse sweep reads, and
stores into an array of the kernel only what a thread loads again. Both sweeps use one name for a value that the reverse
sweep computes again; here, they are two.

Threads run the same statements, and a barrier stands between a store and the load of another thread. So a load that may
follow the store in one thread stands for those of all threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from dualrev.compiler.ad.reverse.sweeps import Sweeps
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, contents
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Node, Var
from dualrev.compiler.ir.core.nodes import Barrier, Block, Effect, For, Function, Statement, Store, While
from dualrev.compiler.ir.core.traverse import blocks, rewritten, statements, substituted, with_blocks, writes
from dualrev.compiler.optimize.dead_code import without_dead_code
from dualrev.compiler.optimize.initial_values import exposed
from dualrev.cuda.prepare import without_barriers

__all__ = ["BETWEEN", "Needed"]

#: What stands between the sweeps.
BETWEEN = Effect("pass", (), False, 0)


class Needed:
    """Elimination for a kernel: its parameters, the arrays that a block shares, and those that are only added to."""

    def __init__(
        self, memory: Memory, parameters: Iterable[Var], shared: Collection[Var], added: Collection[Var]
    ) -> None:
        self.memory, self.shared = memory, shared
        self.arrays = [x for x in parameters if is_array(x)]
        self.added = [x for x in added if x not in shared]

    def of(self, sweeps: Sweeps, active: Iterable[Var]) -> Function:
        """Both sweeps as a function, BETWEEN between them."""
        facts = sweeps.facts
        shadows = tuple(facts.cotangent(x) for x in active if facts.has_shadow(x))
        parameters = (*(x for x in sweeps.f.parameters if isinstance(x, Var)), *shadows)
        forward, names = _renamed(sweeps.forward_body, sweeps.reverse_body, parameters)
        body = (*forward, BETWEEN, *sweeps.reverse_body)
        f = replace(sweeps.f, parameters=parameters, body=body, result=Node(()))
        before, count = 0, -1
        while before != count:
            f = without_dead_code(f, self.memory, [*self.arrays, *self.shared])
            f = replace(f, body=self._without_spent_stores(f))
            before, count = count, sum(1 for _ in statements(f.body))
        return self._without_idle_barriers(replace(f, body=_substituted(f.body, names)))

    def stored(self, f: Function) -> list[Var]:
        """Arrays of the kernel that a function stores into."""
        classes = Classes(f, self.memory)
        found = {classes.find(s.array) for s in statements(f.body) if isinstance(s, Store)}
        return [x for x in self.arrays if classes.find(x) in found]

    def _without_idle_barriers(self, f: Function) -> Function:
        """Leave out the barriers of the forward sweep, if it accesses no array that a block shares."""
        classes = Classes(f, self.memory)
        mine = {classes.find(x) for x in self.shared}
        count = f.body.index(BETWEEN)
        every = [s for s in statements(f.body[:count]) if not isinstance(s, Barrier)]
        if any(classes.find(x) in mine for s in every for x in (*contents(s), *self.memory.changed(s))):
            return f
        return replace(f, body=(*without_barriers(f.body[:count]), *f.body[count:]))

    def _without_spent_stores(self, f: Function) -> Block:
        """Leave out the stores into arrays of the kernel after which nothing of the same memory is loaded."""
        classes = Classes(f, self.memory)
        mine = {classes.find(x) for x in (*self.arrays, *self.shared)}
        stores: dict[Representative, list[_Place]] = {}
        loads: dict[Representative, list[_Place]] = {}
        for place, s in _placed(f.body):
            if isinstance(s, Store) and classes.find(s.array) in mine:
                stores.setdefault(classes.find(s.array), []).append(place)
            for x in contents(s) if not isinstance(s, Barrier) else ():
                loads.setdefault(classes.find(x), []).append(place)
        spent = {classes.find(x) for x in self.added}  # what is loaded to add to it, is not read
        for key, some in stores.items():
            if not any(_may_follow(load, store) for load in loads.get(key, ()) for store in some):
                spent.add(key)

        def kept(body: Block) -> Block:
            """Leave out stores in a block."""
            return tuple(
                with_blocks(s, map(kept, blocks(s)))
                for s in body
                if not (isinstance(s, Store) and classes.find(s.array) in spent)
            )

        return kept(f.body) if spent else f.body


def _renamed(forward: Block, reverse: Block, parameters: Iterable[Var]) -> tuple[Block, dict[Var, Var]]:
    """The forward sweep with other names for what the reverse sweep assigns before it reads it; and what they were."""
    both = {x for s in statements(reverse) for x in writes(s)} - {*exposed(reverse, {*parameters})}
    ends = {x for s in statements(forward) if isinstance(s, For | While) for x in s.exits}
    names = {x: replace(x) for s in statements(forward) for x in writes(s) if x in both - ends}
    return _substituted(forward, names), {new: old for old, new in names.items()}


def _substituted(body: Block, names: dict[Var, Var]) -> Block:
    def read(x: Atom) -> Atom:
        """The other name of a variable."""
        return names.get(x, x) if isinstance(x, Var) else x

    return rewritten(body, lambda s: s if s is BETWEEN else substituted(s, read, lambda x: names.get(x, x)))


#: Where a statement stands: how many stand before it, and the loops around it.
_Place = tuple[int, frozenset[Statement]]


def _placed(body: Block) -> Iterator[tuple[_Place, Statement]]:
    """Statements with their places, in program order."""
    count = 0

    def visit(some: Block, loops: frozenset[Statement]) -> Iterator[tuple[_Place, Statement]]:
        """Visit the statements of a block."""
        nonlocal count
        for s in some:
            count += 1
            yield (count, loops), s
            inside = loops | {s} if isinstance(s, For | While) else loops
            for inner in blocks(s):
                yield from visit(inner, inside)

    yield from visit(body, frozenset())


def _may_follow(load: _Place, store: _Place) -> bool:
    """Whether a thread may run a statement after another one."""
    return load[0] > store[0] or not load[1].isdisjoint(store[1])
