"""Promote loop-invariant accumulations into a shadow to a register; one store after the loop.

Core -> core, in the reverse sweep:

    for k in range(n):              sum = 0.0
        d_x[i] += p * d_z           for k in range(n):
                                        sum = sum + p * d_z
                                    if 0 < n:
                                        d_x[i] += sum

An element in memory would have to be there before the next iteration adds to it: that takes twice as long as the sum.
It may stay out of memory as long as the loop does nothing with shadows in the same memory but add to them; whichever
elements these are, the order of sums is left open. The element need not exist if there is no iteration.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atoms import Atom, Comparison, Constant, Index, Var
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import reads, statements, writes
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["promote_accumulators"]

_STEPS = (Constant(1, types.int64), Constant(-1, types.int64))


def promote_accumulators(at: LoopContext, s: For) -> Block:
    """Accumulate in scalars what all iterations add to a loop-invariant element of a shadow."""
    wrote = {s.target} | {x for t in statements(s.body) for x in writes(t)}
    if s.step not in _STEPS or not wrote.isdisjoint((s.start, s.stop)):
        return (s,)
    shadows = at.shadows
    read = {
        x for t in statements(s.body) for x in reads(t) if isinstance(x, Var) and x in shadows and not _adds_to(t, x)
    }
    moved = {shadows[x] for x in read}
    sums: dict[tuple[Var, tuple[Index, ...]], Var] = {}
    body: list[Statement] = []
    after: list[Statement] = []
    for t in s.body:
        if isinstance(t, Store) and _adds_to(t, t.array) and shadows.get(t.array) not in {None, *moved}:
            place = replace(t, value=ZERO)
            if wrote.isdisjoint(reads(place)):
                element = t.array, t.index
                if element not in sums:
                    sums[element] = Var("sum_{k}", types.float64)
                    after.append(replace(t, value=sums[element]))
                total = sums[element]
                body.append(Real(total, PRIMITIVES["add"], "+", (total, t.value), t.line))
                continue
        body.append(t)
    if not sums:
        return (s,)
    zero = CoreBuilder(at.facts.f.marked).zero
    cleared = [Copy(total, zero, s.line) for total in sums.values()]
    some = Var("_", types.boolean)
    test = Comparison(("<" if s.step == Constant(1, types.int64) else ">",), (s.start, s.stop))
    return (*cleared, replace(s, body=tuple(body)), Discrete(some, test, s.line), If(some, tuple(after), (), s.line))


def _adds_to(s: Statement, x: Atom) -> bool:
    """Whether a statement is an accumulating store (`+=`) into the array `x`."""
    return isinstance(s, Store) and s.op == "+=" and s.array is x
