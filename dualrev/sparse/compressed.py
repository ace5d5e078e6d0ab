"""A sparse matrix from few products with it: what is computed together, and where each entry stands in that.

mode    directions                           entry (i, j) stands in
fwd     the sums of columns of one colour    the product with the colour of j, at i
rev     the sums of rows of one colour       the product with the colour of i, at j
star    as fwd, of a symmetric matrix        the product with the colour of j at i, if no other column of that
                                             colour has an entry in row i; otherwise with that of i, at j
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from dualrev.sparse import colouring

__all__ = ["Compression", "compression", "star_compression"]


@dataclass
class Compression:
    """How a matrix with this pattern is computed, from products with it or with its transpose (`transposed`).

    `places` has the place of each entry among all the numbers of the products. `trial` is one more direction, for the
    comparison of a product with that of the sparse matrix.
    """

    pattern: Any
    transposed: bool
    colours: np.ndarray
    places: np.ndarray
    trial: np.ndarray

    @property
    def count(self) -> int:
        """How many products it takes."""
        return int(self.colours.max(initial=-1)) + 1

    def directions(self, check: bool) -> np.ndarray:
        """The directions, and the trial."""
        made = np.zeros((self.count + check, len(self.colours)))
        made[self.colours, np.arange(len(self.colours))] = 1.0
        if check:
            made[-1] = self.trial
        return made

    def matrix(self, products: np.ndarray, dtype: Any) -> tuple[Any, bool]:
        """The sparse matrix, with a structure of its own; and whether it has the given product with the trial, if any.

        Rows with infinities or NaN are not compared. The tolerance is that of sums of entries. Where a derivative is a
        small difference of large numbers, these may differ by rounding: so a difference is a reason to look closer, and
        not yet an error.
        """
        from scipy import sparse

        of = self.pattern
        data = np.empty(len(self.places), dtype)
        tolerance = (1e-8 if data.itemsize == 8 else 1e-3) if len(products) > self.count else math.inf
        holds = _gathered(of.indptr, of.indices, products, self.places, self.trial, self.transposed, tolerance, data)
        made = sparse.csr_array((data, of.indices.copy(), of.indptr.copy()), shape=of.shape)
        made.has_canonical_format = True  # so that nobody looks
        return made, holds


def compression(pattern: Any, mode: str | None, weight: float) -> Compression:
    """The way that takes fewer products, of which one by a row counts as so many by columns; or that of the mode."""
    rows, columns = pattern.shape
    bounds = {"fwd": _most(pattern, 1), "rev": weight * _most(pattern, 0)}  # no colouring takes fewer
    found: dict[str, np.ndarray] = {}
    for way in [mode] if mode else sorted(bounds, key=lambda way: bounds[way]):
        if not found or bounds[way] < min(_cost(kept, weight) for kept in found.items()):
            found[way] = colouring.columns(pattern if way == "fwd" else pattern.T.tocsr())
    way, colours = min(found.items(), key=lambda item: _cost(item, weight))
    row, column = _coordinates(pattern)
    places = colours[column] * rows + row if way == "fwd" else colours[row] * columns + column
    return Compression(pattern, way == "rev", colours, _small(places), _trial(len(colours)))


def star_compression(pattern: Any) -> Compression:
    """That of a symmetric matrix."""
    colours = colouring.star(pattern)
    places = np.empty(len(pattern.indices), np.int64)
    _star_places(pattern.indptr, pattern.indices, colours, places)
    return Compression(pattern, False, colours, _small(places), _trial(len(colours)))


def _small(places: np.ndarray) -> np.ndarray:
    """The places in as little memory as they need."""
    return places.astype(np.int32) if places.max(initial=0) < 2**31 else places


def _cost(item: tuple[str, np.ndarray], weight: float) -> float:
    way, colours = item
    return (int(colours.max(initial=-1)) + 1) * (1.0 if way == "fwd" else weight)


def _most(pattern: Any, axis: int) -> int:
    counts = np.diff(pattern.indptr) if axis == 1 else np.bincount(pattern.indices, minlength=1)
    return int(counts.max(initial=0))


def _coordinates(pattern: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of the entries."""
    row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return row, pattern.indices.astype(np.int64)


def _trial(n: int) -> np.ndarray:
    """Numbers of one size, which no sum of entries is likely to be orthogonal to; always the same."""
    generator = np.random.default_rng(n)
    return generator.uniform(0.5, 1.5, n) * generator.choice((-1.0, 1.0), n)


@numba.njit(cache=True, nogil=True)
def _gathered(starts, columns, products, places, trial, transposed, tolerance, data):
    """Fill the data, and tell whether the last one of the products is that with the trial."""
    numbers = products.reshape(-1)
    expected, size = np.zeros(products.shape[1]), np.zeros(products.shape[1])
    for row in range(len(starts) - 1):
        for a in range(starts[row], starts[row + 1]):
            number = numbers[places[a]]
            data[a] = number
            to, of = (columns[a], row) if transposed else (row, columns[a])
            expected[to] += number * trial[of]
            size[to] += abs(number * trial[of])
    if tolerance == math.inf:
        return True
    for k in range(len(expected)):
        found = numbers[len(numbers) - len(expected) + k]
        if math.isfinite(size[k]) and not abs(found - expected[k]) <= tolerance * size[k]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _star_places(starts, columns, colours, places):
    """Fill the places of the entries; an entry and its mirror image have the same one."""
    n = len(colours)
    count = 0
    for colour in colours:
        count = max(count, colour + 1)
    met = np.full((2, count), -1)  # for each colour: the last row that has it, and in which column
    alone = np.empty(len(columns), np.bool_)
    for row in range(n):
        for a in range(starts[row], starts[row + 1]):
            colour = colours[columns[a]]
            alone[a] = met[0, colour] != row
            if not alone[a]:
                alone[met[1, colour]] = False
            met[0, colour], met[1, colour] = row, a
    for row in range(n):
        for a in range(starts[row], starts[row + 1]):
            column = columns[a]
            lower = alone[a]
            if column < row:  # what its mirror image does, if that is alone in its row
                b = starts[column] + np.searchsorted(columns[starts[column] : starts[column + 1]], row)
                lower = not alone[b]
            places[a] = colours[column] * n + row if lower else colours[row] * n + column
