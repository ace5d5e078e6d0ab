"""Terms with their types, and helpers that build them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.types import REAL, Type
from stages.calculus.python.source import Source
from stages.calculus.python.types import Tuples
from stages.calculus.python.unions import Unions

__all__ = ["Global", "Scope", "Typed", "Variable", "convert", "pattern_of", "tuple_of"]


class Typed(NamedTuple):
    """A term and its type."""

    term: t.Term
    type: Type


class Variable(NamedTuple):
    """The variable of the calculus for a Python name, and its type."""

    name: str
    type: Type


Scope = Mapping[str, Variable | str]  #: Python's names; a text says why a name has no value


def tuple_of(terms: Sequence[t.Term]) -> t.Term:
    """(t1, (t2, .. tn)); () for no terms."""
    if len(terms) < 2:
        return terms[0] if terms else t.Star()
    return t.Tuple(terms[0], tuple_of(terms[1:]))


def pattern_of(names: Sequence[str]) -> sugar.Pattern:
    """(x1, (x2, .. xn)); an unused variable for no names."""
    if len(names) < 2:
        return names[0] if names else "unit_"
    return names[0], pattern_of(names[1:])


def convert(made: Typed, expected: Type) -> Any:
    """Convert a term to a type that its own type joins to; None if that would need to take the term apart."""
    term, type_ = made
    if type_ == expected:
        return term
    match term:
        case t.Let(name, value, body):
            inner = convert(Typed(body, type_), expected)
            return inner and t.Let(name, value, inner)
        case t.Letrec(functions, body):
            inner = convert(Typed(body, type_), expected)
            return inner and t.Letrec(functions, inner)
        case t.Case(scrutinee, branches):
            bodies = [convert(Typed(branch.body, type_), expected) for branch in branches]
            done = [t.Branch(b.name, b.variables, body) for b, body in zip(branches, bodies, strict=True)]
            return None if None in bodies else t.Case(scrutinee, tuple(done))
        case t.Tuple(first, second) if isinstance(type_, Tuples) and isinstance(expected, Tuples):
            one = convert(Typed(first, type_.elements[0]), expected.elements[0])
            rest, wanted = type_.elements[1:], expected.elements[1:]
            pair = (rest[0], wanted[0]) if len(rest) == 1 else (Tuples(rest), Tuples(wanted))
            other = convert(Typed(second, pair[0]), pair[1])
            return None if one is None or other is None else t.Tuple(one, other)
        case t.Integer(value) if expected == REAL:
            return t.Literal(float(value))
    return t.Discrete("real", (term,)) if expected == REAL else None


class Global(Protocol):
    """The interface that the parts of a translation share."""

    unions: Unions
    used: set[str]
    hoisted: set[str]

    def instance(self, f: Any, parameters: Sequence[Type]) -> Typed:
        """A global function at these argument types."""

    def signature(self, source: Source) -> list[Type]:
        """The declared types of a global function's parameters."""
