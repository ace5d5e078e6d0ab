"""Dependence of results on operands: of one row of a tape, or of one block, in terms of masks of ids.

A mask has a bool for each id: those of scalars from its start, those of elements from its end, as the buffer of
cotangents has (cotangent_flow.py). Constants have the id 0, and nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dualrev.eager.tape.blocks import Block, Terms

__all__ = ["BlockDependence", "Dependence", "RowDependence", "written_out"]


class RowDependence(NamedTuple):
    """A row: the result with this id depends on two operands."""

    id: int
    operands: tuple[int, int]

    def results(self) -> tuple[tuple[int, ...], np.ndarray]:
        """The shape and the ids of the results."""
        return (), np.array([self.id])

    def results_of(self, mask: np.ndarray) -> np.ndarray:
        """The ids of the results that depend on an operand in the mask."""
        return np.array([self.id] if any(i and mask[i] for i in self.operands) else [], int)

    def operands_of(self, mask: np.ndarray) -> np.ndarray:
        """The ids of the operands on which results in the mask depend."""
        return np.array([i for i in self.operands if i] if mask[self.id] else [], int)


class BlockDependence:
    """A block: what depends on what, element by element for terms, all on all for rules."""

    def __init__(self, block: Block) -> None:
        self.id, self._block = block.id, block

    def results(self) -> tuple[tuple[int, ...], np.ndarray]:
        """The shape and the ids of the results; those of several arrays have one axis."""
        outs = self._block.ends()[0]
        ids = written_out(outs)
        return (outs[0].shape if len(outs) == 1 else ids.shape), ids

    def results_of(self, mask: np.ndarray) -> np.ndarray:
        """The ids of the results that depend on an operand in the mask."""
        if isinstance(self._block, Terms):
            return np.concatenate([results[mask[i] & (i != 0)] for results, i in self._block.edges()])
        results, operands = map(written_out, self._block.ends())
        return results if mask[operands[operands != 0]].any() else results[:0]

    def operands_of(self, mask: np.ndarray) -> np.ndarray:
        """The ids of the operands on which results in the mask depend."""
        if isinstance(self._block, Terms):
            ids = np.concatenate([i[mask[results]] for results, i in self._block.edges()])
            return ids[ids != 0]
        results, operands = map(written_out, self._block.ends())
        return operands[operands != 0] if mask[results].any() else operands[:0]


Dependence: TypeAlias = RowDependence | BlockDependence


def written_out(ids: Sequence[Any]) -> np.ndarray:
    """All ids, one after the other."""
    return np.concatenate([np.empty(0, int), *(np.asarray(i).reshape(-1) for i in ids if i is not None)])
