r"""Python's types, with the length of tuples and the number of parameters, which the calculus' types do not have.

    tuple[s1, .., sn]              Tuples                   (s1, (s2, .. sn)); tuple[()] is ()
    list[s]                        Named "list"             List s; a user's union may be called List, too
    Callable[[s1, .., sn], t]      Callables                (s1, (s2, .. sn)) -> t; without parameters () -> t

`Tuples` and `Callables` exist only during the translation; `lower` converts them to types of the calculus. `lift`
converts a type of the calculus: a pair becomes a Python tuple of two, an arrow a function of one parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from stages.calculus.language.types import BOOL, INT, REAL, UNIT, Arrow, Named, Pair, Parameter, Sum, Type

__all__ = [
    "Callables",
    "Learnt",
    "Tuples",
    "at",
    "holds_function",
    "is_known",
    "is_list",
    "join",
    "learn",
    "lift",
    "list_of",
    "lower",
    "match_type",
    "nested",
    "spoken",
]


@dataclass(frozen=True, slots=True)
class Tuples(Type):
    """tuple[s1, .., sn], for n other than 1."""

    elements: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Callables(Type):
    """Callable[[s1, .., sn], t]"""

    parameters: tuple[Type, ...]
    result: Type


def list_of(element: Type) -> Named:
    """list[element]"""
    return Named("list", (element,))


def is_list(type_: Type) -> bool:
    """Whether a type is Python's list, not a user's union of that name."""
    return isinstance(type_, Named) and type_.name == "list"


class Learnt(Exception):  # noqa: N818 - no error: what the elements of a list are, that began as [], has become known
    """The element type of a list has become known: `element`, for the placeholder `hole`."""

    def __init__(self, hole: Parameter, element: Type) -> None:
        super().__init__(hole, element)
        self.hole, self.element = hole, element


def learn(type_: Type, known: Type) -> None:
    """Raise Learnt if a list of unknown elements has to be a list of known ones."""
    if isinstance(type_, Named) and isinstance(known, Named) and is_list(type_) and is_list(known):
        match type_.arguments[0]:
            case Parameter() as hole if is_known(known):
                raise Learnt(hole, known.arguments[0])


def nested(types: Iterable[Type]) -> Type:
    """(s1, (s2, .. sn)) of lowered types."""
    types = tuple(types)
    return reduce(lambda rest, first: Pair(first, rest), reversed(types[:-1]), types[-1]) if types else UNIT


def lower(type_: Type) -> Type:
    """The type in the calculus."""
    match type_:
        case Tuples(elements):
            return nested(map(lower, elements))
        case Callables(parameters, result):
            return Arrow(nested(map(lower, parameters)), lower(result))
        case Named(name, arguments):
            name = "List" if is_list(type_) else name
            return Named(name, tuple([lower(argument) for argument in arguments]))
        case Parameter(name):
            return Parameter(name.lower())  # a capital begins the name of a type
        case _:
            return type_


def lift(type_: Type) -> Type:
    """A type of the calculus as a type of Python."""
    match type_:
        case Pair(first, second):
            return Tuples((lift(first), lift(second)))
        case Arrow(argument, result):
            return Callables((lift(argument),), lift(result))
        case Named(name, arguments):
            return Named(name, tuple([lift(argument) for argument in arguments]))
        case _ if type_ == UNIT:
            return Tuples(())
        case _:
            return type_


def at(type_: Type, known: Mapping[str, Type]) -> Type:
    """Substitute known types for a type's parameters."""
    match type_:
        case Parameter(name):
            return known.get(name, type_)
        case Tuples(elements):
            return Tuples(tuple([at(element, known) for element in elements]))
        case Callables(parameters, result):
            return Callables(tuple([at(parameter, known) for parameter in parameters]), at(result, known))
        case Named(name, arguments):
            return Named(name, tuple([at(argument, known) for argument in arguments]))
        case _:
            return type_


def is_known(type_: Type) -> bool:
    """Whether a type has no parameters left."""
    match type_:
        case Parameter():
            return False
        case Tuples(elements):
            return all(map(is_known, elements))
        case Callables(parameters, result):
            return all(map(is_known, parameters)) and is_known(result)
        case Named(_, arguments):
            return all(map(is_known, arguments))
        case _:
            return True


def holds_function(type_: Type) -> bool:
    """Whether a value of the type may contain a function; a union may."""
    match type_:
        case Tuples(elements):
            return any(map(holds_function, elements))
        case _:
            return isinstance(type_, Callables | Named)


def match_type(pattern: Type, type_: Type, known: dict[str, Type]) -> None:
    """Determine a pattern's parameters from a type; other differences are ignored."""
    match pattern, type_:
        case Parameter(name), _ if is_known(type_):
            known.setdefault(name, type_)
        case Tuples(patterns), Tuples(types):
            _match_all(patterns, types, known)
        case Callables(patterns, result), Callables(types, given):
            _match_all((*patterns, result), (*types, given), known)
        case Named(name, patterns), Named(given_name, types) if name == given_name:
            _match_all(patterns, types, known)


def _match_all(patterns: tuple[Type, ...], types: tuple[Type, ...], known: dict[str, Type]) -> None:
    for pattern, type_ in zip(patterns, types, strict=False):
        match_type(pattern, type_, known)


def join(s: Type, t: Type) -> Type | None:
    """The common type of an s and a t: an Int among reals is a real. None if there is none."""
    match s, t:
        case Tuples(left), Tuples(right) if len(left) == len(right):
            joined = [join(a, b) for a, b in zip(left, right, strict=True)]
            return None if None in joined else Tuples(tuple([one for one in joined if one is not None]))
        case _:
            return s if s == t else REAL if {s, t} == {REAL, INT} else None


def spoken(type_: Type) -> str:
    """A type as an annotation."""
    match type_:
        case Tuples(elements):
            return f"tuple[{', '.join(map(spoken, elements)) or '()'}]"
        case Callables(parameters, result):
            return f"Callable[[{', '.join(map(spoken, parameters))}], {spoken(result)}]"
        case Named(name, arguments):
            return f"{name}[{', '.join(map(spoken, arguments))}]" if arguments else name
        case Parameter(name):
            return name
        case Sum(left, right) if type_ != BOOL:
            return f"{spoken(left)} + {spoken(right)}"
        case _:
            return {REAL: "float", INT: "int", BOOL: "bool", UNIT: "tuple[()]"}.get(type_, str(type_))
