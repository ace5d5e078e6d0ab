"""Reverse sweep (core -> core, in reverse mode).

That is the adjoint (adjoint.py), with the values that it reads: taken from the tape, or computed again.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.ad.reverse.adjoint import shadow_of
from dualrev.compiler.ad.tape_plan.residuals import Crossing
from dualrev.compiler.ad.tape_plan.tape_columns import Saved, read_back
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.analysis.ssa import Loop, Region, Value
from dualrev.compiler.analysis.values.induction import length
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Expr, Operator, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Columns,
    Copy,
    Discrete,
    For,
    If,
    Kept,
    Make,
    Pop,
    Real,
    Statement,
    Store,
    View,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, substituted
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.loop_direction import moved

__all__ = ["ReverseSweep"]

_I64 = types.int64
_ZERO, _ONE, _MINUS = Constant(0, _I64), Constant(1, _I64), Constant(-1, _I64)


@dataclass
class _Frame:
    """A loop that is being reversed: its counter, the statements hoisted before it, and its scope depth."""

    loop: Loop
    rounds: Var
    before: list[Statement]
    scopes: int


class ReverseSweep(CoreBuilder):
    """Writer of the reverse sweep: `body`. `used` are the values that it needs themselves, not only their shadows.

    `saved` are the columns that loops have filled in the forward sweep.
    """

    def __init__(self, crossing: Crossing, saved: dict[For, Saved], passes: PassManager) -> None:
        super().__init__(crossing.facts.f.marked)
        self.saved, self.passes = saved, passes
        self.crossing, self.facts, self.versions = crossing, crossing.facts, crossing.versions
        self.adjoint, self.plan, self.needs = crossing.adjoint, crossing.plan, crossing.needs
        self.used: set[Value] = set()
        self._frames: list[_Frame] = []
        self._available: list[set[Value]] = [set()]
        self.body: Block = ()

    def made(self) -> ReverseSweep:
        """Emit the reverse sweep."""
        self._block(self.adjoint.body, self.versions.top)
        self.body = tuple(self.out)
        return self

    # Values

    def _read(self, x: Atom) -> Atom:
        """The name of an adjoint's atom in the reverse sweep; an unavailable value is recomputed first."""
        if not isinstance(x, Var):
            return x
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
        """Recompute a value, hoisted out of the loops in which it is invariant."""
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
        if v in self.plan.linear:
            self._compute_progression(v)
            return
        if v.kind == "join":
            self._compute_branch(v)
            return

        def read(x: Atom) -> Atom:
            """An operand in the reverse sweep."""
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
                """The shadow of an operand in the reverse sweep."""
                return self._value(self.versions.at(s, x), shadow=True)

            def of_shadow(x: Atom) -> Atom:
                """An atom of the statement that makes the shadow, in the reverse sweep."""
                return crossing.names[v] if x is v.variable else read(x)

            self.write(_repeated(shadow_of(self, s, crossing.shadow(v), shadow, of_shadow)))
        self._available[-1].add(v)

    def _compute_progression(self, v: Value) -> None:
        """Recompute an induction variable by its closed form, from the number of iterations that have run."""
        loop: Loop = v.statement
        start: Expr = _ZERO
        if isinstance(loop, For):
            reads = self.versions.reads[loop]
            start, stop = (
                self._value(reads[x]) if isinstance(x, Var) and x in reads else x for x in (loop.start, loop.stop)
            )
        if v.kind == "header":
            rounds: Expr = next(frame.rounds for frame in self._frames if frame.loop is loop)
            rounds = rounds if start == _ZERO else Operator("-", (rounds, start))
        else:
            rounds = length(start, stop) if isinstance(loop, For) else self._value(self.versions.trips[loop])
        value = self.plan.linear[v].after(rounds, start, self._value)
        self.write(Discrete(self.crossing.names[v], value, loop.line))
        self._available[-1].add(v)

    def _compute_branch(self, v: Value) -> None:
        """Rematerialise the `if` that defines a phi, with fresh variables (recompute_branches.py)."""
        whole: If = v.statement
        own: dict[Var, Var] = {v.variable: self.crossing.names[v]}
        for u in self.plan.dependencies(v):
            self._value(u)  # before the branch

        def inside(x: Var) -> Var:
            """The fresh variable for a variable of the branch."""
            return own.setdefault(x, Var("_", x.type))

        def named(u: Value) -> Var:
            """The variable of a value, defined inside or outside of the branch."""
            return inside(u.variable) if u.region.is_inside(whole) else self._value(u)

        def read(t: Statement, x: Atom) -> Atom:
            """An operand of a statement of the branch, in the reverse sweep."""
            u = self.versions.reads[t].get(x) if isinstance(x, Var) else None
            return x if u is None else named(u)

        def again(s: If, left: dict[Value, Var]) -> If:
            """A copy of an `if` with fresh variables; `left` are the targets of its phis."""
            sides: list[list[Statement]] = []
            for k, block in enumerate(blocks(s)):
                out: list[Statement] = []
                for t in block:
                    if isinstance(t, If):
                        out.append(again(t, {u: inside(u.variable) for u in self.versions.joins[t].values()}))
                    else:
                        out.append(_repeated(substituted(t, functools.partial(read, t), inside)))
                copies = [(target, named(u.parts[k])) for u, target in left.items()]
                out += [Copy(target, x, s.line) for target, x in copies if x is not target]
                sides.append(out)
            return replace(s, test=read(s, s.test), then=tuple(sides[0]), orelse=tuple(sides[1]))

        self.write(again(whole, {v: self.crossing.names[v]}))
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
        """Pop the residuals that a block has recorded; allocate lazy shadows of its arrays."""
        recorded = self.crossing.recorded.get(region, [])
        line = region.block[-1].line if region.block else 0
        for v in reversed(recorded):
            if is_array(v.variable):
                for x in reversed(self.crossing.kept(v)):
                    self.write(Kept(x, line))
                if self.needs.is_late(v.variable) and v in self.needs.shadows:
                    zeros = self.zeros_like(self.crossing.names[v])
                    self.write(Make(self.crossing.shadow(v), zeros, line))
        if words := self.crossing.words(recorded):
            self.write(Pop(words, line))
        self._available[-1] |= set(recorded)
        for v in self.needs.late.values():
            if v.region is region and v in self.plan.again:  # once: what adds to its shadow may stand in several blocks
                self._value(v, shadow=v in self.needs.shadows)

    def _statement(self, s: Statement) -> None:
        source = self.adjoint.source.get(s)
        match s:
            case If():
                test = self._read(s.test)  # first: what it computes again is there for both sides
                sides: list[list[Statement]] = [[], []]
                for k, (out, block) in enumerate(zip(sides, blocks(s), strict=True)):
                    with self.into(out):
                        self._block(block, self._region(source, k))
                self.write(If(test, tuple(sides[0]), tuple(sides[1]), s.line))
            case For() if isinstance(source, (For, While)):
                self._loop(s, source)
            case Store() if s in self.adjoint.undone:
                made = substituted(s, self._read)
                self.write(Pop((s.value,), s.line))  # type: ignore[arg-type]
                self.write(made)
            case _:
                self.write(substituted(s, self._read))

    def _region(self, source: Statement | None, k: int) -> Region:
        """The region of the function that a block of the adjoint reverses; a branch of a partial has none."""
        if isinstance(source, If):
            return self.versions.regions[source, k]
        return Region(None, None, (), None, 0)

    def _loop(self, s: For, source: Loop) -> None:
        frame = _Frame(source, s.target, [], len(self._available))
        self._frames.append(frame)
        region = self.versions.regions[source, int(isinstance(source, While))]
        chained = [v for v in self.plan.chained if v in self.plan.again and v.region is region]
        chained.sort(key=self.versions.order)
        names = self.crossing.names
        self._available.append(set(chained))
        code: list[Statement] = []
        with self.into(code):
            self._block(s.body, region)
            for v in chained:  # the start of this iteration is the end of the one before
                self.write(Copy(names[v], names[self.plan.chained[v]], s.line))
        self._available.pop()
        self._frames.pop()
        for v in chained:
            last = self._value(self.versions.afters[source][v.variable])
            if last is not names[v]:
                self.write(Copy(names[v], last, s.line))
        self.out.extend(frame.before)
        if isinstance(source, For) and source in self.saved:
            self._backwards(s, source, self._taken(s, tuple(code), self.saved[source]))
        else:
            self._backwards(s, source, tuple(code))

    def _taken(self, s: For, code: Block, saved: Saved) -> Block:
        """Emit the columns of a loop, taken from the tape before it; return its body with loads from them."""
        here = replace(s, start=self._read(s.start), stop=self._read(s.stop), step=self._read(s.step))
        every = tuple(a for columns in saved for a in columns)
        self.write(Columns(every, here.start, here.stop, here.step, s.line, taken=True))
        return read_back(here, code, saved)

    def _backwards(self, s: For, source: Loop, code: Block) -> None:
        """Emit a reversed loop: descending, unless its iterations may come in any order."""
        line = s.line
        if isinstance(source, While):
            self._down(s.target, self._read(s.stop), code, line)
            return
        start, step = self._read(s.start), self._read(s.step)
        if not source.exits and step == _ONE:
            stop = self._read(s.stop)
            self._optimised(For(s.target, start, stop, _ONE, code, (), line, elements=source.elements), source)
            return
        if not source.exits and step == _MINUS:
            first, end = self._moved(self._read(s.stop), 1, line), self._moved(start, 1, line)
            self._optimised(For(s.target, first, end, _ONE, code, (), line, elements=source.elements))
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
        place: Expr = k if step == _ONE else Operator("*", (k, step))
        place = place if start == _ZERO else Operator("+", (start, place))
        self._down(k, count, (Discrete(s.target, place, line), *code), line)

    def _optimised(self, s: For, undirected: Loop | None = None) -> None:
        """Emit a reversed loop after the loop passes; `undirected` is its source if they choose its direction."""
        self.out += self.passes.run_on_loop("loops", LoopContext(self.facts, undirected), s)

    def _down(self, target: Var, count: Atom, code: Block, line: int) -> None:
        self._optimised(For(target, self._moved(count, -1, line), _MINUS, _MINUS, code, (), line))

    def _moved(self, x: Atom, by: int, line: int) -> Atom:
        """Emit `x + 1` or `x - 1`."""
        made, before = moved(x, by, line)
        self.out += before
        return made


def _repeated(s: Statement) -> Statement:
    """Mark a statement as recomputed: its checks have passed in the forward sweep."""
    match s:
        case Real():
            return replace(s, checked=False)
        case Discrete() | View():
            return replace(s, repeated=True)
    return s
