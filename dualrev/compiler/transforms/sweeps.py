"""Core -> core, in reverse mode, the second half: both sweeps, with what goes from one to the other.

    forward sweep     the function as it is, which also makes shadows and records what the plan has chosen
    reverse sweep     the adjoint, with the values that it reads: taken from the tape, or computed again

A block pushes its values at its end, all together, and the reverse of the block takes them first: so whatever happens
in between, inner blocks and called functions included, has been taken from the tape before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numba.core import types

from dualrev.compiler.analyses.memory import given, is_array
from dualrev.compiler.analyses.versions import Loop, Region, Value
from dualrev.compiler.core.terms import (
    Applied,
    Atom,
    Block,
    Call,
    Constant,
    Copy,
    Discrete,
    Effect,
    For,
    Global,
    Hold,
    If,
    Keep,
    Kept,
    Load,
    Make,
    Node,
    Operator,
    Pop,
    Push,
    Real,
    Reserve,
    Statement,
    Store,
    Tree,
    Var,
    View,
    While,
    Whole,
    blocks,
    leaves,
    statements,
    substituted,
)
from dualrev.compiler.transforms.adjoint import Adjoint, Facts, shadow_of, zeros_like
from dualrev.compiler.transforms.needs import Needs
from dualrev.compiler.transforms.order import order_free
from dualrev.compiler.transforms.plan import Subject
from dualrev.compiler.transforms.writing import Writer

__all__ = ["Crossing", "ForwardSweep", "ReverseSweep"]

_I64 = types.int64
_ZERO, _ONE, _MINUS = Constant(0, _I64), Constant(1, _I64), Constant(-1, _I64)


class Crossing:
    """What crosses from the forward to the reverse sweep of a function, and what it is called in both."""

    def __init__(self, facts: Facts, adjoint: Adjoint, subject: Subject) -> None:
        self.facts, self.adjoint, self.joint, self.given = facts, adjoint, subject.joint, subject.given
        self.versions = facts.versions
        self.needs = Needs(facts, adjoint, subject)
        self.plan = self.needs.plan
        self.names: dict[Value, Var] = {}  # what values are called that the reverse sweep needs
        self.held: set[Value] = set()  # values whose variable changes while they are needed
        self._choose_names()
        self.recorded: dict[Region, list[Value]] = {}  # by the block that records them
        for v in sorted(self.plan.recorded, key=self.versions.order):
            region = v.region
            if isinstance(region.owner, While) and region is self.versions.regions[region.owner, 0]:
                region = self.versions.regions[region.owner, 1]
            self.recorded.setdefault(region, []).append(v)

    def _choose_names(self) -> None:
        """The variable for each value that the reverse sweep uses: its own, unless that is assigned again."""
        assigned: dict[Var, list[int]] = {}
        for v in self.versions.values:
            if v.kind in ("op", "counter"):
                assigned.setdefault(v.variable, []).append(v.position)
        plan = self.plan
        free = {v for v in self.needs.needs if v.kind == "param" or v in self.given}
        free |= {u for v in plan.again for u in plan.dependencies(v) if u.kind == "param" or u in self.given}
        if self.given:  # they may be later versions of parameters, which then have other names
            free |= set(self.versions.parameters.values())
        for v in sorted(plan.recorded | plan.again | plan.alive | free, key=self.versions.order):
            first, last = (0, self.versions.clock) if v.domain is None else self.versions.extent[v.domain]
            later = (p for p in assigned.get(v.variable, []) if p > v.position)
            if v.kind == "trips":
                self.names[v] = Var("trips_{k}", _I64)
            elif any(first <= p <= last for p in later):
                self.names[v] = Var("{}_{k}", v.variable.type, v.variable)
                if self.joint or (v.kind != "param" and v not in self.given):
                    self.held.add(v)
            else:
                self.names[v] = v.variable

    def name(self, v: Value) -> Var:
        """The variable of a value in the reverse sweep."""
        return self.names.get(v, v.variable)

    def shadow(self, v: Value) -> Var:
        """The shadow of an array in the reverse sweep."""
        return self.facts.cotangent(self.name(v))

    def words(self, recorded: list[Value]) -> tuple[Var, ...]:
        """Those of recorded values that are numbers."""
        return tuple(self.names[v] for v in recorded if not is_array(v.variable))

    def kept(self, v: Value) -> list[Var]:
        """What goes to the tape for an array that is recorded: it, its shadow, or both."""
        itself, shadow = self.needs.kept(v)
        return [self.names[v]] * itself + [self.shadow(v)] * shadow


class ForwardSweep(Writer):
    """The forward sweep: `body`. `slots` is how many arrays the tape holds, `held_classes` are their classes."""

    def __init__(self, crossing: Crossing) -> None:
        super().__init__()
        self.crossing, self.facts, self.versions = crossing, crossing.facts, crossing.versions
        self.slots = 0
        self.held_classes: set[Any] = set()
        arrays = [x for x in self.facts.parameters if is_array(x)]
        self._parameter_classes = {self.facts.classes.find(x) for x in arrays}
        for v in self.versions.parameters.values():
            self._hold_value(v, 0)
        self._block(self.versions.top)
        self.body = tuple(self.out)

    def _hold_value(self, v: Value, line: int) -> None:
        """A copy of a variable that will change while its value is still needed."""
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
        """What branches, or the last round of a loop, have left."""
        for v in made.values():
            self._hold_array(v, line)
            self._hold_value(v, line)

    def _array(self, s: Copy | View | Make | Whole) -> None:
        """An array, with its shadow; one that lives as long as the call goes to the tape."""
        v = self.versions.made[s][s.target]
        lent = isinstance(s, (Copy, View)) and self.facts.classes.find(s.target) in self._parameter_classes
        self._made(v, s, lent)
        if self.facts.has_shadow(s.target):
            shadow = self.facts.cotangent(s.target)
            self._made(v, shadow_of(s, shadow, self.facts.cotangent, lambda x: x), lent)

    def _made(self, v: Value, s: Any, lent: bool) -> None:
        if lent or not self._is_held(v):
            self.write(s)
        else:
            made = Var("_", s.target.type)
            self.write(replace(s, target=made))
            self._hold(v, s.target, made, s.line)

    def _is_held(self, v: Value) -> bool:
        """Whether an array goes to the tape, from which no exception loses it: it lives as long as the call."""
        return self.crossing.joint and v.domain is None and v in self.crossing.plan.alive

    def _hold(self, v: Value, target: Var, source: Var, line: int) -> None:
        self.write(Hold(target, source, self.slots, line))
        self.slots += 1
        self.held_classes.add(self.facts.classes.find(v.variable))

    def _hold_array(self, v: Value, line: int) -> None:
        """An array that a call has made, or a branch, or the last round of a loop, and its shadow."""
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
            self.write(replace(s, body=self._reserved(s, tuple(body))))
        self._after(self.versions.afters[s], s.line)

    def _reserved(self, s: For, body: Block) -> Block:
        """Make room before a loop for all that it records, so that it need not look. One that may end before looks."""
        inner = list(statements(body))
        loops = [t for t in inner if isinstance(t, (For, While))]
        pushes = [t for t in inner if isinstance(t, Push)]
        deep = any(isinstance(u, Push) for t in loops for block in blocks(t) for u in statements(block))
        ends = s.exits or any(isinstance(t, Effect) and t.raises for t in inner)
        if not pushes or deep or ends or any(isinstance(t, Call) and t.tape for t in inner):
            return body
        self.write(Reserve(tuple(t.values for t in pushes), s.start, s.stop, s.step, s.line))
        return _without_room(body)

    def _call(self, s: Call) -> None:
        unit = self.facts.callee(s, self.facts)
        if unit is None or unit.primal_suffices:
            self.write(s)
            return
        inputs = given(s)
        shadows = []
        for x in inputs:
            if self.facts.shares(x):
                shadows.append(zeros_like(self, x, s.line) if isinstance(x, Global) else self.facts.cotangent(x))
        made = tuple(self.facts.cotangent(t) for t in s.targets if self.facts.has_shadow(t))
        targets = (*s.targets, *made)
        parts: tuple[Tree, ...] = (*leaves(s.result), *made)
        result = parts[0] if len(parts) == 1 else Node(parts)
        self.write(Call(targets, unit.forward, (*inputs, *shadows), result, s.line, unit.uses_tape))
        for v in self.versions.made[s].values():
            self._hold_array(v, s.line)


def _without_room(body: Block) -> Block:
    """The statements with pushes that need not look whether there is room."""
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


@dataclass
class _Frame:
    """A loop that is being reversed, what goes before it, and how many scopes were open there."""

    loop: Loop
    before: list[Statement]
    scopes: int


class ReverseSweep(Writer):
    """The reverse sweep: `body`. `used` are the values that it needs as they are, not their shadows."""

    def __init__(self, crossing: Crossing) -> None:
        super().__init__()
        self.crossing, self.facts, self.versions = crossing, crossing.facts, crossing.versions
        self.adjoint, self.plan, self.needs = crossing.adjoint, crossing.plan, crossing.needs
        self.used: set[Value] = set()
        self._frames: list[_Frame] = []
        self._available: list[set[Value]] = [set()]
        self._block(self.adjoint.body, self.versions.top)
        self.body = tuple(self.out)

    # Values

    def _read(self, x: Any) -> Any:
        """What an atom of the adjoint is called; what is not there yet is computed before."""
        if x in self.adjoint.value_of:
            return self._value(self.adjoint.value_of[x])
        if x in self.adjoint.shadow_of:
            return self._value(self.adjoint.shadow_of[x], shadow=True)
        return x

    def _value(self, v: Value, shadow: bool = False) -> Var:
        if v.kind == "counter":
            return v.variable
        if not shadow:
            self.used.add(v)
        there = v.kind == "param" or v in self.crossing.given or v in self.plan.alive
        if not there and not any(v in some for some in self._available):
            assert v in self.plan.again, f"{v} is neither recorded nor computed again"
            self._compute_outside(v)
        return self.crossing.shadow(v) if shadow else self.crossing.name(v)

    def _compute_outside(self, v: Value) -> None:
        """Compute v here, or before the loops that do not change it."""
        depth = 0
        for frame in self._frames:
            if v.domain is None or not v.region.is_inside(frame.loop):
                break
            depth += 1
        if depth == len(self._frames):
            self._compute(v)
            return
        frame = self._frames[depth]
        outer = (self._frames, self._available)
        self._frames, self._available = self._frames[:depth], self._available[: frame.scopes]
        with self.into(frame.before):
            self._compute(v)
        self._frames, self._available = outer

    def _compute(self, v: Value) -> None:
        s, crossing = v.statement, self.crossing
        if v.kind == "header":
            self._compute_header(v)
            return

        def read(x: Any) -> Any:
            u = self.versions.reads[s].get(x) if isinstance(x, Var) else None
            return x if u is None else self._value(u)

        if isinstance(s, Call):
            made = self.versions.made[s]
            names = {t: crossing.names[u] if u in self.plan.again else Var("_", t.type) for t, u in made.items()}
            self.write(substituted(s, read, lambda x: names[x]))
            self._available[-1] |= {u for u in made.values() if u in self.plan.again}
            return
        if not is_array(v.variable) or v in self.needs.refs:
            self.write(_repeated(substituted(s, read, lambda _: crossing.names[v])))
        if v in self.needs.shadows and self.facts.has_shadow(v.variable):

            def shadow(x: Var) -> Var:
                return self._value(self.versions.at(s, x), shadow=True)

            def of_shadow(x: Any) -> Any:
                return crossing.names[v] if x is v.variable else read(x)

            self.write(_repeated(shadow_of(s, crossing.shadow(v), shadow, of_shadow)))
        self._available[-1].add(v)

    def _compute_header(self, v: Value) -> None:
        """A whole number that every iteration of a For changes by the same amount."""
        loop, (symbol, step) = v.statement, self.plan.linear[v]
        first = self._value(v.parts[0])
        rounds: Any = loop.target
        if loop.start != Constant(0):
            start = self.versions.reads[loop].get(loop.start) if isinstance(loop.start, Var) else None
            rounds = Operator("-", (rounds, loop.start if start is None else self._value(start)))
        if step != 1:
            rounds = Operator("*", (rounds, Constant(step, _I64)))
        self.write(Discrete(self.crossing.names[v], Operator(symbol, (first, rounds)), loop.line))
        self._available[-1].add(v)

    # Statements

    def _block(self, body: Block, region: Region) -> None:
        self._available.append(set())
        self._take(region)
        for s in body:
            if self.needs.is_live(s):
                self._statement(s)
        self._available.pop()

    def _take(self, region: Region) -> None:
        """Take from the tape what the block has recorded."""
        recorded = self.crossing.recorded.get(region, [])
        line = region.block[-1].line if region.block else 0
        for v in reversed(recorded):
            if is_array(v.variable):
                for x in reversed(self.crossing.kept(v)):
                    self.write(Kept(x, line))
        if words := self.crossing.words(recorded):
            self.write(Pop(words, line))
        self._available[-1] |= set(recorded)

    def _statement(self, s: Statement) -> None:
        source = self.adjoint.source.get(s)
        match s:
            case If():
                sides: list[list[Statement]] = [[], []]
                for k, (out, block) in enumerate(zip(sides, blocks(s), strict=True)):
                    with self.into(out):
                        self._block(block, self._region(source, k))
                self.write(If(self._read(s.test), tuple(sides[0]), tuple(sides[1]), s.line))
            case For() if isinstance(source, (For, While)):
                self._loop(s, source)
            case Store() if s in self.adjoint.undone:
                made = substituted(s, self._read)
                self.write(Pop((s.value,), s.line))  # type: ignore[arg-type]
                self.write(made)
            case _:
                self.write(substituted(s, self._read))

    def _region(self, source: Statement | None, k: int) -> Region:
        """The block of the function that a block of the adjoint reverses; a branch of a partial has none."""
        if isinstance(source, If):
            return self.versions.regions[source, k]
        return Region(None, None, (), None, 0)

    def _loop(self, s: For, source: Loop) -> None:
        frame = _Frame(source, [], len(self._available))
        self._frames.append(frame)
        region = self.versions.regions[source, int(isinstance(source, While))]
        chained = [v for v in self.plan.chained if v in self.plan.again and v.region is region]
        chained.sort(key=self.versions.order)
        names = self.crossing.names
        self._available.append(set(chained))
        code: list[Statement] = []
        with self.into(code):
            self._block(s.body, region)
            for v in chained:  # the start of this round is the end of the one before
                self.write(Copy(names[v], names[self.plan.chained[v]], s.line))
        self._available.pop()
        self._frames.pop()
        for v in chained:
            last = self._value(self.versions.afters[source][v.variable])
            if last is not names[v]:
                self.write(Copy(names[v], last, s.line))
        self.out.extend(frame.before)
        self._backwards(s, source, tuple(code))

    def _backwards(self, s: For, source: Loop, code: Block) -> None:
        """The loop, from its last round to its first: upwards only where the order of the rounds does not matter."""
        line = s.line
        if isinstance(source, While):
            self._down(s.target, self._read(s.stop), code, line)
            return
        start, step = self._read(s.start), self._read(s.step)
        if not source.exits and step == _ONE:
            stop = self._read(s.stop)
            if order_free(self.facts, source, code):
                self.write(For(s.target, start, stop, _ONE, code, (), line))
            else:
                last, low = self._less(stop, line), _MINUS if start == _ZERO else self._less(start, line)
                self.write(For(s.target, last, low, _MINUS, code, (), line))
            return
        if source.exits:
            count = self._read(s.stop)
        else:
            count = Var("_", _I64)
            self.write(Discrete(count, Applied("runtime.range_length", (start, self._read(s.stop), step)), line))
        if start == _ZERO and step == _ONE:
            self._down(s.target, count, code, line)
            return
        k = Var("_k{k}", _I64)
        place: Any = k if step == _ONE else Operator("*", (k, step))
        place = place if start == _ZERO else Operator("+", (start, place))
        self._down(k, count, (Discrete(s.target, place, line), *code), line)

    def _down(self, target: Var, count: Atom, code: Block, line: int) -> None:
        self.write(For(target, self._less(count, line), _MINUS, _MINUS, code, (), line))

    def _less(self, x: Atom, line: int) -> Atom:
        """x - 1"""
        if isinstance(x, Constant):
            return Constant(x.value - 1, _I64)
        made = Var("_", _I64)
        self.write(Discrete(made, Operator("-", (x, _ONE)), line))
        return made


def _repeated(s: Statement) -> Statement:
    """A statement that is executed once more: what it refuses has been refused."""
    match s:
        case Real():
            return replace(s, checked=False)
        case Discrete() | View():
            return replace(s, repeated=True)
    return s
