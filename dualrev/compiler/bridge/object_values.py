"""Conversion of records, jitclass instances and structrefs to nested data of their leaves, and back.

The derivatives take the objects themselves; tangents and cotangents are nested data. See types/leaves.py.
"""

from __future__ import annotations

import functools

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from dualrev.compiler.bridge.bind_arguments import zeros
from dualrev.compiler.runtime.objects.fields import mirror_type
from dualrev.compiler.types.aliases import NumbaType, UserValue
from dualrev.compiler.types.leaves import is_instance, is_structured, members
from dualrev.eager.copies import copied

__all__ = ["has_instances", "instances", "same_fields", "taken_apart", "tangent_of", "together"]


def taken_apart(x: UserValue, tangent: bool = False) -> UserValue:
    """Replace objects by nested data of their fields: a tuple for records, a named one for an instance.

    In a tangent, what is no float is None.
    """
    if isinstance(x, tuple):
        parts = [taken_apart(part, tangent) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    kind = _kind(x)
    if kind is None:
        return x
    if is_instance(kind):
        fields = {name: taken_apart(getattr(x, name), tangent) for name in _fields(kind)}
    else:
        fields = {name: x[name] for name in _fields(kind)}
    for name, leaf in _fields(kind).items():
        if tangent and isinstance(leaf, types.Array) and not isinstance(leaf.dtype, (types.Float, types.Record)):
            fields[name] = None
    return mirror_type(kind)(*fields.values()) if is_instance(kind) else tuple(fields.values())


def tangent_of(x: UserValue, t: UserValue) -> UserValue:
    """Tangent of `x` as nested data like `taken_apart(x)`; for an instance, any tuple will do.

    None says that an object does not move.
    """
    if isinstance(x, tuple) and isinstance(t, tuple) and len(x) == len(t):
        parts = [tangent_of(part, of_part) for part, of_part in zip(x, t, strict=True)]
        return type(t)(*parts) if hasattr(t, "_fields") else tuple(parts)
    kind = _kind(x)
    if kind is not None and t is None:
        return zeros((taken_apart(x),))[0]
    if is_instance(kind) and isinstance(t, tuple) and len(t) == len(_fields(kind)):
        return mirror_type(kind)(*map(tangent_of, (getattr(x, name) for name in _fields(kind)), t))
    return taken_apart(t, tangent=True)


def together(x: UserValue, leaves: UserValue) -> UserValue:
    """Inverse of `taken_apart`, with records where x has some; fields without a leaf are zeros."""
    if isinstance(x, tuple):
        parts = [together(part, leaf) for part, leaf in zip(x, leaves, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    kind = _kind(x)
    if kind is None or leaves is None:
        return leaves
    if is_instance(kind):
        return mirror_type(kind)(*map(together, (getattr(x, name) for name in _fields(kind)), leaves))
    made = np.zeros(x.shape, x.dtype)
    for name, leaf in zip(_fields(kind), leaves, strict=True):
        if leaf is not None:
            made[name] = leaf
    return made


def has_instances(x: UserValue) -> bool:
    """Whether nested data holds instances."""
    return any(map(has_instances, x)) if isinstance(x, tuple) else is_instance(_kind(x))


def instances(x: UserValue) -> list[UserValue]:
    """Copies of the fields of all instances in nested data."""
    if isinstance(x, tuple):
        return [fields for part in x for fields in instances(part)]
    return [copied(taken_apart(x))] if has_instances(x) else []


def same_fields(one: UserValue, other: UserValue) -> bool:
    """Whether fields are equal, bit by bit: NaN is equal to itself."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same_fields, one, other))
    if isinstance(one, (np.ndarray, np.generic, float, complex, int)):
        a, b = np.asarray(one), np.asarray(other)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(one == other)


def _kind(x: UserValue) -> NumbaType:
    """Numba type of a record, an array of records, or an instance; None for anything else."""
    cls = x.__class__
    if cls is np.ndarray:
        return None if x.dtype.names is None else _kind_of_records(x.dtype, x.ndim)
    if cls is np.void:
        return _kind_of_records(x.dtype, None)
    structured = isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names is not None)
    if not structured and not hasattr(cls, "_numba_type_") and not hasattr(x, "_numba_type_"):
        return None
    try:
        kind = numba.typeof(x)
    except (NumbaError, ValueError, NotImplementedError):
        return None
    return kind if is_structured(kind) else None


@functools.lru_cache(maxsize=256)  # numba makes the type anew in each call of `typeof`
def _kind_of_records(dtype: np.dtype, ndim: int | None) -> NumbaType:
    """Numba type of a record, or of an array of records, whatever its layout; None for a dtype without one."""
    try:
        kind = from_dtype(dtype) if ndim is None else types.Array(from_dtype(dtype), ndim, "C")
    except (NumbaError, ValueError, NotImplementedError):
        return None
    return kind if is_structured(kind) else None


def _fields(kind: NumbaType) -> dict[str, NumbaType]:
    """Members of a structured type; those of records are read once."""
    return _fields_of_records(kind) if isinstance(kind, (types.Record, types.Array)) else members(kind)


_fields_of_records = functools.lru_cache(maxsize=256)(members)
