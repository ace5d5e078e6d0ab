"""numpy.linalg's factors of real and complex matrices: cholesky, qr, eigenvectors and singular vectors.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of cholesky: I. Murray, "Differentiation of the Cholesky decomposition", 2016; of qr: S. Walter
and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010; of svd: J. Townsend, "Differentiating
the singular value decomposition", 2016.

A complex vector may be turned, that is multiplied by a number of modulus 1. The rules turn none: the derivative of a
column has no part i times the column. `as_lapack_turns` adds what LAPACK does, whose vectors have a real component.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import imag_part, is_complex, is_one_complex, real_part, values
from dualrev.eager.arrays.linear_algebra.matrices import (
    adjoint,
    asked_for,
    at_ties,
    columns,
    from_lower,
    half_lower,
    of_lower,
    of_matrices,
    over_gaps,
    quotient,
    rounding,
    rule,
)
from dualrev.eager.arrays.linear_algebra.products import transposed
from dualrev.eager.arrays.memory.storage import plain
from dualrev.errors import UnsupportedError

__all__ = ["cholesky", "eig", "eigh", "eigvalsh", "qr", "svd", "svdvals"]


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """d(L) = L phi(inv(L) da inv(L)^H), where phi takes the lower triangle and half of the diagonal."""
    if upper:
        return adjoint(cholesky(adjoint(of_matrices(a))))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of the lower triangle of a."""
        factor = ys[0]
        inverse = np.linalg.inv(factor)
        return [of_lower(adjoint(inverse) @ half_lower(adjoint(factor) @ np.tril(gs[0])) @ inverse)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return L half(L^-1 da L^-H), where half takes the lower triangle and half of the diagonal."""
        factor = ys[0]
        inverse = np.linalg.inv(factor)
        return [factor @ half_lower(inverse @ from_lower(ts[0]) @ adjoint(inverse))]

    return rule(np.linalg.cholesky, pull, push, of_matrices(a))


def eigh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803 - numpy's name
    """With p = v^H da v: dw = diag(p), dv = v (p / gaps), where gaps[i, j] = w[j] - w[i]."""
    w, v = _eigh(of_matrices(a), UPLO)
    if is_complex(v):
        v = as_lapack_turns(v, 0 if UPLO.upper() == "L" else v.shape[-1] - 1)
    return type(np.linalg.eigh(np.eye(1)))(w, v)


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803 - numpy's name
    """The eigenvalues alone."""
    return _eigh(of_matrices(a), UPLO)[0]


def _eigh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803 - numpy's name
    # not eigh of the transpose for "U": LAPACK gives the vectors other signs there
    read = adjoint if UPLO.upper() == "U" else (lambda x: x)

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of the triangle of a that is read."""
        (w, v), (gw, gv) = ys, gs
        p = adjoint(v) @ gv
        inner = over_gaps((p - adjoint(p)) / 2.0, w, asked_for(p, gv)) + columns(gw) * np.eye(w.shape[-1])
        return [read(of_lower(v @ inner @ adjoint(v)))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the eigenvalues and eigenvectors."""
        w, v = ys
        p = adjoint(v) @ from_lower(read(ts[0])) @ v
        return [_diagonal(p), v @ over_gaps(p, w)]

    return rule(lambda x: tuple(np.linalg.eigh(x, UPLO)), pull, push, a)


def _diagonal(p: Any) -> Any:
    return real_part(np.diagonal(p, axis1=-2, axis2=-1))


def eig(a: Any) -> Any:
    """With p = inv(v) da v: dw = diag(p), dv = v (p / gaps), less what would change the columns' length, which is 1."""
    a = of_matrices(a)
    if is_complex(a) or np.iscomplexobj(np.linalg.eigvals(plain(a))):
        from dualrev.eager.arrays.complex import eigen  # real code has no need of it

        return type(np.linalg.eig(np.eye(1)))(*eigen.eig(a))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of a, whose eigenvectors have length 1."""
        (w, v), (gw, gv) = ys, gs
        q = transposed(v) @ (gv - v * np.sum(v * gv, axis=-2, keepdims=True))
        inner = over_gaps(q, w) + columns(gw) * np.eye(w.shape[-1])
        return [np.linalg.solve(transposed(v), inner @ transposed(v))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the eigenvalues and of eigenvectors of length 1."""
        w, v = ys
        p = np.linalg.solve(v, ts[0] @ v)
        dv = v @ over_gaps(p, w)
        return [_diagonal(p), dv - v * np.sum(v * dv, axis=-2, keepdims=True)]

    return type(np.linalg.eig(np.eye(1)))(*rule(lambda x: tuple(np.linalg.eig(x)), pull, push, a))


def svdvals(x: Any) -> Any:
    """The singular values alone."""
    return _svd(of_matrices(x), False)[1]


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular values and vectors. Vectors that complete a basis, where a is not square, have no derivative."""
    a = of_matrices(a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    if not compute_uv:
        return svdvals(a)
    m, n = a.shape[-2:]
    u, s, vh, *rest = _svd(a, bool(full_matrices) and m != n)
    if is_complex(u):
        both = np.concatenate([u, adjoint(vh)], axis=-2)
        both = as_lapack_turns(both, m if m >= n else 0)
        u, vh = both[..., :m, :].copy(), adjoint(both[..., m:, :]).copy()  # in the order of numpy's
    if rest:
        u, vh = np.concatenate([u, rest[0]], axis=-1), np.concatenate([vh, rest[1]], axis=-2)
    return type(np.linalg.svd(np.eye(1)))(u, s, vh)


def _svd(a: Any, full: bool) -> Any:
    """With p = u^H da v: ds = diag(p); du and dv have a part in the space of u and v, and one across."""
    m, n = a.shape[-2:]
    k = min(m, n)

    def compute(x: Any) -> tuple[Any, ...]:
        """Return the thin factors, and the other columns and rows of u and vh after them."""
        u, s, vh = np.linalg.svd(x, full)
        return (u[..., :k], s, vh[..., :k, :], u[..., k:], vh[..., k:, :]) if full else (u, s, vh)

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of a, given the cotangents of its factors."""
        (u, s, vh, *_), (gu, ct, gvh, *rest) = ys, gs
        v, gv = adjoint(vh), adjoint(gvh)
        p, q = adjoint(u) @ gu, vh @ gv
        asked = asked_for(p, gu) | asked_for(q, gv)
        left, right = (_over_gaps_of_squares(x - adjoint(x), s, asked) for x in (p, q))
        inner = left * columns(s) + s[..., :, None] * right
        inner = inner + columns(ct + _turns(p, s)) * np.eye(k)
        made = u @ inner @ vh
        if m > k:
            made = made + quotient(gu - u @ p, columns(_or_zero(s))) @ vh
        if n > k:
            made = made + u @ adjoint(quotient(gv - v @ q, columns(_or_zero(s))))
        lost = [np.any(values(g) != 0.0, axis=(-2, -1), keepdims=True) for g in rest]
        return [made * np.where(lost[0] | lost[1], np.nan, 1.0) if lost else made]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the factors."""
        (u, s, vh, *rest), (t,) = ys, ts
        v = adjoint(vh)
        tv, tu = t @ v, adjoint(t) @ u
        p = adjoint(u) @ tv
        divisors = columns(_or_zero(s))
        together = over_gaps((p + adjoint(p)) / 2.0, s)  # how u and v turn together, and against each other
        apart = quotient((p - adjoint(p)) / 2.0 * (1.0 - np.eye(k)), divisors + transposed(divisors))
        left, right = together + apart, together - apart
        du, dv = u @ (left + columns(_turns(p, s)) * np.eye(k)), v @ right
        if m > k:
            du = du + quotient(tv - u @ p, divisors)
        if n > k:
            dv = dv + quotient(tu - v @ adjoint(p), divisors)
        return [du, _diagonal(p), adjoint(dv), *(np.full(np.shape(values(x)), np.nan) for x in rest)]

    return rule(compute, pull, push, a)


def _over_gaps_of_squares(p: Any, s: Any, asked: Any = None) -> Any:
    """As of eigenvalues."""
    return at_ties(p, (s[..., None, :] - s[..., :, None]) * (s[..., None, :] + s[..., :, None]), s, asked)


def _or_zero(s: Any) -> Any:
    """The singular values, and 0 for those that are 0 up to a rounding error."""
    return np.where(values(s) <= rounding(s), 0.0, s)


def _turns(p: Any, s: Any) -> Any:
    """How a u turns against its v: i Im(diag(p)) / s, and 0 of real vectors."""
    return 1j * quotient(np.diagonal(imag_part(p), axis1=-2, axis2=-1), s) if is_one_complex(p) else 0.0 * s


def _svd_of_hermitian(a: Any, compute_uv: bool) -> Any:
    """Return the SVD of a Hermitian matrix from its eigenvalues and eigenvectors, the largest first."""
    w, v = eigh(a)
    order = np.argsort(np.abs(plain(w)), axis=-1)[..., ::-1]
    w = np.take_along_axis(w, order, -1)
    if not compute_uv:
        return np.abs(w)
    v = np.take_along_axis(v, columns(order), -1)
    return type(np.linalg.svd(np.eye(1)))(v, np.abs(w), adjoint(v * columns(np.sign(plain(w)))))


def as_lapack_turns(vectors: Any, row: int) -> Any:
    """Columns that are turned so that this component stays real.

    Where it is nearly 0, LAPACK turns the column by no rule that has a derivative: the column is not turned, and what
    depends on how it is has NaN in reverse mode.
    """
    z = vectors[..., row : row + 1, :]
    size = np.abs(values(z))
    known = (size > _SMALL) & (np.abs(values(z).imag) <= 1e-10 * size)
    if not np.all(known):
        vectors = _not_turned(vectors, known)
    x, y = real_part(z), imag_part(z) - plain(imag_part(z))  # LAPACK's zero, up to a rounding error
    x, y = np.where(known, x, 1.0), np.where(known, y, 0.0)
    size = np.hypot(x, y)
    return vectors * (np.sign(plain(x)) * x / size - 1j * (np.sign(plain(x)) * y / size))


def _not_turned(vectors: Any, known: np.ndarray) -> Any:
    """The same columns, and NaN for the cotangent of one that says how it is turned, but for those that are known."""

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of vectors; NaN where it depends on a phase that is not determined."""
        x, g = values(xs[0]), values(gs[0])
        turn = np.abs(np.sum(np.conj(x) * g, axis=-2, keepdims=True).imag)
        scale = np.sum(np.abs(x) * np.abs(g), axis=-2, keepdims=True)
        return [gs[0] * np.where(known | (turn <= 1e-8 * scale), 1.0, np.nan)]

    return rule(lambda x: +x, pull, lambda xs, ys, ts: [ts[0]], vectors)


_SMALL = 1e-4  # of a component: a derivative that is divided by it loses four digits


def qr(a: Any, mode: str = "reduced") -> Any:
    """With c = da inv(r), x = q^H c and u its upper triangle plus the adjoint of the lower: dq = c - q u, dr = u r.

    Of a wide matrix (a1 a2) = q (r1 r2) this holds for a1, and r2 = q^H a2.
    """
    a = of_matrices(a)
    if mode not in ("reduced", "r"):
        raise UnsupportedError(f"numpy.linalg.qr with mode={mode!r}", "mode='reduced' or mode='r'")
    k = min(a.shape[-2:])

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of a, given the cotangents of q and r."""
        (a,), (q, r), (gq, gr) = xs, ys, gs
        r = _of_full_rank(r[..., :k])
        gq = gq + a[..., k:] @ adjoint(gr[..., k:])
        m = r @ adjoint(np.triu(gr[..., :k])) - adjoint(gq) @ q
        left = adjoint(np.linalg.solve(r, adjoint(gq + q @ from_lower(m))))
        return [np.concatenate((left, q @ gr[..., k:]), axis=-1)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of q and r."""
        (a,), q, r, (t,) = xs, ys[0], _of_full_rank(ys[1][..., :k]), ts
        c = transposed(np.linalg.solve(transposed(r), transposed(t[..., :k])))
        x = adjoint(q) @ c
        upper = x - half_lower(x) + adjoint(half_lower(x))
        dq = c - q @ upper
        right = adjoint(dq) @ a[..., k:] + adjoint(q) @ t[..., k:]
        return [dq, np.concatenate((upper @ r, right), axis=-1)]

    q, r = rule(lambda x: tuple(np.linalg.qr(x)), pull, push, a)
    return r if mode == "r" else type(np.linalg.qr(np.eye(1)))(q, r)


def _of_full_rank(r: Any) -> Any:
    """r; NaN where a column of the matrix depends on those before it, up to a rounding error."""
    sizes = np.sqrt(np.sum(np.abs(values(r)) ** 2, axis=-2))
    left = np.abs(np.diagonal(values(r), axis1=-2, axis2=-1))
    lost = np.any(left <= 4.0 * r.shape[-1] * np.spacing(sizes), axis=-1)
    return r * np.where(lost, np.nan, 1.0)[..., None, None]
