r"""What a type is: equal to another one, first-order, a commutative monoid, a resource.

    monoid      R | () | Int | (m, m) | m + m | Vector m | T t1 .. tn with such fields    0 and + elementwise (Fig. 5)
                | Map Int R | Map Int (R -o t, R)                           union; arguments of one function are added
                | t -> t | t ->R t                                          id and composition (section 5)
    resource    Array t, and pairs, sums and data with one in it
    first-order no function in it

A sum m + m' has a formal zero, of neither side: which one it is depends on the input (the paper's note 8); likewise
that of Vector m, without a length. Int has 0
and +, too; that part of a cotangent means nothing.
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
    "names",
    "same",
    "unfold",
    "unknown_name",
]


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
            case Map():
                return True
            case Pair() | Sum() | Named() | Vector():
                return None
        return False

    return _everywhere(holds, type_, known, False)


def first_order(type_: Type, known: Declarations) -> bool:
    """Whether no function is in it, and nothing that only a target language has: what a program may take and give.

    A synonym that contains itself is not: no finite value has such a type.
    """

    def holds(t: Type) -> bool | None:
        match t:
            case Real() | Unit() | Int() | Parameter():
                return True
            case Pair() | Sum() | Named() | Vector():
                return None
        return False

    return _everywhere(holds, type_, known, False)


def is_resource(type_: Type, known: Declarations) -> bool:
    """Whether an array is in it, so that its values are used exactly once."""

    def free(t: Type) -> bool | None:
        match t:
            case Array():
                return False
            case Pair() | Sum() | Named() | Map() | Vector():
                return None
        return True

    return not _everywhere(free, type_, known, True)


def unknown_name(type_: Type, known: Declarations) -> str | None:
    """What is wrong with the names of types in it, if anything."""
    if isinstance(type_, Named):
        declared = known.types.get(type_.name)
        if declared is None:
            return f"there is no type {type_.name}"
        if (wanted := len(declared.parameters)) != len(type_.arguments):
            return f"{type_.name} takes {wanted} types, not {len(type_.arguments)}"
    return next((wrong for part in parts(type_) if (wrong := unknown_name(part, known))), None)


def is_collection(value: Type, known: Declarations) -> bool:
    """Whether there are maps of such values: numbers, and delayed calls with their arguments."""
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
    """The type with all synonyms unfolded, but for those that contain themselves."""
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
    """All declared types that a type refers to, those in declarations included."""
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
    """Whether `holds` says so; where it says None, of all parts of the type.

    A data type within itself is taken on trust; of a synonym within itself, `recursive` says.
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
    return all(_everywhere(holds, part, known, recursive, seen | {type_}) for part in inner)
