"""Forward/reverse pair for a call (core -> core): the two functions, and their calling convention."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dualrev.compiler.ad.reverse.adjoint import zeros_like
from dualrev.compiler.ad.reverse.sweeps import Sweeps
from dualrev.compiler.analysis.memory.alias import Carried
from dualrev.compiler.analysis.ssa import Value
from dualrev.compiler.analysis.values.nonzero_cotangents import Known
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Atom, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, several

__all__ = ["CallPair", "Signature", "SweepPair"]


class SweepPair:
    """Forward/reverse pair of a callee: the symbols `forward` and `reverse`, and their calling convention."""

    def __init__(self, name: str, leaf_count: int, carried: Carried | None = None) -> None:
        """`carried` are the shadows that the forward function takes and gives; None: the shadows of all arrays."""
        self.carried = carried
        self.forward, self.reverse = Symbol(f"{name}_forward"), Symbol(f"{name}_reverse")
        self.done, self.recursive = False, False
        self.restores = False  # whether the reverse function brings back old elements of arguments
        self._tape, self._primal = True, False
        self._needs: frozenset[int] = frozenset(range(leaf_count))
        self._content: frozenset[int] = self._needs
        self._results: frozenset[int] | None = None
        self._result_content: frozenset[int] | None = None

    def finish(
        self,
        tape: bool,
        primal: bool,
        needs: Iterable[int],
        content: Iterable[int],
        results: Iterable[int] = (),
        result_content: Iterable[int] = (),
    ) -> None:
        """Set the calling convention; a recursive function keeps the one that its own calls have assumed."""
        self.done = True
        if not self.recursive:
            self._tape, self._primal, self._needs, self._content = tape, primal, frozenset(needs), frozenset(content)
            self._results, self._result_content = frozenset(results), frozenset(result_content)

    @property
    def uses_tape(self) -> bool:
        """Whether the functions take the tape."""
        return self._tape

    @property
    def primal_suffices(self) -> bool:
        """Whether the forward sweep may call the function itself."""
        return self._primal

    def takes_shadow(self, k: int) -> bool:
        """Whether the forward function takes the shadow of the k-th leaf of the arguments."""
        return self.carried is None or k in self.carried.arguments

    def gives_shadow(self, k: int) -> bool:
        """Whether the forward function returns the shadow of the k-th leaf of the results."""
        return self.carried is None or k in self.carried.results

    def needs(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the arguments."""
        return k in self._needs

    def needs_result(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the results, an array."""
        return self._results is None or k in self._results

    def reads_content(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the arguments."""
        return k in self._content

    def reads_result(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the results as they were at the return."""
        return self._result_content is None or k in self._result_content


@dataclass(frozen=True)
class Signature:
    """Specialisation key of a call as its callee sees it, by leaves of arguments and results."""

    flags: tuple[bool, ...]  # arguments that may carry a derivative
    wanted: tuple[bool, ...]  # results that do
    pattern: tuple[int | None, ...]  # arrays with one number may share memory
    known: Known
    fresh: tuple[bool, ...] = ()  # arrays that nobody has looked into before; for parallel loops
    spent: frozenset[int] = frozenset()  # arguments that need not come back as they were

    def covers(self, other: Signature) -> bool:
        """Whether the specialisation for this call is sound for another, more precise signature."""
        same = replace(other, known=self.known, spent=self.spent) == self
        reached = all(theirs or not ours for ours, theirs in zip(self.known.reached, other.known.reached, strict=True))
        wild = all(ours or not theirs for ours, theirs in zip(self.known.wild, other.known.wild, strict=True))
        return same and reached and wild and self.spent <= other.spent


class CallPair:
    """Forward/reverse pair for a call, from the sweeps of its callee."""

    def __init__(
        self, program: Program, f: Function, call: Signature, unit: SweepPair, sweeps: Sweeps, seeds: dict[int, Var]
    ) -> None:
        self.program, self.f, self.call, self.unit = program, f, call, unit
        self.inputs, self.results = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
        self.call, self.sweeps, self.seeds = call, sweeps, seeds
        self.facts, self.crossing = self.sweeps.facts, self.sweeps.crossing
        flagged = zip(self.inputs, call.flags, strict=True)
        self.moving = [x for x, flag in flagged if flag]
        self.arrays = [k for k, (x, w) in enumerate(zip(self.results, call.wanted, strict=True)) if w and is_array(x)]

    def define(self) -> None:
        """Define both functions and set the unit's calling convention."""
        self._finish()
        if not self.unit.primal_suffices:
            self._define_forward()
        self._define_reverse()

    def _finish(self) -> None:
        facts, sweeps, used = self.facts, self.sweeps, self.sweeps.reverse_sweep.used
        content = self.crossing.needs.content
        parameters = {v.variable for v in used if v.kind == "param"}

        def is_read(x: Atom) -> bool:
            """Whether the reverse sweep reads elements of an array."""
            return is_array(x) and facts.classes.find(x) in content

        arrays = {facts.classes.find(x) for x in self.inputs if is_array(x)}
        self.unit.restores = not arrays.isdisjoint(sweeps.undone_classes)
        final = {k: facts.versions.result[x] for k, x in enumerate(self.results) if isinstance(x, Var)}
        self.unit.finish(
            sweeps.uses_tape,
            not sweeps.uses_tape and not any(map(self.unit.gives_shadow, self.arrays)),
            {k for k, x in enumerate(self.inputs) if x in parameters},
            {k for k, x in enumerate(self.inputs) if is_read(x)},
            {k for k, v in final.items() if (v in used and v in self.crossing.given) or v.variable in parameters},
            {k for k, x in enumerate(self.results) if is_read(x)},
        )

    def _define_forward(self) -> None:
        writing = CoreBuilder(self.f.marked)
        shadows: list[Tree] = []
        for k in filter(self.unit.gives_shadow, self.arrays):
            x = self.results[k]
            shadows.append(self.facts.cotangent(x) if self.facts.has_shadow(x) else zeros_like(writing, x, 0))
        flagged = enumerate(zip(self.inputs, self.call.flags, strict=True))
        taken = [x for k, (x, flag) in flagged if flag and is_array(x) and self.unit.takes_shadow(k)]
        given = (*self.inputs, *map(self.facts.cotangent, taken))
        doc = f"{self.f.name}, and on the tape what {self.unit.reverse.name} needs."
        body = (*self.sweeps.forward_body, *writing.out)
        result = several([*self.results, *shadows])
        self._define(self.unit.forward, given, body, result, doc)

    def _define_reverse(self) -> None:
        facts, crossing = self.facts, self.crossing
        names = {x: crossing.name(facts.versions.parameters[x]) for x in self.inputs if isinstance(x, Var)}
        given = [names[x] for k, x in enumerate(self.inputs) if self.unit.needs(k)]
        given += [facts.cotangent(names[x]) for x in self.moving if is_array(x)]
        seen: set[Value] = set()
        for k in self.arrays:
            v = facts.versions.result[self.results[k]]
            mine = v in crossing.given and v not in seen
            seen.add(v)
            array, shadow = crossing.name(v), crossing.shadow(v)
            if not mine:
                array, shadow = Var(f"_result_{k}", array.type), Var(f"_d_result_{k}", array.type)
            given += [array, shadow] if self.unit.needs_result(k) else [shadow]
        given += self.seeds.values()
        back = [facts.cotangent(x) if facts.is_scalar(x) else ZERO for x in self.moving if is_real(x)]
        doc = f"Add what the arguments of {self.f.name} contribute to its results, backwards."
        self._define(self.unit.reverse, tuple(given), self.sweeps.reverse_body, several(back), doc)

    def _define(self, symbol: Symbol, given: tuple[Tree, ...], body: Block, result: Tree, doc: str) -> None:
        made = replace(
            self.f,
            name=symbol.name,
            parameters=given,
            body=body,
            result=result,
            tape=self.unit.uses_tape,
            doc=doc,
        )
        self.program.define(symbol, made)
