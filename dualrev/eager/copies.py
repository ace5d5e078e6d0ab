"""Copies of arguments, for one more run of a function that may change them.

They are arranged as the arguments are: what occurs twice there does so in the copy, and arrays that share memory share
it. Objects that do not come apart as nested data (tree.py) are not copied.
"""

from __future__ import annotations

import copy
import ctypes
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from dualrev.eager.arrays.memory.layout import in_its_layout
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.pytree.structures import unpack

__all__ = ["copied"]


def copied(x: Any, change: Callable[[Any], Any] = lambda u: u) -> Any:
    """A copy of nested data; numbers under differentiation become plain.

    `change` is what real numbers, and arrays of them, become: each once, however often it occurs.
    """
    opened = _Opened()
    made = _copied_arrays(_arrays(x, opened), change)
    inside: set[int] = set()
    todo: list[tuple[Any, Any]] = [(x, None)]
    while todo:
        u, node = todo.pop()
        if node is not None:  # its children are made
            made[id(u)] = node[0].restore([made[id(child)] for child in node[1]])
            inside.discard(id(u))
        elif id(u) not in made:
            node = opened(u)
            if node is None or id(u) in inside:
                made[id(u)] = u if node is not None else _copied_leaf(u, change)
            else:
                inside.add(id(u))
                todo.append((u, node))
                todo += [(child, None) for child in node[1]]
    return made[id(x)]


class _Opened:
    """Nodes of nested data, each unpacked once. A child that is made on the fly (the real part of a complex array)
    keeps its id, which no other object gets.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, u: Any) -> Any:
        """Return unpack(u), the same object in every call."""
        if id(u) not in self._known:
            self._known[id(u)] = u, unpack(u)
        return self._known[id(u)][1]


def _copied_leaf(x: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(x, (float, np.floating, DualNumber)) and not isinstance(x, enum.Enum):
        return change(value(x))
    if isinstance(x, RealArray):
        return RealArray(change(x.x.copy("K")))
    return copy.copy(x) if isinstance(x, (np.ndarray, np.void, set, bytearray)) else x


def _arrays(x: Any, opened: _Opened) -> dict[int, np.ndarray | RealArray]:
    """All arrays in nested data, by their ids."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    todo = [x]
    while todo:
        u = todo.pop()
        if id(u) in seen:
            continue
        seen.add(id(u))
        node = opened(u)
        if node is not None:
            todo += node[1]
        elif isinstance(u, RealArray) or type(u) in (np.ndarray, np.memmap):
            found[id(u)] = u
    return found


def _copied_arrays(arrays: dict[int, Any], change: Callable[[Any], Any]) -> dict[int, Any]:
    """Copies of arrays, by the ids of the originals; those that lie in one piece of memory do so again."""
    made: dict[int, Any] = {}
    group: dict[int, np.ndarray] = {}
    end = 0

    def finish() -> None:
        """Copy a group of arrays that share memory."""
        for key, x in _copied_group(group, end).items():
            if x.dtype.kind == "f":
                x[...] = change(x)
            made[key] = RealArray(x) if isinstance(arrays[key], RealArray) else x
        group.clear()

    values = {key: x.x if isinstance(x, RealArray) else x for key, x in arrays.items()}
    for key, x in sorted(values.items(), key=lambda item: byte_bounds(item[1])[0]):
        low, high = byte_bounds(x)
        if low >= end:
            finish()
        group[key] = x
        end = max(end, high)
    finish()
    return made


def _copied_group(group: dict[int, np.ndarray], end: int) -> dict[int, np.ndarray]:
    """Copies of arrays in one piece of memory, which ends before `end`: with the same gaps and strides."""
    if not group:
        return {}
    if len(group) == 1:
        return {key: _copied_array(x) for key, x in group.items()}
    start = min(byte_bounds(x)[0] for x in group.values())
    memory = np.frombuffer(ctypes.string_at(start, end - start), np.uint8).copy()
    return {
        key: np.ndarray(x.shape, x.dtype, memory, x.__array_interface__["data"][0] - start, x.strides)
        for key, x in group.items()
    }


def _copied_array(x: np.ndarray) -> np.ndarray:
    """A copy with the strides of x: whether a function makes a view or a copy of it may depend on them.

    The gaps are not written, so that an operating system gives no memory for pages without elements.
    """
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return in_its_layout(x) if x.dtype == float else x.copy("K")
    low, high = byte_bounds(x)
    memory = np.empty(high - low, np.uint8)
    made: np.ndarray = np.ndarray(x.shape, x.dtype, memory, x.__array_interface__["data"][0] - low, x.strides)
    made[...] = x
    return made
