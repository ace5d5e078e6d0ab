"""Flow of cotangents, tangents or partials that are traced by an outer run: see cotangent_flow.py.

The numbers of open nodes are in one array for all elements, with a mask that says where something has contributed;
those of scalars are in a dict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.record import sum_of_rows, zeros_view
from dualrev.eager.arrays.memory.storage import RealArray, real_array
from dualrev.eager.tape.cotangent_flow import Nodewise
from dualrev.eager.tape.ids import Nodes, Range

__all__ = ["NestedFlow"]


class NestedFlow(Nodewise):
    """Cotangents or tangents that are numbers of an outer run."""

    def __init__(self, elements: int, nodes: Nodes) -> None:
        super().__init__(nodes)
        self._scalars: dict[int, Any] = {}
        self._size = elements
        self._elements = RealArray(np.empty(0))
        self._reached = np.zeros(0, bool)

    def shaped(self, ct: Any, shape: tuple[int, ...]) -> Any:
        """Return the result of a rule as a contribution to an array of this shape."""
        ct = real_array(ct)
        if ct.shape == shape:
            return ct
        # a view of numbers of an outer run would have their ids many times, which are then resolved one by one
        return ct + zeros_view(shape) if isinstance(ct, RealArray) else np.broadcast_to(ct, shape)

    # Scalars

    def numbers(self, ids: list[int]) -> list[Any]:
        """The numbers at these ids."""
        return [self.number(i) if self.has(i) else 0.0 for i in ids]

    def has(self, i: int) -> bool:
        """Whether anything contributed to this id."""
        if i < 0:
            node = self._nodes.around(i)
            return node in self._whole or (node in self._open and bool(self._reached[i]))
        return i in self._scalars

    def number(self, i: int) -> Any:
        """The number at this id, which has been reached."""
        if i >= 0:
            return self._scalars[i]
        node = self._nodes.around(i)
        return self._elements[i] if node in self._open else real_array(self._flat(node))[i - node]

    def add_one(self, i: int, ct: Any) -> None:
        """Add to this id."""
        if i > 0:
            self._scalars[i] = self._scalars[i] + ct if i in self._scalars else ct
        elif i < 0:
            self._open_nodes([self._nodes.around(i)])
            self._elements[i] = self._elements[i] + ct if self._reached[i] else ct
            self._reached[i] = True

    # Arrays

    def _add_in_place(self, have: Any, ct: Any) -> Any:
        return have + ct

    def _add_to_part(self, node: int, ids: Range, ct: Any) -> None:
        places = np.asarray(ids) - node
        whole = RealArray(np.zeros(self._nodes.sizes[node]))
        whole[...] = self._flat(node)
        whole[places] = whole[places] + ct
        self._whole[node] = whole

    def _part(self, node: int, ids: Range) -> Any:
        whole = real_array(self._flat(node))
        if ids.steps is None:
            return whole[ids.start - node : ids.start - node + ids.size].reshape(ids.shape)
        return whole[np.asarray(ids) - node]

    def _fill(self, ids: Range, numbers: Any) -> None:
        if not len(self._reached):
            self._elements, self._reached = RealArray(np.zeros(self._size)), np.zeros(self._size, bool)
        if numbers is not None:
            self._elements[self._slice(ids)] = numbers
            self._reached[self._slice(ids)] = True

    def _slice(self, ids: Range) -> slice:
        """The places of consecutive negative ids."""
        return slice(ids.start + self._size, ids.start + self._size + ids.size)

    def _look_open(self, ids: Range) -> Any:
        if ids.start >= 0:
            return self._get_open(ids) if self._reached_open(ids).all() else None
        if ids.steps is not None:
            ids = np.asarray(ids)  # type: ignore[assignment]
        return self._get_open(ids) if self._reached_open(ids).all() else None

    def _reached_open(self, ids: Any) -> np.ndarray:
        if ids.__class__ is Range and ids.start < 0 and ids.steps is None:
            return self._reached[self._slice(ids)].reshape(ids.shape)
        ids = np.asarray(ids)
        found = np.zeros(ids.shape, bool)
        negative = ids < 0
        if negative.any():
            found[negative] = self._reached[ids[negative]]
        for k in np.flatnonzero(ids > 0):
            found.flat[k] = ids.flat[k] in self._scalars
        return found

    def _get_open(self, ids: Any) -> Any:
        if ids.__class__ is Range and ids.start < 0 and ids.steps is None:
            made = self._elements[self._slice(ids)]
            return made.reshape(ids.shape).copy() if ids.shape else _with_shape(made[0])
        ids = np.asarray(ids)
        if (ids < 0).all() and ids.size:
            return self._elements[ids]
        made = RealArray(np.zeros(ids.shape))
        negative = ids < 0
        if negative.any():
            made[negative] = self._elements[ids[negative]]
        flat = made.reshape(-1)
        for k in np.flatnonzero(ids > 0):
            flat[k] = self._scalars.get(int(ids.flat[k]), 0.0)
        return made if made.ndim else _with_shape(made[()])

    def _add_open(self, ids: Any, ct: Any) -> None:
        ct = self.shaped(ct, ids.shape).reshape(-1)
        if ids.__class__ is Range and ids.start < 0 and ids.steps is None:  # each of them once
            part = self._slice(ids)
            self._elements[part] = self._elements[part] + ct if self._reached[part].any() else ct
            self._reached[part] = True
            return
        ids = np.asarray(ids).reshape(-1)
        chosen = ids != 0
        if not chosen.all():
            ids, ct = ids[chosen], ct[chosen]
        if not ids.size:
            return
        unique, inverse = np.unique(ids, return_inverse=True)
        if unique.size < ids.size:
            ids, ct = unique, sum_of_rows(ct, inverse.reshape(-1), unique.size)
        negative = ids < 0
        if negative.any():
            places = ids[negative]
            self._elements[places] = self._elements[places] + ct[negative]
            self._reached[places] = True
        for k in np.flatnonzero(~negative):
            self.add_one(int(ids[k]), ct[k])


def _with_shape(u: Any) -> Any:
    """A number that has what arrays have."""
    return np.float64(u) if u.__class__ is float else u
