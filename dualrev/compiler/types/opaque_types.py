"""Opaque types: numba types their values, the compiler treats them as black boxes.

Also predicates on what a value of a type may contain: floats, strings, memory that an alias can write.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_linked

__all__ = ["holds_floats", "holds_memory", "holds_text", "is_container", "is_opaque"]

#: Types of which values may be made and passed on, but which nothing is differentiated through.
_OPAQUE = (
    types.UnicodeType,
    types.Bytes,
    types.ByteArray,
    types.CharSeq,
    types.UnicodeCharSeq,
    types.Set,
    types.List,
    types.ListType,
    types.DictType,
    types.DictItemsIterableType,
    types.DictKeysIterableType,
    types.DictValuesIterableType,
    types.RangeType,
    types.SliceType,
    types.SimpleIteratorType,
    types.SimpleIterableType,
    types.NPDatetime,
    types.NPTimedelta,
    types.ArrayFlags,
    types.ArrayCTypes,
    types.NumPyRandomGeneratorType,
    types.NumPyRandomBitGeneratorType,
)


def is_opaque(kind: NumbaType) -> bool:
    """Whether a type is opaque: its values are made and passed on, but nothing is differentiated through them."""
    known = isinstance(kind, (types.EnumMember, types.NumpyFlatType))
    return is_linked(kind) or (isinstance(kind, _OPAQUE) and not known)


def is_container(kind: NumbaType) -> bool:
    """Whether a type is a mutable container (set, list or dict), which may change through an alias."""
    return isinstance(kind, (types.Set, types.List, types.ListType, types.DictType))


def _inner(kind: NumbaType) -> list[NumbaType]:
    """Return the element types of a container, array, tuple, iterator, optional or linked instance, one level deep."""
    match kind:
        case types.BaseTuple():
            return list(kind.types)
        case types.DictType():
            return [kind.key_type, kind.value_type]
        case types.SimpleIterableType() | types.IteratorType():
            return [kind.yield_type] if hasattr(kind, "yield_type") else [kind.iterator_type.yield_type]
        case types.Array() | types.List() | types.ListType() | types.Set() | types.RangeType():
            return [kind.dtype]
        case types.Optional():
            return [kind.type]
        case types.ClassInstanceType() if is_linked(kind):
            return [x for x in kind.struct.values() if not is_linked(x)]
    return []


def _holds(kind: NumbaType, wanted: type[NumbaType] | tuple[type[NumbaType], ...]) -> bool:
    return isinstance(kind, wanted) or any(_holds(x, wanted) for x in _inner(kind))


def holds_floats(kind: NumbaType) -> bool:
    """Whether a value of this type may hold a real or complex float, at any depth."""
    return _holds(kind, (types.Float, types.Complex))


def holds_text(kind: NumbaType) -> bool:
    """Whether a value of this type may hold a string, at any depth."""
    return _holds(kind, types.UnicodeType)


def holds_memory(kind: NumbaType) -> bool:
    """Whether a value may contain memory that an alias can write: an array, or a list or dict of floats."""
    found = _inner(kind)
    if not isinstance(kind, types.BaseTuple):
        found += [y for x in found if isinstance(x, types.BaseTuple) for y in _inner(x)]
    return any(isinstance(x, types.Array) or (isinstance(x, _OPAQUE) and holds_floats(x)) for x in found)
