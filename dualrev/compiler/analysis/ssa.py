"""SSA versions of every variable on structured core, and the version that each statement reads.

A variable of the core may be assigned many times. A Value is one of its versions:

    param    an argument                              op      the target of an operation or a call
    counter  the variable of a For, in its body       header  a variable that a loop changes, when an iteration starts
    after    that variable when the loop has ended    join    a variable that a branch changes, after the branch
    trips    how many iterations a loop has run

Its domain is the innermost loop around its definition: there is one such value for every iteration of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numba.core import types

from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import Block, For, Function, If, Statement, While
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements, variables, writes

__all__ = ["Loop", "Reading", "Region", "Value", "Versions"]

Loop: TypeAlias = For | While


@dataclass(eq=False)
class Region:
    """A block with its parent, its owner, the loops around it, and its first and last position."""

    parent: Region | None
    owner: If | For | While | None  # the statement that it is a part of; None for the function's body
    block: Block
    loop: Loop | None  # the innermost loop around it
    depth: int  # the number of loops around it
    start: int = 0
    end: int = 0

    @property
    def nesting(self) -> int:
        """How many statements are around the block."""
        return 0 if self.parent is None else self.parent.nesting + 1

    def is_inside(self, s: Statement) -> bool:
        """Whether the region lies in a statement, at any depth."""
        region: Region | None = self
        while region is not None:
            if region.owner is s:
                return True
            region = region.parent
        return False


@dataclass(eq=False)
class Value:
    """An SSA version of a variable."""

    variable: Var
    kind: str
    statement: Any  # the one that makes it, as its kind says; None for an argument
    region: Region
    position: int
    parts: list[Value] = field(default_factory=list)  # join: of both branches; header: before, and of the iteration
    used: bool = False

    @property
    def domain(self) -> Loop | None:
        """Innermost loop around the definition."""
        return self.region.loop

    def __repr__(self) -> str:
        return f"{self.variable}@{self.position}:{self.kind}"


#: Elements of an array are read: the position, and the version of the array (None for a global).
Reading: TypeAlias = "tuple[int, Value | None]"


class Versions:
    """SSA form of a function.

    reads[statement][variable] is the value that the statement reads; made[statement][variable] the one that it makes;
    headers[loop], afters[loop], trips[loop]: the values of a loop; joins[if]: the phis after a branch;
    extent[statement]: its first and last position; regions[statement, k]: its k-th block. A variable that is neither an
    argument nor assigned before, as in a part of a function, has no value.
    """

    def __init__(self, f: Function) -> None:
        self.reads: dict[Statement, dict[Var, Value]] = {}
        self.made: dict[Statement, dict[Var, Value]] = {}
        self.headers: dict[Statement, dict[Var, Value]] = {}
        self.afters: dict[Statement, dict[Var, Value]] = {}
        self.joins: dict[Statement, dict[Var, Value]] = {}
        self.trips: dict[Statement, Value] = {}
        self.extent: dict[Statement, tuple[int, int]] = {}
        self.region_of: dict[Statement, Region] = {}
        self.regions: dict[tuple[Statement | None, int], Region] = {}  # by the statement and the number of its block
        self.values: list[Value] = []
        self.clock = 0
        self._order = {x: k for k, x in enumerate(variables(f))}  # so that the output does not depend on addresses
        self.top = self.regions[None, 0] = Region(None, None, f.body, None, 0)
        parameters = [x for p in f.parameters for x in leaves(p) if isinstance(x, Var)]
        self.parameters = {x: self._value(x, "param", None, self.top) for x in parameters}
        self.clock += 1
        env = self._block(self.top, dict(self.parameters))
        self.result = {x: self._read(env, x) for x in leaves(f.result) if isinstance(x, Var)}
        todo = [v for v in self.values if v.used]
        while todo:  # what flows into a value that is read, is read
            for part in todo.pop().parts:
                if not part.used:
                    part.used = True
                    todo.append(part)

    def order(self, v: Value) -> tuple[int, int]:
        """A sort key for values: position, then variable."""
        return v.position, self._order.get(v.variable, -1)

    def at(self, s: Statement, x: Var) -> Value:
        """The value that a statement reads for a variable."""
        return self.reads[s][x]

    def reading(self, s: Statement, x: Atom) -> Reading:
        """A read of an array's elements at a statement: its position, and the array's version (read, or made there)."""
        v = self.reads[s].get(x, self.made.get(s, {}).get(x)) if isinstance(x, Var) else None
        return self.extent[s][0], v

    def enclosing_loops(self, region: Region) -> list[Loop]:
        """Loops around a region, outermost first."""
        found: list[Loop] = []
        r: Region | None = region
        while r is not None:
            if isinstance(r.owner, (For, While)):
                found.append(r.owner)
            r = r.parent
        return found[::-1]

    def _sorted(self, some: set[Var]) -> list[Var]:
        return sorted(some, key=self._order.__getitem__)

    def _value(self, variable: Var, kind: str, statement: Statement | None, region: Region) -> Value:
        made = Value(variable, kind, statement, region, self.clock)
        self.values.append(made)
        return made

    @staticmethod
    def _read(env: dict[Var, Value], x: Var) -> Value:
        value = env[x]
        value.used = True
        return value

    def _block(self, region: Region, env: dict[Var, Value]) -> dict[Var, Value]:
        region.start = self.clock
        for s in region.block:
            self._statement(s, region, env)
        self.clock += 1
        region.end = self.clock
        return env

    def _statement(self, s: Statement, region: Region, env: dict[Var, Value]) -> None:
        self.clock += 1
        start = self.clock
        self.region_of[s] = region
        self.reads[s] = {x: self._read(env, x) for x in reads(s) if isinstance(x, Var) and x in env}
        match s:
            case If():
                inner = [Region(region, s, b, region.loop, region.depth) for b in (s.then, s.orelse)]
                self.regions |= {(s, k): r for k, r in enumerate(inner)}
                self._join(s, region, env, [self._block(r, dict(env)) for r in inner])
            case For() | While():
                self._loop(s, region, env)
            case _:
                self.made[s] = {}
                for x in writes(s):
                    env[x] = self.made[s][x] = self._value(x, "op", s, region)
        self.clock += 1
        self.extent[s] = (start, self.clock)

    def _join(self, s: If, region: Region, env: dict[Var, Value], ends: list[dict[Var, Value]]) -> None:
        self.clock += 1
        self.joins[s] = {}
        for x in {**ends[0], **ends[1]}:
            one, two = ends[0].get(x), ends[1].get(x)
            if one is two:
                continue
            joined = self._value(x, "join", s, region)
            joined.parts = [v for v in (one, two) if v is not None]
            env[x] = self.joins[s][x] = joined

    def _loop(self, s: Loop, region: Region, env: dict[Var, Value]) -> None:
        inside = self.regions[s, int(isinstance(s, While))] = Region(region, s, s.body, s, region.depth + 1)
        assigned = {x for b in blocks(s) for t in statements(b) for x in writes(t)}
        self.headers[s] = {}
        inner = dict(env)
        for x in self._sorted(assigned):
            header = self._value(x, "header", s, inside)
            if x in env:
                header.parts = [env[x]]
            inner[x] = self.headers[s][x] = header
        if isinstance(s, For):
            counter = self._value(s.target, "counter", s, inside)
            inner[s.target] = counter
            self.made[s] = {s.target: counter}
        else:
            self.regions[s, 0] = Region(region, s, s.before, s, region.depth + 1)
            inner = self._block(self.regions[s, 0], inner)
            if isinstance(s.test, Var) and s.test in inner:
                self.reads[s] = {s.test: self._read(inner, s.test)}
        end = self._block(inside, inner)
        for x in self._sorted(assigned):
            if x in end:
                self.headers[s][x].parts.append(end[x])
        for x in s.exits:
            if x in end:
                self._read(end, x)
        self.clock += 1
        self.afters[s] = {}
        for x in self._sorted(assigned | ({s.target} if isinstance(s, For) else set())):
            env[x] = self.afters[s][x] = self._value(x, "after", s, region)
            env[x].parts = [self.headers[s][x]] if x in self.headers[s] else []
        self.trips[s] = self._value(Var("trips", types.int64), "trips", s, region)
