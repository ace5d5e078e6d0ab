r"""Types of the source language (Fig. 4, section 9) and of the target languages (Fig. 5, sections 4 to 7, Fig. 11).

    source      s, t ::= R | () | (s, t) | s -> t | Int                       Fig. 4
                       | s + t | T t1 .. tn | a                               section 9: sums, data types, parameters
                       | forall a b. t                                        section 9: for letrec's functions only
                       | Vector t                                             Krawiec et al. 2022, 8.3: vectors.py
    target             | s -o t           a monoid-linear function            Fig. 5
                       | Map Int t        a persistent tree map               sections 4 to 6
                       | Array t | IArray t | s ->R t | !t                    Fig. 11: arrays, and resource linearity
                       | Ref t                                                mutable cells: continuations/

`T t1 .. tn` is a data type or a synonym that the program declares (declarations.py). Synonyms may be recursive, such as
Staged c = (c, Map Int (R -o Staged c, R)).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BOOL",
    "INT",
    "REAL",
    "UNIT",
    "Array",
    "Arrow",
    "Bang",
    "Cell",
    "ForAll",
    "FrozenArray",
    "Int",
    "Linear",
    "Map",
    "Named",
    "Pair",
    "Parameter",
    "Real",
    "Resource",
    "Sum",
    "Type",
    "Unit",
    "Vector",
    "parts",
]


@dataclass(frozen=True, slots=True)
class Type:
    """The base class of all types."""


@dataclass(frozen=True, slots=True)
class Real(Type):
    """R, the scalars that AD acts upon."""


@dataclass(frozen=True, slots=True)
class Unit(Type):
    """()"""


@dataclass(frozen=True, slots=True)
class Pair(Type):
    """(s, t)"""

    first: Type
    second: Type


@dataclass(frozen=True, slots=True)
class Arrow(Type):
    """s -> t"""

    argument: Type
    result: Type


@dataclass(frozen=True, slots=True)
class Int(Type):
    """Int, a type that AD does not act upon."""


@dataclass(frozen=True, slots=True)
class Sum(Type):
    """s + t, with the constructors inl and inr."""

    left: Type
    right: Type


@dataclass(frozen=True, slots=True)
class Named(Type):
    """T t1 .. tn: a declared data type or synonym."""

    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter(Type):
    """A type parameter of a declaration, or of a polymorphic function."""

    name: str


@dataclass(frozen=True, slots=True)
class ForAll(Type):
    """forall a b. t, the type of a polymorphic function, which is not a value until it is instantiated."""

    parameters: tuple[str, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Linear(Type):
    """s -o t: a function f with f 0 = 0 and f (x + y) = f x + f y."""

    argument: Type
    result: Type


@dataclass(frozen=True, slots=True)
class Map(Type):
    """Map Int t"""

    value: Type


@dataclass(frozen=True, slots=True)
class Array(Type):
    """Array t, mutable, and so a resource: used exactly once."""

    element: Type


@dataclass(frozen=True, slots=True)
class FrozenArray(Type):
    """IArray t, an immutable array."""

    element: Type


@dataclass(frozen=True, slots=True)
class Resource(Type):
    """s ->R t: a function that uses its argument exactly once."""

    argument: Type
    result: Type


@dataclass(frozen=True, slots=True)
class Bang(Type):
    """!t: an unrestricted value among resources."""

    content: Type


@dataclass(frozen=True, slots=True)
class Cell(Type):
    """Ref t, a mutable cell, which may be used any number of times."""

    content: Type


@dataclass(frozen=True, slots=True)
class Vector(Type):
    """Vector t, which build makes and index reads."""

    element: Type


REAL, UNIT, INT = Real(), Unit(), Int()
BOOL = Sum(UNIT, UNIT)  # inl is true, inr is false


def parts(type_: Type) -> tuple[Type, ...]:
    """The direct component types of a type."""
    match type_:
        case Pair(s, t) | Arrow(s, t) | Sum(s, t) | Linear(s, t) | Resource(s, t):
            return s, t
        case Map(t) | Array(t) | FrozenArray(t) | Bang(t) | Cell(t) | Vector(t) | ForAll(_, t):
            return (t,)
        case Named(_, arguments):
            return arguments
        case _:
            return ()
