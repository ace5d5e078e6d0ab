"""Entries of a matrix that its pattern lacks, found by products with the matrix.

The comparison with the trial (compressed.py) leaves lines in doubt: those whose products differ, and those that are not
finite, of which no sum tells anything. A direction that is 0 on the entries of such a line in the pattern, and random
elsewhere, has the product 0 with it if no entry is missing: a zero direction takes no part, whatever the derivative is.
So one pass tells of one line, and halving the direction finds the entry. Where a zero direction does take part, NaN
tells nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualrev.sparse.compressed import Compression
from dualrev.sparse.patterns import Passes

__all__ = ["FEW", "doubtful", "entry", "lacking", "tells"]

FEW = 16  # lines: so many are looked at one by one


def doubtful(gaps: np.ndarray, tolerance: float) -> np.ndarray:
    """The lines with larger gaps than that, and those that are not finite."""
    found: np.ndarray = np.flatnonzero(~(gaps <= tolerance))
    return found


def lacking(
    passes: Passes, compression: Compression, matrix: Any, lines: np.ndarray
) -> list[tuple[int, np.ndarray, float]]:
    """The lines that lack an entry, each with a direction that shows it, and the least product that counts."""
    stored = matrix.tocsc() if compression.transposed else matrix
    directions = np.tile(compression.trial, (len(lines), 1))
    least = []
    for direction, line in zip(directions, lines, strict=True):
        inside = slice(stored.indptr[line], stored.indptr[line + 1])
        direction[stored.indices[inside]] = 0.0
        values = np.abs(stored.data[inside].astype(float))
        least.append(compression.tolerance(passes.epsilon) * float(np.sum(values[np.isfinite(values)])))
    products = _products(passes, compression, directions)[np.arange(len(lines)), lines]
    every = zip(lines, directions, least, products, strict=True)
    return [(int(line), t, size) for line, t, size, product in every if tells(passes, product, size)]


def tells(passes: Passes, product: Any, least: Any) -> Any:
    """Whether products, or entries, are more than rounding: such as an entry gives that is not zero."""
    return ~(np.abs(product) <= least) & (passes.known_zeros | ~np.isnan(product))


def entry(
    passes: Passes, compression: Compression, line: int, direction: np.ndarray, least: float
) -> tuple[tuple[int, int], float]:
    """The place of an entry that such a direction shows, and its value."""
    places = np.flatnonzero(direction)
    while len(places) > 1:
        halves = np.zeros((2, len(direction)))
        middle = len(places) // 2
        for half, some in zip(halves, (places[:middle], places[middle:]), strict=True):
            half[some] = direction[some]
        first, second = np.abs(_products(passes, compression, halves)[:, line])
        places = places[middle:] if first <= least or second > first else places[:middle]
    unit = np.zeros((1, len(direction)))
    unit[0, places] = 1.0
    at = int(places[0])
    value = float(_products(passes, compression, unit)[0, line])
    return ((at, line) if compression.transposed else (line, at)), value


def _products(passes: Passes, compression: Compression, directions: np.ndarray) -> np.ndarray:
    return (passes.pull if compression.transposed else passes.push)(directions)
