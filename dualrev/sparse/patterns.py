"""Where a derivative can be other than zero, found by its own passes.

A tangent that is NaN makes NaN of all that depends on it: 0 * NaN is NaN, so it does not matter whether a partial
derivative happens to be 0 at this point. One pass tells on which results a set of arguments has an influence.

The sets are blocks of neighbours, which are split into four until they are single. What is known of larger blocks says
which smaller ones no result has in common: these share a pass, as columns of one colour do. So it takes some four
passes for each colour at each size: for a banded matrix with 1e6 columns a few hundred, and no matrix of ones.

What branches on values is followed as it goes at this point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numba
import numpy as np

from dualrev.diagnostics.progress import progress
from dualrev.sparse import colouring

__all__ = ["Passes", "find", "symmetric"]

#: Of directions, the rows of a matrix, their derivatives: the rows of a matrix, too.
Run: TypeAlias = Callable[[np.ndarray], np.ndarray]

_SPLIT = 4
_BLOCKS = 32  # so many there are in the beginning
_ROOM = 1 << 22  # numbers in the directions of one run


class Passes(Protocol):
    """A derivative at a point: a matrix that is known by its products."""

    epsilon: float  # the difference of 1 and the next number, in the precision of the products
    known_zeros: bool  # whether a direction of 0 takes no part, though the derivative there is infinite

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of the value and of the argument."""

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with the matrix, from the left: a row of shape[0] numbers for each direction."""

    def pull(self, directions: np.ndarray) -> np.ndarray:
        """The products with its transpose: a row of shape[1] numbers for each direction."""


def find(passes: Passes, mode: str | None) -> Any:
    """The pattern of a derivative as a csr_array of ones: by columns ("fwd"), by rows ("rev"), or by either (None)."""
    rows, columns = passes.shape
    if not rows or not columns:
        return _array(np.zeros(0, np.int64), np.zeros(rows + 1, np.int64), passes.shape)
    most = 8 * _BLOCKS
    while True:
        by_columns = None if mode == "rev" else _refined(rows, columns, passes.push, most)
        if by_columns is not None:
            return by_columns.tocsr()
        by_rows = None if mode == "fwd" else _refined(columns, rows, passes.pull, most)
        if by_rows is not None:
            return by_rows.T.tocsr()
        most *= 8  # a few full rows or columns spoil the one or the other


def symmetric(pattern: Any) -> Any:
    """The pattern with its mirror image."""
    made = (pattern + pattern.T).tocsr()
    made.data[:] = 1
    return made


def _refined(rows: int, columns: int, run: Run, most: int) -> Any:
    """The pattern; None if it takes more than so many passes at some size of the blocks, and less than all columns."""
    blocks = _Blocks(np.arange(rows + 1), np.zeros(rows, np.int64), np.array([0, columns]))  # one, which each row has
    while True:
        split = _BLOCKS if blocks.count == 1 else _SPLIT
        colours = colouring.columns(blocks.pattern())
        counts, passes = np.minimum(blocks.sizes, split), split * (int(colours.max(initial=-1)) + 1)
        first = np.concatenate([[0], np.cumsum(counts)])  # the first part of each block
        block = np.repeat(np.arange(blocks.count), counts)  # the block of each part
        label = split * colours[block] + np.arange(len(block)) - first[block]  # the pass of each part
        if passes > min(most, columns):
            if columns > most:
                return None
            first, label, passes = blocks.edges, np.arange(columns), columns
        blocks = _divided(blocks, first, label, passes, run)
        if blocks.count == columns:
            return blocks.pattern()


@dataclass
class _Blocks:
    """Blocks of columns by row: found[starts[i]:starts[i + 1]] of row i, and the edges of the blocks."""

    starts: np.ndarray
    found: np.ndarray
    edges: np.ndarray

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.edges) - 1

    @property
    def sizes(self) -> np.ndarray:
        """The number of columns in each block."""
        return np.diff(self.edges)

    def pattern(self) -> Any:
        """Return the pattern of rows by blocks."""
        return _array(self.found, self.starts, (len(self.starts) - 1, self.count))


def _divided(blocks: _Blocks, first: np.ndarray, label: np.ndarray, passes: int, run: Run) -> _Blocks:
    """The parts of blocks, from the passes of these labels; `first` is the first part of each block."""
    counts = np.diff(first)
    block = np.repeat(np.arange(blocks.count), counts)
    slot = np.arange(len(block)) - first[block]
    edges = np.append(blocks.edges[block] + blocks.sizes[block] * slot // counts[block], blocks.edges[-1])
    of_column = np.repeat(label, np.diff(edges))
    rows = len(blocks.starts) - 1
    marks = np.zeros(int(counts[blocks.found].sum()), np.bool_)  # for each row, for the parts of its blocks
    step = max(4, _ROOM // max(1, len(of_column), rows))
    start = 0
    with progress("searching the sparsity pattern", lambda: f"{start:,} of {passes:,} directions done"):
        for start in range(0, passes, step):
            directions = np.zeros((min(step, passes - start), len(of_column)))
            here = np.flatnonzero((of_column >= start) & (of_column < start + step))
            directions[of_column[here] - start, here] = np.nan
            _mark(blocks.starts, blocks.found, first, label, run(directions), start, marks)
    starts, found = _marked(blocks.starts, blocks.found, first, marks)
    return _Blocks(starts, found, edges)


@numba.njit(cache=True, nogil=True)
def _mark(starts, found, first, label, made, start, marks):  # type: ignore[no-untyped-def]
    """Mark the parts that have NaN in the product of their label; labels count from `start`."""
    k = 0
    for row in range(len(starts) - 1):
        for a in range(starts[row], starts[row + 1]):
            for part in range(first[found[a]], first[found[a] + 1]):
                place = label[part] - start
                if 0 <= place < made.shape[0] and math.isnan(made[place, row]):
                    marks[k] = True
                k += 1


@numba.njit(cache=True, nogil=True)
def _marked(starts, found, first, marks):  # type: ignore[no-untyped-def]
    """The parts that are marked: row by row, as the blocks were."""
    ends = np.zeros(len(starts), np.int64)
    kept = np.empty(marks.sum(), np.int64)
    k = count = 0
    for row in range(len(starts) - 1):
        for a in range(starts[row], starts[row + 1]):
            for part in range(first[found[a]], first[found[a] + 1]):
                if marks[k]:
                    kept[count] = part
                    count += 1
                k += 1
        ends[row + 1] = count
    return ends, kept


def _array(found: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    kind = np.int32 if max(*shape, len(found)) < 2**31 else np.int64  # as SciPy's own are
    return sparse.csr_array((np.ones(len(found), np.int8), found.astype(kind), starts.astype(kind)), shape=shape)
