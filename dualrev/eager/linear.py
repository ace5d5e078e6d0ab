"""A finished tape as a linear map, which goes both ways: backwards on a cotangent, forwards on a tangent.

Rows of scalars and blocks of arrays stand in one order, that of their ids; stretches of rows are resolved by a compiled
loop. Where cotangents, or partials, are numbers of an outer run, everything is done on those, one by one; and so it is
where there are so few rows that they are resolved before numpy has looked at them.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager import loops
from dualrev.eager.arrays.nested import NestedFlow
from dualrev.eager.flow import Flow, Numbers
from dualrev.eager.ids import Nodes
from dualrev.eager.tape import ROW, Tape

__all__ = ["FewRows", "Linear", "linear_map"]

FEW = 40  # rows
_SCALAR = {int, type(None)}  # the classes of ids of scalars, and of constants
_id = operator.itemgetter(4)  # of a row
_of_block, _is_of_outer_run = operator.attrgetter("id"), operator.attrgetter("nested")
_unpacked = struct.Struct("=dqdqq").iter_unpack


def linear_map(run: Tape, ends: Sequence[Any]) -> Linear | FewRows:
    """What was written on a tape, as a map: of the ids' cotangents, `pull`, and of their tangents, `push`.

    `ends` are the ids of the inputs and of the outputs, leaf by leaf.
    """
    rows = run.buffer.getvalue()
    arrays = run.blocks or run.elements or not {i.__class__ for i in ends} <= _SCALAR
    if arrays or (len(rows) > FEW * ROW.itemsize and not run.nested):
        return Linear(run)
    return FewRows(rows, run.nested)


class FewRows:
    """Rows of scalars alone, resolved by Python: few, or with partials that are numbers of an outer run."""

    def __init__(self, rows: bytes, nested: dict[int, tuple[Any, ...]]) -> None:
        self._rows = list(_unpacked(rows))
        self._rows.sort(key=_id)  # several threads may have written them
        if nested:
            self._rows = _with_partials(self._rows, nested)

    def flow(self, numbers: Sequence[Any], inputs: Sequence[Any]) -> Numbers:
        """Room for a cotangent or a tangent of every id."""
        return Numbers()

    def pull(self, flow: Numbers) -> None:
        """From the outputs' cotangents to the inputs'."""
        cts = flow.of_scalars
        for p, i, q, j, id in reversed(self._rows):
            g = cts.get(id)
            if g is not None:
                ct = cts.get(i)
                cts[i] = g * p if ct is None else ct + g * p
                if j:
                    ct = cts.get(j)
                    cts[j] = g * q if ct is None else ct + g * q

    def push(self, flow: Numbers) -> None:
        """From the inputs' tangents to the outputs'."""
        for p, i, q, j, id in self._rows:
            if i and flow.has(i):
                flow.add_one(id, flow.number(i) * p)
            if j and flow.has(j):
                flow.add_one(id, flow.number(j) * q)


class Linear:
    """Rows and blocks."""

    def __init__(self, run: Tape) -> None:
        rows = np.frombuffer(run.buffer.getvalue(), dtype=ROW)
        if len(rows) > 1 and (np.diff(rows["id"]) < 0).any():  # written by several threads
            rows = rows[np.argsort(rows["id"], kind="stable")]
        blocks = sorted(run.blocks, key=_of_block)
        self.rows, self.blocks, self.nested, self.elements = rows, blocks, run.nested, run.elements
        last = [int(rows["id"][-1])] if rows.size else []
        places = list(map(_of_block, blocks))
        self.scalars = 1 + max([*last, *places[-1:]], default=0)
        self._places = np.searchsorted(rows["id"], places).tolist() if rows.size else [0] * len(blocks)
        self._plain = not run.nested and not any(map(_is_of_outer_run, blocks))
        self._nodes, self._pinned = Nodes(run.sizes), list[int]()
        if run.elements and rows.size:  # rows of scalars read and write the buffer
            self._pinned = self._nodes.of(np.concatenate([rows["i"], rows["j"]]))

    def flow(self, numbers: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """Room for a cotangent or a tangent of every id; `inputs` are those of the arguments, leaf by leaf."""
        plain = self._plain and not any(_is_nested(x) for x in numbers)
        if not plain:
            return NestedFlow(self.elements, self._nodes)
        scalars = max((i for i in inputs if i.__class__ is int), default=0)
        return Flow(max(self.scalars, scalars + 1), self.elements, self._nodes, self._pinned)

    @np.errstate(all="ignore")  # partial derivatives never warn
    def pull(self, flow: Any) -> None:
        """From the outputs' cotangents to the inputs'."""
        rows, end = self._rows(flow), len(self.rows)
        for block, start in zip(reversed(self.blocks), reversed(self._places), strict=True):
            if start < end:
                self._pull_rows(flow, rows, start, end)
            block.pull(flow)
            end = start
        self._pull_rows(flow, rows, 0, end)

    @np.errstate(all="ignore")
    def push(self, flow: Any) -> None:
        """From the inputs' tangents to the outputs'."""
        rows, start = self._rows(flow), 0
        for block, end in zip(self.blocks, self._places, strict=True):
            if start < end:
                self._push_rows(flow, rows, start, end)
            block.push(flow)
            start = end
        self._push_rows(flow, rows, start, len(self.rows))

    def _pull_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        if isinstance(flow, Flow):
            if start < end:
                loops.pull_rows(rows, start, end, flow.buffer)
            return
        for p, i, q, j, id in reversed(rows[start:end]):
            if flow.has(id):
                g = flow.number(id)
                flow.add_one(i, g * p)
                if j:
                    flow.add_one(j, g * q)

    def _push_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        if isinstance(flow, Flow):
            if start < end:
                loops.push_rows(rows, start, end, flow.buffer)
            return
        for p, i, q, j, id in rows[start:end]:
            if i and flow.has(i):
                flow.add_one(id, flow.number(i) * p)
            if j and flow.has(j):
                flow.add_one(id, flow.number(j) * q)

    def _rows(self, flow: Any) -> Any:
        """The rows; for a nested flow as tuples, with the partials that are numbers of an outer run."""
        if isinstance(flow, Flow):
            return self.rows
        rows: Any = self.rows.tolist()
        return _with_partials(rows, self.nested) if self.nested else rows


def _with_partials(rows: list[tuple[Any, ...]], nested: dict[int, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with the partials that are numbers of an outer run."""
    made, before, first = list(rows), 0, 0
    for k, (_, i, _, j, id) in enumerate(rows):
        if id != before:  # an operation on many numbers has several rows
            before, first = id, k
        partials = nested.get(id)
        if partials is not None:
            at = 2 * (k - first)
            made[k] = partials[at], i, partials[at + 1], j, id
    return made


def _is_nested(x: Any) -> bool:
    return x.dtype == object if isinstance(x, np.ndarray) else not isinstance(x, (float, int, np.number))
