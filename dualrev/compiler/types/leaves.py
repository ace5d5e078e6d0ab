"""Structured types (records, arrays of records, jitclass instances, structrefs) as trees of field leaves.

Each is a tree with a leaf for every field. A leaf is an array that shares the memory of the object:

    array of records      a view of the field in all records, with strides; nested arrays have more axes
    record                the same of one record: a scalar is an array of no axes
    instance, structref   an array of no axes for a scalar, and the array itself for an array; another instance is a
                          tree again

So a field that is written is an element of an array that is written, and names for one object are views of one memory.
What holds neither numbers nor arrays of numbers has no leaf.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from numba.core import types

from dualrev.compiler.types.aliases import NumbaType

__all__ = [
    "apart",
    "holds_structured",
    "is_bound",
    "is_instance",
    "is_linked",
    "is_record",
    "is_records",
    "is_structured",
    "members",
    "opened",
    "tangent_type",
]

_NUMBERS = (types.Float, types.Integer, types.Boolean)


def is_records(kind: NumbaType) -> bool:
    """Whether a type is an array of records (of a structured dtype)."""
    return isinstance(kind, types.Array) and isinstance(kind.dtype, types.Record)


def is_record(kind: NumbaType) -> bool:
    """Whether a type is a single record."""
    return isinstance(kind, types.Record)


def is_instance(kind: NumbaType) -> bool:
    """Whether a type is a jitclass instance or structref that the compiler sees field by field: not a linked one."""
    return isinstance(kind, (types.ClassInstanceType, types.StructRef)) and not is_linked(kind)


def is_linked(kind: NumbaType) -> bool:
    """Whether a type is recursive: deferred, a jitclass with such a field (nodes of a tree), or an optional of one.

    The compiler sees nothing of them but what numba reads (types/opaque_types.py).
    """
    if isinstance(kind, types.ClassInstanceType):
        return any(map(is_linked, kind.struct.values()))
    return isinstance(kind, types.DeferredType) or (isinstance(kind, types.Optional) and is_linked(kind.type))


def is_structured(kind: NumbaType) -> bool:
    """Whether a type is a record, an array of records, or an instance that the compiler sees field by field."""
    return is_records(kind) or is_record(kind) or is_instance(kind)


def holds_structured(kind: NumbaType) -> bool:
    """Whether a type is structured, or a (nested) tuple that contains a structured type."""
    return is_structured(kind) or (isinstance(kind, types.BaseTuple) and any(map(holds_structured, kind.types)))


def members(kind: NumbaType) -> dict[str, NumbaType]:
    """Return the leaf types of a structured type by field name; fields without a leaf are left out."""
    found = _of_instance(kind) if is_instance(kind) else _of_records(kind)
    return {name: leaf for name, leaf in found.items() if leaf is not None}


def _of_instance(kind: NumbaType) -> dict[str, NumbaType]:
    fields = kind.struct if isinstance(kind, types.ClassInstanceType) else kind.field_dict
    return {name: _of_field(field) for name, field in fields.items()}


def _of_field(field: NumbaType) -> NumbaType:
    if isinstance(field, _NUMBERS):
        return types.Array(types.unliteral(field), 0, "C")
    if isinstance(field, types.Array) and isinstance(field.dtype, _NUMBERS):
        return field if field.ndim else None
    return field if is_structured(field) else None


def _of_records(kind: NumbaType) -> dict[str, NumbaType]:
    record, ndim = (kind.dtype, kind.ndim) if is_records(kind) else (kind, 0)
    found: dict[str, NumbaType] = {}
    for name in record.fields:
        field = record.typeof(name)
        nested = field.ndim if isinstance(field, types.NestedArray) else 0
        number = field.dtype if nested else field
        if isinstance(number, _NUMBERS) and not record.is_title(name) and not _overlaps(record, name):
            size = 1 if isinstance(number, types.Boolean) else number.bitwidth // 8
            aligned = record.offset(name) % size == 0 and record.size % size == 0
            layout = "A" if ndim + nested else "C"
            found[name] = types.Array(number, ndim + nested, layout, aligned=aligned)
    return found


def _overlaps(record: types.Record, name: str) -> bool:
    """Whether a record field shares bytes with another field."""

    def extent(x: str) -> tuple[int, int]:
        """Return the byte range of a field: start and end offset."""
        start, field = record.offset(x), record.typeof(x)
        if isinstance(field, types.NestedArray):
            return start, start + field.size * field.nitems
        if isinstance(field, types.Record):
            return start, start + field.size
        size = getattr(field, "bitwidth", 8) // 8
        return start, start + size

    low, high = extent(name)
    others = [extent(x) for x in record.fields if x != name and not record.is_title(x)]
    return any(low < end and start < high for start, end in others)


def apart(trees: Iterable[object]) -> set[frozenset[object]]:
    """Return the no-alias pairs of leaves: distinct fields of one record, or of one array of records."""
    found: set[frozenset[object]] = set()
    for tree in trees:
        parts = getattr(tree, "parts", ())
        if is_records(getattr(tree, "kind", None)) or is_record(getattr(tree, "kind", None)):
            found |= {frozenset(pair) for pair in itertools.combinations(parts, 2)}
        else:
            found |= apart(parts)
    return found


def is_bound(leaf: NumbaType) -> bool:
    """Whether an instance's leaf is an object bound to the field (an array, an instance), not a 0-d scalar cell."""
    return is_structured(leaf) or leaf.ndim > 0


def opened(kind: NumbaType) -> NumbaType:
    """Flatten a structured type to the tuple type of its leaves, recursively and inside tuples."""
    if is_structured(kind):
        return types.BaseTuple.from_types([opened(leaf) for leaf in members(kind).values()])
    if holds_structured(kind):
        return types.BaseTuple.from_types(list(map(opened, kind.types)))
    return kind


def tangent_type(kind: NumbaType, given: NumbaType) -> NumbaType:
    """Return the type of the tangents of a type's leaves, for tangents of type `given`: see `runtime.tangents`."""
    if is_structured(kind) and is_structured(given):
        return opened(given)
    parts = list(members(kind).values()) if is_structured(kind) else getattr(kind, "types", ())
    if not holds_structured(kind) or not isinstance(given, types.BaseTuple) or len(given.types) != len(parts):
        return given
    made = []
    for part, t in zip(parts, given.types, strict=True):
        cell = isinstance(part, types.Array) and part.ndim == 0 and isinstance(t, types.Number)
        made.append(types.Array(part.dtype, 0, "C") if cell else tangent_type(part, t))
    return types.BaseTuple.from_types(made)
