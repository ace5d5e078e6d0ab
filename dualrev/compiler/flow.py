"""Values: the versions of every variable (SSA on structured core), and which value each use reads.

A variable of the core may be assigned many times. A Value is one of its versions:

    param    an argument                              op      the target of an operation or a call
    counter  the variable of a For, in its body       header  a variable that a loop changes, when an iteration starts
    after    that variable when the loop has ended    join    a variable that a branch changes, after the branch
    trips    how many iterations a loop has run

Its domain is the innermost loop around its definition: there is one such value for every iteration of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dualrev.compiler.core import Const, For, If, Ref, While, blocks, reads, walk, writes

__all__ = ["Flow", "Region", "Value"]


@dataclass(eq=False)
class Region:
    """A block: where it is, and between which positions of the program."""

    parent: Region | None
    owner: Any  # the statement that it is a part of; None for the function's body
    block: list[Any]
    loop: Any  # the innermost loop around it
    depth: int  # the number of loops around it
    start: int = 0
    end: int = 0


@dataclass(eq=False)
class Value:
    """A version of a variable."""

    variable: str
    kind: str
    statement: Any
    region: Region
    position: int
    parts: list[Value] = field(default_factory=list)  # join: of both branches; header: before, and of the iteration
    used: bool = False

    @property
    def domain(self) -> Any:
        """The innermost loop around the definition."""
        return self.region.loop

    def __repr__(self) -> str:
        return f"{self.variable}@{self.position}:{self.kind}"


class Flow:
    """The values of a function.

    reads[statement][variable] is the value that the statement reads; made[statement][variable] the one that it makes;
    headers[loop], counters[loop], trips[loop]: those of a loop; extent[statement]: its first and last position.
    """

    def __init__(self, parameters: list[str], body: list[Any], result: list[Any]) -> None:
        self.reads: dict[Any, dict[str, Value]] = {}
        self.made: dict[Any, dict[str, Value]] = {}
        self.headers: dict[Any, dict[str, Value]] = {}
        self.afters: dict[Any, dict[str, Value]] = {}
        self.joins: dict[Any, dict[str, Value]] = {}
        self.trips: dict[Any, Value] = {}
        self.extent: dict[Any, tuple[int, int]] = {}
        self.region_of: dict[Any, Region] = {}
        self.regions: dict[int, Region] = {}
        self.values: list[Value] = []
        self.clock = 0
        self.top = Region(None, None, body, None, 0)
        env = {p: self.value(p, "param", None, self.top) for p in parameters}
        self.parameters = dict(env)
        self.clock += 1
        self.env = self.block(self.top, env)
        self.result = {x: self.read(self.env, x) for x in result if isinstance(x, str)}
        todo = [v for v in self.values if v.used]
        while todo:  # what flows into a value that is read, is read
            for part in todo.pop().parts:
                if not part.used:
                    part.used = True
                    todo.append(part)

    def value(self, variable: str, kind: str, statement: Any, region: Region) -> Value:
        made = Value(variable, kind, statement, region, self.clock)
        self.values.append(made)
        return made

    @staticmethod
    def read(env: dict[str, Value], x: str) -> Value:
        value = env[x]
        value.used = True
        return value

    def block(self, region: Region, env: dict[str, Value]) -> dict[str, Value]:
        self.regions[id(region.block)] = region
        region.start = self.clock
        for s in region.block:
            self.statement(s, region, env)
        self.clock += 1
        region.end = self.clock
        return env

    def statement(self, s: Any, region: Region, env: dict[str, Value]) -> None:
        self.clock += 1
        start = self.clock
        self.region_of[s] = region
        self.reads[s] = {x: self.read(env, x) for x in reads(s) if isinstance(x, str) and x in env}
        if isinstance(s, If):
            ends = [self.block(Region(region, s, b, region.loop, region.depth), dict(env)) for b in (s.then, s.orelse)]
            self.clock += 1
            self.joins[s] = {}
            for x in {**ends[0], **ends[1]}:
                one, two = ends[0].get(x), ends[1].get(x)
                if one is two:
                    continue
                joined = self.value(x, "join", s, region)
                joined.parts = [v for v in (one, two) if v is not None]
                env[x] = self.joins[s][x] = joined
        elif isinstance(s, (For, While)):
            self.loop(s, region, env)
        else:
            self.made[s] = {}
            for x in writes(s):
                env[x] = self.made[s][x] = self.value(x, "op", s, region)
        self.clock += 1
        self.extent[s] = (start, self.clock)

    def loop(self, s: Any, region: Region, env: dict[str, Value]) -> None:
        inside = Region(region, s, s.body, s, region.depth + 1)
        assigned = {x for b in blocks(s) for t in walk(b) for x in writes(t)}
        self.headers[s] = {}
        inner = dict(env)
        for x in sorted(assigned):
            header = self.value(x, "header", s, inside)
            if x in env:
                header.parts = [env[x]]
            inner[x] = self.headers[s][x] = header
        if isinstance(s, For):
            counter = self.value(s.target, "counter", s, inside)
            inner[s.target] = counter
            self.made[s] = {s.target: counter}
        else:
            test = Region(region, s, s.test_block, s, region.depth + 1)
            inner = self.block(test, inner)
            if isinstance(s.test, str):
                self.reads[s] = {s.test: self.read(inner, s.test)}
        end = self.block(inside, inner)
        for x in assigned:
            if x in end:
                self.headers[s][x].parts.append(end[x])
        for x in s.exits:
            self.read(end, x)
        self.clock += 1
        self.afters[s] = {}
        for x in sorted({*assigned, *([s.target] if isinstance(s, For) else [])}):
            env[x] = self.afters[s][x] = self.value(x, "after", s, region)
            env[x].parts = [self.headers[s][x]] if x in self.headers[s] else []
        self.trips[s] = self.value("", "trips", s, region)

    def at(self, s: Any, x: Any) -> Any:
        """The value that a statement reads for an atom; the atom itself if it is a constant."""
        if isinstance(x, (Const, Ref)):
            return x
        return self.reads[s].get(x, x)

    def enclosing_loops(self, region: Region) -> list[Any]:
        """The loops around a region, from the outermost."""
        found = []
        r: Region | None = region
        while r is not None:
            if isinstance(r.owner, (For, While)):
                found.append(r.owner)
            r = r.parent
        return found[::-1]
