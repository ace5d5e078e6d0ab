"""A finished tape as a linear map, which goes both ways: backwards on a cotangent, forwards on a tangent.

Rows of scalars and blocks of arrays stand in one order, that of their ids; stretches of rows are resolved by a compiled
loop. Where cotangents, or partials, are numbers of an outer run, everything is done on those, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager import loops
from dualrev.eager.arrays.record import NestedFlow
from dualrev.eager.blocks import Flow
from dualrev.eager.tape import ROW, Tape

__all__ = ["Linear"]


class Linear:
    """What was written on a tape, as a map: of the ids' cotangents, `pull`, and of their tangents, `push`."""

    def __init__(self, run: Tape) -> None:
        rows = np.frombuffer(run.buffer.getvalue(), dtype=ROW)
        if (np.diff(rows["id"]) < 0).any():  # written by several threads
            rows = rows[np.argsort(rows["id"], kind="stable")]
        blocks = sorted(run.blocks, key=lambda block: block.id)
        self.rows, self.blocks, self.nested, self.elements = rows, blocks, run.nested, run.elements
        last = [int(rows["id"][-1])] if rows.size else []
        self.scalars = 1 + max([*last, *(block.id for block in blocks)], default=0)
        self._places = np.searchsorted(rows["id"], [block.id for block in blocks]).tolist()
        self._plain = not run.nested and not any(block.nested for block in blocks)

    def flow(self, numbers: Sequence[Any], inputs: int = 0) -> Any:
        """Room for a cotangent or a tangent of every id; `inputs` is how many scalars f has."""
        plain = self._plain and not any(_is_nested(x) for x in numbers)
        size = max(self.scalars, inputs + 1) + self.elements
        return Flow(size) if plain else NestedFlow(self.elements)

    def pull(self, flow: Any) -> None:
        """From the outputs' cotangents to the inputs'."""
        rows, end = self._rows(flow), len(self.rows)
        for block, start in zip(reversed(self.blocks), reversed(self._places), strict=True):
            self._pull_rows(flow, rows, start, end)
            block.pull(flow)
            end = start
        self._pull_rows(flow, rows, 0, end)

    def push(self, flow: Any) -> None:
        """From the inputs' tangents to the outputs'."""
        rows, start = self._rows(flow), 0
        for block, end in zip(self.blocks, self._places, strict=True):
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
                g = flow.take(id)
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
                flow.add_one(id, flow.take(i) * p)
            if j and flow.has(j):
                flow.add_one(id, flow.take(j) * q)

    def _rows(self, flow: Any) -> Any:
        """The rows; for a nested flow as tuples, with the partials that are numbers of an outer run."""
        if isinstance(flow, Flow):
            return self.rows
        rows: list[tuple[Any, ...]] = self.rows.tolist()
        first = -1
        for k, (_, i, _, j, id) in enumerate(rows if self.nested else ()):
            first = k if not k or rows[k - 1][4] != id else first  # an operation on many numbers has several rows
            if id in self.nested:
                p, q, *_ = (*self.nested[id][2 * (k - first) :], 0.0, 0.0)
                rows[k] = p, i, q, j, id
        return rows


def _is_nested(x: Any) -> bool:
    return x.dtype == object if isinstance(x, np.ndarray) else not isinstance(x, (float, int, np.number))
