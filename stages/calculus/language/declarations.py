r"""Declarations and programs.

    data List a = Nil | Cons a (List a)           a data type: parametric, recursive, mutually recursive (section 9)
    type Staged = (c, Map Int (R -o Staged, R))   a synonym, equal to its definition; it may be recursive
    type M a = DeltaState -> (a, DeltaState)      a synonym with a parameter
    SCall : .. = ..                               a definition; definitions may refer to each other

A program is a term with the declarations that its types use and the definitions that it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stages.calculus.language.terms import Term
from stages.calculus.language.types import ForAll, Named, Pair, Parameter, Sum, Type

__all__ = ["Constructor", "DataType", "Declarations", "Definition", "Program", "Synonym", "substitute"]


@dataclass(frozen=True, slots=True)
class Constructor:
    """C t1 .. tn"""

    name: str
    fields: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class DataType:
    """data T a1 .. an = C1 .. | C2 .."""

    name: str
    parameters: tuple[str, ...]
    constructors: tuple[Constructor, ...]


@dataclass(frozen=True, slots=True)
class Synonym:
    """type T a1 .. an = t"""

    name: str
    type: Type
    parameters: tuple[str, ...] = ()

    def at(self, arguments: tuple[Type, ...]) -> Type:
        """t with these arguments in place of the parameters."""
        return substitute(self.type, dict(zip(self.parameters, arguments, strict=False))) if arguments else self.type


@dataclass(frozen=True, slots=True)
class Definition:
    """f : t = term, for a function; t may be forall a. s."""

    name: str
    type: Type
    term: Term

    @property
    def scheme(self) -> tuple[tuple[str, ...], Type]:
        """The type parameters, and the type below them."""
        return (self.type.parameters, self.type.type) if isinstance(self.type, ForAll) else ((), self.type)


@dataclass(frozen=True)
class Declarations:
    """The data types and synonyms of a program, by name."""

    types: Mapping[str, DataType | Synonym] = field(default_factory=dict)

    def __iter__(self) -> Iterator[DataType | Synonym]:
        return iter(self.types.values())

    def __or__(self, more: Mapping[str, DataType | Synonym]) -> Declarations:
        return Declarations({**self.types, **more})

    def expose(self, type_: Type) -> Type:
        """The type with a synonym at its root unfolded."""
        while isinstance(type_, Named) and isinstance(declared := self.types.get(type_.name), Synonym):
            type_ = declared.at(type_.arguments)
        return type_

    def constructors(self, type_: Type) -> tuple[Constructor, ...] | None:
        """The constructors of a sum or data type, with their fields at its arguments; None for other types."""
        match self.expose(type_):
            case Sum(left, right):
                return Constructor("inl", (left,)), Constructor("inr", (right,))
            case Named(name, arguments):
                declared = self.types.get(name)
                if isinstance(declared, DataType) and len(declared.parameters) == len(arguments):
                    at = dict(zip(declared.parameters, arguments, strict=True))
                    return tuple(
                        Constructor(c.name, tuple([substitute(field, at) for field in c.fields]))
                        for c in declared.constructors
                    )
        return None


@dataclass(frozen=True, slots=True)
class Program:
    """A term, with the declarations and definitions that it uses."""

    term: Term
    declarations: Declarations = field(default_factory=Declarations)
    definitions: tuple[Definition, ...] = ()


def substitute(type_: Type, at: Mapping[str, Type]) -> Type:
    """Substitute types for parameters in a type."""
    match type_:
        case Parameter(name):
            return at.get(name, type_)
        case Named(name, arguments):
            return Named(name, tuple([substitute(argument, at) for argument in arguments]))
        case Pair(first, second):
            return Pair(substitute(first, at), substitute(second, at))
        case Sum(left, right):
            return Sum(substitute(left, at), substitute(right, at))
        case _ if not type_.__slots__:
            return type_
        case _:
            return type(type_)(*[substitute(getattr(type_, name), at) for name in type_.__slots__])
