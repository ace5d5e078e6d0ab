"""Handles of a record: what a function has in place of the arrays that only kernels read and change.

Only the record can reach the memory of a handle, so no launch and no copy escapes it.

The elements of a memory have *versions*. A version ends when a launch overwrites elements that an adjoint reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

__all__ = ["Handle", "Memory", "Version"]


@dataclass(eq=False)
class Version:
    """Elements of a memory, of which adjoints read these addresses; `kept` is a copy from before a store to them."""

    reads: set[tuple[int, int]] = field(default_factory=set)
    kept: Any = None

    def is_overwritten(self, by: tuple[int, int] | None) -> bool:
        """Whether a store to these addresses overwrites what an adjoint reads."""
        return by is not None and any(first < by[1] and by[0] < last for first, last in self.reads)


@dataclass(eq=False)
class Memory:
    """Array on the device, which only the record that owns it changes."""

    array: Any
    owner: object
    version: Version = field(default_factory=Version)


class Handle:
    """Array of a record: an argument of the kernels that the record launches. Slices are views."""

    __array_ufunc__ = None  # arithmetic with arrays of NumPy raises TypeError

    def __init__(self, memory: Memory, keys: tuple[Any, ...] = ()) -> None:
        self._memory, self._keys = memory, keys
        array = self._of(memory.array)
        self.shape, self.dtype, self.size = tuple(array.shape), array.dtype, int(array.size)
        self.ndim = len(self.shape)

    def __repr__(self) -> str:
        return f"dualrev.cuda.Handle(shape={self.shape}, dtype={self.dtype})"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Handle:
        """Return a view: slices, and numbers of rows."""
        parts = list(key) if isinstance(key, tuple) else [key]
        dots = [k for k, part in enumerate(parts) if part is Ellipsis]
        for k in dots[:1]:  # arrays on the device know no ellipsis
            parts[k : k + 1] = [slice(None)] * (self.ndim - len(parts) + 1)
        if not all(_is_int(k) or (isinstance(k, slice) and (k.step is None or k.step > 0)) for k in parts):
            raise TypeError(f"an array of a record has views by ints, and slices with positive steps, got {key!r}")
        if sum(map(_is_int, parts)) >= self.ndim:
            raise TypeError("no element of an array of a record can be read: launch kernels by record[kernel, ...]")
        return Handle(self._memory, (*self._keys, tuple(parts)))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Raise TypeError: only kernels write."""
        raise TypeError("no element of an array of a record can be set: launch kernels by record[kernel, ...]")

    def __iter__(self) -> NoReturn:
        raise TypeError("the elements of an array of a record cannot be read: slice it, such as x[i:i + 1]")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise TypeError: no derivative goes through NumPy."""
        raise TypeError("an array of a record cannot be read: return it, or write a kernel")

    def _of(self, array: Any) -> Any:
        """Take the view of another array with the shape of the memory."""
        for key in self._keys:
            array = array[key]
        return array


def _is_int(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)
