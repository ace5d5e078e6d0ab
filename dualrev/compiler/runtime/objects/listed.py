"""Conversion of iterables without indexing to lists, for a counted loop."""

from __future__ import annotations

from collections.abc import Iterable

from numba import types
from numba.extending import overload

__all__ = ["listed"]

_PLACES = (types.Array, types.BaseTuple, types.UnicodeType, types.Bytes, types.List, types.ListType)


def listed(x: Iterable[object]) -> Iterable[object]:
    """Convert a set, a range or a dict view to a list; return an indexable value unchanged."""
    return x if hasattr(x, "__getitem__") and not isinstance(x, dict) else list(x)


@overload(listed)
def _listed(x):  # type: ignore[no-untyped-def]
    if isinstance(x, _PLACES):
        return lambda x: x
    if isinstance(x, types.IterableType) and not isinstance(x, types.IteratorType):
        return lambda x: list(x)
    return None
