"""Fusion of both sweeps of a parallel loop into one loop (core -> core), as in ad/reverse/fuse_sweeps.py.

s = f_rounds(a, x, s)        s, d_x = f_rounds_fused(a, x, s, d_a)      if the cotangent of s is known before it
"""

from __future__ import annotations

from dataclasses import replace

from dualrev.compiler.ad.reverse.call_pair import Signature
from dualrev.compiler.ad.reverse.fuse_sweeps import cotangents_before
from dualrev.compiler.ad.reverse.gradient_context import Facts, Fused
from dualrev.compiler.ad.reverse.sweeps import ReverseMode
from dualrev.compiler.analysis.memory.alias import given
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Atom, Symbol, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Call
from dualrev.compiler.ir.core.traverse import leaves, several, statements
from dualrev.compiler.parallel.dependence import sharing
from dualrev.compiler.parallel.outline import loop_of
from dualrev.compiler.parallel.reverse_by_recompute import Rounds, rounds_backwards, with_shadows

__all__ = ["fused_calls"]


def fused_calls(
    reverse: ReverseMode, facts: Facts, seeds: dict[int, Atom], shadows: dict[Var, Var]
) -> dict[Call, tuple[Block, Symbol, Fused]]:
    """Replacement statements for the calls of parallel loops that are fused, with the callee's symbol and sweeps."""
    found = {}
    for s in facts.f.body:
        if isinstance(s, Call) and isinstance(s.function, Symbol) and reverse.program.gradient(s) is None:
            f = reverse.program.function(s)
            if loop_of(f) is not None and (made := _Fusing(reverse, facts, s, seeds, shadows).made()) is not None:
                found[s] = made
    return found


class _Fusing:
    def __init__(
        self, reverse: ReverseMode, facts: Facts, s: Call, seeds: dict[int, Atom], shadows: dict[Var, Var]
    ) -> None:
        self.reverse, self.facts, self.s, self.seeds, self.shadows = reverse, facts, s, seeds, shadows
        self.f = reverse.program.function(s)
        self.given = given(s)

    def made(self) -> tuple[Block, Symbol, Fused] | None:
        """The replacement statements, the symbol and the fused sweeps of the call; None if it cannot be fused."""
        facts, s, writing = self.facts, self.s, CoreBuilder()
        later = facts.f.body[facts.f.body.index(s) + 1 :]
        classes = {facts.classes.find(x) for x in self.given if facts.has_shadow(x)}
        if any(self.reverse.memory.effects(s).writes):
            return None
        if any(facts.classes.find(x) in classes for t in statements(later) for x in facts.memory.changed(t)):
            return None
        sums = [x for x in s.targets if is_real(x)]
        found = cotangents_before(facts, s, self.seeds, sums, later, writing)
        if found is None or not any(map(facts.is_scalar, sums)):
            return None
        known = [found[x] if facts.is_scalar(x) else None for x in s.targets]
        rounds = self._rounds({k: ct for k, ct in enumerate(known) if ct is not None})
        if rounds is None:
            return None
        symbol = Symbol(self.f.name)
        self.reverse.program.define(symbol, self.f)
        fused = self._fused(rounds, {k: ct for k, ct in enumerate(known) if isinstance(ct, Var)})
        return None if fused is None else ((*writing.out, replace(s, function=symbol)), symbol, fused)

    def _rounds(self, seeds: dict[int, Atom]) -> Rounds | None:
        facts, numbers = self.facts, {}  # type: ignore[var-annotated]
        pattern = tuple(
            numbers.setdefault(facts.classes.find(x), len(numbers)) if isinstance(x, Var) and is_array(x) else None
            for x in self.given
        )
        flags = tuple(facts.activity.has(x) or facts.shares(x) for x in self.given)
        wanted = tuple(k in seeds for k in range(len(self.s.targets)))
        call = Signature(flags, wanted, pattern, facts.known_of(self.s))
        return rounds_backwards(self.reverse, self.f, call, seeds)

    def _fused(self, rounds: Rounds, seeds: dict[int, Var]) -> Fused | None:
        """The call that runs both sweeps of the loop, and its contributions to cotangents of scalars."""
        f, s, facts = self.f, self.s, self.facts
        inputs = [x for p in f.parameters for x in leaves(p)]
        arguments = dict(zip(inputs, self.given, strict=True))
        if any(not isinstance(arguments[x], Var) for x in [*rounds.totals, *rounds.shadows]):
            return None
        totals = {x: Var("d_{}", total.type, arguments[x]) for x, total in rounds.totals.items()}
        if len({arguments[x] for x in totals}) < len(totals):
            return None
        shadows = [self.shadows.setdefault(arguments[x], facts.cotangent(arguments[x])) for x in rounds.shadows]
        groups = with_shadows(f.together, rounds.shadows)
        parameters = (*inputs, *rounds.shadows.values(), *dict.fromkeys(seeds.values()))
        result = several([*leaves(f.result), *rounds.totals.values()])
        doc = f"The rounds of {f.name}, and what they contribute to its results, backwards."
        whole = replace(f, name=f"{f.name}_fused", parameters=parameters, result=result, doc=doc, together=groups)
        whole = replace(whole, body=(*rounds.cleared, rounds.loop))
        if sharing(whole, rounds.loop, self.reverse.memory) is None:
            return None
        symbol = Symbol(whole.name)
        self.reverse.program.define(symbol, whole)
        targets: list[Var] = [*s.targets, *totals.values()]
        args = (*self.given, *shadows, *dict.fromkeys(seeds.values()))
        call = Call(tuple(targets), symbol, args, several(targets), s.line)
        return Fused((call,), {arguments[x]: total for x, total in totals.items()})
