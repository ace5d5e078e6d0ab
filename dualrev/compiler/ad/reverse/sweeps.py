"""Unit of reverse mode: a function, its forward and reverse sweeps, and the passes that make them.

eliminate-common-subexpressions   f                 computes nothing twice
analyse                           facts             of f: gradient_context.py
fuse-sweeps                       f, facts          with calls in place of loops whose sweeps are one loop
make-adjoint                      adjoint           the reverse sweep, as if each forward value were available
plan-tape                         crossing          the values that it reads, recorded or recomputed
skip-restoring                    adjoint, crossing once more, for calls that restore only arrays that are read
make-forward-sweep                forward, forward_body
make-reverse-sweep                reverse_sweep, reverse_body
elide-rezeroing, elide-zeroing    forward_body, reverse_body
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from dualrev.compiler.ad.reverse.adjoint import Adjoint
from dualrev.compiler.ad.reverse.forward_sweep import ForwardSweep
from dualrev.compiler.ad.reverse.gradient_context import Callee, Facts, Fused
from dualrev.compiler.ad.reverse.reverse_sweep import ReverseSweep
from dualrev.compiler.ad.tape_plan.mincut_plan import Subject
from dualrev.compiler.ad.tape_plan.needed_values import Needs
from dualrev.compiler.ad.tape_plan.residuals import Crossing
from dualrev.compiler.analysis.activity import Activity
from dualrev.compiler.analysis.cost_model import Cost
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.analysis.values.finiteness import Wild
from dualrev.compiler.analysis.values.nonzero_cotangents import NOTHING, Known, Reached
from dualrev.compiler.ir.core.atoms import Atom, Node, Var
from dualrev.compiler.ir.core.nodes import Block, Call, Columns, Function, Keep, Kept, Pop, Push, Statement, Store
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, statements
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.core.verify_tape import check_tape
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.cse import without_repetition
from dualrev.compiler.optimize.elide_rezeroing import without_rezeroing
from dualrev.compiler.optimize.elide_zeroing import Storing
from dualrev.compiler.types.aliases import Dispatcher

__all__ = [
    "ReverseMode",
    "Sweeps",
    "analyse",
    "elide_rezeroing",
    "elide_zeroing",
    "eliminate_common_subexpressions",
    "has_words",
    "make_adjoint",
    "make_forward_sweep",
    "make_reverse_sweep",
    "plan_tape",
    "skip_restoring",
    "uses_tape",
]


def uses_tape(body: Block) -> bool:
    """Whether statements use the tape, themselves or by calls."""
    return has_words(body) or any(
        isinstance(s, (Keep, Kept)) or (isinstance(s, Call) and s.tape) for s in statements(body)
    )


def has_words(body: Block) -> bool:
    """Whether statements record scalars on the tape, or take them from it."""
    return any(isinstance(s, (Push, Pop, Columns)) for s in statements(body))


class ReverseMode(Protocol):
    """Reverse mode for the functions of a program: the protocol of reverse_driver.py."""

    program: Program
    memory: Memory
    passes: PassManager
    cost: Cost

    def unit(self, s: Call, caller: Facts) -> Callee | Fused | None:
        """The forward/reverse pair for a call, or its fused loop; None if it needs neither."""

    def may_spend(self, s: Call, facts: Facts) -> bool:
        """Whether a callee restores the arrays that it has changed, and is not recursive."""

    def fused_loops(self, sweeps: Sweeps) -> dict[Statement, Block]:
        """Replacement statements for loops whose sweeps are fused."""

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
        """Both sweeps of an iteration of a loop."""


@dataclass(eq=False)
class Sweeps:
    """A function, its activity and seeds, and its forward and reverse sweeps as far as passes have made them.

    varied      the leaves of its parameters that are differentiated
    useful      the leaves that its result, or its caller, has a cotangent for
    seeds       the cotangents of the leaves of its result, by their numbers; `wanted` are those that are given
    together    arrays that may share memory
    without     arrays among these that carry no derivative
    known       what is known of zeros, and of infinite arguments
    joint       whether both sweeps become one function
    fuses       whether loops with known cotangents are fused, ...
    shadows     ... with cotangents of arrays that the function around them has
    fresh       the shadows that are zeros before the forward sweep, of what is known then; None: see elide_zeroing
    spent, left, back    parameters that need not come back as they were, results whose shadows the caller makes, and
                         parameters that have to come back
    recorded    arrays into which no store is undone: their elements are recorded where they are loaded
    """

    reverse: ReverseMode
    f: Function
    varied: Sequence[Var]
    useful: Sequence[Var]
    seeds: dict[int, Atom]
    wanted: frozenset[int]
    together: Sequence[tuple[Var, ...]] = ()
    without: Sequence[Var] = ()
    known: Known = NOTHING
    joint: bool = True
    fuses: bool = False
    repeats: bool = True  # whether it may compute something twice; the iterations of a loop that is fused do not
    shadows: dict[Var, Var] = field(default_factory=dict)
    fresh: Callable[[Facts], Iterable[Var]] | None = None
    spent: Sequence[Atom] = ()
    left: Sequence[Atom] = ()
    back: Sequence[Atom] = ()
    recorded: Sequence[Atom] = ()
    holds: set[str] = field(default_factory=lambda: {"core"})
    covered: set[Var] = field(default_factory=set)  # the fresh shadows that need not be zeros

    facts: Facts = field(init=False)
    subject: Subject = field(init=False)
    adjoint: Adjoint = field(init=False)
    crossing: Crossing = field(init=False)
    forward: ForwardSweep = field(init=False)
    reverse_sweep: ReverseSweep = field(init=False)
    forward_body: Block = field(init=False)
    reverse_body: Block = field(init=False)

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher of the user's function; None for an iteration of one of its loops."""
        return self.f.origin.dispatcher if self.repeats else None

    @property
    def undone_classes(self) -> set[Representative]:
        """The alias classes that undone stores, or calls, have changed."""
        found = set()
        for s in statements(self.facts.f.body):
            if s in self.crossing.needs.undone or not isinstance(s, Store):
                found |= {self.facts.classes.find(x) for x in self.facts.memory.changed(s)}
        return found

    @property
    def uses_tape(self) -> bool:
        """Whether one of the sweeps uses the tape."""
        return uses_tape(self.forward_body) or uses_tape(self.reverse_body)

    @property
    def own_tape(self) -> bool:
        """Whether the sweeps record scalars of the function's own, not only of its callees."""
        return has_words(self.forward_body) or has_words(self.reverse_body)

    def shown(self) -> str:
        """The printed text of the function, or of its sweeps as far as they are made."""
        if "reverse sweep" in self.holds:
            return show(self._whole(self.forward_body, self.reverse_body))
        if "forward sweep" in self.holds:
            return show(self._whole(self.forward_body, ()))
        if "adjoint" in self.holds:
            return show(self._whole((), self.adjoint.body))
        return show(self.f)

    def verify(self) -> None:
        """Verify the unit: AssertionError if it is not well formed, or if the tape is not empty after both sweeps."""

        def refuse(t: Statement, why: str) -> None:
            """Raise AssertionError for a statement."""
            raise AssertionError(f"{self.f.name}, line {t.line}: {type(t).__name__}: {why}")

        # an iteration of a loop may read what stands around it, and so may the call that stands for a loop
        check(self.f, refuse if self.fuses else None)
        if "reverse sweep" in self.holds:
            check(self._whole(self.forward_body, self.reverse_body))
            check_tape(self.forward_body, self.reverse_body)

    def _whole(self, forward: Block, reverse: Block) -> Function:
        """Both sweeps as one function, whose further parameters are their live-ins."""
        facts = self.facts
        given: dict[Var, None] = dict.fromkeys(x for x in self.seeds.values() if isinstance(x, Var))
        given |= dict.fromkeys(facts.cotangent(x) for x in facts.parameters if facts.has_shadow(x))
        given |= dict.fromkeys(self.shadows.values())
        values = [*facts.versions.parameters.values()]
        if "tape plan" in self.holds and not self.joint:
            for v in [*values, *self.crossing.given]:
                given[self.crossing.name(v)] = None
                if facts.has_shadow(v.variable):
                    given[self.crossing.shadow(v)] = None
        inputs = {x for p in self.f.parameters for x in leaves(p)}
        parameters = (*self.f.parameters, *(x for x in given if x not in inputs))
        back = [facts.cotangent(x) for x in self.varied if reverse and facts.is_scalar(x)]
        name = f"{self.f.name}{'' if self.repeats else '_iteration'}_sweeps"
        return replace(self.f, name=name, parameters=parameters, body=(*forward, *reverse), result=Node(tuple(back)))


