"""Core -> core: a function with tangents, for several tangents at a time.

    y = sin(x)            y = sin(x)                     what does not depend on a tangent is there once
    c = cos(x)            c = cos(x)
    t_y = c * t_x         t_y_0 = c * t_x_0              what does is there once for every lane
                          t_y_1 = c * t_x_1

So a derivative in four directions costs one run of the function, and what four tangents take.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

from dualrev.compiler.analyses.activity import carries, sources
from dualrev.compiler.analyses.fixed_point import FixedPoint
from dualrev.compiler.analyses.memory import Classes, Memory, given, is_array
from dualrev.compiler.core.atoms import Node, Symbol, Tree, Var
from dualrev.compiler.core.program import Program
from dualrev.compiler.core.terms import (
    Call,
    Copy,
    Discrete,
    For,
    Function,
    If,
    Load,
    Make,
    Real,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.core.walks import leaves, reads, replaced, statements, writes

__all__ = ["Lanes"]


Flags = tuple[bool, ...]
Key = tuple[Hashable, Flags, tuple[Any, ...]]


class Lanes:
    """Several lanes for the functions of a program."""

    def __init__(self, program: Program, memory: Memory, width: int) -> None:
        self.program, self.memory, self.width = program, memory, width
        self.fits = True  # nothing that belongs to all lanes is written in them
        self._varying = FixedPoint[Flags]()  # which results vary
        self._symbols: dict[Key, Symbol] = {}

    def function(self, f: Function, tangents: Iterable[Var]) -> Function | None:
        """F with lanes for these parameters: in place of each those of all lanes; the result is a tuple, by lanes.

        None if it writes what belongs to all lanes.
        """
        varied = set(tangents)
        made = _Function(self, f, varied, ())
        made.check(varied)
        parameters = [x for p in f.parameters for x in (made.lanes(p) if p in varied else (p,))]
        body = made.block(f.body)
        result = Node(tuple(made.tree(f.result, k) for k in range(self.width)))
        return replace(f, parameters=tuple(parameters), body=body, result=result) if self.fits else None

    def key(self, s: Call, flags: Flags, pattern: tuple[Any, ...]) -> Key:
        """What a call calls, with lanes for these arguments; those with one number in the pattern may share memory."""
        return self.program.key(s), flags, pattern

    def varying(self, s: Call, flags: Flags, pattern: tuple[Any, ...]) -> Flags:
        """Which results of a call vary from lane to lane, and then, which arguments after it.

        For recursive functions, the least fixed point.
        """
        if self.program.gradient(s) is not None:
            return (*map(carries, leaves(s.result)), *flags)
        key, f = self.key(s, flags, pattern), self.program.function(s)
        least = (False,) * (len(leaves(s.result)) + len(flags))
        return self._varying.value(key, lambda: least, lambda: self._of_function(key, f))

    def _of_function(self, key: Key, f: Function) -> Flags:
        made = _Function(self, f, *_inside(f, key))
        return tuple(map(made.varies, [*leaves(f.result), *(x for p in f.parameters for x in leaves(p))]))

    def called(self, s: Call, flags: Flags, pattern: tuple[Any, ...]) -> Symbol:
        """The function for a call: leaves of arguments -> leaves of the result, each by lanes if it varies."""
        key = self.key(s, flags, pattern)
        if key not in self._symbols:
            f = self.program.function(s)
            symbol = self._symbols[key] = Symbol(f.name)  # first: it may call itself
            varied, together = _inside(f, key)
            made = _Function(self, f, varied, together)
            made.check(varied)
            inputs = [x for p in f.parameters for x in leaves(p)]
            parameters = [y for x, flag in zip(inputs, flags, strict=True) for y in (made.lanes(x) if flag else (x,))]
            body = made.block(f.body)
            results = [y for x in leaves(f.result) for y in (made.lanes(x) if made.varies(x) else (x,))]
            function = replace(f, parameters=tuple(parameters), body=body, result=Node(tuple(results)))
            self.program.define(symbol, function)
        return self._symbols[key]


def _inside(f: Function, key: Key) -> tuple[set[Var], tuple[tuple[Var, ...], ...]]:
    """The parameters with lanes, and those that may share memory."""
    inputs = [x for p in f.parameters for x in leaves(p)]
    groups: dict[Any, list[Var]] = {}
    for x, number in zip(inputs, key[2], strict=True):
        if number is not None:
            groups.setdefault(number, []).append(x)
    varied = {x for x, flag in zip(inputs, key[1], strict=True) if flag}
    return varied, tuple(map(tuple, groups.values()))


class _Function:
    """A function that gets lanes."""

    def __init__(self, whole: Lanes, f: Function, varied: set[Var], together: tuple[tuple[Var, ...], ...]) -> None:
        self.whole, self.f = whole, f
        self.classes = Classes(f, whole.memory, together)
        self.varied = {self._key(x) for x in varied}
        self.copies: dict[Var, tuple[Var, ...]] = {}
        order, count = list(statements(f.body)), -1
        while count < len(self.varied):
            count = len(self.varied)
            for s in order:
                self.varied |= {self._key(x) for x in self.spreads(s) if carries(x)}

    def check(self, varied: set[Var]) -> None:
        """Note if a parameter without lanes is written in lanes."""
        if any(self.varies(x) and x not in varied for p in self.f.parameters for x in leaves(p)):
            self.whole.fits = False

    def _key(self, x: Any) -> Any:
        return self.classes.find(x) if is_array(x) else x

    def varies(self, x: Any) -> bool:
        """Whether an atom is another one in each lane."""
        return carries(x) and self._key(x) in self.varied

    def spreads(self, s: Statement) -> list[Any]:
        """What a statement makes vary."""
        if isinstance(s, Store):
            return [s.array] if self.varies(s.value) else []
        if isinstance(s, Call):
            flags, pattern = self.flags(s)
            if not any(flags):
                return []
            found = self.whole.varying(s, flags, pattern)
            return [x for x, flag in zip([*leaves(s.result), *given(s)], found, strict=True) if flag]
        if any(map(self.varies, sources(s))):
            return [s.target]  # type: ignore[union-attr]
        return []

    def flags(self, s: Call) -> tuple[Flags, tuple[Any, ...]]:
        """Which arguments of a call vary, and which share memory."""
        inputs = given(s)
        numbers: dict[Any, int] = {}
        pattern = tuple(numbers.setdefault(self.classes.find(x), len(numbers)) if is_array(x) else None for x in inputs)
        return tuple(map(self.varies, inputs)), pattern

    # Statements

    def lanes(self, x: Any) -> tuple[Var, ...]:
        """The variables of all lanes."""
        if x not in self.copies:
            self.copies[x] = tuple(Var(x.name, x.type, x.of) for _ in range(self.whole.width))
        return self.copies[x]

    def lane(self, k: int) -> Callable[[Any], Any]:
        """What atoms are in one lane."""
        return lambda x: self.lanes(x)[k] if self.varies(x) else x

    def tree(self, tree: Tree, k: int) -> Tree:
        """A tree in one lane."""
        if isinstance(tree, Node):
            return Node(tuple(self.tree(x, k) for x in tree.parts), tree.cls)
        made: Tree = self.lane(k)(tree)
        return made

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The statements of a block."""
        return tuple(made for s in body for made in self.statement(s))

    def statement(self, s: Statement) -> list[Statement]:
        """What a statement becomes."""
        match s:
            case If():
                return [replace(s, then=self.block(s.then), orelse=self.block(s.orelse))]
            case For():
                return [replace(s, body=self.block(s.body))]
            case While():
                return [replace(s, before=self.block(s.before), body=self.block(s.body))]
            case Call():
                return self.call(s)
        changed = s.array if isinstance(s, Store) else next(iter(writes(s)), None)
        if self.varies(changed):
            return [_renamed(s, self.lane(k)) for k in range(self.whole.width)]
        if any(self.varies(x) and not is_array(x) for x in reads(s)):
            self.whole.fits = False
        return [_renamed(s, self.lane(0))]  # it asks for the shape of an array

    def call(self, s: Call) -> list[Statement]:
        """A call, with all lanes of what varies."""
        flags, pattern = self.flags(s)
        results = leaves(s.result)
        if self.whole.program.gradient(s) is not None and any(flags):
            return [self.alone(s, k) for k in range(self.whole.width)]
        found = self.whole.varying(s, flags, pattern)[: len(results)] if any(flags) else (False,) * len(results)
        made: list[Any] = []
        spread: list[Statement] = []
        for x, flag in zip(results, found, strict=True):
            if self.varies(x) and not flag:  # it varies elsewhere
                self.whole.fits = self.whole.fits and not is_array(x)
                spread += [Copy(y, x, s.line) for y in self.lanes(x)]
            made += self.lanes(x) if flag else (x,)
        if not any(flags):
            return [s, *spread]
        args = [y for x, flag in zip(given(s), flags, strict=True) for y in (self.lanes(x) if flag else (x,))]
        targets = tuple(x for x in made if isinstance(x, Var))
        symbol = self.whole.called(s, flags, pattern)
        return [Call(targets, symbol, tuple(args), Node(tuple(made)), s.line), *spread]

    def alone(self, s: Call, k: int) -> Call:
        """A call in one lane."""
        targets = tuple(map(self.lane(k), s.targets))
        args = tuple(self.tree(x, k) for x in s.args)
        return replace(s, targets=targets, args=args, result=self.tree(s.result, k))


def _renamed(s: Any, sub: Callable[[Any], Any]) -> Statement:
    """A statement with other atoms."""

    def all_of(parts: Any) -> Any:
        return tuple(replaced(x, sub) for x in parts)

    match s:
        case Copy():
            return replace(s, target=sub(s.target), source=sub(s.source))
        case Discrete() | Make():
            return replace(s, target=sub(s.target), value=replaced(s.value, sub))
        case Real() | Whole():
            return replace(s, target=sub(s.target), args=all_of(s.args))
        case Load():
            return replace(s, target=sub(s.target), array=sub(s.array), index=all_of(s.index))
        case Store():
            return replace(s, array=sub(s.array), index=all_of(s.index), value=sub(s.value))
        case View():
            return replace(s, target=sub(s.target), base=sub(s.base), value=replaced(s.value, sub))
    made: Statement = s
    return made
