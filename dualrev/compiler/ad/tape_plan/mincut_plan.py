"""Tape plan by minimum cut: record or recompute each forward value that the reverse sweep needs.

The reverse sweep sees memory as it was at the same place of the forward sweep, because every store that matters is
undone in the reverse sweep. So a value can be computed again from values that are there, loads from arrays included, if
no store stands between; what a short branch leaves, with the branch (recompute_branches.py). What cannot, or would cost
too much (a loop's variables, results of calls, exp and the like), has to come from the tape. Of all sets that suffice,
the smallest is taken: a minimal cut between what must be recorded and what is needed, for each loop on its own, from
the innermost outwards.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from numba.core import types

from dualrev.compiler.ad.tape_plan.recompute_branches import sources
from dualrev.compiler.analysis.cost_model import Cost
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, contents, given
from dualrev.compiler.analysis.mincut import INFINITE, SINK, SOURCE, Network
from dualrev.compiler.analysis.opaque_flows import is_opaque_atom
from dualrev.compiler.analysis.ssa import Loop, Value, Versions
from dualrev.compiler.analysis.values.induction import Progression, progressions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.nodes import Call, Copy, Discrete, For, Function, Load, Opaque, Real, Statement, View
from dualrev.compiler.ir.core.traverse import statements

__all__ = ["Plan", "Subject"]

_WORD, _FLAG, _ARRAY = 10, 3, 60  # what it costs to record a number, a bool, an array


@dataclass(frozen=True)
class Subject:
    """A function to plan the tape for, with the results of its analyses."""

    f: Function
    versions: Versions
    classes: Classes
    memory: Memory
    cost: Cost
    joint: bool  # both sweeps are one function
    given: frozenset[Value]  # arrays that the reverse sweep gets from its caller
    spent: frozenset[Representative] = frozenset()  # classes of parameters whose old elements its caller does not need
    left: frozenset[Representative] = frozenset()  # classes of results whose shadows its caller makes
    back: frozenset[Representative] = frozenset()  # classes of parameters that joint sweeps restore

    def changes(self) -> dict[Representative, list[int]]:
        """The positions at which the elements of each alias class may change."""
        found: dict[Representative, list[int]] = {}
        for s in statements(self.f.body):
            for x in self.memory.changed(s):
                found.setdefault(self.classes.find(x), []).append(self.versions.extent[s][1])
        return found


class Plan:
    """Tape plan: the values to record, and the values to recompute.

    `needs`: the values that are needed, each with the last position where it is. `forbidden`: classes of arrays whose
    elements are not read again. `unread`: new arrays that may be made again, since no elements of them are read.
    """

    def __init__(
        self, subject: Subject, needs: dict[Value, int], forbidden: set[Representative], unread: set[Value]
    ) -> None:
        self.subject, self.versions, self._forbidden, self._unread = subject, subject.versions, forbidden, unread
        self.recorded: set[Value] = set()
        self.again: set[Value] = set()
        self.alive: set[Value] = set()
        self.chained: dict[Value, Value] = {}
        self._branches: dict[Value, list[Value] | None] = {}
        self._needs = needs

    @cached_property
    def linear(self) -> dict[Value, Progression]:
        """Induction variables, by the value that each iteration begins with."""
        return progressions(self.versions)

    @cached_property
    def _changes(self) -> dict[Representative, list[int]]:
        return self.subject.changes()

    def made(self) -> Plan:
        """Solve a minimum cut for each domain, inner loops first; refuse to record opaque values. Return the plan."""
        self._make(dict(self._needs))
        for v in sorted(self.recorded | self.again, key=lambda v: v.position):
            self._check_opaque(v)
        return self

    def _check_opaque(self, v: Value) -> None:
        """Refuse to record an opaque value: it has to be available, or the statement that made it runs again."""
        changes = isinstance(v.statement, Opaque) and v.statement.changes
        runs_again = v in self.again and v.kind == "op" and not changes
        if is_opaque_atom(v.variable) and not runs_again:
            what = f"the value of {v.variable} at this place"
            why = f"it is needed in the reverse sweep, and nothing of numba type {v.variable.type} is recorded"
            self.subject.f.origin.source.refuse(v.statement.line, what, why, "a function that calls itself")

    def _make(self, needs: dict[Value, int]) -> None:
        domains: dict[Loop | None, int] = {}
        for v in self.versions.values:
            domains[v.domain] = v.region.depth
        for domain in sorted(domains, key=lambda d: -domains[d]):
            mine = {v: q for v, q in needs.items() if v.domain is domain}
            self._plan(domain, mine, needs)

    def _plan(self, domain: Loop | None, mine: dict[Value, int], needs: dict[Value, int]) -> None:
        if domain is None and self.subject.joint:
            self.alive |= set(mine)
            return
        last = {v: self._until(v, q) for v, q in mine.items()}
        todo = deque(mine)
        while todo:
            v = todo.popleft()
            if self.is_free(v):
                continue
            for u in self.dependencies(v):
                q = self._until(u, last[v])
                if u.domain is domain and last.get(u, -1) < q:
                    last[u] = q
                    todo.append(u)
        self._chain(domain, mine)
        cut = self._cut(domain, mine, last)
        self.recorded |= cut
        done: set[Value] = set()
        stack = list(mine)
        while stack:
            v = stack.pop()
            if v in done or v in cut or self.is_free(v):
                continue
            done.add(v)
            for u in self.dependencies(v):
                if u.domain is domain:
                    stack.append(u)
                else:
                    needs[u] = max(needs.get(u, -1), self._outside(u, domain))
        self.again |= done

    def _until(self, v: Value, last: int) -> int:
        """The position of the last use of `v`; for an array that is reallocated, at least the end of its block."""
        return max(last, v.region.end) if v in self._unread else last

    def _chain(self, loop: Loop | None, mine: dict[Value, int]) -> None:
        """Loop-carried values needed at both ends of an iteration: tape once.

        The reverse sweep comes to the next iteration first, so the value at its start need not be recorded a second
        time.
        """
        if loop is None:
            return
        for header in self.versions.headers[loop].values():
            end = header.parts[1] if len(header.parts) == 2 else None
            if end is None or end not in mine or header not in mine or header in self.linear or end is header:
                continue
            if end.region.owner is loop and end.region.block is loop.body and not is_array(header.variable):
                self.chained[end] = header

    def is_free(self, v: Value) -> bool:
        """Whether a value is available for free: a parameter, a counter, or given by the caller."""
        return v.kind in ("param", "counter") or v in self.subject.given

    def _outside(self, u: Value, domain: Loop | None) -> int:
        """The last use of `u`, of an outer domain, in `domain`: the end of the outermost loop between them."""
        loop = domain
        while True:
            assert loop is not None
            around = self.versions.region_of[loop].loop
            if around is u.domain:
                return self.versions.extent[loop][1]
            loop = around

    def dependencies(self, v: Value) -> list[Value]:
        """The operands from which `v` is recomputed."""
        if v in self.chained:
            header = self.chained[v]
            return [header, self.versions.afters[header.statement][header.variable]]
        if v in self.linear:
            loop, known = v.statement, self.linear[v].values
            if isinstance(loop, For):
                return [*known, *self.versions.reads[loop].values()]
            return [*known, self.versions.trips[loop]] if v.kind == "after" else known
        if v.kind == "join":
            return self._sources(v) or []
        if v.kind != "op" or isinstance(v.statement, For):
            return []
        return list(self.versions.reads[v.statement].values())

    def repeated(self, v: Value) -> list[Statement]:
        """The statements that run again when `v` is recomputed."""
        with_branch = v.kind == "join" and v not in self.chained
        return list(statements((v.statement,))) if with_branch else [v.statement]

    def _sources(self, v: Value) -> list[Value] | None:
        """Live-ins of the `if` that defines phi `v`; None if it must not be recomputed."""
        if v not in self._branches:
            self._branches[v] = sources(v, self.versions, self.subject.cost)
        return self._branches[v]

    def _can_repeat(self, v: Value, last: int) -> bool:
        """Whether `v` may be recomputed as late as at `last`: it is cheap, and its operands are unchanged."""
        s = v.statement
        if v in self.linear or v in self.chained:
            return True
        if v.kind == "join":
            return self._sources(v) is not None and all(self._is_there(s, v, last) for s in self.repeated(v))
        if v.kind != "op":
            return False
        match s:
            case Call():
                arrays = [x for x in [*s.targets, *given(s)] if is_array(x)]
                return not arrays and not any(map(is_opaque_atom, given(s))) and self.subject.cost.call(s)
            case Real():
                return self.subject.cost.operation(s)
            case Copy() | Discrete() if not self._reads_opaque(v):
                return self._is_there(s, v, last)
            case Load() | View():
                return self._is_there(s, v, last)
        return v in self._unread

    def _reads_opaque(self, v: Value) -> bool:
        """Whether `v` is opaque, or computed from opaque values that are not available anyway."""
        read = {x: u for x, u in self.versions.reads[v.statement].items() if is_opaque_atom(x)}
        kept = self.subject.joint and all(u.kind == "param" for u in read.values())
        return is_opaque_atom(v.variable) or (bool(read) and not kept)

    def _is_there(self, s: Statement, v: Value, last: int) -> bool:
        """Whether the elements that `s` reads are unchanged between `v` and the position `last`."""
        keys = [self.subject.classes.find(x) for x in contents(s)]
        return not any(key in self._forbidden or self._is_changed(key, v.position, last) for key in keys)

    def _is_changed(self, key: Representative, after: int, last: int) -> bool:
        return any(after < p <= last for p in self._changes.get(key, ()))

    def _cut(self, domain: Loop | None, mine: dict[Value, int], last: dict[Value, int]) -> set[Value]:
        """Minimum vertex cut: the cheapest set of values from which all needed ones can be recomputed."""
        network = Network()
        for v, q in last.items():
            if self.is_free(v):
                continue
            network.edge((v, 0), (v, 1), self.price(v))
            if not self._can_repeat(v, q):
                network.edge(SOURCE, (v, 0), INFINITE)
            else:
                for u in self.dependencies(v):
                    if u.domain is domain and not self.is_free(u):
                        network.edge((u, 1), (v, 0), INFINITE)
        for v in mine:
            if not self.is_free(v):
                network.edge((v, 1), SINK, INFINITE)
        behind = network.behind_the_cut()
        return {v for v in last if (v, 1) in behind and (v, 0) not in behind and not self.is_free(v)}

    def price(self, v: Value) -> int:
        """The cost of recording a value; infinite for an opaque one."""
        if is_array(v.variable):
            return _ARRAY
        if is_opaque_atom(v.variable):
            return INFINITE
        return _FLAG if isinstance(v.variable.type, types.Boolean) else _WORD
