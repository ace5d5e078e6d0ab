"""Vector mode (core -> core): vectorise a function with tangents over several directions, its lanes.

    y = sin(x)            y = sin(x)                     what does not depend on the direction is there once
    c = cos(x)            c = cos(x)
    t_y = c * t_x         t_y_0 = c * t_x_0              what does is there once for every lane
                          t_y_1 = c * t_x_1

Of forward mode, the function is there once. Of both sweeps of the gradient of a slope, these are there once: the
function, the numbers that it records, and the cotangents of the tangents, which are its gradient. The tangents and the
cotangents of the function's own variables are there for every lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from dualrev.compiler.analysis.memory.alias import Memory, contents, given
from dualrev.compiler.analysis.values.uniformity import Flags, Flow, Key, Site, Varying, ends_of
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Node, Symbol, Tree, Var
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Block,
    Call,
    Columns,
    Copy,
    For,
    Function,
    Hold,
    If,
    Keep,
    Kept,
    Make,
    Pop,
    Push,
    Reserve,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, mapped, reads, substituted, writes
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.optimize.sroa_arrays import with_few

__all__ = ["Directions", "Laned", "Lanes", "replace_short_arrays", "vectorise_directions"]


@dataclass
class Laned:
    """A function vectorised over lanes; `parameters` has the variables of each parameter that could have lanes."""

    function: Function
    parameters: dict[Var, tuple[Var, ...]]


@dataclass(eq=False)
class Directions:
    """Unit of vector mode: a function with tangents, vectorised over several directions.

    tangents    the parameters that differ from direction to direction; `others` may
    width       for how many directions it is made: 1 if it cannot be made for several
    shortens    whether short arrays in its result may become tuples
    laned       what it is for several directions
    lengths     the arrays of its result that have become tuples, with their lengths; `short` is the function then
    """

    program: Program
    memory: Memory
    f: Function
    tangents: list[Var]
    others: Iterable[Var]
    width: int
    shortens: bool = False
    holds: set[str] = field(default_factory=lambda: {"core", "tangents"})
    laned: Laned | None = None
    short: Function = field(init=False)
    lengths: dict[Var, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.short = self.f
        self.wanted, self.width = self.width, 1

    @property
    def dispatcher(self) -> object:
        """The dispatcher of the user's function."""
        return self.f.origin.dispatcher

    @property
    def made(self) -> Function:
        """The function for `width` directions."""
        return self.f if self.laned is None else self.laned.function

    def shown(self) -> str:
        """The printed text of the function as it is now."""
        return show(self.short if self.lengths else self.made)

    def verify(self) -> None:
        """Verify the function: AssertionError if it is not well formed."""
        check(self.made)


def vectorise_directions(u: Directions) -> None:
    """Vectorise the function over its directions, unless it writes data that all lanes share."""
    if u.wanted > 1:
        u.laned = Lanes(u.program, u.memory, u.wanted).function(u.f, u.tangents, u.others)
    u.width = 1 if u.laned is None else u.wanted
    u.short = u.made


def replace_short_arrays(u: Directions) -> None:
    """Scalar replacement (SROA) of new arrays of a few elements, also in the result."""
    if u.shortens:
        u.short, u.lengths = with_few(u.made)


