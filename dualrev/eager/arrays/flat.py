"""What `flat` of an array is: its elements in C order, by one index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Flat"]


class Flat:
    """An array's elements in C order, by one index."""

    def __init__(self, a: Any) -> None:
        self._a = a

    def __len__(self) -> int:
        return self._a.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._a.ravel())

    def __getitem__(self, key: Any) -> Any:
        return self._a[self._index(key)]

    def __setitem__(self, key: Any, new: Any) -> None:
        self._a[self._index(key)] = new

    def _index(self, key: Any) -> Any:
        return np.unravel_index(np.arange(self._a.size)[key], self._a.shape)
