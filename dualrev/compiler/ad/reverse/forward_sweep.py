"""Forward sweep, or augmented primal (core -> core, in reverse mode).

That is the function as it is, which also makes shadows, and records what the plan has chosen.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.reverse.adjoint import shadow_of, zeros_like
from dualrev.compiler.ad.reverse.gradient_context import Callee, Fused
from dualrev.compiler.ad.tape_plan.residuals import Crossing
from dualrev.compiler.ad.tape_plan.tape_columns import Saved, filled, is_measured
from dualrev.compiler.analysis.memory.alias import Representative, given
from dualrev.compiler.analysis.ssa import Loop, Region, Value
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Global, Node, Operator, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Columns,
    Copy,
    Discrete,
    Effect,
    For,
    Hold,
    If,
    Keep,
    Load,
    Make,
    Push,
    Reserve,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.ir.core.traverse import blocks, leaves, statements

__all__ = ["ForwardSweep"]

_I64 = types.int64
_ZERO, _ONE, _MINUS = Constant(0, _I64), Constant(1, _I64), Constant(-1, _I64)


class ForwardSweep(CoreBuilder):
    """Writer of the forward sweep (augmented primal): `body`.

    `slots` is how many arrays the tape holds, and `held_classes` are their classes. `saved` are the columns of loops
    that have some (tape_columns.py).
    """

    def __init__(self, crossing: Crossing) -> None:
        super().__init__(crossing.facts.f.marked)
        self.crossing, self.facts, self.versions = crossing, crossing.facts, crossing.versions
        self.slots = 0
        self.saved: dict[For, Saved] = {}
        self.held_classes: set[Representative] = set()
        arrays = [x for x in self.facts.parameters if is_array(x)]
        self._parameter_classes = {self.facts.classes.find(x) for x in arrays}
        self.body: Block = ()

    def made(self) -> ForwardSweep:
        """Emit the forward sweep."""
        for v in self.versions.parameters.values():
            self._hold_value(v, 0)
        self._block(self.versions.top)
        self.body = tuple(self.out)
        return self

    def _hold_value(self, v: Value, line: int) -> None:
        """Emit a copy of a variable that is reassigned while its value is still needed."""
        if v in self.crossing.held:
            name = self.crossing.names[v]
            self.write(Copy(name, v.variable, line))
            if self.facts.has_shadow(v.variable):
                self.write(Copy(self.facts.cotangent(name), self.facts.cotangent(v.variable), line))

    def _block(self, region: Region) -> None:
        line = 0
        for s in region.block:
            line = s.line
            self._statement(s)
            for v in self.versions.made.get(s, {}).values():
                if not isinstance(s, For):
                    self._hold_value(v, s.line)
        recorded = self.crossing.recorded.get(region, [])
        if words := self.crossing.words(recorded):
            self.write(Push(words, line))
        for v in recorded:
            if is_array(v.variable):
                for x in self.crossing.kept(v):
                    self.write(Keep(x, line))

    def _inner(self, s: Statement, k: int) -> Block:
        out: list[Statement] = []
        with self.into(out):
            self._block(self.versions.regions[s, k])
        return tuple(out)

    def _statement(self, s: Statement) -> None:
        match s:
            case If():
                then, orelse = self._inner(s, 0), self._inner(s, 1)
                if then or orelse:
                    self.write(replace(s, then=then, orelse=orelse))
                self._after(self.versions.joins[s], s.line)
            case For() | While():
                self._loop(s)
            case Store():
                if s in self.crossing.needs.undone:
                    old = Var("_", s.array.type.dtype)
                    self.write(Load(old, s.array, s.index, s.line))
                    self.write(Push((old,), s.line))
                self.write(s)
            case Call():
                self._call(s)
            case Copy() | View() | Make() | Whole() if is_array(s.target):
                self._array(s)
            case _:
                self.write(s)

    def _after(self, made: dict[Var, Value], line: int) -> None:
        """Emit the holds and copies of the phis that a branch, or a loop at its end, defines."""
        for v in made.values():
            self._hold_array(v, line)
            self._hold_value(v, line)

    def _array(self, s: Copy | View | Make | Whole) -> None:
        """Emit an array and its shadow; the tape holds an array that lives as long as the call."""
        v = self.versions.made[s][s.target]
        lent = isinstance(s, (Copy, View)) and self.facts.classes.find(s.target) in self._parameter_classes
        self._made(v, s, lent)
        if self.facts.has_shadow(s.target) and not self.crossing.needs.is_late(s.target):
            shadow = self.facts.cotangent(s.target)
            self._made(v, shadow_of(self, s, shadow, self.facts.cotangent, lambda x: x), lent)

    def _made(self, v: Value, s: Copy | View | Make | Whole, lent: bool) -> None:
        if lent or not self._is_held(v):
            self.write(s)
        else:
            made = Var("_", s.target.type)
            self.write(replace(s, target=made))
            self._hold(v, s.target, made, s.line)

    def _is_held(self, v: Value) -> bool:
        """Whether the tape holds an array for the whole call, so that no exception loses it."""
        return self.crossing.joint and v.domain is None and v in self.crossing.plan.alive

    def _hold(self, v: Value, target: Var, source: Var, line: int) -> None:
        self.write(Hold(target, source, self.slots, line))
        self.slots += 1
        self.held_classes.add(self.facts.classes.find(v.variable))

    def _hold_array(self, v: Value, line: int) -> None:
        """Hold on the tape an array from a call, a branch or a loop, and its shadow."""
        if is_array(v.variable) and self._is_held(v):
            shadows = [self.facts.cotangent(v.variable)] * self.facts.has_shadow(v.variable)
            for x in [v.variable, *shadows]:
                self._hold(v, x, x, line)

    def _loop(self, s: Loop) -> None:
        trips = self.crossing.names.get(self.versions.trips[s])
        if trips is not None:
            self.write(Copy(trips, _ZERO, s.line))
        before: list[Statement] = []
        body: list[Statement] = []
        if isinstance(s, While):
            with self.into(before):
                for t in s.before:
                    self._statement(t)
        with self.into(body):
            for v in self.versions.headers[s].values():
                self._hold_value(v, s.line)
            for t in s.before if isinstance(s, While) else ():
                for v in self.versions.made.get(t, {}).values():
                    self._hold_value(v, s.line)
            if trips is not None:
                self.write(Discrete(trips, Operator("+", (trips, _ONE)), s.line))
            self._block(self.versions.regions[s, int(isinstance(s, While))])
        if isinstance(s, While):
            self.write(replace(s, before=tuple(before), body=tuple(body)))
        else:
            self._counted(s, tuple(body))
        self._after(self.versions.afters[s], s.line)

    def _counted(self, s: For, body: Block) -> None:
        """Emit a counted loop in its order, after its tape columns or the reservation of tape for its pushes."""
        if is_measured(s, body) and not any(map(self._uses_tape, statements(s.body))):
            columns, body, self.saved[s] = filled(s, body)
            self.write(columns)
        else:
            body = self._reserved(s, body)
        self.write(replace(s, body=body, parallel=False))

    def _uses_tape(self, s: Statement) -> bool:
        """Whether either function for a call uses the tape, such as the reverse function of a checkpoint."""
        unit = self.facts.callee(s, self.facts) if isinstance(s, Call) else None
        return unit is not None and not isinstance(unit, Fused) and unit.uses_tape

    def _reserved(self, s: For, body: Block) -> Block:
        """Reserve tape for all iterations; a loop with early exit checks for room at each push."""
        inner = list(statements(body))
        loops = [t for t in inner if isinstance(t, (For, While))]
        pushes = [t for t in inner if isinstance(t, Push)]
        deep = any(isinstance(u, Push) for t in loops for block in blocks(t) for u in statements(block))
        deep = deep or any(isinstance(t, Columns) for t in inner)
        ends = s.exits or any(isinstance(t, Effect) and t.raises for t in inner)
        if not pushes or deep or ends or any(isinstance(t, Call) and t.tape for t in inner):
            return body
        self.write(Reserve(tuple(t.values for t in pushes), s.start, s.stop, s.step, s.line))
        return _without_room(body)

    def _call(self, s: Call) -> None:
        unit = self.facts.callee(s, self.facts)
        if isinstance(unit, Fused):
            self.out += unit.statements
            return
        given_back: list[Var] = []
        primal = unit is None or unit.primal_suffices
        if primal:
            self.write(s)
        else:
            assert unit is not None
            given_back = self._forward(s, unit)
        for t, v in self.versions.made[s].items():
            if t not in given_back:  # also one that is drawn under the name of one that is differentiated
                self._new_shadow(t, s.line)
            if not primal or self.facts.has_shadow(t):
                self._hold_array(v, s.line)

    def _forward(self, s: Call, unit: Callee) -> list[Var]:
        """Emit the call of the augmented primal; return the targets whose shadows it makes."""
        inputs = given(s)
        shadows = []
        for k, x in enumerate(inputs):
            if self.facts.shares(x) and unit.takes_shadow(k):
                shadows.append(zeros_like(self, x, s.line) if isinstance(x, Global) else self.facts.cotangent(x))
        results = enumerate(leaves(s.result))
        given_back = [t for k, t in results if self.facts.has_shadow(t) and unit.gives_shadow(k)]
        made = tuple(map(self.facts.cotangent, given_back))
        parts: tuple[Tree, ...] = (*leaves(s.result), *made)
        result = parts[0] if len(parts) == 1 else Node(parts)
        self.write(Call((*s.targets, *made), unit.forward, (*inputs, *shadows), result, s.line, unit.uses_tape, s))
        return given_back

    def _new_shadow(self, x: Var, line: int) -> None:
        """Allocate the shadow of a new array from a call, unless the reverse sweep allocates it."""
        if self.facts.has_shadow(x) and not self.crossing.needs.is_late(x):
            self.write(Make(self.facts.cotangent(x), self.zeros_like(x), line))


def _without_room(body: Block) -> Block:
    """Drop the checks for tape room from the pushes of a block."""
    made: list[Statement] = []
    for s in body:
        match s:
            case Push():
                made.append(replace(s, room=False))
            case If():
                made.append(replace(s, then=_without_room(s.then), orelse=_without_room(s.orelse)))
            case _:
                made.append(s)
    return tuple(made)
