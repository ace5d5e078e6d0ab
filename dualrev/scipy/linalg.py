"""`scipy.linalg`: the functions of numpy.linalg in SciPy's words, triangular systems, and functions of matrices.

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

from dualrev.eager.arrays.record import by_rule
from dualrev.eager.arrays.storage import RealArray, real_array
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
    """The inverse."""
    return np.linalg.inv(real_array(a))


@instead_of(_linalg.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return np.linalg.det(real_array(a))


@instead_of(_linalg.pinv)
def pinv(a: Any, *, rtol: float | None = None) -> Any:
    """The pseudo-inverse; singular values below rtol times the largest are 0."""
    a = real_array(a)
    return np.linalg.pinv(a, max(a.shape) * np.finfo(float).eps if rtol is None else rtol)


@instead_of(_linalg.lstsq)
def lstsq(a: Any, b: Any, cond: float | None = None) -> Any:
    """The least-squares solution, the residuals, the rank and the singular values."""
    return np.linalg.lstsq(real_array(a), real_array(b), cond)


@instead_of(_linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """A norm of a vector or of a matrix."""
    return np.linalg.norm(real_array(a), ord, axis, keepdims)


@instead_of(_linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular values, with or without the vectors."""
    a = real_array(a)
    return np.linalg.svd(a, full_matrices) if compute_uv else np.linalg.svd(a, compute_uv=False)


@instead_of(_linalg.svdvals)
def svdvals(a: Any) -> Any:
    """The singular values."""
    return np.linalg.svd(real_array(a), compute_uv=False)


@instead_of(_linalg.eigh)
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    """The eigenvalues and vectors of a symmetric matrix; with b, those of a v = w b v."""
    if b is None:
        w, v = np.linalg.eigh(real_array(a), "L" if lower else "U")
        return w if eigvals_only else (w, v)
    factor = cholesky(b, lower=lower)
    factor = factor if lower else factor.T
    inner = solve_triangular(factor, solve_triangular(factor, _symmetric(a, lower), lower=True).T, lower=True)
    w, v = np.linalg.eigh((inner + inner.T) / 2.0)
    return w if eigvals_only else (w, solve_triangular(factor, v, trans=1, lower=True))


@instead_of(_linalg.eigvalsh)
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True) -> Any:
    """The eigenvalues of a symmetric matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True)


@instead_of(_linalg.qr)
def qr(a: Any, *, mode: str = "full") -> Any:
    """The factors q and r; of more rows than columns, with mode="economic"."""
    a = real_array(a)
    if mode not in ("economic", "r") and not (mode == "full" and a.shape[-2] == a.shape[-1]):
        raise UnsupportedError(f"scipy.linalg.qr with mode={mode!r}", "mode='economic'")
    return (np.linalg.qr(a, "r"),) if mode == "r" else tuple(np.linalg.qr(a))


# Symmetric matrices, of which one triangle is read


def _symmetric(a: Any, lower: bool) -> Any:
    a = real_array(a)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    return half + half.T + np.diag(np.diag(a))


@instead_of(_linalg.cholesky)
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The triangular factor of a positive definite matrix, the upper one by default."""
    made = np.linalg.cholesky(real_array(a) if lower else real_array(a).T)
    return made if lower else made.T


@instead_of(_linalg.cho_factor)
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The factor, with zeros in the other triangle, and which one it is: for cho_solve."""
    return cholesky(a, lower), lower


@instead_of(_linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of a x = b, given cho_factor(a)."""
    c, lower = c_and_lower
    y = solve_triangular(c, b, trans=0 if lower else 1, lower=lower)
    return solve_triangular(c, y, trans=1 if lower else 0, lower=lower)


