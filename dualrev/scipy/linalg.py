"""`scipy.linalg` for traced matrices: solvers, factorizations, triangular systems, functions of matrices.

Parameters are SciPy's; overwrite_a, check_finite and the like change no value. Matrices are real or complex, of shape
(n, n) or (m, n); functions that numpy.linalg has, too, take stacks of shape (..., m, n), and the others refuse them.
Eigenvectors and singular vectors have the signs, or the phases, of numpy.linalg. Functions without a rule here are
SciPy's own. Options without a rule raise UnsupportedError for traced arguments.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008. The rules stand in banded_systems, matrix_equations, matrix_functions, factorizations and
patterns.

>>> import dualrev as dr
>>> dr.grad(lambda x: np.sum(expm(np.eye(2) * x)))(0.0)
2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, of_matrices
from dualrev.eager.arrays.memory.storage import holds_duals
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.banded_systems import (
    cho_solve_banded,
    cholesky_banded,
    solve_banded,
    solve_triangular,
    solveh_banded,
)
from dualrev.scipy.calls import instead_of, like, one_matrix
from dualrev.scipy.factorizations import (
    eig,
    eigh_tridiagonal,
    eigvals,
    eigvalsh_tridiagonal,
    lu,
    lu_factor,
    lu_solve,
    null_space,
    orth,
    orthogonal_procrustes,
    polar,
    schur,
)
from dualrev.scipy.matrix_equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from dualrev.scipy.matrix_functions import (
    coshm,
    cosm,
    expm,
    fractional_matrix_power,
    logm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from dualrev.scipy.patterns import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from dualrev.scipy.values import valued_by

__all__ = [
    "bandwidth",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "fractional_matrix_power",
    "hankel",
    "inv",
    "ishermitian",
    "issymmetric",
    "khatri_rao",
    "leslie",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "schur",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]

#: Functions that are refused: their results are not unique.
REFUSED = ("null_space", "orth")


def __getattr__(name: str) -> Any:
    return getattr(_linalg, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_linalg)})


# What numpy has too. The options that say how (overwrite_a, check_finite, lapack_driver) change no value.


@instead_of(_linalg.inv)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Inverse of a matrix.

    >>> inv(np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return np.linalg.inv(of_matrices(a))


@instead_of(_linalg.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinant of a matrix, a number.

    >>> float(det(np.diag([2.0, 4.0])))
    8.0
    """
    return np.linalg.det(of_matrices(a))


@instead_of(_linalg.pinv)
def pinv(a: Any, *, rtol: float | None = None) -> Any:
    """Pseudo-inverse, of shape (n, m) for a matrix (m, n). Singular values below rtol times the largest count as 0.

    >>> pinv(np.ones((2, 1))).round(6)
    array([[0.5, 0.5]])
    """
    a = of_matrices(a)
    return np.linalg.pinv(a, max(a.shape) * np.finfo(float).eps if rtol is None else rtol)


@instead_of(_linalg.lstsq)
def lstsq(a: Any, b: Any, cond: float | None = None, *, lapack_driver: str | None = None) -> Any:
    """Least-squares solution of a x = b: (x, residuals, rank, singular values); "gelsy" returns x and rank.

    >>> lstsq(np.ones((2, 1)), np.array([1.0, 3.0]))[0].round(6)
    array([2.])
    """
    a, b = one_matrix("lstsq", a), of_matrices(b)
    if lapack_driver == "gelsy":
        return _lstsq_by_columns(a, b, cond)
    x, residuals, rank, sizes = np.linalg.lstsq(a, b, cond)
    return x, residuals[0] if np.ndim(b) == 1 and len(residuals) else residuals, rank, sizes


def _lstsq_by_columns(a: Any, b: Any, cond: float | None) -> Any:
    """The driver gelsy, which keeps the columns that qr with pivoting takes first: it solves kept @ shares @ x = b."""
    rank = _linalg.lstsq(values(a), values(b), cond, lapack_driver="gelsy")[2]
    if rank == min(a.shape):
        return np.linalg.lstsq(a, b, None)[0], np.zeros(0), rank, None
    _, order = _linalg.qr(values(a), mode="r", pivoting=True)
    inverse = np.linalg.pinv(a[:, order[:rank]])
    return np.linalg.pinv(inverse @ a) @ (inverse @ b), np.zeros(0), rank, None


