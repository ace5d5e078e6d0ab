"""Colours for compressed matrices: columns of one colour are computed together, and can still be told apart.

`columns`  no row has two columns of one colour (a colouring of distance 2, of the columns in the graph of both): each
           entry stands alone in the sum of the columns of its colour
`star`     of a symmetric matrix: two neighbours differ, and v - w - x share a colour at their ends only where w has a
           lower one. No path of four vertices has two colours only, so each entry, or its mirror image, stands alone:
           fewer colours, as the matrix tells each entry twice (Powell and Toint 1979; Coleman and Moré 1984)

Both are greedy: a vertex takes the lowest colour that is free. The order matters: the better one of the given order and
of falling degrees is taken.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["columns", "star"]


def columns(pattern: Any) -> np.ndarray:
    """The colour of each column of a SciPy array; its structure counts, not its values."""
    rows, by_column = pattern.tocsr(), pattern.tocsc()

    def colour(order: np.ndarray) -> np.ndarray:
        """Color the columns in this order."""
        found: np.ndarray = _columns(rows.indptr, rows.indices, by_column.indptr, by_column.indices, order)
        return found

    return _best(colour, np.diff(by_column.indptr))


def star(pattern: Any) -> np.ndarray:
    """Star coloring of a graph: a color for each vertex of a symmetric SciPy array, whose structure counts."""
    rows = pattern.tocsr()

    def colour(order: np.ndarray) -> np.ndarray:
        """Color the vertices in this order."""
        found: np.ndarray = _star(rows.indptr, rows.indices, order)
        return found

    return _best(colour, np.diff(rows.indptr))


def _best(colour: Callable[[np.ndarray], np.ndarray], degrees: np.ndarray) -> np.ndarray:
    """The colours by the one order or by the other, whichever are fewer."""
    found = colour(np.arange(len(degrees)))
    other = colour(np.argsort(-degrees, kind="stable"))
    return other if other.max(initial=0) < found.max(initial=0) else found


@numba.njit(cache=True, nogil=True)
def _columns(of_row, in_row, of_column, in_column, order):
    colours = np.full(len(order), -1)
    seen = np.full(len(order) + 1, -1)  # for each colour, the last column that has met it
    for j in order:
        for a in range(of_column[j], of_column[j + 1]):
            row = in_column[a]
            for b in range(of_row[row], of_row[row + 1]):
                colour = colours[in_row[b]]
                if colour >= 0:
                    seen[colour] = j
        colour = 0
        while seen[colour] == j:
            colour += 1
        colours[j] = colour
    return colours


@numba.njit(cache=True, nogil=True)
def _star(starts, neighbours, order):
    """The colours around each vertex are kept as bits, so that a vertex with many neighbours is no more work."""
    colours = np.full(len(order), -1)
    around = np.zeros((len(order), 1), np.uint64)
    for v in order:
        taken = _taken(v, starts, neighbours, colours, around)
        k = 0
        while k < len(taken) and taken[k] == ~np.uint64(0):
            k += 1
        if k == len(taken):
            more = np.zeros((len(order), 2 * k), np.uint64)
            more[:, :k] = around
            around = more
        bit = 0
        while k < len(taken) and taken[k] >> np.uint64(bit) & np.uint64(1):
            bit += 1
        colours[v] = 64 * k + bit
        for a in range(starts[v], starts[v + 1]):
            around[neighbours[a], k] |= np.uint64(1) << np.uint64(bit)
    return colours


@numba.njit(cache=True, nogil=True)
def _taken(v, starts, neighbours, colours, around):
    """As bits, the colours that v cannot have: those of its neighbours, and of vertices behind them.

    Behind a neighbour w that has no colour, or a higher one than theirs, v would end a path whose middle is not lower
    than its ends.
    """
    taken = np.zeros(around.shape[1], np.uint64)
    for a in range(starts[v], starts[v + 1]):
        w = neighbours[a]
        if w == v:
            continue
        own = colours[w]
        for k in range(len(taken)):
            if own < 0 or own >= 64 * k + 64:
                taken[k] |= around[w, k]
            elif own >= 64 * k:
                bit = np.uint64(1) << np.uint64(own - 64 * k)
                taken[k] |= around[w, k] & (bit - np.uint64(1)) | bit
    return taken
