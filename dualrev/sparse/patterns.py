"""Where a derivative can be other than zero, found by its own passes.

A tangent that is NaN makes NaN of all that depends on it: 0 * NaN is NaN, so it does not matter whether a partial
derivative happens to be 0 at this point. One pass tells on which results a set of arguments has an influence.

The sets are blocks of neighbours, which are split into four until they are single. What is known of larger blocks says
which smaller ones no result has in common: these share a pass, as columns of one colour do. So it takes some four
passes for each colour at each size: for a banded matrix with 1e6 columns a few hundred, and no matrix of ones.

What branches on values is followed as it goes at this point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from dualrev.sparse import colouring

__all__ = ["Passes", "find", "symmetric"]

#: Of directions, the rows of a matrix, their derivatives: the rows of a matrix, too.
Run: TypeAlias = Callable[[np.ndarray], np.ndarray]

_SPLIT = 4
_BLOCKS = 32  # so many there are in the beginning
_ROOM = 1 << 22  # numbers in the directions of one run


class Passes(Protocol):
    """A derivative at a point: a matrix that is known by its products."""

    shape: tuple[int, int]

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with the matrix, from the left: a row of shape[0] numbers for each direction."""

    def pull(self, directions: np.ndarray) -> np.ndarray:
        """The products with its transpose: a row of shape[1] numbers for each direction."""


def find(passes: Passes, mode: str | None) -> Any:
    """The pattern of a derivative as a csr_array of ones: by columns, mode "fwd", by rows, "rev", or by either, None."""
    rows, columns = passes.shape
    if not rows or not columns:
        return _array((np.zeros(0, np.int64),) * 2, passes.shape)
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
    edges = np.linspace(0, columns, min(columns, _BLOCKS) + 1).astype(np.int64)  # block k has those up to edges[k + 1]
    labels = np.repeat(np.arange(len(edges) - 1), np.diff(edges))  # the pass of each column
    found = _marked(run, labels, len(edges) - 1, rows)
    while len(edges) <= columns:
        pattern = _array(found, (rows, len(edges) - 1))
        colours = colouring.columns(pattern)
        counts = np.minimum(np.diff(edges), _SPLIT)
        count = _SPLIT * (int(colours.max(initial=-1)) + 1)
        if count > min(most, columns):
            if columns > most:
                return None
            return _array(_marked(run, np.arange(columns), columns, rows), (rows, columns))
        first = np.concatenate([[0], np.cumsum(counts)])  # the first part of each block
        block = np.repeat(np.arange(len(counts)), counts)  # the block of each part
        slot = np.arange(len(block)) - first[block]
        edges = np.append(edges[block] + np.diff(edges)[block] * slot // counts[block], columns)
        part = _SPLIT * colours[block] + slot
        hits = _marked(run, np.repeat(part, np.diff(edges)), count, rows)
        found = _parts(pattern, hits, first, part)
    return _array(found, (rows, columns))


def _marked(run: Run, labels: np.ndarray, count: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The results that depend on the columns of a label, for each label: pairs of a row and a label."""
    step = max(4, _ROOM // max(1, len(labels), rows))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, count, step):
        directions = np.zeros((min(step, count - start), len(labels)))
        here = np.flatnonzero((labels >= start) & (labels < start + step))
        directions[labels[here] - start, here] = np.nan
        label, row = np.nonzero(np.isnan(run(directions)))
        found.append((row, label + start))
    return np.concatenate([row for row, _ in found]), np.concatenate([label for _, label in found])


def _parts(
    pattern: Any, hits: tuple[np.ndarray, np.ndarray], first: np.ndarray, part: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a row and a part of a block, of those of the pattern, that were hit in the pass of the part."""
    pattern = pattern.tocoo()
    counts = np.diff(first)[pattern.col]
    row = np.repeat(pattern.row, counts)
    start = np.repeat(np.cumsum(counts) - counts, counts)
    piece = np.repeat(first[pattern.col], counts) + np.arange(len(row)) - start
    passes = int(part.max(initial=0)) + 1
    wanted = row.astype(np.int64) * passes + part[piece]
    known = np.sort(hits[0] * passes + hits[1])
    place = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
    hit = known[place] == wanted if len(known) else np.zeros(len(wanted), bool)
    return row[hit], piece[hit]


def _array(found: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> Any:
    from scipy import sparse

    made = sparse.csr_array((np.ones(len(found[0]), np.int8), found), shape=shape)
    made.sort_indices()
    return made
