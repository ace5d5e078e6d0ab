"""Linear systems with triangular and band matrices, for `dualrev.scipy.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.linear_algebra.matrices import adjoint, conjugated, of_matrices, rule
from dualrev.scipy.calls import instead_of, one_matrix
from dualrev.scipy.values import valued_by

__all__ = ["cho_solve_banded", "cholesky_banded", "solve_banded", "solve_triangular", "solveh_banded", "sum_of"]


@instead_of(_linalg.solve_triangular)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solution of a x = b for a triangular matrix; with trans=1, of its transpose, with trans=2 of its adjoint.

    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]), lower=True)
    array([1., 2.])
    """
    a, b = one_matrix("solve_triangular", a), of_matrices(b)
    if trans in (1, 2, "T", "C"):
        a, lower = adjoint(a) if trans in (2, "C") else a.T, not lower
    if b.ndim == 1:
        return solve_triangular(a, b[:, None], 0, lower, unit_diagonal)[:, 0]

    def part(x: Any) -> Any:
        """Return the triangle of x that belongs to the system."""
        away = int(unit_diagonal)
        return np.tril(x, -away) if lower else np.triu(x, away)

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -w y^H, in the triangle, and w, where a^H w = g."""
        g = solve_triangular(adjoint(xs[0]), gs[0], 0, not lower, unit_diagonal)
        return [-part(g @ adjoint(ys[0])), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return a^-1 (db - da y)."""
        right = sum_of(ts[1], None if ts[0] is None else -(part(ts[0]) @ ys[0]))
        return [solve_triangular(xs[0], right, 0, lower, unit_diagonal)]

    return rule(lambda a, b: solve_triangular(a, b, 0, lower, unit_diagonal), pull, push, a, b)


@instead_of(_linalg.solve_banded)
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solution of a x = b for a band matrix: ab[u + i - j, j] = a[i, j], with l diagonals below the main one and u
    above.

    The corners of ab, which belong to no element of a, are not read.

    >>> solve_banded((0, 0), np.array([[2.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    ab, b = one_matrix("solve_banded", ab), of_matrices(b)
    if b.ndim == 1:
        return solve_banded(l_and_u, ab, b[:, None], check_finite=check_finite)[:, 0]
    below, above = l_and_u
    k, j = np.arange(below + above + 1)[:, None], np.arange(ab.shape[1])
    i, wide = k - above + j, k - below + j  # the row of every place of ab; the columns of every row of a

    def is_there(x: np.ndarray) -> np.ndarray:
        """Whether an index of a row or a column lies inside of the matrix."""
        return (x >= 0) & (x < len(j))

    def by_rows(ab: Any) -> Any:
        """Return the elements of every row of a, the diagonals of the transpose, with zeros in the corners."""
        return np.where(is_there(wide), ab[k[::-1], wide % len(j)], 0.0)

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -w y^H along the diagonals, and w, where a^H w = g."""
        g = solve_banded((above, below), conjugated(by_rows(xs[0])), gs[0])
        return [np.where(is_there(i), -np.sum(g[i % len(j)] * conjugated(ys[0]), axis=-1), 0.0), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return a^-1 (db - da y)."""
        moved = None if ts[0] is None else -np.sum(by_rows(ts[0])[..., None] * ys[0][wide % len(j)], axis=0)
        return [solve_banded(l_and_u, xs[0], sum_of(ts[1], moved))]

    return rule(lambda ab, b: solve_banded(l_and_u, ab, b, check_finite=check_finite), pull, push, ab, b)


def sum_of(*terms: Any) -> Any:
    """Return the sum of the terms that are not None."""
    known = [term for term in terms if term is not None]
    return sum(known[1:], known[0])


def _whole(ab: Any, lower: bool) -> Any:
    """Return all diagonals of a Hermitian band matrix, given its lower or its upper ones."""
    ab = of_matrices(ab)
    count = np.shape(ab)[0]
    half = [ab[k] if lower else ab[count - 1 - k] for k in range(count)]  # half[k] is the k-th diagonal
    n = np.shape(ab)[1]
    below, above = [], []
    for k in range(1, count):
        inner = half[k][: n - k] if lower else half[k][k:]
        zeros = np.zeros(min(k, n))
        below.append(np.concatenate([inner if lower else conjugated(inner), zeros]))
        above.append(np.concatenate([zeros, conjugated(inner) if lower else inner]))
    return np.stack([*above[::-1], half[0], *below])


@valued_by(_linalg.solveh_banded)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solution of a x = b for a positive definite band matrix, given its upper or its lower diagonals.

    >>> solveh_banded(np.array([[2.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    band = _whole(ab, lower)
    width = np.shape(ab)[0] - 1
    return solve_banded((width, width), band, b)


@valued_by(_linalg.cholesky_banded)
def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """Cholesky factor of a positive definite band matrix, in the same diagonals.

    >>> cholesky_banded(np.array([[4.0, 9.0]]))
    array([[2., 3.]])
    """
    band, count, n = _whole(ab, lower), np.shape(ab)[0], np.shape(ab)[1]
    k, j = np.arange(count)[:, None], np.arange(n)
    i = np.arange(n)[:, None]
    place = count - 1 + i - j
    inside = (place >= 0) & (place < 2 * count - 1)
    full = np.where(inside, band[np.where(inside, place, 0), j], 0.0)
    factor = np.linalg.cholesky(full, upper=not lower)
    rows = j + k if lower else j + k - (count - 1)
    there = (rows >= 0) & (rows < n)
    return np.where(there, factor[np.where(there, rows, 0), j], of_matrices(ab))  # SciPy keeps the corners


@instead_of(_linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solution of a x = b, given cholesky_banded(a).

    >>> cho_solve_banded((cholesky_banded(np.array([[4.0, 9.0]])), False), np.array([4.0, 9.0]))
    array([1., 1.])
    """
    cb, lower = cb_and_lower
    cb = of_matrices(cb)
    width, n = np.shape(cb)[0] - 1, np.shape(cb)[1]
    rows = []
    for k in range(width + 1):  # the k-th diagonal of the adjoint
        given = cb[k] if lower else cb[width - k]
        inner = conjugated(given[: n - k] if lower else given[k:])
        zeros = np.zeros(min(k, n))
        rows.append(np.concatenate([zeros, inner] if lower else [inner, zeros]))
    other = np.stack(rows[::-1] if lower else rows)
    ends = ((width, 0), (0, width)) if lower else ((0, width), (width, 0))
    first, second = (cb, other) if lower else (other, cb)
    return solve_banded(ends[1 if lower else 0], second, solve_banded(ends[0 if lower else 1], first, b))
