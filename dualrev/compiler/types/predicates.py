"""Predicates on numba types: real scalars, arrays, arrays of reals, and tuples that hold reals."""

from __future__ import annotations

from typing import TypeGuard

from numba.core import types

from dualrev.compiler.types.aliases import NumbaType

__all__ = ["NUMBERS", "holds_reals", "is_array", "is_list", "is_real", "is_real_array"]

#: The types of numbers: real ones, and those without derivative.
NUMBERS = (types.Float, types.Integer, types.Boolean)


def is_real(kind: NumbaType) -> bool:
    """Whether a type is a real (floating-point) scalar."""
    return isinstance(kind, types.Float)


def is_array(kind: NumbaType) -> bool:
    """Whether a type is a numba array."""
    return isinstance(kind, types.Array)


def is_list(kind: NumbaType) -> TypeGuard[types.List | types.ListType]:
    """Whether a type is a list: one of Python's, or a typed one."""
    return isinstance(kind, (types.List, types.ListType))


def is_real_array(kind: NumbaType) -> bool:
    """Whether a type is an array of real scalars."""
    return is_array(kind) and is_real(kind.dtype)


def holds_reals(kind: NumbaType) -> bool:
    """Whether a type is a real scalar, an array of reals, or a (nested) tuple that contains one of these."""
    return is_real(kind) or is_real_array(kind) or (isinstance(kind, types.BaseTuple) and any(map(holds_reals, kind)))
