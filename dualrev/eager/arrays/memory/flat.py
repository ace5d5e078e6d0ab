"""`flat` of an array: its elements in C order, by one index."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Flat", "FlatParts"]


class Flat:
    """An array's elements in C order, by one index."""

    def __init__(self, a: Any) -> None:
        self._a = a if a.ndim else a.reshape(1)  # a view

    def __len__(self) -> int:
        return self._a.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._a.ravel())

    def __getitem__(self, key: Any) -> Any:
        return self._a[self._index(key)]

    def __setitem__(self, key: Any, new: Any) -> None:
        """As numpy: it repeats numbers that are too few, and reads one after the other what it has written before."""
        places, n = self._index(key), np.size(new)
        if not np.ndim(places[0]) or np.ndim(new) == 0:
            self._a[places] = new
        elif n and isinstance(new, type(self._a)) and np.may_share_memory(new.x, self._a.x):
            for place, source in zip(zip(*places, strict=True), itertools.cycle(np.ndindex(new.shape)), strict=False):
                self._a[place] = new[source]
        elif n:
            self._a[places] = np.resize(new, len(places[0]))

    def _index(self, key: Any) -> Any:
        return np.unravel_index(np.arange(self._a.size)[key], self._a.shape)


class FlatParts:
    """The same of a complex array: `parts` are its real and its imaginary ones, `take` says what those of a value are.

    `join` makes a complex value of two real ones.
    """

    def __init__(
        self, parts: tuple[Any, Any], take: Callable[[Any], tuple[Any, Any]], join: Callable[..., Any]
    ) -> None:
        self._parts, self._take, self._join = tuple(map(Flat, parts)), take, join

    def __len__(self) -> int:
        return len(self._parts[0])

    def __iter__(self) -> Iterator[Any]:
        return map(self._join, *self._parts)

    def __getitem__(self, key: Any) -> Any:
        return self._join(*(part[key] for part in self._parts))

    def __setitem__(self, key: Any, new: Any) -> None:
        for part, u in zip(self._parts, self._take(new), strict=True):
            part[key] = u