# The passes


def eliminate_common_subexpressions(s: Sweeps) -> None:
    """Common subexpression elimination, loads included, before differentiation."""
    if s.repeats:
        s.f = without_repetition(s.f, s.reverse.memory, s.together)


def analyse(s: Sweeps) -> None:
    """Run the analyses of the function (aliases, activity, SSA, finiteness) at this activity."""
    f, memory = s.f, s.reverse.memory
    inputs = [x for p in f.parameters for x in leaves(p)]
    classes = Classes(f, memory, s.together)
    activity = Activity(f, memory, classes, s.varied, s.useful, s.without)
    wild = Wild(f, memory, classes, [x for x, is_so in zip(inputs, s.known.wild, strict=False) if is_so])
    results = zip(leaves(f.result), s.known.reached, strict=False)
    reached = Reached(f, {x for x, is_so in results if is_so and isinstance(x, Var)}, activity)
    s.facts = Facts(f, memory, classes, activity, Versions(f), wild, reached, s.wanted, s.reverse.unit, dict(s.shadows))


def fuse_sweeps(s: Sweeps) -> None:
    """Loop fusion of both sweeps: a call stands for each loop whose sums have cotangents known before it."""
    if s.fuses and (calls := s.reverse.fused_loops(s)):
        s.f = replace(s.f, body=tuple(t for u in s.f.body for t in calls.get(u, (u,))))
        analyse(s)


