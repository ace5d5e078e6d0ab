"""The unions of one program: the types of annotations, and the conversion between Python objects and values.

union.py declares a union; `Unions` has the unions that a program uses, including lists if it has any.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from stages.calculus.language.declarations import Constructor, DataType, Declarations
from stages.calculus.language.types import BOOL, INT, REAL, Named, Parameter, Sum, Type
from stages.calculus.language.values import FALSE, TRUE, Made
from stages.calculus.python.lists import LIST
from stages.calculus.python.types import Callables, Tuples, at, is_list, lift, list_of, lower
from stages.calculus.python.union import Applied, Union, owner

__all__ = ["Unions", "from_value", "to_value"]


class Unions:
    """The unions that one program uses, by name, and the types of its annotations."""

    def __init__(self) -> None:
        self.by_name: dict[str, Union] = {}
        self.fields: dict[str, tuple[Type, ...]] = {}  # of each constructor
        self.classes: dict[str, type] = {}  # constructors by name

    def meaning(self, annotation: Any, names: Mapping[str, Any]) -> Type:
        """The type of an annotation; TypeError if it has none. `names` are the names that strings may use."""
        if isinstance(annotation, str):
            return self.meaning(eval(annotation, dict(names)), names)
        if isinstance(annotation, typing.ForwardRef):
            return self.meaning(annotation.__forward_arg__, names)
        if isinstance(annotation, Type):
            return lift(annotation)
        if isinstance(annotation, typing.TypeVar):
            return Parameter(annotation.__name__)
        if isinstance(annotation, Union | Applied):
            return self._named(annotation, names)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is list:
            self.add_lists()
            return list_of(self.meaning(arguments[0], names))
        if origin is collections.abc.Callable and isinstance(arguments[0], list):
            return Callables(tuple([self.meaning(s, names) for s in arguments[0]]), self.meaning(arguments[1], names))
        if origin is tuple and len(arguments) != 1 and ... not in arguments:
            return Tuples(tuple([self.meaning(s, names) for s in arguments]))
        simple = {float: REAL, int: INT, bool: BOOL}
        if isinstance(annotation, type) and annotation in simple:
            return simple[annotation]
        raise TypeError(_why(annotation))

    def _named(self, annotation: Union | Applied, names: Mapping[str, Any]) -> Type:
        given, arguments = (
            (annotation, ()) if isinstance(annotation, Union) else (annotation.union, annotation.arguments)
        )
        if len(arguments) != len(given.parameters):
            raise TypeError(f"{given.name} has {len(given.parameters)} parameters, and {len(arguments)} are given")
        self.add(given)
        return Named(given.name, tuple([self.meaning(argument, names) for argument in arguments]))

    def add(self, given: Union) -> None:
        """Use a union, and the unions in its fields."""
        if (known := self.by_name.setdefault(given.name, given)) is not given:
            raise TypeError(f"two unions are called {known.name}")
        if {"List", "list"} <= self.by_name.keys():
            raise TypeError("Python's lists are the data type List: call the union List otherwise")
        for cls in given.constructors:
            if (other := self.classes.setdefault(cls.__name__, cls)) is not cls:
                pythons = "list" in (given.name, owner(other))
                raise TypeError(
                    f"two constructors are called {cls.__name__}"
                    + ", one of Python's lists: call yours otherwise" * pythons
                )
            if cls.__name__ not in self.fields:
                self.fields[cls.__name__] = ()  # until they are known: a field may be of the union itself
                names = {**given.modules.get(cls.__module__, {}), given.name: given}
                names |= {parameter.__name__: parameter for parameter in given.parameters}
                fields = dataclasses.fields(typing.cast(Any, cls))
                self.fields[cls.__name__] = tuple([self.meaning(field.type, names) for field in fields])

    def add_lists(self) -> None:
        """Use Python's lists."""
        self.add(LIST)

    def constructors(self, type_: Type) -> list[tuple[type, tuple[Type, ...]]] | None:
        """The constructors of a union's type, with their fields at its arguments; None for other types."""
        if not (isinstance(type_, Named) and type_.name in self.by_name):
            return None
        given = self.by_name[type_.name]
        known = {p.__name__: argument for p, argument in zip(given.parameters, type_.arguments, strict=True)}
        return [(cls, tuple([at(field, known) for field in self.fields[cls.__name__]])) for cls in given.constructors]

    def declarations(self) -> Declarations:
        """The data types."""
        made = [self._declared(given) for given in self.by_name.values()]
        return Declarations({data.name: data for data in made})

    def _declared(self, given: Union) -> DataType:
        made = [Constructor(c.__name__, tuple(map(lower, self.fields[c.__name__]))) for c in given.constructors]
        return DataType(
            str(getattr(lower(given.whole()), "name", "")),
            tuple([p.__name__.lower() for p in given.parameters]),
            tuple(made),
        )


