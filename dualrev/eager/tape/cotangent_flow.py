"""Flow through a finished tape: a cotangent, or a tangent, for every id.

An operation on whole arrays takes and makes whole arrays. So the numbers of a node, all ids of one array, are kept as
an array that somebody else has made, of any shape, in C order: the first contribution is taken over, and adding to it
makes another array, or changes this one if the flow `owns` it. When a node's cotangent has been pulled, it is dropped.

Some contributions are to parts of a node, or to ids that were picked out. Such a node is `open`: its numbers stand in
a buffer, where -0.0 says that nothing has contributed (tape.py). The buffer has room for all ids, scalars from its
start and elements from its end, as Python's indices do; memory that nobody touches costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dualrev.eager.tape import row_kernels
from dualrev.eager.tape.ids import Nodes, Pieces, Range

__all__ = ["Flow", "Nodewise"]


class Nodewise:
    """Numbers for all ids; those of an array are kept as a whole array as far as they come so.

    How open nodes are handled depends on the numbers: floats here, numbers of an outer run in arrays/nested_flow.py.
    """

    reuses = False  # whether arrays are changed in place

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._sizes = nodes, nodes.sizes
        self._whole: dict[int, Any] = {}
        self._owned: set[int] = set()
        self._open: set[int] = set()
        self.waiting: dict[Any, Any] = {}  # what blocks have not added yet: for each of them, as it likes

    def add(self, ids: Any, ct: Any, fresh: bool = False) -> None:
        """Add to these ids; one may occur more than once. Nobody else knows the array ct if it is `fresh`."""
        if ids.__class__ is Range:
            node = ids.start
            if self._sizes.get(node) == ids.size and ids.shape:
                if ids.steps is None and node not in self._whole and node not in self._open:  # as most: faster
                    self._whole[node] = ct
                    if fresh:
                        self._owned.add(node)
                else:
                    self._add_node(ids, ct, fresh)
            elif node > 0:
                self._add_open(ids, ct)
            elif ids.size and node:
                self._add_part(ids, ct)
        elif ids.__class__ is Pieces:
            for part, of_part in ids.parts(ct):
                self.add(part, of_part)
        else:
            self._open_nodes(self._nodes.of(ids))
            self._add_open(ids, ct)

    def _add_node(self, ids: Range, ct: Any, fresh: bool) -> None:
        """Add to all ids of a node."""
        node = ids.start
        if node in self._open:
            self._add_open(ids, ct)
            return
        if ids.steps is not None:
            ct = ids.in_order(ct)
        have = self._whole.get(node)
        if have is None:
            self._whole[node] = ct
            if fresh:
                self._owned.add(node)
            return
        if ct.shape != have.shape:
            ct = ct.reshape(have.shape)
        if node in self._owned:
            self._whole[node] = self._add_in_place(have, ct)
        else:
            self._whole[node] = have + ct
            self._owned.add(node)

    def _add_part(self, ids: Range, ct: Any) -> None:
        node = self._nodes.span(ids)
        if node is None:
            self.add(Pieces(self._nodes.split(ids), ids.shape), ct)
            return
        if node not in self._whole:
            self._open_nodes([node])
            self._add_open(ids, ct)
            return
        self._add_to_part(node, ids, ct)

    def take(self, out: Range) -> tuple[Any, bool]:
        """The numbers of a result, let go, if all of them have been reached, or None; and whether they may be changed.

        So it is if nobody else knows the array.
        """
        node = out.start
        made = self._whole.pop(node, None) if out.size else None
        if made is None:
            return self.look(out), False
        if out.steps is not None or made.shape != out.shape:
            made = out.arranged(made)
        if node in self._owned:
            self._owned.remove(node)
            return made, self.reuses and out.size > 1  # numpy writes a single number in place more slowly
        return made, False

    def look(self, ids: Any) -> Any:
        """The numbers at these ids, if all have been reached; None otherwise. They are not to be changed."""
        if ids.__class__ is Pieces:
            found = [self.look(part) for part in ids.ranges]
            return None if any(u is None for u in found) else np.concatenate(found).reshape(ids.shape)
        if ids.__class__ is not Range or not ids.size or not ids.start:
            return None
        if ids.start >= 0:
            return self._look_open(ids)
        made = self._whole.get(ids.start)
        if made is not None and self._nodes.sizes[ids.start] == ids.size:
            return ids.arranged(made)
        node = self._nodes.span(ids)
        if node in self._whole:
            return self._part(node, ids)
        return self._look_open(ids) if node in self._open else None

    def touched(self, ids: Any) -> bool:
        """Whether anything contributed to one of these ids."""
        if ids.__class__ is Pieces:
            return any(map(self.touched, ids.ranges))
        if ids.__class__ is Range:
            if not ids.size:
                return False
            if ids.start < 0 and (node := self._nodes.span(ids)) is not None and node not in self._open:
                return node in self._whole
        return self._touched_open(ids)

    def reached(self, ids: Any) -> np.ndarray:
        """To which of these ids anything contributed."""
        ids = np.asarray(ids) if ids.__class__ is Pieces else ids
        self.open(ids)
        return self._reached_open(ids)

    def get(self, ids: Any) -> Any:
        """The numbers at these ids, 0 where nothing contributed: not to be changed."""
        made = self.look(ids)
        if made is not None:
            return made
        ids = np.asarray(ids) if ids.__class__ is Pieces else ids
        if ids.__class__ is Range and ids.start < 0:
            node = self._nodes.span(ids) if ids.size else None
            if node is not None and node not in self._open:
                return np.zeros(ids.shape)
        self.open(ids)
        return self._get_open(ids)

    def open(self, ids: Any) -> None:
        """Have the numbers at these ids in the buffer."""
        if ids.__class__ is Pieces:
            for part in ids.ranges:
                self.open(part)
        elif ids.__class__ is not Range:
            self._open_nodes(self._nodes.of(ids))
        elif ids.start < 0 and ids.size:
            node = self._nodes.span(ids)
            self._open_nodes(self._nodes.of(np.asarray(ids)) if node is None else [node])

    def _open_nodes(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            if node not in self._open:
                self._open.add(node)
                whole = self._flat(node) if node in self._whole else None
                self._whole.pop(node, None)
                self._fill(Range(node, (self._nodes.sizes[node],)), whole)
                self._owned.discard(node)

    def _flat(self, node: int) -> Any:
        """The numbers of a node one after the other."""
        whole = self._whole[node]
        if whole.ndim != 1:
            whole = self._whole[node] = whole.reshape(-1)
        return whole

    # What depends on the kind of numbers

    def _add_in_place(self, have: Any, ct: Any) -> Any:
        raise NotImplementedError

    def _add_to_part(self, node: int, ids: Range, ct: Any) -> None:
        raise NotImplementedError

    def _part(self, node: int, ids: Range) -> Any:
        raise NotImplementedError

    def _fill(self, ids: Range, numbers: Any) -> None:
        raise NotImplementedError

    def _add_open(self, ids: Any, ct: Any) -> None:
        raise NotImplementedError

    def _look_open(self, ids: Range) -> Any:
        raise NotImplementedError

    def _reached_open(self, ids: Any) -> np.ndarray:
        raise NotImplementedError

    def _touched_open(self, ids: Any) -> bool:
        return bool(self.reached(ids).any())

    def _get_open(self, ids: Any) -> Any:
        raise NotImplementedError


class Flow(Nodewise):
    """A cotangent or a tangent, a float, for every id. The `pinned` nodes are open from the start."""

    reuses = True

    def __init__(self, scalars: int, elements: int, nodes: Nodes, pinned: Iterable[int]) -> None:
        super().__init__(nodes)
        self.buffer = np.empty(scalars)
        self.buffer.fill(-0.0)
        self._elements = elements  # for which there is no room yet
        self._open_nodes(pinned)

    def shaped(self, ct: Any, shape: tuple[int, ...]) -> Any:
        """Return the result of a rule as a contribution to an array of this shape."""
        ct = np.asarray(ct, dtype=float)
        return ct if ct.shape == shape else np.broadcast_to(ct, shape)

    def numbers(self, ids: list[int]) -> list[float]:
        """The numbers at these ids of scalars, as Python's floats."""
        if not ids:
            return []
        self._open_nodes({self._nodes.around(i) for i in ids if i < 0})
        return (self.buffer[ids] + 0.0).tolist()

    def add_one(self, i: int, ct: float) -> None:
        """Add to the id of a scalar."""
        if i < 0:
            self._open_nodes([self._nodes.around(i)])
        self.buffer[i] += ct + 0.0

    def _add_in_place(self, have: Any, ct: Any) -> Any:
        return np.add(have, ct, out=have)

    def _add_to_part(self, node: int, ids: Range, ct: Any) -> None:
        if node not in self._owned:
            self._whole[node] = np.array(self._whole[node])
            self._owned.add(node)
        ids.of(self._flat(node), node)[...] += ct

    def _part(self, node: int, ids: Range) -> Any:
        whole = self._flat(node)
        if ids.steps is not None and not whole.flags.c_contiguous:
            whole = self._whole[node] = np.ascontiguousarray(whole)
        return ids.of(whole, node)

    def _fill(self, ids: Range, numbers: Any) -> None:
        if self._elements:
            scalars, self.buffer = self.buffer, np.empty(len(self.buffer) + self._elements)
            self.buffer[: len(scalars)] = scalars
            self._elements = 0
        ids.of(self.buffer)[...] = -0.0 if numbers is None else numbers + 0.0

    def _add_open(self, ids: Any, ct: Any) -> None:
        if ids.__class__ is Range:
            if ids.shape:
                part = ids.of(self.buffer)
                part += ct + 0.0
            else:
                self.buffer[ids.start] += ct + 0.0
        else:
            ct = np.asarray(ct, dtype=float)
            row_kernels.add(
                self.buffer, ids.ravel(), (ct if ct.shape == ids.shape else np.broadcast_to(ct, ids.shape)).ravel()
            )

    def _look_open(self, ids: Range) -> Any:
        if not ids.shape:
            g = self.buffer[ids.start]
            return None if g == 0.0 and np.signbit(g) else g
        part = ids.of(self.buffer)
        if ids.steps is None:
            return part if row_kernels.all_reached(part.reshape(-1)) else None
        return part if self._reached_open(ids).all() else None

    def _reached_open(self, ids: Any) -> Any:
        g = ids.of(self.buffer) if ids.__class__ is Range else self.buffer[ids]
        return (g != 0.0) | ~np.signbit(g)

    def _touched_open(self, ids: Any) -> bool:
        if ids.__class__ is Range and ids.steps is None and (ids.start > 0 or ids.start in self._open):
            return bool(row_kernels.any_reached(self.buffer, ids.start, ids.size))
        return super()._touched_open(ids)

    def _get_open(self, ids: Any) -> Any:
        return (ids.of(self.buffer) if ids.__class__ is Range else self.buffer[ids]) + 0.0
