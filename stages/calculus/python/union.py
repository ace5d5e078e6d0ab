r"""Tagged unions: Python classes as the constructors of a data type.

    @dataclass(frozen=True)
    class Leaf: value: float
    @dataclass(frozen=True)
    class Node: left: "Tree"; right: "Tree"

    Tree = union("Tree", Leaf, Node)                         data Tree = Leaf R | Node Tree Tree
    List = union("List", Nil, Cons, parameters=(A,))         data List a = Nil | Cons a (List a),  A = TypeVar("A")

A union serves as an annotation: `Tree`, `List[float]`, "Tree" in a string. Names in strings are looked up in the module
of the class, among the union's own parameters, and as the union itself; so define mutually recursive unions in a
module.

    float  int  bool  tuple[..]  Callable[[..], ..]  a union        R  Int  ()+()  pairs  ->  a data type
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stages.calculus.language.errors import NotTranslated
from stages.calculus.language.types import Named, Parameter

__all__ = ["Applied", "Union", "owner", "union"]

_BUILT_IN = {"R", "Int", "Map", "Array", "IArray"}


@dataclass(frozen=True, eq=False)
class Union:
    """A data type whose constructors are classes."""

    name: str
    constructors: tuple[type, ...]
    parameters: tuple[typing.TypeVar, ...] = ()
    modules: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)  #: of the classes, by name

    def __getitem__(self, arguments: Any) -> Applied:
        return Applied(self, arguments if isinstance(arguments, tuple) else (arguments,))

    def __call__(self, *arguments: Any) -> typing.NoReturn:
        """Raise TypeError: the union is callable only because typing requires it of annotations."""
        raise TypeError(f"{self.name} is a union: call one of its constructors")

    def whole(self) -> Named:
        """The type with its own parameters as arguments."""
        return Named(self.name, tuple([Parameter(parameter.__name__) for parameter in self.parameters]))


@dataclass(frozen=True, eq=False)
class Applied:
    """List[float]"""

    union: Union
    arguments: tuple[Any, ...]

    def __call__(self, *arguments: Any) -> typing.NoReturn:
        """Raise TypeError, as for the union."""
        self.union()


def union(name: str, *constructors: type, parameters: tuple[typing.Any, ...] = ()) -> Union:
    """Declare a data type with these dataclasses as its constructors; NotTranslated if they cannot be constructors.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Circle:
    ...     radius: float
    >>> union("Shape", Circle).whole()
    Named(name='Shape', arguments=())
    """
    for cls in constructors:
        if not dataclasses.is_dataclass(cls):
            raise NotTranslated(f"union {name}: {cls.__name__} is no dataclass; write @dataclass(frozen=True) above it")
        if "__union__" in vars(cls):
            raise NotTranslated(
                f"union {name}: {cls.__name__} belongs to {owner(cls)} already; write a class of its own"
            )
    for word in (name, *(cls.__name__ for cls in constructors)):
        if not word[:1].isupper() or word in _BUILT_IN:
            raise NotTranslated(f"union {name}: {word} is no name for a type or constructor; begin with a capital, and"
                                f" avoid {', '.join(sorted(_BUILT_IN))}")  # fmt: skip
    # runpy takes a module out of sys.modules when it has run
    modules = {c.__module__: vars(sys.modules[c.__module__]) for c in constructors if c.__module__ in sys.modules}
    made = Union(name, constructors, parameters, modules)
    for cls in constructors:
        cls.__union__ = made  # type: ignore[attr-defined]
    return made


def owner(cls: type) -> str:
    """The name of the union that a constructor belongs to."""
    return typing.cast(Any, cls).__union__.name
