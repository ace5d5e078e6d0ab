"""Opaque values: those of which numba knows the type, and the compiler nothing else. Questions about numba's types."""

from __future__ import annotations

from typing import Any

from numba.core import types

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


def is_opaque(kind: Any) -> bool:
    """Whether a type is that of values which the compiler knows nothing of, but that numba has them."""
    known = isinstance(kind, (types.EnumMember, types.NumpyFlatType))
    return is_linked(kind) or (isinstance(kind, _OPAQUE) and not known)


def is_container(kind: Any) -> bool:
    """Whether it is that of sets, dicts or lists: another name may change them."""
    return isinstance(kind, (types.Set, types.List, types.ListType, types.DictType))


def _inner(kind: Any) -> list[Any]:
    """The types of what a value of this type holds."""
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


def _holds(kind: Any, wanted: Any) -> bool:
    return isinstance(kind, wanted) or any(_holds(x, wanted) for x in _inner(kind))


def holds_floats(kind: Any) -> bool:
    """Whether a value of this type may hold a float, however deep inside."""
    return _holds(kind, (types.Float, types.Complex))


def holds_text(kind: Any) -> bool:
    """Whether it may hold a string."""
    return _holds(kind, types.UnicodeType)


def holds_memory(kind: Any) -> bool:
    """Whether it may hold what can be written under another name: arrays, and lists and dicts of floats."""
    found = _inner(kind)
    if not isinstance(kind, types.BaseTuple):
        found += [y for x in found if isinstance(x, types.BaseTuple) for y in _inner(x)]
    return any(isinstance(x, types.Array) or (isinstance(x, _OPAQUE) and holds_floats(x)) for x in found)
