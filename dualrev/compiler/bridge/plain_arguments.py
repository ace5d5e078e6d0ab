"""Fast path of dispatchers for scalars and plain arrays: no flattening of nested data.

Everything else is taken apart by tree.py, which costs more than a small function does. Results and errors are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dualrev.compiler.types.aliases import UserValue

__all__ = ["copies", "fits", "is_usual", "key", "separate", "taken", "without_numbers"]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NUMBERS = (float, int, bool)
_DTYPES = (*_FLOATS, np.dtype(np.int64), np.dtype(np.bool_))


def is_usual(x: UserValue) -> bool:
    """Whether x is a float or a plain array of floats, or a tuple of these: a value with its cotangents."""
    if x.__class__ is tuple:
        return len(x) > 0 and all(part.__class__ is not tuple and is_usual(part) for part in x)
    return x.__class__ is float or (x.__class__ is np.ndarray and x.dtype in _FLOATS)


def separate(args: Sequence[UserValue]) -> bool:
    """Whether the arguments are scalars, and contiguous plain arrays that do not share memory."""
    arrays = []
    for x in args:
        if x.__class__ is np.ndarray and x.dtype in _DTYPES and x.flags.forc and x.flags.behaved:
            arrays.append(x)
        elif x.__class__ not in _NUMBERS:
            return False
    return not any(np.may_share_memory(x, y) for x, y in combinations(arrays, 2))


def key(args: Sequence[UserValue]) -> tuple[UserValue, ...]:
    """Key for the numba types of separate arguments, found faster than the types."""
    return tuple([(x.dtype, x.ndim, x.flags.c_contiguous) if x.__class__ is np.ndarray else x.__class__ for x in args])


def copies(args: Sequence[UserValue]) -> tuple[UserValue, ...]:
    """Copies of separate arguments."""
    return tuple([x.copy("K") if x.__class__ is np.ndarray else x for x in args])


def without_numbers(x: UserValue) -> UserValue:
    """Shapes and dtypes of a usual value, without the elements of its arrays."""
    if x.__class__ is tuple:
        return tuple(map(without_numbers, x))
    return np.broadcast_to(x.dtype.type(0), x.shape) if x.__class__ is np.ndarray else x


def fits(x: UserValue, of: UserValue) -> bool:
    """Whether x is a tangent or a cotangent of a usual value `of`, just as compiled code takes it."""
    if of.__class__ is tuple:
        return x.__class__ is tuple and len(x) == len(of) and all(map(fits, x, of))
    if of.__class__ is float:
        return x.__class__ is float or x.__class__ is np.float64
    return x.__class__ is np.ndarray and x.dtype == of.dtype and x.shape == of.shape and x.flags.carray


def taken(x: UserValue) -> UserValue:
    """Copy a tangent or a cotangent that fits, as compiled code may write to it."""
    if x.__class__ is tuple:
        return tuple(map(taken, x))
    return x.copy() if x.__class__ is np.ndarray else x
