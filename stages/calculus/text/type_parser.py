r"""The parser of types, patterns with types, and type declarations. The grammar is in parser.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeVar

from stages.calculus.language.declarations import Constructor, DataType, Synonym
from stages.calculus.language.sugar import Pattern
from stages.calculus.language.types import (
    INT,
    REAL,
    UNIT,
    Array,
    Arrow,
    Bang,
    Cell,
    ForAll,
    FrozenArray,
    Linear,
    Map,
    Named,
    Pair,
    Parameter,
    Resource,
    Sum,
    Type,
    Vector,
)
from stages.calculus.text.tokens import Cursor, Token

__all__ = ["TypeParser"]

_Item = TypeVar("_Item")
_BUILT_IN = ("R", "Int", "Map", "Array", "IArray", "Ref", "Vector")


class TypeParser(Cursor):
    """A method for each line of the grammar of types."""

    def separated(self, item: Callable[[], _Item], closing: str, separator: str = ",") -> tuple[_Item, ...]:
        """The items up to a closing bracket; there may be none."""
        if self.accept(closing):
            return ()
        items = [item()]
        while self.accept(separator):
            items.append(item())
        self.expect(closing, f' or "{separator}"')
        return tuple(items)

    def type(self) -> Type:
        """A type."""
        sides, arrows = [self.sum()], []
        while arrow := self.arrow():
            arrows.append(arrow)
            sides.append(self.sum())
        type_ = sides.pop()
        while arrows:
            type_ = arrows.pop()(sides.pop(), type_)
        return type_

    def scheme(self) -> Type:
        """forall a b. t, or t: the type of a declared function."""
        if not self.accept("forall"):
            return self.type()
        names = [self.lower("a parameter")]
        while self.token.kind == "name":
            names.append(self.lower("a parameter"))
        self.expect(".", " or another parameter")
        return ForAll(tuple(names), self.type())

    def arrow(self) -> Callable[[Type, Type], Type] | None:
        """Read an arrow, if one is next. In R ->R the latter is a type, in R ->R s a part of the arrow."""
        if self.accept("-o"):
            return Linear
        if self.accept("->R"):
            return Resource
        if self.token.text == "-" and self.adjacent() and self.peek().text == "o":
            self.advance()
            self.advance()
            return Linear
        resource = self.adjacent() and self.peek().text == "R" and _starts_type(self.peek(2))
        if self.accept("->"):
            if resource:
                self.advance()
            return Resource if resource else Arrow
        return None

    def sum(self) -> Type:
        """A sum of types."""
        type_ = self.applied_type()
        while self.accept("+"):
            type_ = Sum(type_, self.applied_type())
        return type_

    def applied_type(self) -> Type:
        """T t1 .. tn, or an atom."""
        name = self.token.text
        if self.accept("!"):
            return Bang(self.applied_type())
        if self.token.kind != "name" or not _is_capital(name) or name in ("R", "Int"):
            return self.atomic_type()
        self.advance()
        match name:
            case "Map":
                self.expect("Int", " (the keys of a Map)")
                return Map(self.atomic_type())
            case "Array":
                return Array(self.atomic_type())
            case "IArray":
                return FrozenArray(self.atomic_type())
            case "Ref":
                return Cell(self.atomic_type())
            case "Vector":
                return Vector(self.atomic_type())
        arguments = []
        while _starts_type(self.token):
            arguments.append(self.atomic_type())
        return Named(name, tuple(arguments))

    def atomic_type(self) -> Type:
        """A type that is an argument without parentheses."""
        if self.accept("!"):
            return Bang(self.atomic_type())
        if self.accept("("):
            types = self.separated(self.type, ")")
            return reduce(lambda right, left: Pair(left, right), reversed(types)) if types else UNIT
        name = self.token.text
        if self.token.kind != "name" or name in _BUILT_IN[2:]:
            raise self.failure("a type")
        self.advance()
        return {"R": REAL, "Int": INT}.get(name) or (Named(name) if _is_capital(name) else Parameter(name))

    def type_argument(self, hint: str = "") -> Type:
        """[t]"""
        self.expect("[", hint)
        type_ = self.type()
        self.expect("]")
        return type_

    def pattern(self) -> Pattern:
        """x or (x, (y, z), ..)."""
        if not self.accept("("):
            return self.name("a name or a pattern")
        if self.token.text == ")":
            raise self.failure("a name or a pattern")
        return reduce(lambda right, left: (left, right), reversed(self.separated(self.pattern, ")")))

    def parameters(self) -> tuple[Pattern, Type]:
        """(x : s, (y, z) : t, ..)"""
        self.expect("(")
        pattern, type_ = self.parameter_group()
        if type_ is None:
            self.at -= 1
            raise self.failure('":" and a type')
        return pattern, type_

    def parameter_group(self) -> tuple[Pattern, Type | None]:
        """The content of parentheses: parameters that all have types, or that all have none."""
        if self.token.text == ")":
            raise self.failure("a name")
        parameters = self.separated(self.parameter, ")")
        pattern, type_ = parameters[-1]
        for first, first_type in reversed(parameters[:-1]):
            if (type_ is None) != (first_type is None):
                self.at -= 1
                raise self.failure("a type for each parameter, or one for all of them after the parentheses")
            pattern = (first, pattern)
            type_ = Pair(first_type, type_) if first_type and type_ else None
        return pattern, type_

    def parameter(self) -> tuple[Pattern, Type | None]:
        """A parameter with its type, or a part of one."""
        type_: Type | None = None
        pattern: Pattern
        if self.accept("("):
            pattern, type_ = self.parameter_group()
        else:
            pattern = self.name("a name")
        if type_ is None and self.accept(":"):
            type_ = self.type()
        return pattern, type_

    def capital(self, what: str) -> str:
        """A name that begins with a capital letter."""
        if not _is_capital(self.token.text):
            raise self.failure(f"{what} (it begins with a capital)")
        return self.name(what)

    def lower(self, what: str) -> str:
        """A name that does not begin with a capital letter."""
        if _is_capital(self.token.text):
            raise self.failure(f"{what} (it begins with a small letter)")
        return self.name(what)

    def type_name(self) -> str:
        """The name of a type that is being declared."""
        if self.token.text in _BUILT_IN:
            raise self.failure("the name of a type that is not built in")
        return self.capital("the name of a type")

    def data_type(self) -> DataType:
        """T a1 .. an = C1 t .. | C2 t .. | .."""
        name, parameters = self.type_name(), self.type_parameters()
        constructors = []
        self.expect("=")
        if self.token.text != ";":
            constructors.append(self.declared_constructor())
            while self.accept("|"):
                constructors.append(self.declared_constructor())
        return DataType(name, parameters, tuple(constructors))

    def type_parameters(self) -> tuple[str, ...]:
        """a1 .. an"""
        found = []
        while self.token.kind == "name" and not _is_capital(self.token.text):
            found.append(self.advance().text)
        return tuple(found)

    def declared_constructor(self) -> Constructor:
        """C t1 .. tn"""
        name, fields = self.capital("a constructor"), []
        while _starts_type(self.token):
            fields.append(self.atomic_type())
        return Constructor(name, tuple(fields))

    def synonym(self) -> Synonym:
        """T a1 .. an = t"""
        name, parameters = self.type_name(), self.type_parameters()
        self.expect("=")
        return Synonym(name, self.type(), parameters)


def _is_capital(name: str) -> bool:
    return name[:1].isupper()


def _starts_type(token: Token) -> bool:
    return token.kind == "name" or token.text in ("(", "!")
