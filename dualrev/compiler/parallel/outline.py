"""Outline `prange` loops as functions (core -> core), where their iterations may run in several threads.

    s = 0.0                                 s = 0.0
    for i in prange(n):                     s = f_rounds(n, a, s)
        s += a[i] * a[i]

So every transformation sees a call, of a function that holds a loop: forward mode gives that loop tangents, reverse
mode has two functions for the call (reverse_by_recompute.py), and emission runs it in threads
(codegen/parallel_loops.py).

A loop stays where it is, and runs in one thread, if numba runs it so, too (it may end early: return, raise, assert), or
if it is not certain that its iterations leave one another alone. What it means is what the iterations do one after
another. If numba computes something else than that, as with a variable that an iteration takes over from another one,
it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from numba.core import types

from dualrev.compiler.analysis.determinism import draws_anew
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.ssa import Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Index, Operator, Symbol, Tree, Var
from dualrev.compiler.ir.core.nodes import Block, Call, Copy, Discrete, Effect, For, Function, Real, Statement
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import blocks, parts, reads, rewritten, several, statements, with_blocks, writes
from dualrev.compiler.parallel.chunk_reductions import in_chunks
from dualrev.compiler.parallel.dependence import sharing
from dualrev.compiler.parallel.recognize_reductions import total_of

__all__ = ["loop_of", "outlined"]


def loop_of(f: Function) -> For | None:
    """The parallel loop of an outlined function; None for other functions."""
    return next((s for s in f.body if isinstance(s, For) and s.parallel), None)


def outlined(f: Function, program: Program, memory: Memory) -> Function:
    """Outline the parallel loops of a function: calls stand in their place."""
    if not any(isinstance(s, For) and s.parallel for s in statements(f.body)):
        return f
    return replace(f, body=_Outlining(f, program, memory).block(f.body))


class _Outlining:
    def __init__(self, f: Function, program: Program, memory: Memory) -> None:
        self.f, self.program, self.memory = f, program, memory
        self.versions, self.classes = Versions(f), Classes(f, memory)

    def block(self, body: Block) -> Block:
        """Outline the parallel loops of a block."""
        return tuple(made for s in body for made in self.statement(s))

    def statement(self, s: Statement) -> Block:
        """Outline a parallel loop, or the parallel loops in the blocks of a statement."""
        if isinstance(s, For) and s.parallel:
            return self.loop(s)
        inner = blocks(s)
        return (with_blocks(s, map(self.block, inner)) if inner else s,)

    def loop(self, s: For) -> Block:
        """Outline a parallel loop as a call; serialise it if it may end early or its iterations are not independent."""
        serial = replace(s, body=rewritten(s.body, _serial), parallel=False)
        if s.exits or any(isinstance(t, Effect) and t.raises for t in statements(s.body)):
            return (serial,)
        if not s.elements:
            self.check(s)
        elif any(total_of(x, s.body) != "add" for x in self.live(s)) or self.draws(s):
            return (serial,)
        serial = replace(serial, body=rewritten(serial.body, _unchecked))
        at_once = replace(serial, parallel=True)
        live = self.live(s)
        wrote = {x for t in statements(s.body) for x in writes(t)} | {s.target}
        read = [x for t in (s, *statements(at_once.body)) for x in reads(t) if isinstance(x, Var)]
        given = tuple(dict.fromkeys([*(x for x in read if x not in wrote), *live]))
        groups: dict[Representative, list[Var]] = {}
        for x in filter(is_array, given):
            groups.setdefault(self.classes.find(x), []).append(x)
        together = tuple(tuple(some) for some in groups.values() if len(some) > 1)
        name, result = f"{self.f.name}_rounds", several(list(live))
        body, doc = (at_once,), f"The rounds of a parallel loop of {self.f.name}."
        made = replace(self.f, name=name, parameters=given, body=body, result=result, doc=doc, together=together)
        made = replace(made, again=False, checked=False)
        shared = sharing(made, at_once, self.memory)
        if not given or shared is None:
            return (serial,)
        real = {kind for x, kind in shared.totals.items() if isinstance(x.type, types.Float)}
        if real <= {"add"} or shared.private or shared.direct:
            return (self.call(made, live, given, s.line),)
        totals = {x: shared.totals[x] for x in live}
        before, made, after = in_chunks(made, at_once, totals, self.program)
        return (*before, self.call(made, (), made.parameters, s.line), *after)

    def call(self, f: Function, targets: tuple[Var, ...], given: tuple[Tree, ...], line: int) -> Call:
        """Define the outlined function; return its call."""
        symbol = Symbol(f.name)
        self.program.define(symbol, f)
        return Call(targets, symbol, given, several(list(targets)), line)

    def live(self, s: For) -> tuple[Var, ...]:
        """Loop-carried and live-out variables of a loop."""
        return tuple(x for x, v in self.versions.headers[s].items() if v.used)

    def draws(self, s: For) -> bool:
        """Whether an iteration draws random numbers."""
        return draws_anew(replace(self.f, body=s.body), self.program)

    # What numba computes otherwise

    def check(self, s: For) -> None:
        """Refuse a loop that numba runs otherwise: ordered but for reductions, with draws, or a negated counter."""

        def refuse(line: int, what: str, why: str, instead: str) -> None:
            """Refuse at a line of the user's source."""
            self.f.origin.source.refuse(line, what, why, instead)

        for x in self.live(s):
            if total_of(x, s.body) is None:
                what, line = f"the variable {x} in a loop over prange", _line_of(x, s)
                why = "it is handed on, and its value would depend on the order of the iterations"
                refuse(line, what, why, f"{x} += ..., *=, min({x}, ...) or max({x}, ...) and no other use, or range")
        if self.draws(s):
            what, why = "random numbers in a loop over prange", "each thread has a generator, so they depend on threads"
            refuse(s.line, what, why, "np.random.seed(...) as the first line of the loop, an array of them, or range")
        for line in _negated(s):
            why = "numba's counter of prange has no sign, so that this is a large number"
            refuse(line, f"-{s.target} or ~{s.target}", why, f"0 - {s.target}")


def _line_of(x: Var, s: For) -> int:
    return next(t.line for t in statements(s.body) if x in writes(t))


def _negated(s: For) -> Iterable[int]:
    """The lines that negate the loop counter, which numba holds as an unsigned integer."""
    same: set[Index] = {s.target}
    if not isinstance(s.start, Constant) or s.start.value < 0:
        return
    for t in statements(s.body):
        if isinstance(t, Copy) and t.source in same:
            same.add(t.target)
        if isinstance(t, Discrete) and any(_negates(e, same) for e in _inside(t.value)):
            yield t.line


def _negates(e: Index, same: set[Index]) -> bool:
    return isinstance(e, Operator) and e.symbol in "-~" and len(e.args) == 1 and e.args[0] in same


def _inside(e: Index) -> Iterator[Index]:
    yield e
    for part in parts(e):
        yield from _inside(part)


def _serial(s: Statement) -> Statement:
    """Serialise a parallel loop that is nested in another one."""
    return replace(s, parallel=False) if isinstance(s, For) else s


def _unchecked(s: Statement) -> Statement:
    """Drop the check for division by zero, as numba's error_model='numpy' does in a parallel loop."""
    return replace(s, checked=False) if isinstance(s, Real) else s
