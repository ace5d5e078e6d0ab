"""What operations on whole arrays write on the tape: blocks, and the cotangents or tangents that flow through them.

A block is a linear map from the tangents of its operands to those of its results. `Terms` are contributions one by one,
as the rows of scalars are; a `Rule` speaks of whole operands. `Flow` holds a number for every id. The ids, and what a
cotangent of -0.0 says, are explained in tape.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dualrev.eager import loops

__all__ = ["Block", "Flow", "Range", "Rule", "Terms"]


class Block(Protocol):
    """What an operation on arrays wrote: a linear map from the tangents of its operands to those of its results."""

    id: int
    nested: bool

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents what the results' cotangents contribute."""

    def push(self, flow: Any) -> None:
        """Set the results' tangents from the operands'."""


class Terms:
    """Contributions one by one: the tangent of result row[k] has the term p[k] times the tangent of id ids[k].

    `row` is None where it is 0, 1, 2, ..., and has one entry where there is one result; p has one entry where all are
    equal.
    """

    __slots__ = ("id", "ids", "n", "nested", "out", "p", "row")

    def __init__(self, id: int, out: int, row: np.ndarray | None, p: Any, ids: np.ndarray) -> None:
        self.id, self.out, self.row, self.p, self.n = id, out, row, p, ids.size
        self.ids = _saved(ids.reshape(-1))
        self.nested = not isinstance(p, np.ndarray)

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents."""
        if isinstance(flow, Flow):
            loops.pull_terms(flow.buffer, *self._compiled())
        else:
            results, p, ids = self._reached(flow, self._results())
            flow.add(ids, flow.get(results) * p)

    def push(self, flow: Any) -> None:
        """Add to the results' tangents."""
        if isinstance(flow, Flow):
            loops.push_terms(flow.buffer, *self._compiled())
        else:
            results, p, ids = self._reached(flow, self.ids)
            flow.add(results, flow.get(ids) * p)

    def _compiled(self) -> tuple[Any, ...]:
        """The arguments of the compiled loops: no row, no ids where they follow from the first one."""
        row = _NO_IDS if self.row is None else self.row
        if isinstance(self.ids, Range):
            return self.out, row, self.p, self.ids.start, _NO_IDS, self.n
        return self.out, row, self.p, 0, self.ids, self.n

    def _results(self) -> Range | np.ndarray:
        """The id of the result that each term belongs to."""
        return Range(self.out, (self.n,)) if self.row is None else np.broadcast_to(self.out + self.row, self.n)

    def _reached(self, flow: Any, sources: Any) -> tuple[Any, Any, Any]:
        """The terms whose source has been reached: the results' ids, the partials, the operands' ids."""
        reached = flow.reached(sources)
        if reached.all():
            return self._results(), self.p, self.ids
        p = self.p if self.p.size == 1 else self.p[reached]
        return np.asarray(self._results())[reached], p, np.asarray(self.ids)[reached]


class Rule:
    """A rule for whole operands: `pull` maps cotangents of the results to those of the operands, `push` tangents.

    Both take and return lists of arrays, of the shapes of the results and the operands. Ids of operands are arrays, or
    None for a constant, whose cotangent is not asked for and whose tangent is None.
    """

    __slots__ = ("_pull", "_push", "id", "ids", "nested", "outs", "shapes")

    def __init__(
        self,
        id: int,
        outs: Sequence[int],
        shapes: Sequence[tuple[int, ...]],
        ids: Sequence[np.ndarray | None],
        pull: Callable[[list[Any]], Sequence[Any]],
        push: Callable[[list[Any]], Sequence[Any]],
        nested: bool,
    ) -> None:
        self.id, self.outs, self.shapes, self.nested = id, outs, shapes, nested
        self.ids = [None if i is None else _saved(i) for i in ids]
        self._pull, self._push = pull, push

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents."""
        places = [Range(out, shape) for out, shape in zip(self.outs, self.shapes, strict=True)]
        if not any(flow.reached(place).any() for place in places):
            return
        cotangents = self._pull([flow.get(place) for place in places])
        for ids, ct in zip(self.ids, cotangents, strict=True):
            if ids is not None and ct is not None:
                flow.add(ids, ct)

    def push(self, flow: Any) -> None:
        """Add to the results' tangents."""
        known = [i for i in self.ids if i is not None]
        if not any(flow.reached(i).any() for i in known):
            return
        tangents = self._push([None if i is None else flow.get(i) for i in self.ids])
        for out, shape, t in zip(self.outs, self.shapes, tangents, strict=True):
            flow.add(Range(out, shape), t)


class Range:
    """The ids of an array whose elements have consecutive ones."""

    __slots__ = ("shape", "start", "stop")

    def __init__(self, start: int, shape: tuple[int, ...]) -> None:
        self.start, self.stop, self.shape = start, start + math.prod(shape), shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.arange(self.start, self.stop).reshape(self.shape)

    def of(self, buffer: Any) -> Any:
        """The numbers at these ids, a view. Ids of elements are negative: the last one has the id -1."""
        return buffer[self.start : self.stop if self.stop or self.start >= 0 else None].reshape(self.shape)


def _saved(ids: np.ndarray) -> Range | np.ndarray:
    """The ids for later: the array that they come from may be assigned to."""
    flat = ids.reshape(-1)
    mixed = flat.size and flat[0] < 0 <= flat[-1]
    return Range(int(flat[0]), ids.shape) if loops.consecutive(flat) and not mixed else ids.copy()


_NO_IDS = np.empty(0, dtype=np.int64)


class Flow:
    """A cotangent or a tangent, a float, for every id."""

    __slots__ = ("buffer",)

    def __init__(self, size: int) -> None:
        self.buffer = np.full(size, -0.0)

    def get(self, ids: Any) -> Any:
        """The numbers at these ids."""
        return (ids.of(self.buffer) if isinstance(ids, Range) else self.buffer[ids]) + 0.0

    def numbers(self, ids: list[int]) -> list[float]:
        """The numbers at these ids, as Python's floats."""
        return (self.buffer[ids] + 0.0).tolist() if ids else []

    def reached(self, ids: Any) -> Any:
        """Whether anything contributed to these ids."""
        g = ids.of(self.buffer) if isinstance(ids, Range) else self.buffer[ids]
        return (g != 0.0) | ~np.signbit(g)

    def add(self, ids: Any, ct: Any) -> None:
        """Add to these ids; one may occur more than once."""
        ct = np.asarray(ct, dtype=float)
        if isinstance(ids, Range):
            ids.of(self.buffer)[...] += ct + 0.0
        elif isinstance(ids, int):
            self.buffer[ids] += ct + 0.0
        else:
            loops.add(self.buffer, ids.ravel(), np.broadcast_to(ct, ids.shape).ravel())
