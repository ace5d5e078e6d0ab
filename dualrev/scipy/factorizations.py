"""LU, Schur and polar decompositions and eigenvalues of general matrices, for `dualrev.scipy.linalg`.

Values, permutations and signs are SciPy's, and so are phases, which are constants.

    lu       a = p l u        dl = l tril(x, -1), du = triu(x) u, x = l^-1 p^T da u^-1
    schur    a = z t z^H      z is the unitary factor of the matrix of eigenvectors, in the order of t
    polar    a = u p          p is the square root of a^H a
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import as_parts, is_complex, real_part
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, of_matrices, rule
from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.banded_systems import solve_triangular
from dualrev.scipy.calls import instead_of, is_plain, one_matrix
from dualrev.scipy.matrix_functions import sqrtm
from dualrev.scipy.values import valued, valued_by

__all__ = [
    "eig",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh_tridiagonal",
    "lu",
    "lu_factor",
    "lu_solve",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "polar",
    "schur",
]


def _factors(m: Any, lower: np.ndarray, upper: np.ndarray) -> Any:
    """Return the factors of a square matrix whose rows are in the order of the pivots; their values are known."""

    def compute(x: Any) -> Any:
        """Return the values, with the derivatives of runs further out."""
        return (lower, upper) if is_plain(x) else _factors(x, lower, upper)

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return l^-H (tril(l^H gl, -1) + triu(gu u^H)) u^-H."""
        low, up = ys
        x = np.tril(adjoint(low) @ gs[0], -1) + np.triu(gs[1] @ adjoint(up))
        x = solve_triangular(adjoint(low), x, unit_diagonal=True)
        return [adjoint(solve_triangular(up, adjoint(x)))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return l tril(x, -1) and triu(x) u, where x = l^-1 dm u^-1."""
        low, up = ys
        x = solve_triangular(low, ts[0], lower=True, unit_diagonal=True)
        x = adjoint(solve_triangular(adjoint(up), adjoint(x), lower=True))
        return [low @ np.tril(x, -1), np.triu(x) @ up]

    return rule(compute, pull, push, m)


def _lu(a: Any, name: str) -> tuple[np.ndarray, Any, Any]:
    """Return the order of the rows, and both factors."""
    a = one_matrix(name, a)
    order, lower, upper = _linalg.lu(constant(a), p_indices=True)
    inverse = np.argsort(order)  # row k of l u is row order[k] of a: a[inverse] = l u
    rows, k = a[inverse], min(np.shape(a))
    low, up = _factors(rows[:k, :k], lower[:k], upper[:, :k])
    if np.shape(a)[0] > k:
        below = adjoint(solve_triangular(adjoint(up), adjoint(rows[k:]), lower=True))
        low = np.concatenate([low, below])
    if np.shape(a)[1] > k:
        up = np.concatenate([up, solve_triangular(low, rows[:, k:], lower=True, unit_diagonal=True)], axis=1)
    return order, valued(lower, low), valued(upper, up)


@instead_of(_linalg.lu)
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """LU decomposition with pivots: (p, l, u), where a = p l u; (p l, u) with permute_l.

    >>> lu(np.array([[0.0, 2.0], [1.0, 3.0]]))[2]
    array([[1., 3.],
           [0., 2.]])
    """
    order, low, up = _lu(a, "lu")
    if permute_l:
        return low[order], up
    return order if p_indices else np.eye(len(order))[order], low, up


@instead_of(_linalg.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """LU decomposition of a square matrix for `lu_solve`: both factors in one array, and the pivots.

    >>> lu_solve(lu_factor(np.diag([2.0, 4.0])), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    a = one_matrix("lu_factor", a)
    if a.shape[0] != a.shape[1]:
        raise UnsupportedError("scipy.linalg.lu_factor of a matrix that is not square", "scipy.linalg.lu")
    value, pivots = _linalg.lu_factor(constant(a))
    _, low, up = _lu(a, "lu_factor")
    return valued(value, np.tril(low, -1) + up), pivots


@instead_of(_linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solution of a x = b, given lu_factor(a); with trans=1 of the transpose, with trans=2 of the adjoint.

    >>> lu_solve(lu_factor(np.diag([2.0, 4.0])), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    factors, pivots = lu_and_piv
    factors, b = one_matrix("lu_solve", factors), of_matrices(b)
    order = np.arange(len(pivots))
    for k, other in enumerate(constant(pivots)):
        order[[k, other]] = order[[other, k]]
    if not trans:
        inner = solve_triangular(factors, b[order], lower=True, unit_diagonal=True)
        return solve_triangular(factors, inner)
    inner = solve_triangular(factors, b, trans)
    return solve_triangular(factors, inner, trans, lower=True, unit_diagonal=True)[np.argsort(order)]


@instead_of(_linalg.schur)
def schur(
    a: Any, output: str = "real", lwork: Any = None, overwrite_a: bool = False, sort: Any = None, **_: Any
) -> Any:
    """Schur decomposition (t, z) with a = z t z^H, of a matrix with distinct eigenvalues.

    output="real" needs real eigenvalues. With output="complex", the phases of the columns of z are constants.

    >>> schur(np.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    array([[1., 2.],
           [0., 3.]])
    """
    a = one_matrix("schur", a)
    t, z, *dimension = _linalg.schur(constant(a), output, sort=sort)
    if np.any(np.diagonal(t, -1)):
        raise UnsupportedError(
            "scipy.linalg.schur with output='real' of a matrix with complex eigenvalues",
            "output='complex'",
            "a block of a pair of them is not unique",
        )
    if np.iscomplexobj(t) and not is_complex(a):
        a = a + 0j
    w, v = np.linalg.eig(a)
    order, left = [], list(range(len(t)))
    for target in np.diagonal(t):
        nearest = left[int(np.argmin(np.abs(constant(as_parts(w) + 0j)[left] - target)))]
        left.remove(nearest)
        order.append(nearest)
    q = np.linalg.qr(v[:, order])[0]
    q = q if np.iscomplexobj(z) else real_part(q)
    phase = np.sum(np.conj(constant(q)) * z, axis=0)
    q = q * (phase / np.abs(phase))
    upper = np.triu(adjoint(q) @ a @ q)
    return (valued(t, upper), valued(z, q), *dimension)


@instead_of(_linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    """Polar decomposition of a matrix of full rank: (u, p) with a = u p, or a = p u with side="left".

    >>> polar(np.diag([2.0, -3.0]))[1].round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    a = one_matrix("polar", a)
    values = _linalg.polar(constant(a), side)
    if a.shape[0] >= a.shape[1]:
        u = adjoint(np.linalg.solve(sqrtm(adjoint(a) @ a), adjoint(a)))  # a p^-1, where p is Hermitian
    else:
        u = np.linalg.solve(sqrtm(a @ adjoint(a)), a)
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return tuple(map(valued, values, (u, p)))


@valued_by(_linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:  # noqa: N803 - SciPy's names
    """Orthogonal matrix that maps A closest to B, and the sum of the singular values of A^T B.

    >>> orthogonal_procrustes(np.eye(2), np.eye(2))[1]
    np.float64(2.0)
    """
    u, p = polar(adjoint(of_matrices(A)) @ of_matrices(B))
    return u, np.trace(real_part(p))


def _pencil(a: Any, b: Any) -> Any:
    return of_matrices(a) if b is None else np.linalg.solve(of_matrices(b), of_matrices(a))


@instead_of(_linalg.eigvals)
def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    """Eigenvalues of a matrix, complex numbers; with b, of a v = w b v.

    >>> eigvals(np.diag([2.0, 3.0]))
    array([2.+0.j, 3.+0.j])
    """
    if homogeneous_eigvals:
        raise UnsupportedError("scipy.linalg.eigvals with homogeneous_eigvals", "it without")
    a = one_matrix("eigvals", a)
    value = _linalg.eigvals(constant(a), None if b is None else constant(of_matrices(b)))
    w = as_parts(np.linalg.eigvals(_pencil(a, b))) + 0j
    left = list(range(len(value)))
    order = []
    for target in value:
        left.sort(key=lambda k: abs(constant(w)[k] - target))
        order.append(left.pop(0))
    return valued(value, w[order])


@instead_of(_linalg.eig)
def eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False, **options: Any
) -> Any:
    """Eigenvalues w, complex numbers, and eigenvectors v of a matrix, with the lengths and phases of LAPACK.

    >>> eig(np.diag([2.0, 3.0]))[0]
    array([2.+0.j, 3.+0.j])
    """
    if left or not right or b is not None or options.get("homogeneous_eigvals"):
        raise UnsupportedError(
            "scipy.linalg.eig with b, left=True or right=False",
            "eigvals(a, b) for the values, or eig(a.T) for left=True",
        )
    a = one_matrix("eig", a)
    value, vectors = _linalg.eig(constant(a))
    w, v = np.linalg.eig(a)
    return valued(value, as_parts(w) + 0j), valued(vectors, v)


@instead_of(_linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None, **options: Any
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix with the diagonal d and the elements e beside it.

    >>> eigh_tridiagonal(np.array([3.0, 2.0]), np.zeros(1), eigvals_only=True)
    array([2., 3.])
    """
    known = _linalg.eigh_tridiagonal(constant(d), constant(e), False, select, select_range, **options)
    beside = np.diag(real_array(e), 1)
    w, v = np.linalg.eigh(np.diag(real_array(d)) + beside + beside.T)
    first = int(np.argmin(np.abs(constant(w) - known[0][0]))) if len(known[0]) else 0
    if select == "i":
        first = int(select_range[0])
    chosen = slice(first, first + len(known[0]))
    w, v = w[chosen], v[:, chosen]
    if eigvals_only:
        return valued(_linalg.eigh_tridiagonal(constant(d), constant(e), True, select, select_range, **options), w)
    signs = np.sign(np.sum(constant(v) * known[1], axis=0))
    return valued(known[0], w), valued(known[1], v * signs)


@instead_of(_linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d: Any, e: Any, select: str = "a", select_range: Any = None, **options: Any) -> Any:
    """Eigenvalues of a symmetric matrix with the diagonal d and the elements e beside it.

    >>> eigvalsh_tridiagonal(np.array([3.0, 2.0]), np.zeros(1))
    array([2., 3.])
    """
    return eigh_tridiagonal(d, e, True, select, select_range, **options)


@instead_of(_linalg.null_space)
def null_space(A: Any, *args: Any, **options: Any) -> Any:  # noqa: N803 - SciPy's name
    """Basis of the null space of a plain matrix: of a traced one, UnsupportedError."""
    cure = "np.eye(A.shape[1]) - scipy.linalg.pinv(A) @ A with dualrev.scipy, the projection on the null space"
    raise UnsupportedError("scipy.linalg.null_space", cure, "the basis is not unique, so that it has no derivative")


@instead_of(_linalg.orth)
def orth(A: Any, *args: Any, **options: Any) -> Any:  # noqa: N803 - SciPy's name
    """Basis of the range of a plain matrix: of a traced one, UnsupportedError."""
    cure = "A @ scipy.linalg.pinv(A) with dualrev.scipy, the projection on the range, or scipy.linalg.svd"
    raise UnsupportedError("scipy.linalg.orth", cure, "the basis is not unique, so that it has no derivative")
