"""What a loop goes over as a list, if it has no places: for a loop that counts."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

__all__ = ["listed"]

_PLACES = (types.Array, types.BaseTuple, types.UnicodeType, types.Bytes, types.List, types.ListType)


def listed(x: Any) -> Any:
    """The elements of a set, of a range, or of the keys, values or items of a dict; what has places, as it is."""
    return x if hasattr(x, "__getitem__") and not isinstance(x, dict) else list(x)


@overload(listed)
def _listed(x):  # type: ignore[no-untyped-def]
    if isinstance(x, _PLACES):
        return lambda x: x
    if isinstance(x, types.IterableType) and not isinstance(x, types.IteratorType):
        return lambda x: list(x)
    return None
