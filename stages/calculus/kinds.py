r"""What a type is: equal to another one, first-order, a commutative monoid, a resource.

    monoid      R | () | Int | (m, m) | m + m | T t1 .. tn with such fields with 0 and +, elementwise (Fig. 5)
                | Map Int m | Map Int (m -o t, m)                           union; arguments of one function are added
                | t -> t | t ->R t                                          id and composition (section 5)
    resource    Array t, and pairs, sums and data with one in it
    first-order no function in it

A sum m + m' has a formal zero, of neither side: which one it is depends on the input (the paper's note 8). Int has 0
and +, too; that part of a cotangent means nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.declarations import Declarations, Synonym
from stages.calculus.types import (
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
    parts,
)

__all__ = ["first_order", "is_monoid", "is_resource", "same", "unknown_name"]


def same(a: Type, b: Type, known: Declarations, assumed: frozenset[tuple[Type, Type]] = frozenset()) -> bool:
    """Whether two types are equal, where a synonym equals what it stands for."""
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
    """Whether it has 0 and +; `endomorphisms` says whether functions t -> t count."""

    def holds(t: Type) -> bool | None:
        match t:
            case Real() | Unit() | Int() | Parameter():
                return True
            case Arrow(a, b) | Resource(a, b):
                return endomorphisms and same(a, b, known)
            case Map(value):
                match known.expose(value):
                    case Pair(Linear(a, _), argument) if same(a, argument, known):
                        return is_monoid(argument, known, endomorphisms)
                return None
            case Pair() | Sum() | Named():
                return None
        return False

    return _everywhere(holds, type_, known)


def first_order(type_: Type, known: Declarations) -> bool:
    """Whether no function is in it, and nothing that only a target language has: what a program may take and give."""

    def holds(t: Type) -> bool | None:
        match t:
            case Real() | Unit() | Int() | Parameter():
                return True
            case Pair() | Sum() | Named():
                return None
        return False

    return _everywhere(holds, type_, known)


def is_resource(type_: Type, known: Declarations) -> bool:
    """Whether an array is in it, so that its values are used exactly once."""

    def free(t: Type) -> bool | None:
        match t:
            case Array():
                return False
            case Pair() | Sum() | Named() | Map():
                return None
        return True

    return not _everywhere(free, type_, known)


def unknown_name(type_: Type, known: Declarations) -> str | None:
    """What is wrong with the names of types in it, if anything."""
    if isinstance(type_, Named):
        declared = known.types.get(type_.name)
        if declared is None:
            return f"there is no type {type_.name}"
        wanted = 0 if isinstance(declared, Synonym) else len(declared.parameters)
        if wanted != len(type_.arguments):
            return f"{type_.name} takes {wanted} types, not {len(type_.arguments)}"
    return next((wrong for part in parts(type_) if (wrong := unknown_name(part, known))), None)


def _everywhere(
    holds: Callable[[Type], bool | None], type_: Type, known: Declarations, seen: frozenset[Type] = frozenset()
) -> bool:
    """Whether `holds` says so; where it says None, of all parts of the type. A type within itself is taken on trust."""
    type_ = known.expose(type_)
    if (answer := holds(type_)) is not None:
        return answer
    if type_ in seen:
        return True
    inner = parts(type_)
    if isinstance(type_, Named):
        constructors = known.constructors(type_)
        inner = tuple([field for c in constructors for field in c.fields]) if constructors is not None else ()
    return all(_everywhere(holds, part, known, seen | {type_}) for part in inner)
