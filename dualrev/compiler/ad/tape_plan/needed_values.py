"""Fixpoint of to-be-recorded (TBR) analysis and store undoing.

What is recorded depends on which stores are undone, and this on which elements are read again: so it is repeated until
nothing new is read. Where it is cheaper, elements of an array are recorded when they are loaded, and its stores are not
undone.
"""

from __future__ import annotations

from collections.abc import Iterable

from dualrev.compiler.ad.reverse.adjoint import Adjoint
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.ad.tape_plan.late_shadows import can_be_made_again, late_arrays
from dualrev.compiler.ad.tape_plan.mincut_plan import Plan, Subject
from dualrev.compiler.analysis.memory.alias import Representative, contents, given
from dualrev.compiler.analysis.ssa import Reading, Value
from dualrev.compiler.ir.core.atom_types import is_array, is_real_array
from dualrev.compiler.ir.core.atoms import Atom, Global, Var
from dualrev.compiler.ir.core.nodes import Block, Call, Copy, For, If, Make, Statement, Store, View, Whole
from dualrev.compiler.ir.core.traverse import blocks, reads, statements

__all__ = ["Needs"]


class Needs:
    """To-be-recorded analysis: the needs of an adjoint, with the plan that meets them.

    plan       what is recorded, and what is computed again
    needs      the values that the adjoint reads, each with the last position where it does
    refs       the arrays that the reverse sweep needs, and ...
    shadows    ... those whose shadows it needs
    content    where it needs the elements of arrays as they were: by classes
    undone     the stores that are undone
    late       the arrays whose shadows it makes itself (late_shadows.py): by classes
    """

    plan: Plan

    def __init__(self, facts: Facts, adjoint: Adjoint, subject: Subject, recorded: Iterable[Atom] = ()) -> None:
        """`recorded` are arrays whose elements are not read again."""
        self._forbidden = {facts.classes.find(x) for x in recorded}
        self._facts, self._adjoint, self._subject = facts, adjoint, subject
        self._versions = facts.versions
        self._stores = [s for s in statements(facts.f.body) if isinstance(s, Store)]
        self._parameter_classes = {facts.classes.find(x) for x in facts.parameters if is_array(x)}
        self._made: dict[Representative, list[tuple[int, int]]] = {}
        for s in statements(facts.f.body):
            if isinstance(s, (Make, Whole, Call)):
                for x in s.targets if isinstance(s, Call) else (s.target,):
                    if is_array(x):
                        self._made.setdefault(facts.classes.find(x), []).append(self._versions.extent[s])
        self.late = late_arrays(facts, subject.joint)

    def chosen(self) -> Needs:
        """Choose the cheapest plan, greedily by alias classes: record loaded elements, or undo the stores."""
        forbidden = set(self._forbidden)  # classes whose elements are not read again
        best = self._solve(forbidden)
        for key in sorted(self.content, key=lambda k: min(place for place, _ in self.content[k])):
            if any(self._facts.classes.find(s.array) == key for s in self._stores if s in self.undone):
                cost = self._solve(forbidden | {key})
                if cost <= best:
                    best, forbidden = cost, forbidden | {key}
        self._solve(forbidden)
        return self

    def _solve(self, forbidden: set[Representative]) -> float:
        """Iterate plan and store undoing to their fixpoint; return the cost, with inner loops weighted more."""
        self.content: dict[Representative, set[Reading]] = {}
        while True:
            self.undone = {s for s in self._stores if self._must_come_back(s)}
            self.needs: dict[Value, int] = {}
            self.refs: set[Value] = set()
            self.shadows: set[Value] = set()
            self._read(self._adjoint.body)
            unread = {v for key, v in self.late.items() if key not in self.content and can_be_made_again(v)}
            self.plan = Plan(self._subject, self.needs, forbidden, unread).made()
            if early := self._views_on_the_tape():
                self.late = {key: v for key, v in self.late.items() if key not in early}
                continue
            self._spread()
            touched = {key: set(places) for key, places in self._adjoint.touched.items()}
            for t in (t for v in self.plan.again for t in self.plan.repeated(v)):
                for x in contents(t):
                    touched.setdefault(self._facts.classes.find(x), set()).add(self._versions.reading(t, x))
            if all(places <= self.content.get(key, set()) for key, places in touched.items()):
                break
            for key, places in touched.items():
                self.content.setdefault(key, set()).update(places)
        cost = sum(self.plan.price(v) * 30.0**v.region.depth for v in self.plan.recorded)
        return cost + sum(10.0 * 30.0 ** self._versions.region_of[s].depth for s in self.undone)

    def _views_on_the_tape(self) -> set[Representative]:
        """Alias classes that must not have lazy shadows: the plan records a view, and its shadow has to exist."""
        views = (v for v in self.plan.recorded if is_array(v.variable) and isinstance(v.statement, View))
        return {self._facts.classes.find(v.variable) for v in views} & self.late.keys()

    def is_late(self, x: Atom) -> bool:
        """Whether the reverse sweep allocates the shadow of an array, here or in the caller."""
        return (key := self._facts.classes.find(x)) in self.late or key in self._subject.left

    def is_live(self, s: Statement) -> bool:
        """Whether an adjoint statement is emitted: it does not only undo stores that need no undoing."""
        if isinstance(s, (If, For)):
            return any(self.is_live(t) for block in blocks(s) for t in block)
        return s not in self._adjoint.undone or self._adjoint.undone[s] in self.undone

    def _read(self, body: Block) -> None:
        for s in body:
            if not self.is_live(s):
                continue
            for block in blocks(s):
                self._read(block)
            for x in reads(s):
                if not isinstance(x, Var):
                    continue
                if x in self._adjoint.value_of:
                    v = self._adjoint.value_of[x]
                    self.refs |= {v} if is_array(x) else set()
                elif x in self._adjoint.shadow_of:
                    v = self._adjoint.shadow_of[x]
                    self.shadows.add(v)
                else:
                    continue
                self.needs[v] = max(self.needs.get(v, -1), self._moment(v, self._adjoint.source[s]))

    def _moment(self, v: Value, s: Statement) -> int:
        """The last position of a use of `v` at `s`: the end of the outermost loop around `s` in the domain of `v`."""
        loops = self._versions.enclosing_loops(self._versions.region_of[s])
        inside = loops if v.domain is None else loops[loops.index(v.domain) + 1 :] if v.domain in loops else loops
        return self._versions.extent[inside[0] if inside else s][1]

    def _spread(self) -> None:
        """Propagate the needs of recomputed values to the arrays, or shadows, that they are computed from."""
        for v in sorted(self.plan.again, key=self._versions.order, reverse=True):
            of_array = is_array(v.variable)
            s = v.statement
            base = s.base if isinstance(s, View) else s.source if isinstance(s, Copy) else None
            if isinstance(s, Make) and v in self.shadows:
                self.refs.add(v)  # its shadow is made in its shape
            if of_array and v in self.shadows and isinstance(base, Global):
                self.refs.add(v)  # the shadow of a frozen array is made like the array
            for x, u in (item for t in self.plan.repeated(v) for item in self._versions.reads[t].items()):
                if not is_array(x):
                    continue
                if not of_array or v in self.refs or x is not base:
                    self.refs.add(u)
                if of_array and v in self.shadows and x is base:
                    self.shadows.add(u)

    def spent(self, s: Call) -> frozenset[int]:
        """Arrays that a call changes and need not restore, as indices of argument leaves."""
        changed = self._facts.memory.changed(s)
        arrays = {k: x for k, x in enumerate(given(s)) if isinstance(x, Var) and x in changed}
        return frozenset(k for k, x in arrays.items() if not self._is_read_before(s, x))

    def _must_come_back(self, s: Store) -> bool:
        """Whether a store has to be undone: the reverse sweep reads the element's old value."""
        return not self._facts.firsts.get(s) and self._is_read_before(s, s.array)

    def _is_read_before(self, s: Store | Call, x: Var) -> bool:
        """Whether the reverse sweep, or a caller, reads elements of `x` as they were before `s` changed them."""
        key = self._facts.classes.find(x)
        subject = self._subject
        if key in self._parameter_classes and (key in subject.back if subject.joint else key not in subject.spent):
            return True
        if key not in self.content:
            return False
        place = self._versions.extent[s][0]
        loops = self._versions.enclosing_loops(self._versions.region_of[s])
        made = self._made_new(s, x)
        if made is not None:
            # what is read of versions from before is another array; in a loop around the store, a read that follows
            # may precede in the next iteration
            rounds = [self._versions.extent[loop] for loop in loops if not made.region.is_inside(loop)]
            reads = [p for p, v in self.content[key] if v is not None and v.position >= made.position]
            return any(p < place or any(first <= p <= last for first, last in rounds) for p in reads)
        reads = [p for p, _ in self.content[key]]
        if any(p < place for p in reads):
            return True
        # a read that follows may precede in the next iteration of a common loop, unless the array is made anew there
        makers = self._made.get(key, [])
        for loop in loops:
            first, last = self._versions.extent[loop]
            headers = self._versions.headers[loop].items()
            carried = any(v.used and is_array(y) and self._facts.classes.find(y) == key for y, v in headers)
            if any(first <= p <= last for p in reads) and (
                key in self._parameter_classes
                or carried
                or not makers
                or any(not first <= a <= last for a, _ in makers)
            ):
                return True
        return False

    def _made_new(self, s: Store | Call, x: Var) -> Value | None:
        """The allocation that `x` must alias at a statement, in the same iteration; None if it is not known."""
        v = self._versions.at(s, x)
        while v.kind == "op" and isinstance(v.statement, (Copy, View)):
            base = v.statement.source if isinstance(v.statement, Copy) else v.statement.base
            if not isinstance(base, Var):
                return None
            v = self._versions.at(v.statement, base)
        return v if v.kind == "op" and isinstance(v.statement, (Make, Whole)) else None

    def kept(self, v: Value) -> tuple[bool, bool]:
        """Whether a recorded array itself goes to the tape, and whether its shadow does."""
        has_shadow = is_real_array(v.variable) and self._facts.has_shadow(v.variable)
        late = has_shadow and self.is_late(v.variable)
        return v in self.refs or late or not has_shadow, has_shadow and v in self.shadows and not late
