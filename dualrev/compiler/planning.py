"""Before the code is written: what the reverse sweep asks for, where old elements must come back, and all names.

The reverse sweep is written once without a tape, to see which values it asks for; plan.py chooses what to record. That
depends on which stores are undone, and this on what is read again: so it is repeated until nothing new is read. Where
it is cheaper, elements of an array are recorded when they are loaded, and its stores are not undone.
"""

from __future__ import annotations

from typing import Any

from dualrev.compiler.activity import atom_name
from dualrev.compiler.core import (
    Call,
    Let,
    Store,
    While,
    walk,
)
from dualrev.compiler.expand import is_array
from dualrev.compiler.firsts import first_stores
from dualrev.compiler.flow import Value
from dualrev.compiler.plan import Plan, changed, reads_memory
from dualrev.compiler.record import Recording

__all__ = ["Planning"]


class Planning(Recording):
    """The choices for both sweeps."""

    def reverse(self) -> list[Any]:
        """The code of the reverse sweep (reverse.py)."""
        raise NotImplementedError

    def _given_results(self) -> set[Value]:
        """Arrays that the function returns: its caller has them, and gives them to the reverse sweep."""
        if self.joint:
            return set()
        found = {
            self.flow.result[x] for k, x in enumerate(self.result_leaves) if k in self.wanted and self.has_shadow(x)
        }
        return {v for v in found if v.kind != "param"}

    def _plan(self) -> None:
        self.firsts = first_stores(self.e, self.flow, self.classes, self.effects)
        forbidden: set[str] = set()  # classes whose elements are not read again, so that stores need not be undone
        best = self._solve(forbidden)
        for key in sorted(self.content):
            if any(
                isinstance(s, Store) and self.same(s.array, key) and self.must_restore(s) for s in walk(self.e.body)
            ):
                cost = self._solve(forbidden | {key})
                if cost <= best:
                    best, forbidden = cost, forbidden | {key}
        self._solve(forbidden)
        self._name_values()
        self.restored = {
            self.classes.find(s.array) for s in walk(self.e.body) if isinstance(s, Store) and self.must_restore(s)
        } | {self.classes.find(x) for s in walk(self.e.body) if isinstance(s, Call) for x in changed(s, self.effects)}
        self.recorded_in = {}
        for v in sorted(self.plan.recorded, key=lambda v: (v.position, v.variable)):
            block = v.region.block
            if isinstance(v.region.owner, While) and v.region.owner.test_block is block:
                block = v.region.owner.body
            self.recorded_in.setdefault(id(block), []).append(v)
        self.own_tape = any(self.words(v) for v in self.plan.recorded) or any(
            isinstance(s, Store) and self.must_restore(s) for s in walk(self.e.body)
        )
        self.calls_tape = any(isinstance(s, Call) and self.callee_tape(s) for s in walk(self.e.body))
        self.uses_tape = self.own_tape or self.calls_tape or bool(self.plan.recorded)

    def _solve(self, forbidden: set[str]) -> float:
        """Plan, and tell what it costs: words on the tape, those in inner loops more."""
        self.content = {}
        while True:
            self.needs: dict[Value, int] = {}
            self.planning = True
            self.touched: dict[str, set[int]] = {}
            self.refs = set()  # arrays that the reverse sweep itself needs, ...
            self.shadows = set()  # ... and those whose shadows it needs
            self.plan = Plan(self.e, self.flow, self.activity, self.effects, self.joint, forbidden, self.given)
            self.reverse()
            self.planning = False
            self.plan.make(self.needs)
            self._spread_wants()
            for v in self.plan.again:
                for x in reads_memory(v.statement, self.e):
                    self.touch(x, v.statement)
            if all(places <= self.content.get(key, set()) for key, places in self.touched.items()):
                break
            for key, places in self.touched.items():
                self.content.setdefault(key, set()).update(places)
        cost = sum(self.plan.cost(v) * 30.0**v.region.depth for v in self.plan.recorded)
        for s in walk(self.e.body):
            if isinstance(s, Store) and self.must_restore(s):
                cost += 10.0 * 30.0 ** self.flow.region_of[s].depth
        return cost

    def _spread_wants(self) -> None:
        """What is computed again needs the arrays that it is computed from, or their shadows."""
        for v in sorted(self.plan.again, key=lambda v: -v.position):
            of_array = is_array(self.kind(v.variable))
            s = v.statement
            if of_array and v in self.shadows and isinstance(s, Let) and not isinstance(s.args[0], str):
                self.refs.add(v)  # the shadow of a frozen array is made like the array
            for x, u in self.flow.reads[s].items():
                if not is_array(self.kind(x)):
                    continue
                if not of_array or v in self.refs or x != s.args[0]:
                    self.refs.add(u)
                if of_array and v in self.shadows and x == s.args[0]:
                    self.shadows.add(u)

    def callee_tape(self, s: Call) -> bool:
        unit = self.callee(s, self)
        return unit is not None and unit.uses_tape

    def touch(self, array: Any, s: Any) -> None:
        """The reverse sweep reads elements of an array as they were at a statement."""
        name = atom_name(array)
        if name is not None:
            self.touched.setdefault(self.classes.find(name), set()).add(self.flow.extent[s][0])

    def must_restore(self, s: Store) -> bool:
        """Whether the old value of an element has to come back on the way back."""
        key = self.classes.find(s.array)
        if key in self.parameter_classes and not self.joint:
            return True
        if key not in self.content or s in self.firsts:
            return False
        place = self.flow.extent[s][0]
        if any(p < place for p in self.content[key]):
            return True
        # a read that follows may precede in the next round of a common loop, unless the array is made anew there
        made = [
            self.flow.extent[t]
            for t in walk(self.e.body)
            if (isinstance(t, Let) and t.op in ("alloc", "array") and self.same(t.target, key))
            or (isinstance(t, Call) and any(self.same(x, key) for x in t.targets))
        ]
        for loop in self.flow.enclosing_loops(self.flow.region_of[s]):
            first, last = self.flow.extent[loop]
            carried = any(v.used and self.same(x, key) for x, v in self.flow.headers[loop].items())
            if any(first <= p <= last for p in self.content[key]) and (
                key in self.parameter_classes or carried or not made or any(not first <= a <= last for a, _ in made)
            ):
                return True
        return False

    def version_name(self, x: str) -> str:
        """A name for an earlier value of a variable."""
        return self.fresh_name("{}_{k}", x, self.e.lowered.names.is_temporary(x))

    def _name_values(self) -> None:
        """A name for each value that the reverse sweep uses: that of the variable, unless it is assigned again."""
        assigned: dict[str, list[int]] = {}
        for v in self.flow.values:
            if v.kind in ("op", "counter"):
                assigned.setdefault(v.variable, []).append(v.position)
        self.hold = set()
        parameters = {v for v in self.needs if v.kind == "param" or v in self.given}
        parameters |= {
            u for v in self.plan.again for u in self.plan.dependencies(v) if u.kind == "param" or u in self.given
        }
        if self.given:  # they may be later versions of parameters, which then have other names
            parameters |= set(self.flow.parameters.values())
        used = self.plan.recorded | self.plan.again | self.plan.alive | parameters
        for v in sorted(used, key=lambda v: (v.position, v.variable)):
            base = v.variable
            extent = (0, self.flow.clock) if v.domain is None else self.flow.extent[v.domain]
            again = v.kind != "trips" and any(
                p > v.position and extent[0] <= p <= extent[1] for p in assigned.get(v.variable, [])
            )
            if not again and v.kind != "trips":
                self.names[v] = base
                continue
            is_trips = v.kind == "trips"
            self.names[v] = self.fresh_name("trips_{k}") if is_trips else self.version_name(base)
            if again and (self.joint or (v.kind != "param" and v not in self.given)):
                self.hold.add(v)
