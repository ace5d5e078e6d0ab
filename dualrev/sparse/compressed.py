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
    comparison of a product with that of the sparse matrix. By `rounding`, in units of the last place, the two may
    differ: it grows where a larger difference turns out to be rounding.
    """

    pattern: Any
    transposed: bool
    colours: np.ndarray
    places: np.ndarray
    trial: np.ndarray
    rounding: float = 1e3

    @property
    def count(self) -> int:
        """How many products it takes."""
        return int(self.colours.max(initial=-1)) + 1

    def directions(self, check: bool) -> np.ndarray:
        """The directions, and the trial."""
        made = np.zeros((self.count + check, len(self.colours)))
        _mark_colours(self.colours, made)
        if check:
            made[-1] = self.trial
        return made

    def matrix(self, products: np.ndarray, dtype: Any) -> tuple[Any, np.ndarray]:
        """The sparse matrix, with a structure of its own, and the gap of each line: see `_gap`.

        Lines are the rows, or the columns if it is computed by rows. Without a product with the trial there are none.
        """
        from scipy import sparse

        of = self.pattern
        data = np.empty(len(self.places), dtype)
        gaps = np.zeros(products.shape[1] if len(products) > self.count else 0)
        by = _gathered_columns if self.transposed else _gathered_rows
        by(of.indptr, of.indices, products, self.places, self.trial, gaps, data)
        made = sparse.csr_array((data, of.indices.copy(), of.indptr.copy()), shape=of.shape)
        made.has_canonical_format = True  # so that nobody looks
        return made, gaps

    def tolerance(self, epsilon: float) -> float:
        """The largest gap of a line that is rounding, in a precision whose numbers differ by this much at 1."""
        return min(self.rounding * epsilon, math.sqrt(epsilon))

    def allow(self, gaps: np.ndarray, epsilon: float) -> None:
        """Take such gaps for rounding from now on; infinite ones are none."""
        largest = float(np.max(gaps, initial=0.0, where=np.isfinite(gaps)))
        self.rounding = max(self.rounding, 10.0 * largest / epsilon)


def compression(pattern: Any, mode: str | None, weight: float) -> Compression:
    """Return the compression with fewer products, where a row costs `weight` columns; or the one for the mode."""
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
    """Return the compression of a symmetric matrix."""
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
    """Numbers of one size, which no sum of entries is likely to be orthogonal to; always the same.

    Single precision has them, too.
    """
    generator = np.random.default_rng(n)
    return (generator.uniform(0.5, 1.5, n) * generator.choice((-1.0, 1.0), n)).astype(np.float32).astype(float)


@numba.njit(cache=True, nogil=True)
def _mark_colours(colours, directions):
    """Set the elements of each colour in its direction to 1."""
    for k in range(len(colours)):
        directions[colours[k], k] = 1.0


@numba.njit(cache=True, nogil=True)
def _gathered_rows(starts, columns, products, places, trial, gaps, data):
    """Fill the data, and the gaps of the rows, if there are some.

    Indices are unsigned: numba does not ask of them whether they count from the end.
    """
    numbers = products.reshape(-1)
    checked = len(numbers) - len(gaps)
    for row in range(len(starts) - 1):
        expected = size = 0.0
        for a in range(np.uintp(starts[row]), np.uintp(starts[row + 1])):
            number = numbers[np.uintp(places[a])]
            data[a] = number
            term = number * trial[np.uintp(columns[a])]
            expected += term
            size += abs(term)
        if len(gaps):
            gaps[row] = _gap(numbers[checked + row], expected, size)


@numba.njit(cache=True, nogil=True)
def _gathered_columns(starts, columns, products, places, trial, gaps, data):
    """Fill the data, and the gaps of the columns, if there are some."""
    numbers = products.reshape(-1)
    checked = len(numbers) - len(gaps)
    expected, size = np.zeros(products.shape[1]), np.zeros(products.shape[1])
    for row in range(len(starts) - 1):
        for a in range(np.uintp(starts[row]), np.uintp(starts[row + 1])):
            number, column = numbers[np.uintp(places[a])], np.uintp(columns[a])
            data[a] = number
            term = number * trial[row]
            expected[column] += term
            size[column] += abs(term)
    for k in range(len(gaps)):
        gaps[k] = _gap(numbers[checked + k], expected[k], size[k])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _gap(product, expected, size):
    """Difference between a product with the trial and that of the sparse matrix, by the size of its terms.

    It is NaN for a line that is not finite: that cannot be compared. Most lines are finite, with a size above zero, and
    take the same branches; whether a difference is rounding or zero would be a coin toss.
    """
    difference = abs(product - expected)
    if not math.isfinite(size):
        return math.nan
    if size > 0.0 and math.isfinite(difference):
        return difference / size
    return 0.0 if difference == 0.0 else math.inf


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
