"""Fusion of the forward and reverse sweep of a reduction loop into one loop (core -> core, in reverse mode).

    for i in range(n):                    for i in range(n):
        t = a[i] * c                          t = a[i] * c
        s = s + t * t                         s = s + t * t
    return 0.5 * s                            d_t = t * d_s + t * d_s           d_s = 0.5 is known before the loop
                                              d_a[i] += c * d_t
                                              d_c = d_c + a[i] * d_t

A loop that hands nothing on but sums and whole numbers need not wait for the reverse sweep, if the cotangents of its
sums are known before it: nothing of its iterations is recorded, and the function needs no second loop. So it is with
most likelihoods and sums of squares. What an inner loop records is taken from the tape before the next iteration of the
outer one: the tape is as long as one iteration asks for. Loops in the iterations that add to the same sums are fused as
well, so that of a sum over pairs both sweeps are in the inner loop. The conditions:

    length      no inner loop is a while: its reverse sweep would wait for its forward sweep, where in a sweep of its
                own the processor is at several iterations of the outer loop at a time
    sums        what the iterations hand on is only added to, or is a whole number; no array is made, and those that are
                written have room for numbers of one iteration (analysis/memory/privatizable.py)
    cotangents  from the sums to the result, all is linear with factors that are known before the loop
    shadows     what comes after the loop does not write into arrays that it reads: in the reverse sweep, that would
                read and clear cotangents before the iterations may add to them
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import overload

from numba.core import types

from dualrev.compiler.ad.reverse.gradient_context import Facts, Fused
from dualrev.compiler.ad.reverse.sweeps import Sweeps
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.analysis.memory.privatizable import is_scratch
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Atom, Constant, Symbol, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Copy,
    Discrete,
    Effect,
    For,
    Function,
    If,
    Make,
    Real,
    Statement,
    Store,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, reads, several, statements, substituted, with_blocks, writes
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["Fusable", "Fused", "cotangents_before", "fusable", "fused", "rounds_of"]


@dataclass(eq=False)
class Fusable:
    """A reduction loop whose forward and reverse sweeps can be fused.

    given      the variables that it reads from outside
    live       those that it hands on: sums, and whole numbers
    seeds      the cotangents of the sums, which ...
    before     ... these statements compute
    symbol     the loop, as a function of what it is given
    """

    loop: For
    given: tuple[Var, ...]
    live: tuple[Var, ...]
    seeds: dict[Var, Atom]
    before: Block
    symbol: Symbol

    def function(self, f: Function) -> Function:
        """Outline the loop as a function."""
        return replace(f, parameters=self.given, body=(self.loop,), result=several(list(self.live)), doc="")

    def call(self) -> Block:
        """The statements that replace the loop: its seeds, then the call of the outlined loop."""
        args, line = self.given, self.loop.line
        return (*self.before, Call(self.live, self.symbol, args, several(list(self.live)), line))


def fusable(facts: Facts, seeds: dict[int, Atom]) -> list[Fusable]:
    """Top-level loops of a function whose sweeps can be fused; `seeds` are the cotangents of its results."""
    found = (_candidate(facts, s, seeds) for s in facts.f.body if isinstance(s, For))
    return [x for x in found if x is not None]


def _candidate(facts: Facts, s: For, seeds: dict[int, Atom]) -> Fusable | None:
    versions, body = facts.versions, list(statements(s.body))
    if any(isinstance(t, (While, Make)) for t in body):
        return None
    changed = [(t, x) for t in body for x in facts.memory.changed(t)]
    if not all(isinstance(t, Store) and is_scratch(x, s, facts.f, facts.dependence, facts.classes) for t, x in changed):
        return None
    if versions.afters[s][s.target].used:
        return None
    live = facts.sorted(x for x, v in versions.headers[s].items() if v.used)
    if any(is_array(x) or (is_real(x) and not _is_sum(x, body)) for x in live):
        return None
    sums = [x for x in live if is_real(x)]
    assigned = {x for t in body for x in writes(t)} | {s.target}
    outside = dict.fromkeys(x for t in (s, *body) for x in reads(t) if isinstance(x, Var) and x not in assigned)
    given = (*outside, *live)
    if not any(facts.activity.has(x) for x in outside) or not any(facts.is_scalar(x) for x in sums):
        return None
    shadows = {facts.classes.find(x) for x in outside if facts.has_shadow(x)}
    later = facts.f.body[facts.f.body.index(s) + 1 :]
    if any(facts.classes.find(x) in shadows for t in statements(later) for x in facts.memory.changed(t)):
        return None
    writing = CoreBuilder()
    found = cotangents_before(facts, s, seeds, sums, later, writing)
    return None if found is None else Fusable(s, given, tuple(live), found, tuple(writing.out), Symbol(facts.f.name))


def cotangents_before(
    facts: Facts, s: For | Call, seeds: dict[int, Atom], sums: list[Var], later: Block, writing: CoreBuilder
) -> dict[Var, Atom] | None:
    """The cotangents of sums that a statement hands on, if known before it; `writing` computes them there.

    `seeds` are the cotangents of the results, `later` is what comes after the statement.
    """
    return _Linear(facts, s, seeds, writing).cotangents(sums, later)


def _is_sum(x: Var, body: Iterable[Statement]) -> bool:
    """Whether statements only add to `x` (a sum reduction): it is read nowhere else."""
    for t in body:
        if x in reads(t) or x in writes(t):
            adds = isinstance(t, Real) and t.target is x and t.rule.name in ("add", "sub")
            if not adds or t.args[0] is not x or t.args[1] is x:  # type: ignore[union-attr]
                return False
    return True


class _Linear:
    """Backpropagation through the linear statements after a loop to its sums; `writing` gets the computation."""

    def __init__(self, facts: Facts, loop: For | Call, seeds: dict[int, Atom], writing: CoreBuilder) -> None:
        self.facts, self.loop, self.writing = facts, loop, writing
        self.before: dict[tuple[Statement, Var], Atom | None] = {}
        self.seeds = {x: seeds[k] for k, x in enumerate(facts.results) if k in seeds and isinstance(x, Var)}

    def cotangents(self, sums: list[Var], later: Block) -> dict[Var, Atom] | None:
        """The cotangent of each sum; None if one is not known before the loop."""
        tainted = set(sums)
        chain: list[tuple[Real | Copy, set[Var]]] = []
        for s in later:
            read = {x for x in reads(s) if isinstance(x, Var) and x in tainted}
            if isinstance(s, (Real, Copy)) and is_real(s.target):
                if read and not self._is_linear(s, tainted):
                    return None
                chain += [(s, read)] if read or s.target in tainted else []
                tainted = tainted | {s.target} if read else tainted - {s.target}
            elif any(not _passes(s, x) for x in tainted):
                return None
        return self._backwards(sums, chain)

    def _is_linear(self, s: Real | Copy, tainted: set[Var]) -> bool:
        if isinstance(s, Copy):
            return True
        a, b = (*s.args, None)[:2]
        if s.rule.name in ("add", "sub", "neg"):
            return True
        if s.rule.name == "mul":
            return (a in tainted) != (b in tainted) and self._known(s, b if a in tainted else a) is not None
        return s.rule.name == "div" and b not in tainted and self._known(s, b) is not None

    def _known(self, s: Statement, x: Atom | None) -> Atom | None:
        """An atom with the value of a factor, available before the loop; None if it cannot be computed there.

        The factor may have a derivative of its own: the sum that it goes by is known in the reverse sweep.
        """
        if not isinstance(x, Var):
            return x if isinstance(x, Constant) else None
        if (s, x) not in self.before:
            self.before[s, x] = self._before(s, x)
        return self.before[s, x]

    def _before(self, s: Statement, x: Var) -> Atom | None:
        versions = self.facts.versions
        v = versions.at(s, x)
        start = versions.extent[self.loop][0]
        if v.position < start:
            others = (u for u in versions.values if u.variable is x and u.position > v.position)
            return x if all(u.position < start for u in others) else None
        made = v.statement
        if v.kind != "op" or not isinstance(made, (Real, Copy)) or v.region is not versions.top or is_array(x):
            return None
        found = [self._known(made, y) for y in reads(made)]
        if None in found:
            return None
        if isinstance(made, Copy):
            return found[0]
        target = Var("_", x.type)
        args = tuple(y for y in found if y is not None)
        self.writing.write(replace(made, target=target, args=args, checked=False))
        return target

    def _backwards(self, sums: list[Var], chain: list[tuple[Real | Copy, set[Var]]]) -> dict[Var, Atom]:
        found = dict(self.seeds)
        for s, read in reversed(chain):
            ct = found.pop(s.target, None)
            if ct is None:
                continue
            args = (s.source,) if isinstance(s, Copy) else s.args
            name = "add" if isinstance(s, Copy) else s.rule.name
            for k, x in enumerate(args):
                if isinstance(x, Var) and x in read:
                    part = self._part(s, name, k, args, ct)
                    found[x] = self.writing.real("add", "+", found[x], part, line=s.line) if x in found else part
        marks = self.facts.f.marked
        if marks:  # products above may be -0.0, and are no known zeros
            found |= {x: self.writing.computed(ct, self.loop.line) for x, ct in found.items() if isinstance(ct, Var)}
        return {x: found.get(x, CoreBuilder(marks).zero) for x in sums}

    def _part(self, s: Real | Copy, name: str, k: int, args: tuple[Atom, ...], ct: Atom) -> Atom:
        """The contribution of a linear operation to the cotangent of its k-th argument."""
        real = self.writing.real
        if name == "neg" or (name == "sub" and k == 1):
            return real("neg", "-", ct, line=s.line)
        if name not in ("mul", "div"):
            return ct
        factor = self._known(s, args[1 - k] if name == "mul" else args[1])
        assert factor is not None
        return real(name, "*" if name == "mul" else "/", ct, factor, line=s.line)


def _passes(s: Statement, x: Var) -> bool:
    """Whether a statement leaves the cotangent of `x` unchanged: it has no derivative by `x`, or only adds to it."""
    inner = [t for t in statements((s,)) if x in reads(t) or x in writes(t)]
    if all(isinstance(t, (Discrete, Effect)) and x not in writes(t) for t in inner):
        return True
    return isinstance(s, (If, For, While)) and _is_sum(x, inner)


def fused(loop: Fusable, sweeps: Sweeps) -> Fused:
    """Fuse both sweeps of a loop: each iteration is run, then reversed."""
    facts, body = sweeps.facts, [*sweeps.forward_body]
    wrote = {x for t in statements(sweeps.reverse_body) for x in writes(t)}
    kept = {x: Var("{}_{k}", x.type, x) for x in (*loop.live, *loop.loop.exits) if x in wrote}
    body += [Copy(k, x, 0) for x, k in kept.items()]
    body += sweeps.reverse_body
    body += [Copy(x, k, 0) for x, k in kept.items()]
    moving = [x for x in loop.given if facts.is_scalar(x) and x not in loop.live]
    totals = {x: Var("d_{}", types.float64, x) for x in moving}
    add, line = PRIMITIVES["add"], loop.loop.line
    body += [Real(total, add, "+", (total, facts.cotangent(x)), line) for x, total in totals.items()]
    zero = CoreBuilder(facts.f.marked).zero
    cleared = [Copy(total, zero, line) for total in totals.values()]
    made = replace(loop.loop, body=tuple(body))
    made_of_it = sweeps.reverse.passes.run_on_loop("fused loops", LoopContext(facts), made)
    return Fused((*cleared, *made_of_it), totals)


def rounds_of(loop: Fusable, f: Function) -> tuple[Fusable, Function]:
    """Outline the body of a loop as a function; iteration-local variables are renamed in it and in the loop.

    The function around it may use the same ones for something else.
    """
    s = loop.loop
    assigned = {x: None for t in statements((s,)) for x in writes(t) if x not in loop.live}
    new = {x: Var(x.name, x.type, x.of) for x in assigned}

    @overload
    def of(x: Var) -> Var: ...
    @overload
    def of(x: Atom) -> Atom: ...
    def of(x: Atom) -> Atom:
        """The new variable for an iteration-local one; other atoms stay."""
        return new.get(x, x) if isinstance(x, Var) else x

    def renamed(t: Statement) -> Statement:
        """Rename iteration-local variables in a statement and its blocks."""
        made = with_blocks(substituted(t, of, of), [tuple(map(renamed, b)) for b in blocks(t)])
        if isinstance(made, Call) and isinstance(t, Call):
            return replace(made, of=t)
        return replace(made, exits=tuple(map(of, made.exits))) if isinstance(made, (For, While)) else made

    made = renamed(s)
    assert isinstance(made, For)
    result = several([*loop.live, *made.exits])
    apart = f.apart | {y for x, y in new.items() if x in f.apart}
    function = replace(f, parameters=(*loop.given, made.target), body=made.body, result=result, apart=apart)
    return replace(loop, loop=made), function
