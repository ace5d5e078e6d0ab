"""`scipy.linalg` for traced matrices: solvers, factorizations, triangular systems, functions of matrices.

Parameters are SciPy's; overwrite_a, check_finite and the like change no value. Matrices are real or complex, of shape
(n, n) or (m, n); functions that numpy.linalg has, too, take stacks of shape (..., m, n). Eigenvectors and singular
vectors have the signs, or the phases, of those of numpy.linalg. Functions without a rule here are SciPy's own. Options
without a rule raise UnsupportedError for traced arguments.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of expm: N. Higham, "Functions of Matrices", 2008, chapter 10 (the Fréchet derivative is a block
of the exponential of a block matrix).

>>> import dualrev as dr
>>> dr.grad(lambda x: np.sum(expm(np.eye(2) * x)))(0.0)
2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, conjugated, of_matrices, rule
from dualrev.eager.arrays.memory.storage import plain
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import instead_of

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "norm",
    "pinv",
    "qr",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]


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
def lstsq(a: Any, b: Any, cond: float | None = None) -> Any:
    """Least-squares solution of a x = b: (x, residuals, rank, singular values).

    >>> lstsq(np.ones((2, 1)), np.array([1.0, 3.0]))[0].round(6)
    array([2.])
    """
    return np.linalg.lstsq(of_matrices(a), of_matrices(b), cond)


@instead_of(_linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Norm of a vector or of a matrix.

    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
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
    factor = cholesky(b, lower=lower)
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
def qr(a: Any, *, mode: str = "full") -> Any:
    """QR decomposition: (q, r), or (r,) with mode="r". A matrix with more rows than columns needs mode="economic".

    >>> [factor.shape for factor in qr(np.ones((3, 2)), mode="economic")]
    [(3, 2), (2, 2)]
    """
    a = of_matrices(a)
    if mode not in ("economic", "r") and not (mode == "full" and a.shape[-2] == a.shape[-1]):
        raise UnsupportedError(f"scipy.linalg.qr with mode={mode!r}", "mode='economic'")
    return (np.linalg.qr(a, "r"),) if mode == "r" else tuple(np.linalg.qr(a))


# Symmetric matrices, of which one triangle is read


def _symmetric(a: Any, lower: bool, hermitian: bool = True) -> Any:
    a = of_matrices(a)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.diag(a)
    if hermitian and is_complex(a):
        return half + adjoint(half) + np.diag(np.real(diagonal))
    return half + half.T + np.diag(diagonal)


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
    return np.linalg.solve(a.T if transposed else a, of_matrices(b))


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
    a, b = of_matrices(a), of_matrices(b)
    if a.ndim != 2:
        raise UnsupportedError("scipy.linalg.solve_triangular of several matrices", "a loop over them")
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
        right = _sum(ts[1], None if ts[0] is None else -(part(ts[0]) @ ys[0]))
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
    ab, b = of_matrices(ab), of_matrices(b)
    if ab.ndim != 2:
        raise UnsupportedError("scipy.linalg.solve_banded of several matrices", "a loop over them")
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
        return [solve_banded(l_and_u, xs[0], _sum(ts[1], moved))]

    return rule(lambda ab, b: solve_banded(l_and_u, ab, b, check_finite=check_finite), pull, push, ab, b)


# Functions of matrices


@instead_of(_linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solution of a x + x b = q. If one of the matrices is complex, all are converted.

    >>> solve_sylvester(np.eye(1), np.eye(1), 4.0 * np.eye(1))
    array([[2.]])
    """
    if is_complex(a) or is_complex(b) or is_complex(q):
        a, b, q = (u if is_complex(u) else of_matrices(u) + 0j for u in (a, b, q))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -w y^H, -y^H w and w, where a^H w + w b^H = g."""
        g, y = solve_sylvester(adjoint(xs[0]), adjoint(xs[1]), gs[0]), adjoint(ys[0])
        return [-(g @ y), -(y @ g), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the solution for the right-hand side dq - da y - y db."""
        da, db, dq = ts
        right = _sum(dq, None if da is None else -(da @ ys[0]), None if db is None else -(ys[0] @ db))
        return [solve_sylvester(xs[0], xs[1], right)]

    return rule(solve_sylvester, pull, push, a, b, q)


@instead_of(_linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solution of a x + x a^H = q.

    >>> solve_continuous_lyapunov(np.eye(1), 4.0 * np.eye(1))
    array([[2.]])
    """
    a = of_matrices(a)
    return solve_sylvester(a, adjoint(a), q)


@instead_of(_linalg.sqrtm)
def sqrtm(a: Any) -> Any:
    """Square root of a matrix, complex where the matrix has no real one.

    Its derivative solves dx x + x dx = da.

    >>> sqrtm(np.diag([4.0, 9.0])).round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    a = of_matrices(a)
    if not is_complex(a) and np.iscomplexobj(_linalg.sqrtm(plain(a))):
        a = a + 0j

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Solve the Sylvester equation with the adjoint of the root."""
        y = adjoint(ys[0])
        return [solve_sylvester(y, y, gs[0])]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Solve the Sylvester equation with the root."""
        return [solve_sylvester(ys[0], ys[0], ts[0])]

    return rule(sqrtm, pull, push, a)


@instead_of(_linalg.expm)
def expm(A: Any) -> Any:  # noqa: N803 - SciPy's name
    """Matrix exponential of a matrix (n, n), or of each of a stack (..., n, n).

    >>> expm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the derivative at the adjoint of a, in the direction of the cotangent."""
        return [_expm_frechet(adjoint(xs[0]), gs[0])]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the derivative at a, in the direction of the tangent."""
        return [_expm_frechet(xs[0], ts[0])]

    return rule(expm, pull, push, A)


def _expm_frechet(a: Any, e: Any) -> Any:
    """Return the derivative of expm at a, in the direction e."""
    if a.ndim == 2 and isinstance(a, np.ndarray) and isinstance(e, np.ndarray):
        return _linalg.expm_frechet(a, e, compute_expm=False)
    n = a.shape[-1]
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), a], axis=-1)
    return expm(np.concatenate([above, below], axis=-2))[..., :n, n:]


def _sum(*terms: Any) -> Any:
    """Return the sum of the terms that are not None."""
    known = [term for term in terms if term is not None]
    return sum(known[1:], known[0])


# Matrices of a pattern


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
