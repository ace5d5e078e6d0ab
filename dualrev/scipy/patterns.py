"""Matrices of a pattern, and Toeplitz and circulant systems, for `dualrev.scipy.linalg`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import instead_of, valued
from dualrev.scipy.values import valued_by

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "hankel",
    "khatri_rao",
    "leslie",
    "matmul_toeplitz",
    "solve_circulant",
    "solve_toeplitz",
    "toeplitz",
]


@instead_of(_linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Toeplitz matrix, constant along its diagonals, of its first column c and its first row r (or the conjugate of c).

    >>> toeplitz([1.0, 2.0], [1.0, 3.0])
    array([[1., 3.],
           [2., 1.]])
    """
    return _selected(_linalg.toeplitz, c, conjugated(of_matrices(c)) if r is None else r)


@instead_of(_linalg.circulant)
def circulant(c: Any) -> Any:
    """Circulant matrix, whose columns are cyclic shifts of c.

    >>> circulant([1.0, 2.0])
    array([[1., 2.],
           [2., 1.]])
    """
    return _selected(_linalg.circulant, c)


@instead_of(_linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Block diagonal matrix of the given matrices.

    >>> block_diag([[1.0]], [[2.0]])
    array([[1., 0.],
           [0., 2.]])
    """
    return _selected(_linalg.block_diag, *arrs)


def _selected(original: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return a matrix whose elements are elements of the arguments, or 0: SciPy places their indices, from 1 on."""
    arrays = [of_matrices(a) for a in given]
    ends = np.cumsum([1, *(a.size for a in arrays)])
    numbers = [
        np.reshape(np.arange(start, stop), a.shape)
        for (start, stop), a in zip(itertools.pairwise(ends), arrays, strict=True)
    ]
    flat = np.concatenate([np.zeros(1), *(np.reshape(a, -1) for a in arrays)])
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


@valued(_linalg.companion)
def companion(a: Any) -> Any:
    """Companion matrix of a polynomial, whose eigenvalues are the roots.

    >>> companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = of_matrices(a)
    row = (-a[..., 1:] / a[..., :1])[..., None, :]
    n = row.shape[-1]
    return np.concatenate([row, np.zeros((*row.shape[:-2], n - 1, n)) + np.eye(n)[:-1]], axis=-2)


@instead_of(_linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Khatri-Rao product: the Kronecker product of each pair of columns.

    >>> khatri_rao([[1.0, 2.0]], [[3.0, 4.0]])
    array([[3., 8.]])
    """
    a, b = of_matrices(a), of_matrices(b)
    return np.reshape(a[..., :, None, :] * b[..., None, :, :], (-1, a.shape[-1]))


# Toeplitz and circulant matrices as dense ones


def _toeplitz(c_or_cr: Any) -> Any:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


@valued_by(_linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solution of a x = b for a Toeplitz matrix, of its first column, or of its first column and row.

    >>> solve_toeplitz([2.0, 0.0], [2.0, 4.0])
    array([1., 2.])
    """
    return np.linalg.solve(_toeplitz(c_or_cr), of_matrices(b))


@valued_by(_linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Product of a Toeplitz matrix with a vector or a matrix.

    >>> matmul_toeplitz([2.0, 0.0], [2.0, 4.0])
    array([4., 8.])
    """
    return _toeplitz(c_or_cr) @ of_matrices(x)


@valued_by(_linalg.solve_circulant)
def solve_circulant(c: Any, b: Any, singular: str = "raise", tol: Any = None, **axes: int) -> Any:
    """Solution of a x = b for a circulant matrix, of its first column.

    >>> solve_circulant([2.0, 0.0], [2.0, 4.0])
    array([1., 2.])
    """
    if np.ndim(c) != 1 or axes or singular != "raise":
        raise UnsupportedError("scipy.linalg.solve_circulant with axes or singular='lstsq'", "a call for each vector")
    return np.linalg.solve(circulant(c), of_matrices(b))