@instead_of(_linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Norm of a vector or of a matrix.

    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    if holds_duals(ord):
        raise UnsupportedError("scipy.linalg.norm by its order", "np.sum(np.abs(a) ** ord) ** (1.0 / ord)")
    return np.linalg.norm(of_matrices(a), ord, axis, keepdims)


@instead_of(_linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition: (u, s, vh), or s alone with compute_uv=False.

    >>> svd(np.diag([2.0, 3.0]), compute_uv=False)
    array([3., 2.])
    """
    a = of_matrices(a)
    return np.linalg.svd(a, full_matrices) if compute_uv else np.linalg.svd(a, compute_uv=False)


@instead_of(_linalg.svdvals)
def svdvals(a: Any) -> Any:
    """Singular values, the largest first.

    >>> svdvals(np.diag([2.0, 3.0]))
    array([3., 2.])
    """
    return np.linalg.svd(of_matrices(a), compute_uv=False)


@instead_of(_linalg.eigh)
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    """Eigenvalues w, in ascending order, and eigenvectors v of a Hermitian matrix; with b, of a v = w b v.

    >>> eigh(np.diag([3.0, 2.0]), eigvals_only=True)
    array([2., 3.])
    """
    if b is None:
        w, v = np.linalg.eigh(of_matrices(a), "L" if lower else "U")
        return w if eigvals_only else (w, v)
    a = one_matrix("eigh", a)
    factor = cholesky(one_matrix("eigh", b), lower=lower)
    factor = factor if lower else adjoint(factor)
    inner = solve_triangular(factor, adjoint(solve_triangular(factor, _symmetric(a, lower), lower=True)), lower=True)
    w, v = np.linalg.eigh((inner + adjoint(inner)) / 2.0)
    return w if eigvals_only else (w, solve_triangular(factor, v, trans=2, lower=True))


@instead_of(_linalg.eigvalsh)
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True) -> Any:
    """Eigenvalues of a Hermitian matrix, in ascending order.

    >>> eigvalsh(np.diag([3.0, 2.0]))
    array([2., 3.])
    """
    return eigh(a, b, lower=lower, eigvals_only=True)


@instead_of(_linalg.qr)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """QR decomposition: (q, r), or (r,) with mode="r"; with pivoting, also the order of the columns, a constant.

    A matrix with more rows than columns needs mode="economic", or mode="r".

    >>> [factor.shape for factor in qr(np.ones((3, 2)), mode="economic")]
    [(3, 2), (2, 2)]
    """
    a = one_matrix("qr", a) if pivoting or mode == "r" else of_matrices(a)
    m, n = a.shape[-2:]
    if mode not in ("economic", "r") and not (mode == "full" and m <= n):
        raise UnsupportedError(f"scipy.linalg.qr with mode={mode!r}", "mode='economic'")
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (_linalg.qr(constant(a), mode="r", pivoting=True)[-1],)
        a = a[:, order[0]]
    if mode == "r":
        return np.concatenate([np.linalg.qr(a, "r"), np.zeros((max(m - n, 0), n))]), *order
    return *np.linalg.qr(a), *order


# Symmetric matrices, by one triangle


def _symmetric(a: Any, lower: bool, hermitian: bool = True) -> Any:
    a = of_matrices(a)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.where(np.eye(a.shape[-1], dtype=bool), a, 0.0)
    if hermitian and is_complex(a):
        return half + adjoint(half) + np.real(diagonal)
    return half + np.swapaxes(half, -1, -2) + diagonal


@instead_of(_linalg.cholesky)
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky factor of a positive definite matrix, the upper triangle by default.

    >>> cholesky(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    return np.linalg.cholesky(of_matrices(a), upper=not lower)


@instead_of(_linalg.cho_factor)
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky factor for `cho_solve`, with zeros in the other triangle, and whether it is the lower one.

    >>> cho_solve(cho_factor(np.diag([4.0, 9.0])), np.array([4.0, 9.0]))
    array([1., 1.])
    """
    return cholesky(a, lower), lower


@instead_of(_linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solution of a x = b, given cho_factor(a).

    >>> cho_solve(cho_factor(np.diag([4.0, 9.0])), np.array([4.0, 9.0]))
    array([1., 1.])
    """
    c, lower = c_and_lower
    c = one_matrix("cho_solve", c)
    y = solve_triangular(c, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(c, y, trans=2 if lower else 0, lower=lower)


@instead_of(_linalg.solve)
def solve(a: Any, b: Any, lower: bool = False, *, assume_a: str | None = None, transposed: bool = False) -> Any:
    """Solution of a x = b. assume_a="sym", "her" or "pos" reads one triangle of a.

    >>> solve(np.diag([2.0, 4.0]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    if assume_a in ("pos", "positive definite", "sym", "symmetric", "her", "hermitian"):
        return np.linalg.solve(_symmetric(a, lower, not assume_a.startswith("sym")), of_matrices(b))
    if assume_a in ("lower triangular", "upper triangular"):
        return solve_triangular(a, b, int(transposed), assume_a.startswith("lower"))
    if assume_a not in (None, "gen", "general"):
        raise UnsupportedError(f"scipy.linalg.solve with assume_a={assume_a!r}", "it without")
    a = of_matrices(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, of_matrices(b))


@valued_by(_linalg.pinvh)
def pinvh(a: Any, atol: float | None = None, rtol: float | None = None, lower: bool = True, **options: Any) -> Any:
    """Pseudo-inverse of a Hermitian matrix, by one of its triangles.

    >>> pinvh(np.diag([2.0, 0.0]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if atol is not None or options.get("return_rank"):
        raise UnsupportedError("scipy.linalg.pinvh with atol or return_rank", "it with rtol")
    return pinv(_symmetric(a, lower), rtol=rtol)


def _question(original: Any) -> Any:
    """Return a function whose answer about a matrix is a constant."""

    @like(original)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        """Answer for the plain values of a."""
        return original(constant(of_matrices(a)), *args, **options)

    return call


issymmetric, ishermitian, bandwidth = map(_question, (_linalg.issymmetric, _linalg.ishermitian, _linalg.bandwidth))
