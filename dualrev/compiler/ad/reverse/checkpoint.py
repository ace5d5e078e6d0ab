"""Checkpointing (core -> core): the two sweeps for the call of a checkpointed function.

    y = g(x)            forward: g itself; of arrays that it writes, a copy goes to the tape
    d_x += ...          reverse: the forward sweep of g, which records, and then its reverse sweep

So the tape holds no more than the arguments of such a call, and what g records only while the call is reversed.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.reverse.adjoint import zeros_like
from dualrev.compiler.ad.reverse.call_pair import SweepPair
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Applied, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Accumulate, Block, Call, Function, Keep, Kept, Make, Store
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, renewed, several
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["Checkpoint", "call_and_keep", "copied"]


class Checkpoint:
    """Forward/reverse pair for the call of a checkpoint; `inner` is the pair that records."""

    def __init__(
        self,
        program: Program,
        memory: Memory,
        s: Call,
        flags: tuple[bool, ...],
        unit: SweepPair,
        inner: SweepPair,
        caller: Facts,
    ) -> None:
        self.program, self.s, self.unit, self.inner = program, s, unit, inner
        self.f = program.function(s)
        self.inputs = [x for p in self.f.parameters for x in leaves(p)]
        self.effects = memory.effects(s)
        written = [x for x, wrote in zip(self.inputs, self.effects.writes, strict=True) if wrote]
        self.copies = {x: Var("{}_given", copied(x.type), x) for x in written}
        self.moving = [x for x, flag in zip(self.inputs, flags, strict=True) if flag]
        self.shadows = [Var("d_{}", x.type, x) for x in self.moving if is_array(x)]
        self.results = leaves(s.result)
        self.arrays = [k for k, x in enumerate(self.results) if caller.has_shadow(x)]
        self.numbers = [k for k, x in enumerate(self.results) if caller.is_scalar(x)]
        self._check(caller.f)

    def _check(self, caller: Function) -> None:
        def refuse(why: str, instead: str) -> None:
            """Refuse the call at the user's line."""
            what = f"the call of {describe(self.f.origin.dispatcher.py_func)}, a checkpoint,"
            caller.origin.source.refuse(self.s.line, what, why, instead)

        if self.unit.recursive:
            refuse(
                "it calls itself, and numba finds no types for its derivative", "a loop: dr.checkpoint(step, loop=2)"
            )
        if any(self.effects.aliases[k] for k in self.arrays) or (self.effects.shared and self.arrays):
            why = "an array that it returns may share memory with an argument or another result"
            refuse(why, "a copy in its `return`, or nothing where it changes an argument")

    def define(self) -> None:
        """Define both functions and set the unit's calling convention."""
        every = range(len(self.inputs))
        primal = not self.arrays and not self.copies
        self.unit.finish(self.inner.uses_tape or bool(self.copies), primal, every, every)
        if not self.unit.primal_suffices:
            self._define_forward()
        self._define_reverse()

    def _define_forward(self) -> None:
        w = CoreBuilder()
        y = call_and_keep(w, self.s, self.f, self.copies)
        shadows = [zeros_like(w, leaves(y)[k], 0) for k in self.arrays]
        result = several([*leaves(y), *shadows])
        doc = f"{self.f.name}, and nothing on the tape."
        self._define(self.unit.forward, (*self.inputs, *self.shadows), tuple(w.out), result, doc)

    def _define_reverse(self) -> None:
        inner, w = self.inner, CoreBuilder()
        for copy in reversed(self.copies.values()):
            w.write(Kept(copy, 0))
        self._restore(w)
        again = [Var("again_{k}", x.type) if isinstance(x, Var) else x for x in self.results]
        shadows = {k: Var("d_again_{k}", self.results[k].type) for k in self.arrays}
        if not inner.primal_suffices:
            targets = tuple(x for x in [*again, *shadows.values()] if isinstance(x, Var))
            made = several([*again, *shadows.values()])
            w.write(Call(targets, inner.forward, (*self.inputs, *self.shadows), made, 0, inner.uses_tape, self.s))
        given: list[Var] = [*self.inputs, *self.shadows]
        args = [x for k, x in enumerate(self.inputs) if inner.needs(k)] + [*self.shadows]
        for k, shadow in shadows.items():
            given.append(Var(f"_d_result_{k}", shadow.type))
            w.write(Accumulate(shadow, "runtime.add_to", (given[-1],), 0))
            args += [*([again[k]] if inner.needs_result(k) else []), shadow]
        cts = [Var(f"d_result_{k}", types.float64) for k in self.numbers]
        back = tuple(Var("d_{}", types.float64, x) for x in self.moving if is_real(x))
        w.write(Call(back, inner.reverse, (*args, *cts), several([*back]), 0, inner.uses_tape, self.s))
        self._restore(w)
        doc = f"{self.f.name} again, on the tape, and what its arguments contribute to its results, backwards."
        self._define(self.unit.reverse, (*given, *cts), tuple(w.out), several([*back]), doc)

    def _restore(self, w: CoreBuilder) -> None:
        """Emit the stores that restore overwritten arrays from their copies."""
        for x, copy in self.copies.items():
            w.write(Store(x, (...,), copy, 0))

    def _define(self, symbol: Symbol, given: tuple[Tree, ...], body: Block, result: Tree, doc: str) -> None:
        made = replace(self.f, name=symbol.name, parameters=given, body=body, result=result, doc=doc)
        self.program.define(symbol, replace(made, tape=self.unit.uses_tape, again=False))


def call_and_keep(w: CoreBuilder, s: Call, f: Function, copies: dict[Var, Var]) -> Tree:
    """Emit the call of the primal, after copies of the arrays that it changes go to the tape; return its result."""
    for x, copy in copies.items():
        w.write(Make(copy, Applied("np.copy", (x,)), 0))
        w.write(Keep(copy, 0))
    y = renewed(s.result)
    w.write(Call(tuple(x for x in leaves(y) if isinstance(x, Var)), s.function, f.parameters, y, 0))
    return y


def copied(kind: NumbaType) -> NumbaType:
    """The type of an array's copy: in C order, unless the array is contiguous."""
    return kind if kind.layout in ("C", "F") else kind.copy(layout="C")
