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

from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array
from dualrev.eager.arrays.nested_flow import NestedFlow
from dualrev.eager.tape import row_kernels
from dualrev.eager.tape.cotangent_flow import Flow
from dualrev.eager.tape.ids import Nodes, Range
from dualrev.eager.tape.tape import ROW, Real, Tape

__all__ = ["FewRows", "Linear", "linear_map"]

FEW = 40  # rows
_id = operator.itemgetter(4)  # of a row
_of_block, _is_of_outer_run = operator.attrgetter("id"), operator.attrgetter("nested")
_unpacked = struct.Struct("=dqdqq").iter_unpack


def linear_map(run: Tape, ends: Sequence[Any]) -> Linear | FewRows:
    """Return the operations on a tape as a linear map of the ids' cotangents, `pull`, and tangents, `push`.

    `ends` are the ids of the inputs and of the outputs, leaf by leaf.
    """
    rows = run.buffer.getvalue()
    if run.blocks or run.elements or (len(rows) > FEW * ROW.itemsize and not run.nested):
        return Linear(run)
    for i in ends:
        if i.__class__ is not int and i is not None:  # an array of numbers
            return Linear(run)
    return FewRows(rows, run.nested)


class FewRows:
    """Rows of scalars alone, resolved by Python: few, or with partials that are numbers of an outer run."""

    def __init__(self, rows: bytes, nested: dict[int, tuple[Any, ...]]) -> None:
        self._rows = list(_unpacked(rows))
        if len(self._rows) > 1:
            self._rows.sort(key=_id)  # several threads may have written them
        if nested:
            self._rows = _with_partials(self._rows, nested)

    def pull(self, outputs: list[Any], cts: Sequence[Any], inputs: list[Any]) -> list[Any]:
        """Return the cotangents of the inputs, given the cotangents of the outputs."""
        found = _begun(outputs, cts)
        for p, i, q, j, id in reversed(self._rows):
            g = found.get(id)
            if g is not None:
                ct = found.get(i)
                new = g * p if g.__class__ is p.__class__ else _times(g, p)
                found[i] = new if ct is None else ct + new
                if j:
                    ct = found.get(j)
                    new = g * q if g.__class__ is q.__class__ else _times(g, q)
                    found[j] = new if ct is None else ct + new
        return _numbers(found, inputs)

    def push(self, inputs: list[Any], tangents: Sequence[Any], outputs: list[Any]) -> list[Any]:
        """Return the tangents of the outputs, given the tangents of the inputs; 0 for a constant, whose id is None."""
        found = _begun(inputs, tangents)
        for p, i, q, j, id in self._rows:
            for partial, operand in ((p, i), (q, j)):
                t = found.get(operand)
                if t is not None:
                    have, new = found.get(id), _times(t, partial)
                    found[id] = new if have is None else have + new
        return _numbers(found, outputs)


def _begun(ids: list[Any], numbers: Sequence[Any]) -> dict[int, Any]:
    """Where to begin, by ids. A zero takes no part: a result that is not asked for, an argument that does not move."""
    found: dict[int, Any] = {}
    for k, i in enumerate(ids):  # zip(..., strict=True) takes longer
        x = numbers[k]
        if i is not None and (x.__class__ is not float or x != 0.0):
            found[i] = found[i] + x if i in found else x
    return found


def _numbers(found: dict[int, Any], ids: list[Any]) -> list[Any]:
    """The numbers at these ids, 0 where nothing contributed."""
    return [x + 0.0 if (x := found.get(i, 0.0)).__class__ is float else x for i in ids]