class Lanes:
    """Vectorisation of the functions of a program over lanes."""

    def __init__(self, program: Program, memory: Memory, width: int) -> None:
        self.program, self.width = program, width
        self.varying = Varying(program, memory)
        self.fits = True  # nothing that belongs to all lanes is written in them, and no branch differs
        self._symbols: dict[Key, tuple[Symbol, ...]] = {}

    def function(self, f: Function, tangents: Iterable[Var], others: Iterable[Var] = ()) -> Laned | None:
        """Vectorise a function over lanes of `tangents`, and of `others` where they vary; its result is a tuple.

        In place of a parameter with lanes stand those of all lanes. None if f writes what belongs to all lanes.
        """
        varied, others = set(tangents), set(others)
        made = _Vectorised(self, Flow(self.varying, (f,), varied))
        varied |= {x for x in others if made.flow.varies(x)}
        made.check(f, varied)
        parameters = [x for p in f.parameters for x in (made.lanes(p) if isinstance(p, Var) and p in varied else (p,))]
        body = made.block(f.body)
        result = Node(tuple(made.tree(f.result, k) for k in range(self.width)))
        found = {x: made.lanes(x) if x in varied else (x,) for x in varied | others}
        function = replace(f, parameters=tuple(parameters), body=body, result=result)
        return Laned(function, found) if self.fits else None

    def called(self, site: Site, flags: Flags) -> tuple[Symbol, ...]:
        """The vectorised functions for a call site, memoised by the leaves that vary.

        They map leaves of arguments to leaves of the result, each by lanes if it varies.
        """
        key = self.varying.key(site, flags)
        if key not in self._symbols:
            flow = self.varying.inside(site, flags)
            self._symbols[key] = symbols = tuple(Symbol(f.name) for f in flow.functions)  # first: they may call it
            made = _Vectorised(self, flow)
            for symbol, f in zip(symbols, flow.functions, strict=True):
                self.program.define(symbol, self._defined(made, f, flags[: len(ends_of(f))]))
                flags = flags[len(ends_of(f)) :]
        return self._symbols[key]

    def _defined(self, made: _Vectorised, f: Function, flags: Flags) -> Function:
        inputs = zip(ends_of(f), flags, strict=True)
        varied = {x for x, flag in inputs if flag and isinstance(x, Var)}
        made.check(f, varied)
        parameters = [y for p in f.parameters for x in leaves(p) for y in (made.lanes(x) if x in varied else (x,))]
        body = made.block(f.body)
        results = [y for x in leaves(f.result) for y in (made.lanes(x) if made.flow.varies(x) else (x,))]
        return replace(f, parameters=tuple(parameters), body=body, result=Node(tuple(results)))


A = TypeVar("A", bound=Atom)


class _Lane(Protocol):
    """A substitution of variables by variables: an atom for an atom."""

    def __call__(self, x: A, /) -> A | Var:
        """The variable in the lane; a uniform atom itself."""