def _why(annotation: Any) -> str:
    if "__union__" in getattr(annotation, "__dict__", {}):
        return f"{annotation.__name__} is a constructor of {owner(annotation)}, not a type; write {owner(annotation)}"
    if isinstance(annotation, types.UnionType):
        classes = [getattr(one, "__name__", str(one)) for one in typing.get_args(annotation)]
        return (
            f"{' | '.join(classes)} is no type of the calculus; make the classes dataclasses, write"
            f" T = union('T', {', '.join(classes)}) with stages.calculus.python.union, and annotate with T"
        )
    shown = getattr(annotation, "__name__", None) if isinstance(annotation, type) else None
    known = "float, int, bool, tuple[..], list[..], Callable or a union"
    return f"{shown or annotation} is no type of the calculus; write {known}"


def to_value(x: Any, annotation: Any) -> Any:
    """Convert a Python object to the evaluator's value of the annotated type.

    >>> to_value((1, (True, 2.0)), tuple[float, tuple[bool, float]])
    (1.0, (Made(name='inl', fields=((),)), 2.0))
    """
    unions = Unions()
    return _to(x, unions.meaning(annotation, {}), unions)


def _to(x: Any, type_: Type, unions: Unions) -> Any:
    match type_:
        case Tuples(elements):
            values = [_to(one, element, unions) for one, element in zip(x, elements, strict=True)]
            return _nested(values)
        case Named(_, (element,)) if is_list(type_) and isinstance(x, list):
            made = Made("Nil", ())
            for one in reversed(x):
                made = Made("Cons", (_to(one, element, unions), made))
            return made
        case Named():
            for cls, fields in unions.constructors(type_) or ():
                if type(x) is cls:
                    parts = zip(dataclasses.fields(typing.cast(Any, cls)), fields, strict=True)
                    return Made(cls.__name__, tuple([_to(getattr(x, p.name), s, unions) for p, s in parts]))
            raise TypeError(f"{x!r} is made by no constructor of {type_.name}")
        case Callables():
            raise TypeError("a Python function is no value of the calculus; translate it")
        case Sum():
            return TRUE if x else FALSE
        case _:
            return float(x) if type_ == REAL else x


def from_value(value: Any, annotation: Any) -> Any:
    """Convert a value of the evaluator to a Python object: the inverse of `to_value`.

    >>> from_value((1.0, (2.0, 3)), tuple[float, float, int])
    (1.0, 2.0, 3)
    """
    unions = Unions()
    return _from(value, unions.meaning(annotation, {}), unions)


def _from(value: Any, type_: Type, unions: Unions) -> Any:
    match type_:
        case Tuples(elements):
            found = []
            for element in elements[:-1]:
                found.append(_from(value[0], element, unions))
                value = value[1]
            return (*found, _from(value, elements[-1], unions)) if elements else ()
        case Named(_, (element,)) if is_list(type_):
            found = []
            while value.fields:
                head, value = value.fields
                found.append(_from(head, element, unions))
            return found
        case Named():
            cls, fields = next(one for one in unions.constructors(type_) or () if one[0].__name__ == value.name)
            return cls(*[_from(part, s, unions) for part, s in zip(value.fields, fields, strict=True)])
        case Callables():
            raise TypeError("a function of the calculus has no Python object")
        case Sum():
            return value.name == "inl"
        case _:
            return value


def _nested(values: list[Any]) -> Any:
    if len(values) < 2:
        return values[0] if values else ()
    return values[0], _nested(values[1:])