class Linear:
    """Rows and blocks."""

    def __init__(self, run: Tape) -> None:
        written = run.buffer.getvalue()
        rows = np.frombuffer(written, dtype=ROW) if written else _NO_ROWS
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

    @np.errstate(all="ignore")  # partial derivatives never warn
    def pull(self, outputs: list[Any], cts: Sequence[Any], inputs: list[Any]) -> list[Any]:
        """Return the cotangents of the inputs, given the cotangents of the outputs, in arrays of their own."""
        flow = self._flow(outputs, cts, inputs)
        rows, end = self._rows(flow), len(self.rows)
        for block, start in zip(reversed(self.blocks), reversed(self._places), strict=True):
            if start < end:
                self._pull_rows(flow, rows, start, end)
            block.pull(flow)
            end = start
        self._pull_rows(flow, rows, 0, end)
        return _read(flow, inputs, letting_go=True)

    @np.errstate(all="ignore")
    def push(self, inputs: list[Any], tangents: Sequence[Any], outputs: list[Any]) -> list[Any]:
        """Return the tangents of the outputs, given the tangents of the inputs; 0 for a constant, whose id is None."""
        flow = self._flow(inputs, tangents, inputs)
        rows, start = self._rows(flow), 0
        for block, end in zip(self.blocks, self._places, strict=True):
            if start < end:
                self._push_rows(flow, rows, start, end)
            block.push(flow)
            start = end
        self._push_rows(flow, rows, start, len(self.rows))
        return _read(flow, outputs)

    def _flow(self, ids: list[Any], numbers: Sequence[Any], inputs: list[Any]) -> Any:
        """Room for a cotangent or a tangent of every id, with these numbers at these ids."""
        flow: Any
        if self._plain and not any(map(_is_nested, numbers)):
            scalars = self.scalars
            for i in inputs:  # they may be read, even if nothing is written
                if i.__class__ is int and i >= scalars:
                    scalars = i + 1
            flow = Flow(scalars, self.elements, self._nodes, self._pinned)
        else:
            flow = NestedFlow(self.elements, self._nodes)
        for i, leaf in zip(ids, numbers, strict=True):
            if i is not None:
                _seed(flow, i, leaf)
        return flow

    def _pull_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        if isinstance(flow, Flow):
            if start < end:
                row_kernels.pull_rows(rows, start, end, flow.buffer)
            return
        for p, i, q, j, id in reversed(rows[start:end]):
            if flow.has(id):
                g = flow.number(id)
                flow.add_one(i, _times(g, p))
                if j:
                    flow.add_one(j, _times(g, q))

    def _push_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        if isinstance(flow, Flow):
            if start < end:
                row_kernels.push_rows(rows, start, end, flow.buffer)
            return
        for p, i, q, j, id in rows[start:end]:
            if i and flow.has(i):
                flow.add_one(id, _times(flow.number(i), p))
            if j and flow.has(j):
                flow.add_one(id, _times(flow.number(j), q))

    def _rows(self, flow: Any) -> Any:
        """The rows; for a nested flow as tuples, with the partials that are numbers of an outer run."""
        if isinstance(flow, Flow):
            return self.rows
        rows: Any = self.rows.tolist()
        return _with_partials(rows, self.nested) if self.nested else rows


_NO_ROWS = np.empty(0, ROW)
_ZERO = np.zeros(())


def _seed(flow: Any, ids: Any, leaf: Any) -> None:
    """Where to begin. A zero takes no part: a result that is not asked for, an argument that does not move."""
    if isinstance(ids, int):
        if (leaf.__class__ is not float and holds_duals(leaf)) or leaf != 0.0:
            flow.add_one(ids, leaf)
    elif holds_duals(leaf):
        flow.add(ids, leaf)
    elif np.ndim(leaf):
        leaf = plain(leaf)
        chosen = leaf != 0.0
        flow.add(*((ids, leaf) if chosen.all() else (np.asarray(ids)[chosen], leaf[chosen])))
    elif leaf != 0.0:
        flow.add(ids, leaf)


def _read(flow: Any, ids: list[Any], letting_go: bool = False) -> list[Any]:
    """The numbers that arrived, leaf by leaf, in arrays of their own.

    With `letting_go` they need not stay: a leaf of the value may have the ids of another one, one of the arguments has
    not.
    """
    numbers = iter(flow.numbers([i for i in ids if isinstance(i, int)]))
    made: list[Any] = []
    for i in ids:
        if isinstance(i, int):
            made.append(next(numbers))
        elif i is None:
            made.append(0.0)
        else:
            u, mine = flow.take(i) if letting_go and i.__class__ is Range else (None, False)
            u = flow.get(i) if u is None else u
            if isinstance(u, (RealArray, Real)):
                made.append(real_array(u).copy())
            elif mine and u.flags.c_contiguous:
                made.append(np.add(u, _ZERO, u))
            else:
                made.append(np.asarray(np.add(u, 0.0, order="C")))
    return made


def _with_partials(rows: list[tuple[Any, ...]], nested: dict[int, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with the partials that are numbers of an outer run."""
    made, before, at = [], 0, 0
    for row in rows:
        _, i, _, j, id = row
        partials = nested.get(id)
        if partials is not None:
            at = at + 2 if id == before else 0  # an operation on many numbers has several rows
            before, row = id, (partials[at], i, partials[at + 1], j, id)
        made.append(row)
    return made


def _times(g: Any, p: Any) -> Any:
    """Return g * p, where an outer run may trace one of them; a factor 1 writes nothing on its tape."""
    if p.__class__ is float and p == 1.0:
        return g
    return p if g.__class__ is float and g == 1.0 else g * p


def _is_nested(x: Any) -> bool:
    return x.dtype == object if isinstance(x, np.ndarray) else not isinstance(x, (float, int, np.number))
