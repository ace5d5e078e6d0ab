"""Sink shadow stores below later loads (core -> core, in the reverse sweep).

    d_y[i] = d_a                    d_1 = d_a
    _1 = x[i]                       _1 = x[i]
    d_a = _1 * d_b                  d_a = _1 * d_b
                                    d_y[i] = d_1

The memory of a shadow belongs to no other array, but LLVM does not know that: a load after a store has to wait for it.
And a number that goes from iteration to iteration can stand in a vector only if the next one is there before anything
is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dualrev.compiler.analysis.memory.alias import Representative
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import reads, statements, writes

__all__ = ["sink_stores"]


def sink_stores(at: LoopContext, loop: For) -> Block:
    """Sink the shadow stores of a reversed loop below the loads that follow them."""
    after: list[_Placed] = []
    for s in reversed(loop.body):
        here = _Placed.of(s)
        if not (isinstance(s, Store) and s.array in at.shadows) or is_array(s.value):
            after.insert(0, here)
            continue
        count = _passed(s, after, at.shadows)
        passed = after[:count]
        if not any(isinstance(t.statement, Load) for t in passed):
            after.insert(0, here)
        elif any(s.value in t.written for t in passed):
            kept = Var("d_{k}", s.array.type.dtype)
            copied, stored = Copy(kept, s.value, s.line), replace(s, value=kept)
            after[:count] = [_Placed.of(copied), *passed, _Placed.of(stored)]
        else:
            after[:count] = [*passed, here]
    return (replace(loop, body=tuple(t.statement for t in after)),)


@dataclass(frozen=True)
class _Placed:
    """A statement with the variables that it writes, blocks included, and whether it is scalar code only."""

    statement: Statement
    written: frozenset[Var]
    is_of_numbers: bool

    @staticmethod
    def of(s: Statement) -> _Placed:
        """Describe a statement."""
        inner = list(statements((s,)))
        written = frozenset(x for t in inner for x in writes(t))
        scalar = all(isinstance(t, (Real, Copy, Discrete, If)) for t in inner)
        return _Placed(s, written, scalar and not any(is_array(x) for t in inner for x in [*reads(t), *writes(t)]))


def _passed(s: Store, after: list[_Placed], shadows: dict[Var, Representative]) -> int:
    """Count the following statements that a shadow store may sink below."""
    place = set(reads(s)) - {s.value}
    for k, here in enumerate(after):
        t = here.statement
        apart = isinstance(t, (Load, Store)) and t.array not in shadows
        apart |= isinstance(t, Load) and isinstance(t.array, Var) and shadows.get(t.array) != shadows[s.array]
        if not (apart or here.is_of_numbers) or not place.isdisjoint(here.written):
            return k
    return len(after)
