"""What the reverse sweep needs of the forward sweep, and how it gets it: to be recorded, or computed again.

The reverse sweep sees memory as it was at the same place of the forward sweep, because every store that matters is
undone on the way back. So a value can be computed again from values that are there, loads from arrays included, if no
store stands between. What cannot, or would cost too much (a loop's variables, results of calls, exp and the like), has
to come from the tape. Of all sets that suffice, the smallest is taken: a minimal cut between what must be recorded and
what is needed, for each loop on its own, from the innermost outwards.
"""

from __future__ import annotations

import ast
import itertools
from collections import deque
from typing import Any

from dualrev.compiler.activity import Activity, atom_name
from dualrev.compiler.core import Call, Const, For, Let, Store, leaves, walk
from dualrev.compiler.expand import Expanded, is_array
from dualrev.compiler.flow import Flow, Value

__all__ = ["CHEAP", "Plan", "changed", "reads_memory"]

CHEAP = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "pos",
    "abs",
    "sqrt",
    "maximum",
    "minimum",
    "copysign",
    "sign",
    "floor",
    "scaled",
}
_WORD, _FLAG, _ARRAY = 10, 3, 60  # what it costs to record a number, a bool, an array


def reads_memory(s: Any, e: Expanded) -> list[str]:
    """The arrays whose elements an operation reads (not only their shape)."""
    if not isinstance(s, Let):
        return []
    if s.op == "load":
        name = atom_name(s.args[0])
        return [name] if name is not None else []
    if s.op != "plain":
        return []
    shapes = set()
    for node in ast.walk(s.info):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in ("shape", "size", "ndim")
        ):
            shapes.add(id(node.value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            shapes.add(id(node.args[0]))
    names = {n.id for n in ast.walk(s.info) if isinstance(n, ast.Name) and id(n) not in shapes}
    return [x for x in names if is_array(e.types.get(x))]


class Plan:
    """Which values are recorded, and which computed again."""

    def __init__(
        self,
        e: Expanded,
        flow: Flow,
        activity: Activity,
        effects: Any,
        joint: bool,
        forbidden: set[str],
        given: set[Value],
    ) -> None:
        self.forbidden, self.given = forbidden, given
        self.e, self.flow, self.activity, self.effects, self.joint = e, flow, activity, effects, joint
        self.recorded: set[Value] = set()
        self.again: set[Value] = set()
        self.alive: set[Value] = set()
        self.chained: dict[Value, Value] = {}
        self.linear = {v: found for v in flow.values if (found := self.progression(v)) is not None}
        self.clobbers: dict[str, list[int]] = {}
        for s in walk(e.body):
            for x in changed(s, effects):
                key = activity.classes.find(x)
                self.clobbers.setdefault(key, []).append(flow.extent[s][1])

    def moment(self, v: Value, statement: Any) -> int:
        """The last position of a use of v at a statement: that of the loop in v's domain that contains it."""
        region = self.flow.region_of[statement]
        loops = self.flow.enclosing_loops(region)
        inside = loops if v.domain is None else loops[loops.index(v.domain) + 1 :] if v.domain in loops else loops
        return self.flow.extent[inside[0]][1] if inside else self.flow.extent[statement][1]

    def make(self, needs: dict[Value, int]) -> None:
        """Plan for the values that are needed, each with the last position where it is."""
        needs = dict(needs)
        domains: dict[Any, int] = {}
        for v in self.flow.values:
            domains[v.domain] = v.region.depth
        for domain in sorted(domains, key=lambda d: -domains[d]):
            mine = {v: q for v, q in needs.items() if v.domain is domain}
            self.domain(domain, mine, needs)

    def domain(self, domain: Any, mine: dict[Value, int], needs: dict[Value, int]) -> None:
        if domain is None and self.joint:
            self.alive |= set(mine)
            return
        last = dict(mine)
        todo = deque(mine)
        while todo:
            v = todo.popleft()
            if self.free(v):
                continue
            for u in self.dependencies(v):
                if u.domain is domain and last.get(u, -1) < last[v]:
                    last[u] = last[v]
                    todo.append(u)
        self.chain(domain, mine)
        cut = self.cut(domain, mine, last)
        self.recorded |= cut
        done: set[Value] = set()
        stack = list(mine)
        while stack:
            v = stack.pop()
            if v in done or v in cut or self.free(v):
                continue
            done.add(v)
            for u in self.dependencies(v):
                if u.domain is domain:
                    stack.append(u)
                else:
                    needs[u] = max(needs.get(u, -1), self.outside(u, domain))
        self.again |= done

    def chain(self, loop: Any, mine: dict[Value, int]) -> None:
        """Find values at the end of a round that are needed, and are those at the start of the next one, needed too.

        On the way back the next round comes first, so its start need not be recorded a second time.
        """
        for header in self.flow.headers.get(loop, {}).values():
            end = header.parts[1] if len(header.parts) == 2 else None
            if end is None or end not in mine or header not in mine or header in self.linear or end is header:
                continue
            if end.region.block is loop.body and not is_array(self.e.types.get(header.variable)):
                self.chained[end] = header

    def free(self, v: Value) -> bool:
        """Whether a value is there without further ado."""
        return v.kind in ("param", "counter") or v in self.given

    def outside(self, u: Value, domain: Any) -> int:
        """The position of a use of u, of an outer domain, in the loop `domain`."""
        loop = domain
        while True:
            around = self.flow.region_of[loop].loop
            if around is u.domain:
                return self.flow.extent[loop][1]
            loop = around

    def dependencies(self, v: Value) -> list[Value]:
        """What is needed to compute v again."""
        if v in self.chained:
            header = self.chained[v]
            return [header, self.flow.afters[header.statement][header.variable]]
        if v in self.linear:
            return [v.parts[0], *(u for u in self.flow.reads[v.statement].values())]
        if v.kind != "op" or not isinstance(v.statement, (Let, Call)):
            return []
        return list(self.flow.reads[v.statement].values())

    def can_repeat(self, v: Value, last: int) -> bool:
        """Whether v may be computed again as late as at `last`."""
        s = v.statement
        if v in self.linear or v in self.chained:
            return True
        if v.kind == "op" and isinstance(s, Call):
            return self.can_call(s, v.position, last)
        if v.kind != "op" or not isinstance(s, Let) or s.op not in ("copy", "plain", "prim", "load", "view"):
            return False
        if s.op == "prim" and s.info[0].name not in CHEAP:
            whole = s.info[0].name == "pow" and isinstance(s.args[1], Const) and isinstance(s.args[1].value, int)
            if not whole or abs(s.args[1].value) > 4:
                return False
        for x in reads_memory(s, self.e):
            key = self.activity.classes.find(x)
            if key in self.forbidden or any(v.position < p <= last for p in self.clobbers.get(key, [])):
                return False
        return True

    def can_call(self, s: Call, position: int, last: int) -> bool:
        """Whether a call may be made again: a short function of numbers, or of arrays that stay as they are."""
        if not self.effects(s).cheap or any(is_array(self.e.types.get(t)) for t in s.targets):
            return False
        for x in (x for a in s.args for x in leaves(a)):
            if is_array(self.e.types.get(x) if isinstance(x, str) else None):
                return False
        return True

    def progression(self, v: Value) -> tuple[str, int] | None:
        """For a whole number that each iteration of a For changes by a constant: the sign and the constant."""
        loop = v.statement
        if v.kind != "header" or not isinstance(loop, For) or len(v.parts) != 2 or loop.step != Const(1):
            return None
        if str(self.e.types.get(v.variable)) != "int64":
            return None
        end = v.parts[1]
        s = end.statement
        if end.kind != "op" or end.region.block is not loop.body or not isinstance(s, Let) or s.op != "plain":
            return None
        if self.flow.reads[s].get(v.variable) is not v or not isinstance(s.info, ast.BinOp):
            return None
        left, right = s.info.left, s.info.right
        if not (isinstance(left, ast.Name) and left.id == v.variable and isinstance(right, ast.Constant)):
            return None
        symbol = {ast.Add: "+", ast.Sub: "-"}.get(type(s.info.op))
        return (symbol, right.value) if symbol and isinstance(right.value, int) else None

    def cut(self, domain: Any, mine: dict[Value, int], last: dict[Value, int]) -> set[Value]:
        """The cheapest set of values from which all needed ones can be computed: a minimal vertex cut."""
        network = _Network()
        for v, q in last.items():
            if self.free(v):
                continue
            network.edge((v, 0), (v, 1), self.cost(v))
            if not self.can_repeat(v, q):
                network.edge("source", (v, 0), _Network.INFINITE)
            else:
                for u in self.dependencies(v):
                    if u.domain is domain and not self.free(u):
                        network.edge((u, 1), (v, 0), _Network.INFINITE)
        for v in mine:
            if not self.free(v):
                network.edge((v, 1), "sink", _Network.INFINITE)
        behind = network.behind_the_cut()
        return {v for v in last if (v, 1) in behind and (v, 0) not in behind and not self.free(v)}

    def cost(self, v: Value) -> int:
        kind = self.e.types.get(v.variable)
        if is_array(kind):
            return _ARRAY
        return _FLAG if str(kind) == "bool" else _WORD


class _Network:
    """A flow network, and its minimal cut that is next to the sink."""

    INFINITE = 1 << 40

    def __init__(self) -> None:
        self.capacity: dict[Any, dict[Any, int]] = {"source": {}, "sink": {}}

    def edge(self, a: Any, b: Any, capacity: int) -> None:
        out = self.capacity.setdefault(a, {})
        out[b] = min(self.INFINITE, out.get(b, 0) + capacity)
        self.capacity.setdefault(b, {}).setdefault(a, 0)

    def path(self) -> list[Any]:
        """A shortest way from source to sink that has room left."""
        came: dict[Any, Any] = {"source": None}
        todo = deque(["source"])
        while todo:
            a: Any = todo.popleft()
            if a == "sink":
                way = []
                while a is not None:
                    way.append(a)
                    a = came[a]
                return way[::-1]
            for b, room in self.capacity[a].items():
                if room > 0 and b not in came:
                    came[b] = a
                    todo.append(b)
        return []

    def behind_the_cut(self) -> set[Any]:
        """The nodes from which the sink can still be reached when the flow is maximal."""
        while way := self.path():
            edges = list(itertools.pairwise(way))
            amount = min(self.capacity[a][b] for a, b in edges)
            for a, b in edges:
                self.capacity[a][b] -= amount
                self.capacity[b][a] += amount
        behind: set[Any] = {"sink"}
        todo: deque[Any] = deque(["sink"])
        while todo:
            b = todo.popleft()
            for a in self.capacity[b]:
                if a not in behind and self.capacity[a].get(b, 0) > 0:
                    behind.add(a)
                    todo.append(a)
        return behind


def changed(s: Any, effects: Any) -> list[str]:
    """The arrays whose elements a statement itself changes."""
    if isinstance(s, Store):
        return [s.array]
    if isinstance(s, Call):
        inputs = [x for a in s.args for x in leaves(a)]
        return [x for x, w in zip(inputs, effects(s).writes, strict=True) if w and isinstance(x, str)]
    return []
