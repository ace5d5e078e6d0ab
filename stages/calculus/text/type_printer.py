"""Types and patterns as text. The grammar is in parser.py."""

from __future__ import annotations

from collections.abc import Iterator

from stages.calculus.language.sugar import Pattern
from stages.calculus.language.types import (
    Array,
    Arrow,
    Bang,
    Cell,
    ForAll,
    FrozenArray,
    Int,
    Linear,
    Map,
    Named,
    Pair,
    Parameter,
    Real,
    Resource,
    Sum,
    Type,
    Unit,
    Vector,
)
from stages.calculus.text.tokens import SPELLINGS

__all__ = ["TypePrinter", "show_pattern"]

_CALLED: dict[type[Type], str] = {Map: "Map Int", Array: "Array", FrozenArray: "IArray", Cell: "Ref", Vector: "Vector"}


class TypePrinter:
    """Types: of precedence 0 (arrows), 1 (sums), 2 (application) and 3."""

    def __init__(self, ascii_: bool = False) -> None:
        self.spellings = {} if ascii_ else SPELLINGS

    def spell(self, text: str) -> str:
        """A symbol, in Unicode if it has such a spelling."""
        return self.spellings.get(text, text)

    def type(self, type_: Type, level: int = 0) -> str:
        """The text of a type in a position that needs at least this precedence."""
        match type_:
            case Real():
                return self.spell("R")
            case Int() | Unit():
                return "Int" if isinstance(type_, Int) else "()"
            case Parameter(name) | Named(name, ()):
                return name
            case Pair():
                return f"({', '.join(self.type(part) for part in _components(type_))})"
            case ForAll(parameters, t):
                word = self.spell("forall")
                return f"{word}{' ' * (word == 'forall')}{' '.join(parameters)}. {self.type(t)}"
            case Bang(content):
                return "!" + self.type(content, 3)
            case Sum(left, right):
                own, text = 1, f"{self.type(left, 1)} + {self.type(right, 2)}"
            case Arrow(s, t) | Linear(s, t) | Resource(s, t):
                arrow = {Arrow: "->", Linear: "-o", Resource: "->R"}[type(type_)]
                own, text = 0, f"{self.type(s, 1)} {self.spell(arrow)} {self.type(t)}"
            case Named(name, arguments):
                own, text = 2, " ".join([name, *(self.type(argument, 3) for argument in arguments)])
            case Map(t) | Array(t) | FrozenArray(t) | Cell(t) | Vector(t):
                own, text = 2, f"{_CALLED[type(type_)]} {self.type(t, 3)}"
            case _:
                return repr(type_)
        return f"({text})" if own < level else text

    def parameters(self, pattern: Pattern, type_: Type) -> str:
        """(x : s, (y : t, z : u)), or (x, y) : s if the type is not written as a pair."""
        return f"({', '.join(self.parameter(*parameter) for parameter in _parameters(pattern, type_))})"

    def parameter(self, pattern: Pattern, type_: Type) -> str:
        """A single parameter, or a group in parentheses."""
        if isinstance(pattern, tuple) and isinstance(type_, Pair):
            return self.parameters(pattern, type_)
        return f"{show_pattern(pattern)} : {self.type(type_)}"


def _components(type_: Type) -> Iterator[Type]:
    while isinstance(type_, Pair):
        yield type_.first
        type_ = type_.second
    yield type_


def _parameters(pattern: Pattern, type_: Type) -> Iterator[tuple[Pattern, Type]]:
    while isinstance(pattern, tuple) and isinstance(type_, Pair):
        yield pattern[0], type_.first
        pattern, type_ = pattern[1], type_.second
    yield pattern, type_


def show_pattern(pattern: Pattern) -> str:
    """x or (x, (y, z), u)."""
    parts: list[str] = []
    while isinstance(pattern, tuple):
        parts.append(show_pattern(pattern[0]))
        pattern = pattern[1]
    return f"({', '.join([*parts, pattern])})" if parts else pattern
