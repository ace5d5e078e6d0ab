"""Values of the calculus as Python objects.

R          float (or a number that computes like one: a dual number of another stage)      Int     int
()         ()                                                                     (s, t)  (s, t)
s + t, T   Made(constructor, fields); Formal(type), its formal zero               !t      the value itself
Vector t   Elements(elements)
s -> t, s -o t, s ->R t                 Closure, Composed, IDENTITY
Map Int t  Tree, a persistent tree      Array t, IArray t  Cells, a list      Ref t  Cells, a list of one
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from stages import ordered_map
from stages.calculus.language.declarations import Declarations
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Int, Pair, Real, Type, Unit, Vector
from stages.calculus.text.printer import show_type

__all__ = [
    "EMPTY",
    "FALSE",
    "IDENTITY",
    "TRUE",
    "Cells",
    "Closure",
    "Composed",
    "Elements",
    "Evaluator",
    "Formal",
    "Jump",
    "Made",
    "Rule",
    "Tail",
    "Tree",
    "is_function",
    "read_value",
    "show_value",
]


class Made(NamedTuple):
    """C(v1, .., vn), a value of a sum or data type."""

    name: str
    fields: tuple[Any, ...]


class Elements(NamedTuple):
    """A value of type Vector t."""

    elements: tuple[Any, ...]


TRUE, FALSE = Made("inl", ((),)), Made("inr", ((),))


@dataclass(frozen=True, slots=True)
class Formal:
    """The formal zero of a sum or data type, without a constructor."""

    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function with its environment; `made_by` as in LinearLambda."""

    parameter: str
    body: Term
    environment: Mapping[str, Any]
    made_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """The composition of two functions: first right, then left."""

    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Tree:
    """A value of type Map Int t."""

    root: ordered_map.Map

    def __len__(self) -> int:
        return ordered_map.size(self.root)


@dataclass(slots=True, eq=False)
class Cells:
    """The elements of an array, or the content of a cell."""

    cells: list[Any]


class Tail(NamedTuple):
    """A tail call of the evaluator: the value of the rule is the value of this term."""

    term: Term
    environment: Mapping[str, Any]


class Jump(NamedTuple):
    """A control effect at the end of a rule: `go` changes the list of waiting rules, and returns a value or a Tail."""

    go: Callable[[list[Any]], Any]


class _Constant:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


IDENTITY, EMPTY = _Constant("IDENTITY"), Tree(None)


def is_function(value: Any) -> bool:
    """Whether the value can be applied."""
    return isinstance(value, (Closure, Composed)) or value is IDENTITY


def show_value(value: Any) -> str:
    """First-order data as text.

    >>> show_value((1.0, Made("Cons", (2.0, Made("Nil", ())))))
    '(1.0, Cons(2.0, Nil))'
    """
    if isinstance(value, Made):
        return f"{value.name}({', '.join(map(show_value, value.fields))})" if value.fields else value.name
    if isinstance(value, Elements):
        return f"[{', '.join(map(show_value, value.elements))}]"
    if isinstance(value, tuple):
        parts = []
        while isinstance(value, tuple) and not isinstance(value, (Made, Elements)) and value:
            parts.append(value[0])
            value = value[1]
        return f"({', '.join(map(show_value, [*parts, value] if parts else []))})"
    return repr(value)


def read_value(value: Any, type_: Type, known: Declarations) -> Any:
    """Convert a value to this type: a whole number may stand for a real. ValueError if it does not fit."""
    kind = known.expose(type_)
    match kind:
        case Real() if isinstance(value, (int, float)):
            return float(value)
        case Int() if isinstance(value, int):
            return value
        case Unit() if value == ():
            return value
        case Vector(element) if isinstance(value, Elements):
            return Elements(tuple([read_value(v, element, known) for v in value.elements]))
        case Pair(first, second) if isinstance(value, tuple) and len(value) == 2 and not isinstance(value, Made):
            return read_value(value[0], first, known), read_value(value[1], second, known)
    constructors = {c.name: c.fields for c in known.constructors(kind) or ()}
    if (
        isinstance(value, Made)
        and len(constructors.get(value.name, ())) == len(value.fields)
        and value.name in constructors
    ):
        return Made(
            value.name,
            tuple([read_value(v, f, known) for v, f in zip(value.fields, constructors[value.name], strict=True)]),
        )
    raise ValueError(f"{show_value(value)} is no value of the type {show_type(type_)}")


#: The evaluation of a term: `value = yield term, environment` evaluates a part.
Rule = Generator[Any, Any, Any]


class Evaluator(Protocol):
    """The interface of the evaluator (evaluate.py) that the rules of terms use."""

    def step(self, cost: int) -> None:
        """Count this number of steps."""

    def call(self, f: Any, x: Any) -> Rule:
        """Evaluate f x."""

    def enter(self, f: Any, x: Any) -> Any:
        """Evaluate f x as the last call of a rule, in place of the rule."""