class _Vectorised:
    """A function that is vectorised, or both sweeps of one."""

    def __init__(self, whole: Lanes, flow: Flow) -> None:
        self.whole, self.flow = whole, flow
        self.copies: dict[Var, tuple[Var, ...]] = {}

    def check(self, f: Function, varied: set[Var]) -> None:
        """Note that vectorisation fails if a parameter without lanes varies in the function."""
        if any(self.flow.varies(x) and x not in varied for p in f.parameters for x in leaves(p)):
            self.whole.fits = False

    # Variables

    def lanes(self, x: Var) -> tuple[Var, ...]:
        """The variables of `x` in all lanes."""
        if x not in self.copies:
            name = x.name if x.name == "_" else f"{x.name}_{{k}}"
            self.copies[x] = tuple(Var(name, x.type, x.of) for _ in range(self.whole.width))
        return self.copies[x]

    def every(self, some: Iterable[A]) -> tuple[A | Var, ...]:
        """Expand the varying atoms into all lanes; uniform ones stay single."""
        return tuple(y for x in some for y in (self.lanes(x) if self.flow.varies(x) else (x,)))

    def lane(self, k: int) -> _Lane:
        """The substitution of varying atoms by their variables in lane `k`."""

        def of(x: A) -> A | Var:
            """The variable in the lane; a uniform atom itself."""
            return self.lanes(x)[k] if self.flow.varies(x) else x

        return of

    def tree(self, tree: Tree, k: int) -> Tree:
        """A tree in lane `k`."""
        return mapped(tree, self.lane(k))

    # Statements

    def block(self, body: Block) -> Block:
        """Vectorise a block; the statements that make and hold an array are interleaved by lanes."""
        made: list[Statement] = []
        for s, before in zip(body, (None, *body), strict=False):
            some = self.statement(s)
            if isinstance(s, Hold) and isinstance(before, (Copy, View, Make, Whole)) and before.target is s.source:
                start = len(made) - len(some)
                some = [t for pair in zip(made[start:], some, strict=True) for t in pair]
                del made[start:]
            made += some
        return tuple(made)

    def statement(self, s: Statement) -> list[Statement]:
        """Vectorise a statement: one copy if it is uniform, else one per lane."""
        match s:
            case If():
                self.same(s)
                return [replace(s, then=self.block(s.then), orelse=self.block(s.orelse))]
            case For():
                return [replace(s, body=self.block(s.body))]
            case While():
                self.same(s)
                return [replace(s, before=self.block(s.before), body=self.block(s.body))]
            case Call():
                return self.call(s)
            case Push() | Pop() | Keep() | Kept() | Hold() | Reserve() | Columns():
                return self.memory(s)
        changed = s.array if isinstance(s, (Store, Accumulate)) else next(iter(writes(s)), None)
        if self.flow.varies(changed):
            return self.copied(s)
        self.same(s)
        return [substituted(s, self.lane(0), self.lane(0))]  # it asks for the shape of an array

    def copied(self, s: Statement) -> list[Statement]:
        """Replicate a statement in every lane."""
        return [substituted(s, self.lane(k), self.lane(k)) for k in range(self.whole.width)]

    def same(self, s: Statement) -> None:
        """Note that vectorisation fails if a uniform statement reads varying data, not only the shape of an array."""
        read = [x for x in reads(s) if not is_array(x)]
        if any(map(self.flow.varies, [*read, *contents(s)])):
            self.whole.fits = False

    def memory(self, s: Statement) -> list[Statement]:
        """Vectorise a tape operation: all lanes go to the tape, or come back."""
        match s:
            case Push():
                return [replace(s, values=self.every(s.values))]
            case Pop() | Columns():
                return [replace(s, targets=self.every(s.targets))]
            case Reserve():
                return [replace(s, pushes=tuple(map(self.every, s.pushes)))]
            case Keep():
                return [replace(s, array=x) for x in self.every((s.array,))]
            case Kept():
                return [replace(s, target=x) for x in reversed(self.every((s.target,)))]
            case Hold():
                pairs = zip(self.every((s.target,)), self.every((s.source,)), strict=True)
                first = s.slot * self.whole.width
                return [replace(s, target=x, source=y, slot=first + k) for k, (x, y) in enumerate(pairs)]
        raise AssertionError(s)

    # Calls

    def call(self, s: Call) -> list[Statement]:
        """Vectorise a call: one call with all lanes of its varying arguments and results."""
        flow, whole, results = self.flow, self.whole, leaves(s.result)
        site = flow.site(s)
        flags, known = flow.flags_at(site), whole.varying.is_known(site)
        if any(flags) and whole.program.gradient(s) is not None:
            return self.alone(s)
        if any(flags) and (not known or (s.tape and not site.both)):
            whole.fits = False
            return [s]
        start = 0 if s is site.calls[0] else len(Site(site.calls[:1]).ends)
        found = (whole.varying.flags(site, flags) if any(flags) else flags)[start:]
        made: list[Atom] = []
        spread: list[Statement] = []
        for x, flag in zip(results, found, strict=False):
            if flow.varies(x) and not flag:  # it varies elsewhere
                whole.fits = whole.fits and not is_array(x)
                spread += [Copy(y, x, s.line) for y in self.lanes(x)]
            made += self.lanes(x) if flag else (x,)
        if not any(flags):
            return [s, *spread]
        symbol = whole.called(site, flags)[site.calls.index(s)]
        targets = tuple(x for x in made if isinstance(x, Var))
        args = self.every(given(s))
        return [replace(s, targets=targets, function=symbol, args=args, result=Node(tuple(made))), *spread]

    def alone(self, s: Call) -> list[Statement]:
        """Replicate a call: one call per lane."""
        made: list[Statement] = []
        for k in range(self.whole.width):
            targets, args = tuple(map(self.lane(k), s.targets)), tuple(self.tree(x, k) for x in s.args)
            made.append(replace(s, targets=targets, args=args, result=self.tree(s.result, k)))
        return made