def make_adjoint(s: Sweeps) -> None:
    """Emit the adjoint: the reverse sweep over SSA versions, as if each forward value were available."""
    s.adjoint = Adjoint(s.facts, s.seeds, s.joint).made()


def plan_tape(s: Sweeps) -> None:
    """Plan the tape: choose the values to record or recompute, and the stores to undo."""
    facts = s.facts
    find, versions = facts.classes.find, facts.versions
    results = {versions.result[x] for k, x in enumerate(facts.results) if k in facts.wanted and facts.has_shadow(x)}
    given = frozenset[Value]() if s.joint else frozenset(v for v in results if v.kind != "param")
    spent = frozenset(map(find, s.spent)) - {find(x) for x in s.back}
    left = frozenset(map(find, s.left))
    back = frozenset(map(find, s.back))
    s.subject = Subject(
        facts.f, versions, facts.classes, facts.memory, s.reverse.cost, s.joint, given, spent, left, back
    )
    s.crossing = _crossing(s)


def _crossing(s: Sweeps) -> Crossing:
    return Crossing(s.facts, s.adjoint, s.subject, Needs(s.facts, s.adjoint, s.subject, s.recorded).chosen())


def skip_restoring(s: Sweeps) -> None:
    """Replan with calls that restore only arrays that the reverse sweep reads; as before, if that needs more."""
    facts, first = s.facts, (s.facts, s.adjoint, s.crossing)
    calls = [t for t in statements(facts.f.body) if isinstance(t, Call) and s.reverse.may_spend(t, facts)]
    spent = {t: k for t in calls if (k := s.crossing.needs.spent(t))}
    if not spent:
        return
    s.facts = facts.spending(spent)
    make_adjoint(s)
    s.crossing = _crossing(s)
    if not all(k <= s.crossing.needs.spent(t) for t, k in spent.items()):
        s.facts, s.adjoint, s.crossing = first


def make_forward_sweep(s: Sweeps) -> None:
    """Emit the forward sweep: the function, with shadows and the recording that the plan has chosen."""
    s.forward = ForwardSweep(s.crossing).made()
    s.forward_body = s.forward.body


def make_reverse_sweep(s: Sweeps) -> None:
    """Emit the reverse sweep: the adjoint with taped or recomputed operands, and optimised loops."""
    s.reverse_sweep = ReverseSweep(s.crossing, s.forward.saved, s.reverse.passes).made()
    s.reverse_body = s.reverse_sweep.body


def elide_rezeroing(s: Sweeps) -> None:
    """Elide zeros of a local shadow that the next iteration of a loop overwrites."""
    if s.joint:
        s.forward_body, s.reverse_body = without_rezeroing(s.f.parameters, s.forward_body, s.reverse_body)
    else:
        (s.reverse_body,) = without_rezeroing(s.f.parameters, s.reverse_body)


def elide_zeroing(s: Sweeps) -> None:
    """Turn the first `+=` into a zeroed shadow into `=`, so that the shadow need not be zeroed."""
    if s.fresh is not None:
        storing = Storing(s.facts.cotangent(x) for x in s.fresh(s.facts))
        s.forward_body, s.reverse_body = storing.blocks(s.forward_body, s.reverse_body)
        s.covered = storing.covered
    elif not s.joint:
        (s.reverse_body,) = Storing().blocks(s.reverse_body)
