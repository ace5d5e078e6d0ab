"""Reverse mode of parallel loops by recomputation (core -> core): each iteration is run, then reversed at once.

    for i in prange(n):          reverse    for i in prange(n):
        y = g(x, a[i])                          y = g(x, a[i])              the iteration again, on its chunk's tape
        s += y                                  d_x, d_a[i] += ...          and back
                                                total_d_x += d_x

Nothing of an iteration crosses from one sweep to the other, so what is recorded is there for one iteration at a time,
in the cache of its processor. Where the cotangents of the sums are known before the loop, there is one loop for both
sweeps, as for other loops (ad/reverse/fuse_sweeps.py). Else the iterations are run once more: that needs the arrays
that they change as they were, of which the forward sweep keeps a copy, as a checkpoint does.

So it is with sums. Where a derivative goes through a product, the least or the largest of something, the loop is
reversed in one thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.ad.reverse.call_pair import Signature, SweepPair
from dualrev.compiler.ad.reverse.checkpoint import call_and_keep, copied
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.ad.reverse.sweeps import ReverseMode
from dualrev.compiler.analysis.memory.alias import contents
from dualrev.compiler.analysis.values.nonzero_cotangents import Known
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Call, Copy, Discrete, For, Function, Kept, Make, Real, Store
from dualrev.compiler.ir.core.traverse import leaves, reads, several, statements, writes
from dualrev.compiler.parallel.dependence import sharing, uses_of
from dualrev.compiler.parallel.outline import loop_of
from dualrev.compiler.parallel.recognize_reductions import without
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["Rounds", "rounds_backwards"]


@dataclass
class Rounds:
    """A loop that runs each iteration and reverses it at once.

    totals     what they contribute to the cotangents of numbers from outside
    shadows    the shadows of the arrays that may move
    """

    facts: Facts
    loop: For
    totals: dict[Var, Var]
    shadows: dict[Var, Var]

    @property
    def cleared(self) -> Block:
        """The statements that zero the contributions to scalar cotangents before the loop."""
        zero = CoreBuilder(self.facts.f.marked).zero
        return tuple(Copy(total, zero, self.loop.line) for total in self.totals.values())


def rounds_backwards(
    reverse: ReverseMode, f: Function, call: Signature, seeds: dict[int, Atom], unread: Iterable[Var] | None = None
) -> Rounds | None:
    """Fuse both sweeps of each iteration of the loop in `f`; None if a derivative goes through other than sums.

    Its results are not asked for, nor what it writes to arrays that are `unread`; unless that is None.
    """
    loop = loop_of(f)
    assert loop is not None
    inputs, live = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
    shared = sharing(f, loop, reverse.memory)
    if shared is None or any(shared.totals.get(live[k]) != "add" for k in seeds):
        return None
    if unread is None and any(shared.totals.get(x) != "add" for x in live):
        return None
    groups: dict[int, list[Var]] = {}
    for x, number in zip(inputs, call.pattern, strict=True):
        if number is not None:
            groups.setdefault(number, []).append(x)
    together = [*map(tuple, groups.values())]
    round_ = replace(f, parameters=(*inputs, loop.target), body=loop.body, together=())
    flagged = [x for x, flag in zip(inputs, call.flags, strict=True) if flag and x not in live]
    flags = zip(inputs, call.flags, call.pattern, strict=True)
    unmoved = [x for x, flag, n in flags if n is not None and not flag]
    useful = [live[k] for k in seeds] + [x for x in inputs if is_array(x)]
    known = Known(call.known.reached, (*call.known.wild, False))
    sweeps = reverse.round(round_, flagged, useful, together, unmoved, seeds, known)
    facts = sweeps.facts
    totals = {x: Var("d_{}", types.float64, x) for x in flagged if facts.is_scalar(x)}
    forward: Block = sweeps.forward_body
    if unread is not None:
        forward = without(forward, {*shared.totals, *unread})
    body, wrote = [*forward], {x for t in statements(sweeps.reverse_body) for x in writes(t)}
    if wrote & {*live}:
        return None
    body += sweeps.reverse_body
    add = PRIMITIVES["add"]
    body += [Real(total, add, "+", (total, facts.cotangent(x)), loop.line) for x, total in totals.items()]
    shadows = {x: facts.cotangent(x) for x, flag in zip(inputs, call.flags, strict=True) if flag and is_array(x)}
    return Rounds(facts, replace(loop, body=tuple(body)), totals, shadows)


def with_shadows(groups: Iterable[tuple[Var, ...]], shadows: dict[Var, Var]) -> tuple[tuple[Var, ...], ...]:
    """May-alias groups of arrays, and the groups of their shadows."""
    groups = [*groups]
    return (*groups, *(tuple(shadows[x] for x in some if x in shadows) for some in groups))


def is_fresh(caller: Facts, s: Call, x: Atom) -> bool:
    """Whether an argument is a new array whose elements are neither read nor changed before the call."""
    versions = caller.versions
    if not is_array(x) or not isinstance(x, Var):
        return False
    v, key = versions.at(s, x), caller.classes.find(x)
    if v.kind != "op" or not isinstance(v.statement, Make) or v.region is not versions.region_of[s]:
        return False
    between = [t for t, (start, _) in versions.extent.items() if v.position < start < versions.extent[s][0]]
    touching = (y for t in between for y in (reads(t) if not isinstance(t, Discrete) else contents(t)))
    return all(not is_array(y) or caller.classes.find(y) != key for y in touching)


class RecomputedPair:
    """Forward/reverse pair for a call of a parallel loop, by recomputation."""

    def __init__(self, reverse: ReverseMode, s: Call, f: Function, call: Signature, unit: SweepPair) -> None:
        self.reverse, self.s, self.f, self.call, self.unit = reverse, s, f, call, unit
        self.program, self.memory = reverse.program, reverse.memory
        self.inputs, self.results = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
        writing = self.memory.effects(s).writes
        uses = uses_of(s, self.memory)
        self.copies: dict[Var, Var] = {}
        self.unread: set[Var] = set()  # arrays that it only writes to
        fresh = {x for x, is_so in zip(self.inputs, call.fresh, strict=True) if is_so}
        for x, wrote, modes in zip(self.inputs, writing, uses, strict=True):
            self.unread |= {x} if wrote and "read" not in modes else set()
            if wrote and not (x in self.unread and x in fresh):
                self.copies[x] = Var("{}_given", copied(x.type), x)

    def define(self) -> bool:
        """Define both functions and set the calling convention; False if the loop has to be reversed in one thread."""
        seeds = {k: Var(f"d_result_{k}", types.float64) for k, w in enumerate(self.call.wanted) if w}
        made = rounds_backwards(self.reverse, self.f, self.call, dict(seeds), self.unread)
        if made is None:
            return False
        read = {x for t in statements((made.loop,)) for x in reads(t)} | {*self.copies}
        needed = {k for k, x in enumerate(self.inputs) if x in read}
        body = self._body(made)
        given = [x for k, x in enumerate(self.inputs) if k in needed]
        cts = [*seeds.values()]
        every = [self._back(x, made, seeds) for x, flag in zip(self.inputs, self.call.flags, strict=True) if flag]
        back = [x for x in every if x is not None]
        name, groups = self.unit.reverse.name, with_shadows(self.f.together, made.shadows)
        parameters = (*given, *made.shadows.values(), *cts)
        doc = f"The rounds of {self.f.name} once more, and what they contribute to its results, backwards."
        whole = replace(self.f, name=name, parameters=parameters, body=body, result=several(back), doc=doc)
        whole = replace(whole, together=groups, tape=bool(self.copies))
        if self.unit.recursive or sharing(whole, made.loop, self.memory) is None:
            return False
        self.unit.finish(bool(self.copies), not self.copies, needed, needed)
        if self.copies:
            self._define_forward()
        self.program.define(self.unit.reverse, whole)
        return True

    def _back(self, x: Var, made: Rounds, seeds: dict[int, Var]) -> Atom | None:
        """The cotangent that is returned for a scalar; the result of a sum hands on its own."""
        if not is_real(x):
            return None
        zero = CoreBuilder(made.facts.f.marked).zero
        if x in self.results:
            return seeds.get(self.results.index(x), zero)
        return made.totals.get(x, zero)

    def _body(self, made: Rounds) -> Block:
        w = CoreBuilder()
        for copy in reversed(self.copies.values()):
            w.write(Kept(copy, 0))
        for x, copy in self.copies.items():
            if x not in self.unread:
                w.write(Store(x, (...,), copy, 0))
        w.out += made.cleared
        w.write(made.loop)
        for x, copy in self.copies.items():
            w.write(Store(x, (...,), copy, 0))
        return tuple(w.out)

    def _define_forward(self) -> None:
        w = CoreBuilder()
        y = call_and_keep(w, self.s, self.f, self.copies)
        flags = zip(self.inputs, self.call.flags, strict=True)
        shadows = [Var("d_{}", x.type, x) for x, flag in flags if flag and is_array(x)]
        doc = f"{self.f.name}, which changes arrays: a copy of these goes to the tape."
        made = replace(self.f, name=self.unit.forward.name, parameters=(*self.inputs, *shadows), body=tuple(w.out))
        self.program.define(self.unit.forward, replace(made, result=y, tape=True, doc=doc, together=()))
