"""Ids of arrays that are not written out: an array knows where its ids begin, and how far they are apart.

An operation that makes n elements takes n consecutive ids, a node; they are negative (tape.py). In the memory of an
array they stand in the order of its elements, so what is a view of the array is a `Range` of the node. Ids are written
out, as an array of ints, only where elements of several nodes come together, or are picked out one by one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np

from dualrev.eager.tape import row_kernels

__all__ = ["Nodes", "Pieces", "Range", "in_copy", "is_one", "laid_out", "of_view", "saved"]


class Range:
    """The ids of an array: `start` is the first one, `steps` how far they are apart along each axis.

    steps is None in C order, where they are consecutive. No id occurs twice, unless the array is empty. Positive ids
    are those of scalars; constants have 0.
    """

    __slots__ = ("_all_steps", "shape", "size", "start", "steps")

    def __init__(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...] | None = None) -> None:
        self.start, self.shape, self.steps = start, shape, steps
        self._all_steps = steps
        self.size = shape[0] if len(shape) == 1 else math.prod(shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """All of them, written out."""
        if self.steps is None:
            return np.arange(self.start, self.start + self.size).reshape(self.shape)
        made = np.full(self.shape, self.start)
        for axis, (n, step) in enumerate(zip(self.shape, self.steps, strict=True)):
            made += (step * np.arange(n)).reshape((n,) + (1,) * (len(self.shape) - axis - 1))
        return made

    def item(self, k: Any) -> int:
        """The id of element k, of an array with one axis that has it, or of k = (j, i), of one with two."""
        if k.__class__ is tuple:
            (j, i), (m, n) = k, self.shape
            steps = self._all_steps or self.all_steps()
            return self.start + (j + m if j < 0 else j) * steps[0] + (i + n if i < 0 else i) * steps[1]
        k = k + self.shape[0] if k < 0 else k
        return self.start + (k if self.steps is None else k * self.steps[0])

    def __getitem__(self, key: Any) -> Any:
        """The ids at an index of whole numbers and slices: a Range, or an id; None for another index."""
        if key.__class__ is int and len(self.shape) > 1:  # a row: it is in C order if this is
            n, own = self.shape[0], self.steps
            start = self.start + (key + n if key < 0 else key) * self.all_steps()[0]
            return Range(start, self.shape[1:], None if own is None else own[1:])
        keys = key if key.__class__ is tuple else (key,)
        if len(keys) > len(self.shape):
            return None
        start, shape, own = self.start, [], self.all_steps()
        steps: list[int] = []
        for k, n, step in zip(keys, self.shape, own, strict=False):
            if k.__class__ is int:
                start += (k + n if k < 0 else k) * step
            elif k.__class__ is slice:
                first, last, by = k.indices(n)
                start += first * step
                shape.append(len(range(first, last, by)))
                steps.append(step * by)
            else:
                return None
        shape += self.shape[len(keys) :]
        if not shape:
            return start
        return _range(start, tuple(shape), (*steps, *own[len(keys) :]))

    def all_steps(self) -> tuple[int, ...]:
        """The steps along the axes, in C order too."""
        if self._all_steps is None:
            steps = [1]
            for n in self.shape[:0:-1]:
                steps.append(steps[-1] * n)
            self._all_steps = tuple(steps[::-1]) if self.shape else ()
        return self._all_steps

    def of(self, numbers: np.ndarray, first: int = 0) -> np.ndarray:
        """The numbers at these ids, a view: `numbers` holds them from the id `first` on."""
        start = self.start - first
        if self.steps is None:
            part = numbers[start : start + self.size or None] if start < 0 else numbers[start : start + self.size]
            return part if len(self.shape) == 1 else part.reshape(self.shape)
        if start < 0:
            start += len(numbers)
        if not self.size:
            return np.empty(self.shape)
        return np.ndarray(self.shape, float, numbers, 8 * start, tuple(8 * step for step in self.steps))

    def in_order(self, u: Any) -> Any:
        """The numbers of an array of this shape one after the other, as their ids are; of all elements of a node."""
        if self.steps is None:
            return u if u.ndim == 1 else u.reshape(-1)
        return u.transpose(self._order()).reshape(-1)

    def arranged(self, u: Any) -> Any:
        """An array of this shape, from all numbers of its node in C order."""
        if self.steps is None:
            return u if u.shape == self.shape else u.reshape(self.shape)
        order = self._order()
        return u.reshape([self.shape[k] for k in order]).transpose(np.argsort(order))

    def _order(self) -> list[int]:
        """The axes, that with the longest steps first; one of length 1 may stand anywhere."""
        steps = self.all_steps()
        return sorted(range(len(steps)), key=lambda k: -steps[k])


def is_one(key: Any, ndim: int) -> bool:
    """Whether an index is an int, of one axis, or a pair of them, of two."""
    if key.__class__ is int:
        return ndim == 1
    return ndim == 2 and key.__class__ is tuple and len(key) == 2 and key[0].__class__ is key[1].__class__ is int


class Pieces:
    """The ids of an array that is made of a few stretches of consecutive ones, in C order."""

    __slots__ = ("ranges", "shape", "size")

    def __init__(self, ranges: list[Range], shape: tuple[int, ...]) -> None:
        self.ranges, self.shape, self.size = ranges, shape, math.prod(shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """All of them, written out."""
        return np.concatenate([np.asarray(part) for part in self.ranges]).reshape(self.shape)

    def parts(self, u: Any) -> list[tuple[Range, Any]]:
        """The stretches, each with what belongs to it of an array of this shape."""
        flat, made, start = u.reshape(-1), [], 0
        for part in self.ranges:
            made.append((part, flat[start : start + part.size]))
            start += part.size
        return made


def saved(ids: Any) -> Any:
    """The ids for later, as a Range, Pieces or an array: the array that they come from may be assigned to."""
    if ids.__class__ is Range:
        return ids
    flat = ids.reshape(-1)
    ends = row_kernels.stretches(flat, 1 + flat.size // 64)
    if not len(ends):
        return ids.copy() if flat.size else Range(0, ids.shape)
    starts = [0, *ends[:-1].tolist()]
    firsts, lengths = flat[starts].tolist(), np.diff(ends, prepend=0).tolist()
    ranges = [Range(i, (n,), None if i else (0,)) for i, n in zip(firsts, lengths, strict=True)]
    if len(ranges) > 1 or not ranges[0].start:
        return Pieces(ranges, ids.shape)
    return Range(ranges[0].start, ids.shape)


def _range(start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Range:
    """The same, which knows if it is in C order."""
    expected = 1
    for n, step in zip(shape[::-1], steps[::-1], strict=True):
        if n != 1 and step != expected:
            return Range(start, shape, steps)
        expected *= n
    return Range(start, shape)


def laid_out(start: int, x: np.ndarray) -> Range | None:
    """The ids from `start` for the elements of x, in the order of its memory; None if there are gaps in that."""
    if x.flags.c_contiguous:
        return Range(start, x.shape)
    end = 1
    for n, stride in sorted(zip(x.shape, x.strides, strict=True), key=lambda axis: axis[1]):
        if n != 1 and stride != 8 * end:
            return None
        end *= n
    return Range(start, x.shape, tuple(stride // 8 for stride in x.strides))


def of_view(ids: Range, x: np.ndarray, view: np.ndarray) -> Range | None:
    """Return the ids of a view of x, given the ids of x; None if an element occurs in it twice."""
    whole = view.size == x.size and x.flags.c_contiguous and ids.steps is None
    if whole and view.flags.c_contiguous:
        return Range(ids.start, view.shape)
    steps = tuple([stride // 8 for stride in view.strides])
    room = 1
    for n, step in sorted(zip(view.shape, map(abs, steps), strict=True), key=lambda axis: axis[1]):
        if n > 1:
            if step < room:
                return None
            room = step * n
    first = 0 if whole and min(steps) >= 0 else (_address(view) - _address(x)) // 8
    return _range(ids.start + first, view.shape, steps)


def in_copy(ids: Any, order: Any, x: np.ndarray, copy: np.ndarray) -> Any:
    """The ids of x for a copy of it: a Range goes with an array in whose memory they are in order."""
    if ids.__class__ is not Range:
        return ids.copy(order)
    if x.strides == copy.strides:
        return ids
    made = np.empty_like(copy, np.int64)
    made[...] = ids
    return made


def _address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


class Nodes:
    """The arrays whose elements have ids: for the first id of each, how many there are."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self.sizes = sizes
        self._ends = [-start for start in sizes]  # they grow, since ids count down
        self._end_array: np.ndarray | None = None

    def around(self, i: int) -> int:
        """The first id of the node that a negative id belongs to."""
        return -self._ends[bisect_left(self._ends, -i)]

    def of(self, ids: np.ndarray) -> list[int]:
        """The first ids of the nodes that these ids belong to; those of scalars belong to none."""
        if not self._ends or not ids.size:
            return []
        if self._end_array is None:
            self._end_array = np.array(self._ends, np.int64)
        found = row_kernels.nodes_of(ids.reshape(-1), self._end_array)
        return [-self._ends[k] for k in sorted(set(found.tolist()))]

    def span(self, ids: Range) -> int | None:
        """The first id of the node that all of these ids belong to; None if there are several."""
        size = self.sizes.get(ids.start)
        if size is not None and size >= ids.size and ids.steps is None:
            return ids.start
        reach = [step * (n - 1) for step, n in zip(ids.all_steps(), ids.shape, strict=True)]
        low = ids.start + sum(r for r in reach if r < 0)
        node = self.around(low)
        return node if ids.start + sum(r for r in reach if r > 0) < node + self.sizes[node] else None

    def split(self, ids: Range) -> list[Range]:
        """Consecutive ids of several nodes, one after the other."""
        made, start, stop = [], ids.start, ids.start + ids.size
        while start < stop:
            node = self.around(start)
            end = min(stop, node + self.sizes[node])
            made.append(Range(start, (end - start,)))
            start = end
        return made
