"""Matrices of a pattern: `toeplitz`, `hankel`, `block_diag` and others, for `dualrev.scipy.linalg`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices
from dualrev.scipy.calls import instead_of

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "hankel",
    "khatri_rao",
    "leslie",
    "toeplitz",
]


@instead_of(_linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Toeplitz matrix, constant along its diagonals, of its first column c and its first row r (or the conjugate of c).

    >>> toeplitz([1.0, 2.0], [1.0, 3.0])
    array([[1., 3.],
           [2., 1.]])
    """
    c = np.ravel(of_matrices(c))
    r = conjugated(c) if r is None else np.ravel(of_matrices(r))
    places = np.subtract.outer(np.arange(len(c)), np.arange(len(r)))
    return np.concatenate([c, r[:0:-1]])[places]


@instead_of(_linalg.circulant)
def circulant(c: Any) -> Any:
    """Circulant matrix, whose columns are cyclic shifts of c.

    >>> circulant([1.0, 2.0])
    array([[1., 2.],
           [2., 1.]])
    """
    c = of_matrices(c)
    return c[np.subtract.outer(np.arange(len(c)), np.arange(len(c)))]


@instead_of(_linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Block diagonal matrix of the given matrices.

    >>> block_diag([[1.0]], [[2.0]])
    array([[1., 0.],
           [0., 2.]])
    """
    blocks = [np.atleast_2d(of_matrices(a)) for a in arrs]
    width = sum(b.shape[1] for b in blocks)
    rows, at = [], 0
    for b in blocks:
        rows.append(np.pad(b, ((0, 0), (at, width - at - b.shape[1]))))
        at += b.shape[1]
    return np.concatenate(rows)


def _selected(original: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return a matrix whose elements are elements of the arguments, or 0: SciPy places the numbers of the elements."""
    arrays = [np.reshape(of_matrices(a), -1) for a in given]
    ends = np.cumsum([1, *(a.size for a in arrays)])
    numbers = [np.arange(start, stop) for start, stop in itertools.pairwise(ends)]
    flat = np.concatenate([np.zeros(1), *arrays])
    return flat[np.asarray(original(*numbers, **options), dtype=int)]


@instead_of(_linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Hankel matrix, constant along its antidiagonals, of its first column c and its last row r (or zeros).

    >>> hankel([1.0, 2.0])
    array([[1., 2.],
           [2., 0.]])
    """
    return _selected(_linalg.hankel, c) if r is None else _selected(_linalg.hankel, c, r)


@instead_of(_linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    """Leslie matrix of fecundities f and survival rates s.

    >>> leslie([1.0, 2.0], [0.5])
    array([[1. , 2. ],
           [0.5, 0. ]])
    """
    return _selected(_linalg.leslie, f, s)


@instead_of(_linalg.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Matrix whose product with a vector of n elements is its convolution with a.

    >>> convolution_matrix([1.0, 2.0], 2)
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    return _selected(_linalg.convolution_matrix, a, n=n, mode=mode)


@instead_of(_linalg.companion)
def companion(a: Any) -> Any:
    """Companion matrix of a polynomial, whose eigenvalues are the roots.

    >>> companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = of_matrices(a)
    row = -a[1:] / a[0]
    return np.concatenate([np.reshape(row, (1, -1)), np.eye(len(a) - 1)[:-1]])


@instead_of(_linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Khatri-Rao product: the Kronecker product of each pair of columns.

    >>> khatri_rao([[1.0, 2.0]], [[3.0, 4.0]])
    array([[3., 8.]])
    """
    a, b = of_matrices(a), of_matrices(b)
    return np.reshape(a[..., :, None, :] * b[..., None, :, :], (-1, a.shape[-1]))