@instead_of(_linalg.solve)
def solve(a: Any, b: Any, lower: bool = False, *, assume_a: str | None = None, transposed: bool = False) -> Any:
    """The solution of a x = b; of a symmetric matrix one triangle is read."""
    if assume_a in ("pos", "positive definite", "sym", "symmetric", "her", "hermitian"):
        return np.linalg.solve(_symmetric(a, lower), real_array(b))
    if assume_a in ("lower triangular", "upper triangular"):
        return solve_triangular(a, b, int(transposed), assume_a.startswith("lower"))
    if assume_a not in (None, "gen", "general"):
        raise UnsupportedError(f"scipy.linalg.solve with assume_a={assume_a!r}", "it without")
    a = real_array(a)
    return np.linalg.solve(a.T if transposed else a, real_array(b))


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
    """The solution of a x = b for a triangular matrix; with trans=1, of its transpose."""
    a, b = real_array(a), real_array(b)
    if a.ndim != 2:
        raise UnsupportedError("scipy.linalg.solve_triangular of several matrices", "a loop over them")
    if trans in (1, 2, "T", "C"):
        a, lower = a.T, not lower
    if b.ndim == 1:
        return solve_triangular(a, b[:, None], 0, lower, unit_diagonal)[:, 0]

    def part(x: Any) -> Any:
        away = int(unit_diagonal)
        return np.tril(x, -away) if lower else np.triu(x, away)

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        g = solve_triangular(xs[0].T, gs[0], 0, not lower, unit_diagonal)
        return [-part(g @ ys[0].T), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        right = _sum(ts[1], None if ts[0] is None else -(part(ts[0]) @ ys[0]))
        return [solve_triangular(xs[0], right, 0, lower, unit_diagonal)]

    return by_rule(lambda a, b: solve_triangular(a, b, 0, lower, unit_diagonal), pull, push, a, b)


# Functions of matrices


@instead_of(_linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution of a x + x b = q."""

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        g = solve_sylvester(xs[0].T, xs[1].T, gs[0])
        return [-(g @ ys[0].T), -(ys[0].T @ g), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        da, db, dq = ts
        right = _sum(dq, None if da is None else -(da @ ys[0]), None if db is None else -(ys[0] @ db))
        return [solve_sylvester(xs[0], xs[1], right)]

    return by_rule(solve_sylvester, pull, push, a, b, q)


@instead_of(_linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The solution of a x + x a^T = q."""
    a = real_array(a)
    return solve_sylvester(a, a.T, q)


@instead_of(_linalg.sqrtm)
def sqrtm(a: Any) -> Any:
    """The square root of a matrix that has a real one: d(x) x + x d(x) = d(a)."""

    def compute(a: Any) -> Any:
        made = sqrtm(a)
        if np.iscomplexobj(made):
            raise UnsupportedError("scipy.linalg.sqrtm of a matrix without a real square root", "it of another one")
        return made

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        return [solve_sylvester(ys[0].T, ys[0].T, gs[0])]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        return [solve_sylvester(ys[0], ys[0], ts[0])]

    return by_rule(compute, pull, push, a)


@instead_of(_linalg.expm)
def expm(A: Any) -> Any:  # noqa: N803 - SciPy's name
    """The exponential of a matrix, or of each of several."""

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        return [_expm_frechet(np.swapaxes(xs[0], -1, -2), gs[0])]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        return [_expm_frechet(xs[0], ts[0])]

    return by_rule(expm, pull, push, A)


def _expm_frechet(a: Any, e: Any) -> Any:
    """The derivative of expm at a, in the direction e."""
    if a.ndim == 2 and not isinstance(a, RealArray) and not isinstance(e, RealArray):
        return _linalg.expm_frechet(a, e, compute_expm=False)
    n = a.shape[-1]
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), a], axis=-1)
    return expm(np.concatenate([above, below], axis=-2))[..., :n, n:]


def _sum(*terms: Any) -> Any:
    """The sum of the terms that are there."""
    known = [term for term in terms if term is not None]
    return sum(known[1:], known[0])


# Matrices of a pattern


@instead_of(_linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """A matrix that is constant along its diagonals: first column c, first row r (or c)."""
    c = np.ravel(real_array(c))
    r = c if r is None else np.ravel(real_array(r))
    places = np.subtract.outer(np.arange(len(c)), np.arange(len(r)))
    return np.concatenate([c, r[:0:-1]])[places]


@instead_of(_linalg.circulant)
def circulant(c: Any) -> Any:
    """A matrix whose columns are c, turned further by one each."""
    c = real_array(c)
    return c[np.subtract.outer(np.arange(len(c)), np.arange(len(c)))]


@instead_of(_linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal of a larger one."""
    blocks = [np.atleast_2d(real_array(a)) for a in arrs]
    width = sum(b.shape[1] for b in blocks)
    rows, at = [], 0
    for b in blocks:
        rows.append(np.pad(b, ((0, 0), (at, width - at - b.shape[1]))))
        at += b.shape[1]
    return np.concatenate(rows)
