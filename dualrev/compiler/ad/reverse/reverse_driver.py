"""Reverse mode (core -> core): the forward and reverse sweeps of the functions of a program.

A function that another one calls becomes two: `f_forward`, which records, and `f_reverse`, which takes from the tape in
the opposite order. So recursion needs nothing special. The outermost function has both sweeps in one. They are made in
three steps, each of which the next one reads:

    adjoint.py    the reverse sweep, as if every value of the forward sweep were there
    needed_values.py      what it reads of them, and how that gets there: mincut_plan.py
    residuals.py, forward_sweep.py, reverse_sweep.py    both sweeps

The functions for a call are made once for every choice of active arguments and results, of arguments that may share
memory, and of what is known of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from numba.core import types

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.higher.gradient_call import CalledGradient
from dualrev.compiler.ad.reverse.call_pair import CallPair, Signature, SweepPair
from dualrev.compiler.ad.reverse.checkpoint import Checkpoint
from dualrev.compiler.ad.reverse.fuse_sweeps import Fusable, Fused, fusable, fused, rounds_of
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.ad.reverse.sweeps import Sweeps
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.cost_model import Cost
from dualrev.compiler.analysis.memory.alias import Carried, Memory, Representative, given
from dualrev.compiler.analysis.memory.shadow_flow import carried
from dualrev.compiler.analysis.values.nonzero_cotangents import NOTHING, Known
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Global, Node, Symbol, Var
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Accumulate, Block, Call, Copy, Function, Make, Statement
from dualrev.compiler.ir.core.program import Gradient, Program
from dualrev.compiler.ir.core.traverse import leaves, mapped
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.parallel.fuse import fused_calls
from dualrev.compiler.parallel.outline import loop_of
from dualrev.compiler.parallel.reverse_by_recompute import RecomputedPair, is_fresh
from dualrev.compiler.parallel.reverse_with_tape import RecordedPair

__all__ = ["Reverse", "Ruled"]


Ruled: TypeAlias = Callable[[Call, Facts, tuple[bool, ...], tuple[bool, ...]], "SweepPair | None"]


class Reverse:
    """Reverse mode for the functions of a program: memoised forward/reverse pairs."""

    def __init__(
        self, program: Program, memory: Memory, forward: Forward, passes: PassManager, ruled: Ruled | None = None
    ) -> None:
        """`ruled` gives the unit for a call of a function with a rule, and None for other calls."""
        self.program, self.memory, self.forward, self.passes, self._ruled = program, memory, forward, passes, ruled
        self.cost = Cost(program)
        self._units: dict[Hashable, SweepPair] = {}
        self._made: dict[Hashable, list[tuple[Signature, SweepPair]]] = {}  # by the key of the function
        self._fused: dict[Global | Symbol, Fused] = {}

    def _swept(self, sweeps: Sweeps) -> Sweeps:
        """Run the passes of reverse mode; return the sweeps."""
        self.passes.run("reverse", sweeps)
        return sweeps

    def joint(
        self,
        f: Function,
        varied: Iterable[Var],
        seeds: dict[int, Atom],
        known: Known = NOTHING,
        fresh: Callable[[Facts], Iterable[Var]] | None = None,
    ) -> Sweeps:
        """Both sweeps of a function as one; `seeds` are the cotangents of the leaves of its result.

        `fresh` tells which arrays have shadows that are zeros before the sweeps; they need not be afterwards.
        """
        results = leaves(f.result)
        useful = [x for x in results if isinstance(x, Var)]
        wanted = frozenset(range(len(results)))
        fuses = all(isinstance(ct, Constant) for ct in seeds.values())
        return self._swept(Sweeps(self, f, [*varied], useful, seeds, wanted, known=known, fuses=fuses, fresh=fresh))

    def of_arrays(
        self, f: Function, arrays: Sequence[Var], back: Sequence[Var] = (), recorded: Sequence[Var] = ()
    ) -> Sweeps:
        """Both sweeps, as one, of a function whose results are the `arrays` among its parameters that it changes.

        They are given the shadows of these. The reverse sweep restores the elements of the arrays in `back`, and never
        those of the arrays in `recorded`.
        """
        return self._swept(Sweeps(self, f, arrays, arrays, {}, frozenset(), back=back, recorded=recorded))

    def fused_loops(self, sweeps: Sweeps) -> dict[Statement, Block]:
        """Replacement statements for the loops, and the calls of parallel loops, whose sweeps are fused."""
        facts, seeds, shadows = sweeps.facts, sweeps.seeds, sweeps.shadows
        calls: dict[Statement, Block] = {
            x.loop: x.call() for x in fusable(facts, seeds) if self._fuse(facts, x, shadows)
        }
        if sweeps.repeats:  # an iteration of a fused loop has no parallel loops
            for s, (code, symbol, both) in fused_calls(self, facts, seeds, shadows).items():
                calls[s], self._fused[symbol] = code, both
        return calls

    def _fuse(self, facts: Facts, loop: Fusable, shadows: dict[Var, Var]) -> bool:
        """Fuse both sweeps of a loop; False if they need arrays that live as long as the call.

        `shadows` gains the shadows of its arrays.

        Loops in its iterations that add to the same sums are fused first.
        """
        renamed, f = rounds_of(loop, facts.f)
        inputs = [x for p in f.parameters for x in leaves(p)]
        varied = [x for x in loop.given if x not in loop.live and facts.activity.has(x)]
        groups: dict[Representative, list[Var]] = {}
        for x in filter(is_array, loop.given):
            groups.setdefault(facts.classes.find(x), []).append(x)
        results = leaves(f.result)
        useful = [x for x in loop.seeds if facts.is_scalar(x)]
        known = Known(tuple(x in useful for x in results), tuple(map(facts.wild.has, inputs)))
        together = [*map(tuple, groups.values())]
        inside = {x: shadows.setdefault(x, facts.cotangent(x)) for x in varied if is_array(x)}
        seeds = {k: loop.seeds.get(x, CoreBuilder(f.marked).zero) for k, x in enumerate(results)}
        wanted = frozenset(range(len(results)))
        sweeps = Sweeps(self, f, varied, useful, seeds, wanted, together, known=known, shadows=inside)
        sweeps.fuses, sweeps.repeats = True, False
        if self._swept(sweeps).forward.slots:
            return False
        self.program.define(loop.symbol, loop.function(facts.f))
        self._fused[loop.symbol] = fused(renamed, sweeps)
        return True

    def pullback(self, f: Function, varied: Iterable[Var], known: Known = NOTHING) -> Function:
        """The pullback of a function by the leaves `varied` of its parameters: both sweeps in one function of core.

        It takes the arguments, the shadows of arrays among the leaves, to which it adds, and cotangents of the real
        leaves of the result. It returns the result, and the cotangents of the numbers among the leaves.
        """
        varied = list(varied)
        results = [(k, x) for k, x in enumerate(leaves(f.result)) if carries(x) or _is_float(x)]
        cts = {k: Var(f"ct_{k}", x.type if is_array(x) else types.float64) for k, x in results}
        sweeps = self.joint(f, varied, {k: ct for k, ct in cts.items() if not is_array(ct)}, known)
        facts, writing = sweeps.facts, CoreBuilder()
        kept = {x: Var("result_{k}", x.type) for x in facts.results if isinstance(x, Var)}
        for x, target in kept.items():
            writing.write(Make(target, Applied("np.copy", (x,)), 0) if is_array(x) else Copy(target, x, 0))
        for k, x in results:
            if facts.has_shadow(x):
                writing.write(Accumulate(facts.cotangent(x), "runtime.add_to", (cts[k],), 0))
        body = (*sweeps.forward_body, *writing.out, *sweeps.reverse_body)
        shadows = [facts.cotangent(x) for x in varied if is_array(x)]
        back = tuple(facts.cotangent(x) if facts.is_scalar(x) else ZERO for x in varied if is_real(x))
        parameters = (*f.parameters, *shadows, *cts.values())
        result = Node((mapped(f.result, lambda x: kept.get(x, x)), Node(back)))
        return replace(f, name=f"{f.name}_pullback", parameters=parameters, body=body, result=result)

    def unit(self, s: Call, caller: Facts) -> SweepPair | Fused | None:
        """The forward/reverse pair for a call; None for a draw, or if no result is active and nothing is written."""
        if s.function in self._fused:
            return self._fused[s.function]
        inputs = given(s)
        flags = tuple(caller.activity.has(x) or caller.shares(x) for x in inputs)
        wanted = tuple(caller.activity.has(x) for x in leaves(s.result))
        if (not any(self.memory.effects(s).writes) and not any(wanted)) or self.memory.is_draw(s):
            return None
        gradient = self.program.gradient(s)
        if gradient is not None:
            return self._gradient(gradient, s, flags, wanted)
        if self._ruled is not None and (unit := self._ruled(s, caller, flags, wanted)) is not None:
            return unit
        numbers: dict[Representative, int] = {}
        pattern = tuple(
            numbers.setdefault(caller.classes.find(x), len(numbers)) if isinstance(x, Var) and is_array(x) else None
            for x in inputs
        )
        f = self.program.function(s)
        fresh = tuple(is_fresh(caller, s, x) for x in inputs) if loop_of(f) is not None else ()
        spent = caller.spent.get(s, frozenset())
        call = Signature(flags, wanted, pattern, caller.known_of(s), fresh, spent)
        key, shadows = (self.program.key(s), call), carried(s, self.memory)

        def recorded(unit: SweepPair) -> None:
            """Define the pair that records, in threads if it is a parallel loop that allows it."""
            self._made.setdefault(key[0], []).append((call, unit))
            if loop_of(f) is not None:
                if RecordedPair(self.program, f, call, unit, *self._called(f, call, unit)).in_threads(self.memory):
                    return
                if RecomputedPair(self, s, f, call, unit).define():
                    return
            CallPair(self.program, f, call, unit, *self._called(f, call, unit)).define()

        if not f.again:
            return self._known(key, SweepPair(f.name, len(inputs), shadows), recorded, self._recursive(*key, shadows))

        def again(unit: SweepPair) -> None:
            """Define the pair of a checkpoint, around the pair that records."""
            inner = self._known((key, "recorded"), SweepPair(f.name, len(inputs), shadows), recorded)
            Checkpoint(self.program, self.memory, s, flags, unit, inner, caller).define()

        return self._known(key, SweepPair(f"{f.name}_again", len(inputs), shadows), again)

    def _known(
        self,
        key: Hashable,
        new: SweepPair,
        define: Callable[[SweepPair], None],
        other: Callable[[], SweepPair | None] = lambda: None,
    ) -> SweepPair:
        """Memoised forward/reverse pair by a key: the `other` one if found, else `new`, defined on first use."""
        if key in self._units:
            unit = self._units[key]
            unit.recursive = unit.recursive or not unit.done
            return unit
        if (found := other()) is None:
            self._units[key] = new
            define(new)
            found = other() or new
        self._units[key] = found  # and so it stays: both sweeps have to ask for the same
        return found

    def _recursive(self, function: Hashable, call: Signature, shadows: Carried) -> Callable[[], SweepPair | None]:
        """Look up an existing pair of a recursive function that is sound for a call from outside.

        With a unit of its own for that call, numba would compile the function twice.
        """

        def find() -> SweepPair | None:
            """The first recursive unit whose specialisation covers the call; None if no unit does."""
            for made, unit in self._made.get(function, []):
                if unit.recursive and unit.carried == shadows and made.covers(call):
                    return unit
            return None

        return find

    def round(
        self,
        f: Function,
        varied: Iterable[Var],
        useful: Iterable[Var],
        together: Iterable[tuple[Var, ...]],
        without: Iterable[Var],
        seeds: dict[int, Atom],
        known: Known,
    ) -> Sweeps:
        """Both sweeps of an iteration of a loop, as one: see parallel/reverse_by_recompute.py."""
        given = [*varied], [*useful], seeds, frozenset(seeds), [*together], [*without]
        return self._swept(Sweeps(self, f, *given, known=known))

    def may_spend(self, s: Call, facts: Facts) -> bool:
        """Whether a callee restores the arrays that it has changed, and is not recursive."""
        unit = self.unit(s, facts)
        return isinstance(unit, SweepPair) and unit.restores and not unit.recursive

    def _called(self, f: Function, call: Signature, unit: SweepPair) -> tuple[Sweeps, dict[int, Var]]:
        """The sweeps of a callee for a call, and the cotangents of its scalar results."""
        inputs, results = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
        flagged = [x for x, flag in zip(inputs, call.flags, strict=True) if flag]
        arrays = [x for x in inputs if is_array(x)]
        without = [x for x, flag, n in zip(inputs, call.flags, call.pattern, strict=True) if n is not None and not flag]
        wanted = frozenset(k for k, w in enumerate(call.wanted) if w)
        useful = [x for k, x in enumerate(results) if isinstance(x, Var) and k in wanted] + arrays
        together: dict[int, list[Var]] = {}
        for x, number in zip(inputs, call.pattern, strict=True):
            if number is not None:
                together.setdefault(number, []).append(x)
        groups = [*map(tuple, together.values())]
        seeds = {k: Var(f"d_result_{k}", types.float64) for k in sorted(wanted) if not is_array(results[k])}
        sweeps = Sweeps(self, f, flagged, useful, dict(seeds), wanted, groups, without, call.known, joint=False)
        # arrays of one class come back together: where one has to, all do
        sweeps.back = [x for k, x in enumerate(inputs) if is_array(x) and k not in call.spent]
        sweeps.spent = [inputs[k] for k in call.spent]
        sweeps.left = [x for k, x in enumerate(results) if is_array(x) and not unit.gives_shadow(k)]
        return self._swept(sweeps), seeds

    def _gradient(self, g: Gradient, s: Call, flags: tuple[bool, ...], wanted: tuple[bool, ...]) -> SweepPair:
        """The forward/reverse pair for the call of a gradient, memoised."""
        key = s.function, flags, wanted
        if key not in self._units:
            unit = self._units[key] = SweepPair(g.name, len(flags))
            CalledGradient(self.program, self.forward, g, s, flags, wanted, unit).define()
        return self._units[key]


def _is_float(x: Atom) -> bool:
    return isinstance(x, Constant) and isinstance(x.value, float)
