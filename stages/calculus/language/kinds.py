r"""Predicates on types: equality, first-order types, commutative monoids, resources.

    monoid      R | () | Int | (m, m) | m + m | Vector m | T t1 .. tn with such fields    0 and + elementwise (Fig. 5)
                | Map Int R | Map Int (R -o t, R)                           union, which adds arguments of one function
                | t -> t | t ->R t                                          id and composition (section 5)
    resource    Array t, and pairs, sums and data that contain one
    capturing   a resource, s ->R t, a type parameter, and pairs, sums and data that contain one
    first-order contains no function

A sum m + m' has a formal zero, which belongs to neither side: the side depends on the input (the paper's note 8).
Likewise, the zero of Vector m has no length. Int has 0 and +, too, but that part of a cotangent has no meaning.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.language.declarations import Declarations, Synonym
from stages.calculus.language.types import (
    Array,
    Arrow,
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
    parts,
)

__all__ = [
    "first_order",
    "is_collection",
    "is_monoid",
    "is_resource",
    "may_capture",
    "names",
    "same",
    "unfold",
    "unknown_name",
]


def same(a: Type, b: Type, known: Declarations, assumed: frozenset[tuple[Type, Type]] = frozenset()) -> bool:
    """Whether two types are equal; a synonym equals its definition."""
    if a is b or a == b or (a, b) in assumed:
        return True
    exposed = known.expose(a), known.expose(b)
    if exposed != (a, b):
        return same(*exposed, known, assumed | {(a, b)})
    if type(a) is not type(b) or not parts(a) or len(parts(a)) != len(parts(b)):
        return False
    if isinstance(a, Named) and isinstance(b, Named) and a.name != b.name:
        return False
    return all(same(s, t, known, assumed) for s, t in zip(parts(a), parts(b), strict=True))


def is_monoid(type_: Type, known: Declarations, endomorphisms: bool = True) -> bool:
    """Whether a type has 0 and +; `endomorphisms` says whether functions t -> t count."""

    def holds(t: Type) -> bool | None:
        """The answer for a type; None if it depends on the type's parts."""
        match t:
            case Real() | Unit() | Int() | Parameter():
                return True
            case Arrow(a, b) | Resource(a, b):
                return endomorphisms and same(a, b, known)
            case Map():
                return True
            case Pair() | Sum() | Named() | Vector():
                return None
        return False

    return _everywhere(holds, type_, known, False)


def first_order(type_: Type, known: Declarations) -> bool:
    """Whether a type contains neither functions nor types of a target language, as a program's input and output.

    A recursive synonym is not first-order: no finite value has such a type.
    """

    def holds(t: Type) -> bool | None:
        """The answer for a type; None if it depends on the type's parts."""
        match t:
            case Real() | Unit() | Int() | Parameter():
                return True
            case Pair() | Sum() | Named() | Vector():
                return None
        return False

    return _everywhere(holds, type_, known, False)


def is_resource(type_: Type, known: Declarations) -> bool:
    """Whether a type contains an array, so that its values are used exactly once."""
    return _contains((Array,), type_, known)


def may_capture(type_: Type, known: Declarations) -> bool:
    """Whether a value of the type may hold an array: in it, or as a variable of a function s ->R t."""
    return _contains((Array, Resource, Parameter), type_, known)


def _contains(kinds: tuple[type[Type], ...], type_: Type, known: Declarations) -> bool:
    """Whether values of a type contain values of one of these kinds."""

    def free(t: Type) -> bool | None:
        """Whether a type is free of these kinds; None if that depends on its parts."""
        if isinstance(t, kinds):
            return False
        return None if isinstance(t, (Pair, Sum, Named, Map, Vector)) else True

    return not _everywhere(free, type_, known, True)


def unknown_name(type_: Type, known: Declarations) -> str | None:
    """The error in the names that a type uses; None if they are declared and fully applied."""
    if isinstance(type_, Named):
        declared = known.types.get(type_.name)
        if declared is None:
            return f"there is no type {type_.name}"
        if (wanted := len(declared.parameters)) != len(type_.arguments):
            return f"{type_.name} takes {wanted} types, not {len(type_.arguments)}"
    return next((wrong for part in parts(type_) if (wrong := unknown_name(part, known))), None)


def is_collection(value: Type, known: Declarations) -> bool:
    """Whether maps may have such values: numbers, and delayed calls with their arguments."""
    match known.expose(value):
        case Real():
            return True
        case Pair(first, second):
            function = known.expose(first)
            return isinstance(function, Linear) and all(
                isinstance(known.expose(t), Real) for t in (function.argument, second)
            )
    return False


def unfold(type_: Type, known: Declarations, within: frozenset[str] = frozenset()) -> Type:
    """Unfold all synonyms in a type, except recursive ones."""
    if isinstance(type_, Named):
        declared = known.types.get(type_.name)
        if isinstance(declared, Synonym):
            if type_.name in within or type_.name in names(declared.type, known):
                return type_
            return unfold(declared.at(type_.arguments), known, within | {type_.name})
        return Named(type_.name, tuple([unfold(a, known, within) for a in type_.arguments]))
    inner = [unfold(part, known, within) for part in parts(type_)]
    return type(type_)(*inner) if inner else type_


def names(type_: Type, known: Declarations) -> set[str]:
    """All declared types that a type refers to, also through declarations."""
    found: set[str] = set()
    todo = [type_]
    while todo:
        t = todo.pop()
        todo.extend(parts(t))
        if isinstance(t, Named) and t.name not in found:
            found.add(t.name)
            declared = known.types.get(t.name)
            if isinstance(declared, Synonym):
                todo.append(declared.type)
            elif declared is not None:
                todo.extend(field for c in declared.constructors for field in c.fields)
    return found


def _everywhere(
    holds: Callable[[Type], bool | None],
    type_: Type,
    known: Declarations,
    recursive: bool,
    seen: frozenset[Type] = frozenset(),
) -> bool:
    """Whether `holds` is true for a type; if it returns None, for all parts of the type.

    A recursive occurrence of a data type, or within one, holds by assumption; for a synonym, `recursive` is the answer.
    """
    type_ = known.expose(type_)
    if (answer := holds(type_)) is not None:
        return answer
    if type_ in seen:
        return recursive or isinstance(type_, Named)
    inner = parts(type_)
    if isinstance(type_, Named):
        constructors = known.constructors(type_)
        inner = tuple([field for c in constructors for field in c.fields]) if constructors is not None else ()
        seen = frozenset(t for t in seen if isinstance(t, Named))  # its finite values may contain the others again
    return all(_everywhere(holds, part, known, recursive, seen | {type_}) for part in inner)
