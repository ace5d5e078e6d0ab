"""Fast path of dispatchers for plain data: scalars and arrays of the usual dtypes, and tuples of these.

Everything else is taken apart by tree.py, which costs many times what a small function does. Results and errors are the
same: what a function here does not take goes that way.

The leaves of plain data are

    real        float, np.float64, arrays of float64 or float32
    discrete    int, bool, None, str, numpy's ints and bools, arrays of int64 or bool: their cotangent is None
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dualrev.compiler.types.aliases import UserValue

__all__ = [
    "AS_RETURNED",
    "copies",
    "cotangent_of",
    "fits",
    "has_real",
    "is_usual",
    "key",
    "separate",
    "shape_of",
    "taken",
    "tangents",
]

_REALS = {float, np.float64}
#: Classes of plain arguments whose cotangents are what compiled code returns; None for an array of ints.
AS_RETURNED = {float, np.ndarray}
_DISCRETE = {int, bool, type(None), str, np.int64, np.bool_}
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_DTYPES = (*_FLOATS, np.dtype(np.int64), np.dtype(np.bool_))


def is_usual(x: UserValue) -> bool:
    """Whether x is plain and holds a real leaf: compiled code returns its tangent or cotangent as users get it."""
    return x.__class__ is float or (_is_plain(x) and has_real(x))


def _is_plain(x: UserValue) -> bool:
    kind = x.__class__
    if kind is float or kind in _DISCRETE:
        return True
    if kind is np.ndarray:
        return x.dtype in _DTYPES
    return all(map(_is_plain, x)) if _is_tuple(x) else kind in _REALS


def has_real(x: UserValue) -> bool:
    """Whether plain data holds a real leaf."""
    kind = x.__class__
    if kind is float:
        return True
    if kind is np.ndarray:
        return x.dtype in _FLOATS
    return any(map(has_real, x)) if isinstance(x, tuple) else kind in _REALS


def _is_tuple(x: UserValue) -> bool:
    """Whether x is a tuple or a named tuple, and no record of the operating system."""
    return x.__class__ is tuple or (isinstance(x, tuple) and hasattr(x, "_fields"))


def _like(x: UserValue, parts: Sequence[UserValue]) -> UserValue:
    """Tuple of the class of x."""
    return tuple(parts) if x.__class__ is tuple else x.__class__(*parts)


def key(args: Sequence[UserValue]) -> tuple[UserValue, ...] | None:
    """Key for the numba types of separate arguments, found faster than the types; None for others.

    Separate arguments are plain, and their arrays are contiguous and share no memory.
    """
    arrays: list[np.ndarray] = []
    found = _key(args, arrays)
    if len(arrays) > 1 and any(np.may_share_memory(x, y) for x, y in combinations(arrays, 2)):
        return None
    return found


def _key(args: Sequence[UserValue], arrays: list[np.ndarray]) -> tuple[UserValue, ...] | None:
    """Key for plain arguments, whose arrays are appended to `arrays`; None if they are not plain and contiguous."""
    found: list[UserValue] = []
    for x in args:
        kind = x.__class__
        if kind is np.ndarray:
            flags, dtype = x.flags, x.dtype
            if dtype not in _DTYPES or not flags.forc or not flags.aligned:
                return None
            found.append((dtype, x.ndim, flags.c_contiguous, flags.writeable))
            arrays.append(x)
        elif kind in _REALS or kind in _DISCRETE:
            found.append(kind)
        elif not _is_tuple(x) or (inner := _key(x, arrays)) is None:
            return None
        else:
            found.append((kind, inner))
    return tuple(found)


def separate(args: Sequence[UserValue]) -> bool:
    """Whether the arguments are plain, with contiguous arrays that share no memory."""
    return key(args) is not None


def copies(args: Sequence[UserValue]) -> tuple[UserValue, ...]:
    """Copies of separate arguments."""
    return tuple(
        [x.copy("K") if x.__class__ is np.ndarray else _like(x, copies(x)) if isinstance(x, tuple) else x for x in args]
    )


def shape_of(x: UserValue) -> UserValue:
    """Plain data with the shapes and dtypes of x, without the elements of its arrays."""
    if x.__class__ is np.ndarray:
        return np.broadcast_to(x.dtype.type(0), x.shape)
    return _like(x, list(map(shape_of, x))) if isinstance(x, tuple) else x


def fits(t: UserValue, x: UserValue) -> bool:
    """Whether t is a tangent or a cotangent of plain data x, just as compiled code takes it."""
    kind = x.__class__
    if kind is float:
        return t.__class__ in _REALS
    if kind is np.ndarray:
        if x.dtype in _FLOATS:
            return t.__class__ is np.ndarray and t.dtype == x.dtype and t.shape == x.shape and t.flags.carray
        return t is None and x.dtype in _DTYPES
    if kind in _REALS:
        return t.__class__ in _REALS
    if _is_tuple(x):
        return t.__class__ is kind and len(t) == len(x) and all(map(fits, t, x))
    return t is None and kind in _DISCRETE


def taken(t: UserValue) -> UserValue:
    """Copy a tangent or a cotangent that fits, as compiled code may write to it."""
    if t.__class__ is float:
        return t
    if t.__class__ is np.ndarray:
        return t.copy()
    return _like(t, list(map(taken, t))) if isinstance(t, tuple) else t


def tangents(args: Sequence[UserValue], given: Sequence[UserValue]) -> list[UserValue] | None:
    """Tangents of plain arguments as compiled code takes them; None if they need a closer look.

    `given` are those of the first arguments: None for one that does not move. The others are default values.
    """
    made: list[UserValue] = []
    moves = False
    for x, t in zip(args, given):  # noqa: B905 - `strict` takes time
        if t.__class__ is float is x.__class__:
            made.append(t)
            moves = True
        elif t is None:
            if not _is_plain(x):
                return None
            made.append(None)
        elif fits(t, x):
            made.append(taken(t))
            moves = moves or has_real(x)
        else:
            return None
    if len(made) < len(args):
        for x in args[len(made) :]:
            if x.__class__ not in _REALS and x.__class__ not in _DISCRETE:
                return None
            made.append(0.0 if x.__class__ in _REALS else None)
    return made if moves else None


def cotangent_of(x: UserValue, ct: UserValue) -> UserValue:
    """Cotangent of a plain argument, from what compiled code returns for it.

    An int has none, also where f is declared to take a float.
    """
    kind = x.__class__
    if kind in AS_RETURNED:
        return ct
    if isinstance(x, tuple):
        return _like(x, list(map(cotangent_of, x, ct)))
    return kind(ct) if kind in _REALS else None
