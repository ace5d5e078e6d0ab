"""Reverse mode of parallel loops with tape columns (core -> core): both sweeps run in threads.

    for i in prange(n):           forward    for i in prange(n):             reverse    for i in prange(n):
        y = exp(a[k[i]])                         y = exp(a[k[i]])                           y = saved[i]
        b[q[i]] += y                             b[q[i]] += y                               d_a[k[i]] += y * d_b[q[i]]
                                                 saved[i] = y

The functions are those for any other call (ad/reverse/call_pair.py), whose loops run in threads. So no iteration is run
a second time, as reverse_by_recompute.py has it. That is done if the numbers stand in columns
(ad/tape_plan/tape_columns.py), of which each iteration has elements of its own, and if the reversed iterations leave
one another alone, too (dependence.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.reverse.call_pair import CallPair
from dualrev.compiler.ad.reverse.sweeps import uses_tape
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Constant, Operator, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Columns, Discrete, For, Function, Hold, Reserve, While
from dualrev.compiler.ir.core.traverse import statements
from dualrev.compiler.parallel.dependence import sharing
from dualrev.compiler.parallel.outline import loop_of

__all__ = ["WORDS", "RecordedPair"]

WORDS = 4  # of an iteration: more of them cost more memory than they are worth


class RecordedPair(CallPair):
    """Forward/reverse pair for a call of a parallel loop, with tape columns."""

    def in_threads(self, memory: Memory) -> bool:
        """Define both functions if their loops can run in threads; else define neither and return False."""
        self.made: dict[Symbol, Function] = {}
        self.define()
        if self.unit.recursive or not all(self._is_parallel(f, memory) for f in self.made.values()):
            return False
        for symbol, f in self.made.items():
            self.program.define(symbol, f)
        return True

    def _define(self, symbol: Symbol, given: tuple[Tree, ...], body: Block, result: Tree, doc: str) -> None:
        made = tuple(t for s in body for t in (_upwards(s) if isinstance(s, For) else (s,)))
        f = replace(self.f, name=symbol.name, parameters=given, body=made, result=result, doc=doc)
        self.made[symbol] = replace(f, tape=self.unit.uses_tape, together=tuple(self._together()))

    def _together(self) -> Iterable[tuple[Var, ...]]:
        """May-alias groups by the names of both functions, and the groups of their shadows."""
        facts = self.facts
        parameters = facts.versions.parameters
        for some in self.f.together:
            names = {x: self.crossing.name(parameters[x]) for x in some if x in parameters and is_array(x)}
            yield tuple(dict.fromkeys((*some, *names.values())))
            moving = [x for x in names if x in self.moving]
            yield tuple(dict.fromkeys(facts.cotangent(y) for x in moving for y in (x, names[x])))

    def _is_parallel(self, f: Function, memory: Memory) -> bool:
        loop, few = loop_of(f), sum(len(s.targets) for s in f.body if isinstance(s, Columns)) <= WORDS
        alone = sum(isinstance(s, (For, While)) for s in f.body) == 1
        if loop is None or not alone or not few:
            return False
        if uses_tape(loop.body) or any(isinstance(s, (Hold, Reserve)) for s in statements(f.body)):
            return False
        return sharing(f, loop, memory) is not None


def _upwards(s: For) -> Block:
    """The parallel loop with an ascending counter."""
    if s.step != Constant(-1):
        return (replace(s, parallel=True),)
    w = CoreBuilder()
    start, stop = _after(w, s.stop, s.line), _after(w, s.start, s.line)
    return (*w.out, replace(s, start=start, stop=stop, step=Constant(1, types.int64), parallel=True))


def _after(w: CoreBuilder, x: Atom, line: int) -> Atom:
    """Emit `x + 1`."""
    if isinstance(x, Constant):
        return Constant(x.value + 1, types.int64)
    made = Var("_", types.int64)
    w.write(Discrete(made, Operator("+", (x, Constant(1, types.int64))), line))
    return made
