"""numpy.linalg: one block for a whole matrix, by the rules of matrix calculus.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of cholesky: I. Murray, "Differentiation of the Cholesky decomposition", 2016; of qr: S. Walter
and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010; of pinv: G. Golub and V. Pereyra, 1973.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dualrev.eager.arrays.defined import by_table
from dualrev.eager.arrays.products import matmul, transposed, vecdot
from dualrev.eager.arrays.record import by_rule
from dualrev.eager.arrays.storage import RealArray, innermost, plain, real_array
from dualrev.eager.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS"]


def _inv(a: Any) -> Any:
    """d(inv a) = -inv(a) da inv(a)"""

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        y = transposed(ys[0])
        return [-(y @ gs[0] @ y)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        return [-(ys[0] @ ts[0] @ ys[0])]

    return _rule(np.linalg.inv, pull, push, a)


def _solve(a: Any, b: Any) -> Any:
    """d(solve(a, b)) = solve(a, db - da y)"""
    a, b = real_array(a), real_array(b)
    if b.ndim == 1:
        return _solve(a, b.reshape(-1, 1))[..., 0]
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if (a.shape[:-2], b.shape[:-2]) != (shape, shape):
        a, b = (np.broadcast_to(x, shape + x.shape[-2:]) for x in (a, b))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        g = np.linalg.solve(transposed(xs[0]), gs[0])
        return [-(g @ transposed(ys[0])), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        (da, db), y = ts, ys[0]
        right = -(da @ y) if db is None else db if da is None else db - da @ y
        return [np.linalg.solve(xs[0], right)]

    return _rule(np.linalg.solve, pull, push, a, b)


def _det(a: Any) -> Any:
    """d(det a) = <cofactors of a, da>"""

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        return [real_array(gs[0])[..., None, None] * _cofactors(xs[0])]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        return [np.sum(_cofactors(xs[0]) * ts[0], axis=(-2, -1))]

    return _rule(np.linalg.det, pull, push, a)


def _cofactors(a: Any) -> Any:
    """The derivatives of det by the entries: det(a) inv(a)^T, and its limit where a is singular."""
    if isinstance(a, RealArray):
        return np.reshape(np.linalg.det(a), (*a.shape[:-2], 1, 1)) * transposed(np.linalg.inv(a))
    u, s, vt = np.linalg.svd(a)
    others = np.stack([np.prod(np.delete(s, k, axis=-1), axis=-1) for k in range(a.shape[-1])], axis=-1)
    sign = np.linalg.det(u) * np.linalg.det(vt)
    return sign[..., None, None] * ((u * others[..., None, :]) @ vt)


def _slogdet(a: Any) -> Any:
    """d(log |det a|) = <inv(a)^T, da>"""
    sign, _ = np.linalg.slogdet(plain(real_array(a)))

    def compute(x: Any) -> Any:
        return np.linalg.slogdet(x)[1]

    def slope(x: Any) -> Any:  # NaN where the matrix is singular
        return transposed(np.linalg.inv(np.where(np.reshape(sign, (*np.shape(sign), 1, 1)) == 0, np.nan, x)))

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        return [real_array(gs[0])[..., None, None] * slope(xs[0])]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        return [np.sum(slope(xs[0]) * ts[0], axis=(-2, -1))]

    kind = type(np.linalg.slogdet(np.eye(1)))
    return kind(sign, _rule(compute, pull, push, a))


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    """d(L) = L phi(inv(L) da inv(L)^T), where phi takes the lower triangle and half of the diagonal."""
    if upper:
        return transposed(_cholesky(transposed(real_array(a))))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        factor = ys[0]
        inverse = np.linalg.inv(factor)
        return [_of_lower(transposed(inverse) @ _half_lower(transposed(factor) @ np.tril(gs[0])) @ inverse)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        factor = ys[0]
        inverse = np.linalg.inv(factor)
        return [factor @ _half_lower(inverse @ _from_lower(ts[0]) @ transposed(inverse))]

    return _rule(np.linalg.cholesky, pull, push, a)


# numpy reads only the lower triangle of a symmetric matrix: the derivatives by the entries above the diagonal are 0.


def _from_lower(x: Any) -> Any:
    """The symmetric matrix that is read."""
    return np.tril(x) + transposed(np.tril(x, -1))


def _of_lower(s: Any) -> Any:
    """The transpose of it, for a cotangent that need not be symmetric."""
    return _half_lower(s + transposed(s))


def _half_lower(x: Any) -> Any:
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n))


def _eigh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803 - numpy's name
    """With p = v^T da v: dw = diag(p), dv = v (p / gaps), where gaps[i, j] = w[j] - w[i]."""
    # not eigh of the transpose for "U": LAPACK gives the vectors other signs there
    read = transposed if UPLO.upper() == "U" else (lambda x: x)

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        (w, v), (gw, gv) = ys, gs
        p = transposed(v) @ gv
        inner = _over_gaps((p - transposed(p)) / 2.0, w) + gw[..., None] * np.eye(w.shape[-1])
        return [read(_of_lower(v @ inner @ transposed(v)))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        w, v = ys
        p = transposed(v) @ _from_lower(read(ts[0])) @ v
        dw = np.diagonal(p, axis1=-2, axis2=-1)
        return [dw, v @ _over_gaps(p - dw[..., None] * np.eye(w.shape[-1]), w)]

    w, v = _rule(lambda x: tuple(np.linalg.eigh(x, UPLO)), pull, push, a)
    return type(np.linalg.eigh(np.eye(1)))(w, v)


def _eig(a: Any) -> Any:
    """With p = inv(v) da v: dw = diag(p), dv = v (p / gaps), less what would change the columns' length, which is 1."""
    if np.iscomplexobj(np.linalg.eigvals(plain(real_array(a)))):
        from dualrev.eager.arrays.complex_linalg import eig  # real code has no need of it

        return type(np.linalg.eig(np.eye(1)))(*eig(real_array(a)))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        (w, v), (gw, gv) = ys, gs
        q = transposed(v) @ (gv - v * np.sum(v * gv, axis=-2, keepdims=True))
        one = np.eye(w.shape[-1])
        inner = _over_gaps(q * (1.0 - one), w) + gw[..., None] * one
        return [np.linalg.solve(transposed(v), inner @ transposed(v))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        w, v = ys
        p = np.linalg.solve(v, ts[0] @ v)
        dv = v @ _over_gaps(p * (1.0 - np.eye(w.shape[-1])), w)
        return [np.diagonal(p, axis1=-2, axis2=-1), dv - v * np.sum(v * dv, axis=-2, keepdims=True)]

    return type(np.linalg.eig(np.eye(1)))(*_rule(lambda x: tuple(np.linalg.eig(x)), pull, push, a))


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 - numpy's name
    return _eigh(a, UPLO)[0]


def _over_gaps(p: Any, w: Any) -> Any:
    """The vectors of a repeated eigenvalue have no derivative; what does not depend on them has."""
    gaps = w[..., None, :] - w[..., :, None]
    equal = plain(gaps) == 0.0
    return p * np.where(equal, np.where(plain(p) == 0.0, 0.0, np.inf), 1.0 / np.where(equal, 1.0, gaps))


def _svdvals(x: Any) -> Any:
    """The eigenvalues of [[0, x], [x^T, 0]] are plus and minus the singular values of x, and zeros."""
    x = real_array(x)
    *batch, m, n = x.shape
    above = np.concatenate([np.zeros((*batch, m, m)), x], axis=-1)
    below = np.concatenate([transposed(x), np.zeros((*batch, n, n))], axis=-1)
    return _eigh(np.concatenate([above, below], axis=-2))[0][..., ::-1][..., : min(m, n)]


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if compute_uv:
        if hermitian or np.ndim(a) != 2:
            what = f"numpy.linalg.svd with vectors, hermitian={hermitian}, of {np.ndim(a)} axes"
            raise UnsupportedError(what, "it of a matrix, with compute_uv=False, or numpy.linalg.eigh")
        by_definition = by_table(np.linalg.svd)
        assert by_definition is not None
        return type(np.linalg.svd(np.eye(1)))(*by_definition(a, bool(full_matrices)))
    return np.sort(np.abs(_eigh(a)[0]))[..., ::-1] if hermitian else _svdvals(a)


def _pinv(a: Any, rcond: Any = None) -> Any:
    """d(p) = -p da p + p p^T da^T (1 - a p) + (1 - p a) da^T p^T p, where the rank stays as it is"""

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        a, p, g = xs[0], ys[0], gs[0]
        q, h = transposed(p), transposed(g)
        left, right = np.eye(a.shape[-2]) - a @ p, np.eye(a.shape[-1]) - p @ a
        return [left @ h @ p @ q + q @ p @ h @ right - q @ g @ q]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        a, p, t = xs[0], ys[0], ts[0]
        q, u = transposed(p), transposed(t)
        left, right = np.eye(a.shape[-2]) - a @ p, np.eye(a.shape[-1]) - p @ a
        return [p @ q @ u @ left + right @ u @ q @ p - p @ t @ p]

    return _rule(lambda x: np.linalg.pinv(x, rcond), pull, push, a)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = real_array(a), real_array(b)
    _, residuals, rank, _ = np.linalg.lstsq(plain(a), plain(b), rcond)
    least = np.finfo(float).eps * max(a.shape) if rcond is None else rcond
    x = matmul(_pinv(a, least), b)
    if residuals.size:
        residuals = np.reshape(np.sum((b - matmul(a, x)) ** 2, axis=0), residuals.shape)
    return x, residuals, rank, _svdvals(a)


def _qr(a: Any, mode: str = "reduced") -> Any:
    """With c = da inv(r), x = q^T c and its antisymmetric part o: dq = c - q (x - o), dr = (x - o) r."""
    a = real_array(a)
    if mode not in ("reduced", "r") or a.shape[-2] < a.shape[-1]:
        raise UnsupportedError(
            f"numpy.linalg.qr with mode={mode!r} of a matrix of shape {a.shape}", "modes reduced or r"
        )

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        (q, r), (gq, gr) = ys, gs
        m = r @ transposed(np.triu(gr)) - transposed(gq) @ q
        return [transposed(np.linalg.solve(r, transposed(gq + q @ _from_lower(m))))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        q, r = ys
        c = transposed(np.linalg.solve(transposed(r), transposed(ts[0])))
        x = transposed(q) @ c
        upper = np.triu(x) + transposed(np.tril(x, -1))
        return [c - q @ upper, upper @ r]

    q, r = _rule(lambda x: tuple(np.linalg.qr(x)), pull, push, a)
    return r if mode == "r" else type(np.linalg.qr(np.eye(1)))(q, r)


def _rule(compute: Callable[..., Any], pull: Any, push: Any, *args: Any) -> Any:
    run = innermost([real_array(u) for u in args])
    if run is not None and not isinstance(run, Tape):
        raise UnsupportedError("numpy.linalg in a stage of the paper", "it as loops, or use the default engine")
    return by_rule(compute, pull, push, *args)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = real_array(x)
    matrix = (axis is None and x.ndim == 2 and ord is not None) or (
        axis is not None and np.ndim(axis) == 1 and len(axis) == 2
    )
    if axis is None and ord is None:
        made = np.sqrt(np.sum(x * x))
        return np.reshape(made, (1,) * x.ndim) if keepdims else made
    if matrix:
        axes = (0, 1) if axis is None else tuple(axis)
        if ord in (None, "fro"):
            return np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims))
        if ord in (1, -1, np.inf, -np.inf):
            rows, columns = axes if abs(ord) == 1 else axes[::-1]
            sums = np.sum(np.abs(x), axis=rows, keepdims=True)
            made = (np.max if ord > 0 else np.min)(sums, axis=columns, keepdims=True)
        elif ord in (2, -2, "nuc"):
            s = _svdvals(np.moveaxis(x, axes, (-2, -1)))
            made = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
            made = np.expand_dims(made, tuple(k % x.ndim for k in axes))
        else:
            raise ValueError(f"Invalid norm order {ord!r} for matrices")
        return made if keepdims else np.squeeze(made, axes)[()]
    axis = axis[0] if np.ndim(axis) else axis
    if ord in (None, 2):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.linalg.norm(plain(x), 0, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    sizes = np.abs(x)
    if ord == 1:
        return np.sum(sizes, axis=axis, keepdims=keepdims)
    return np.sum(sizes**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = real_array(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    lines = np.moveaxis(x, axes, range(-len(axes), 0))
    made = _norm(lines.reshape((*lines.shape[: x.ndim - len(axes)], -1)), ord, -1)
    return np.expand_dims(made, tuple(k % x.ndim for k in axes)) if keepdims else made


def _matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(x, ord, (-2, -1), keepdims)


def _cond(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        s = _svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return _matrix_norm(x, ord=p) * _matrix_norm(_inv(x), ord=p)


def _matrix_power(a: Any, n: int) -> Any:
    a = real_array(a)
    if n < 0:
        return _matrix_power(np.linalg.inv(a), -n)
    made: Any = None
    while n:
        if n % 2:
            made = a if made is None else matmul(made, a)
        n //= 2
        a = matmul(a, a) if n else a
    return np.broadcast_to(np.eye(a.shape[-1]), a.shape) if made is None else made


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.linalg.inv: _inv,
    np.linalg.solve: _solve,
    np.linalg.det: _det,
    np.linalg.slogdet: _slogdet,
    np.linalg.cholesky: _cholesky,
    np.linalg.norm: _norm,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.multi_dot: lambda arrays: reduce(matmul, arrays),
    np.linalg.eigh: _eigh,
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.eig: _eig,
    np.linalg.eigvals: lambda a: _eig(a)[0],
    np.linalg.svd: _svd,
    np.linalg.svdvals: _svdvals,
    np.linalg.pinv: _pinv,
    np.linalg.lstsq: _lstsq,
    np.linalg.qr: _qr,
    np.linalg.cond: _cond,
    np.linalg.vector_norm: _vector_norm,
    np.linalg.matrix_norm: _matrix_norm,
    np.linalg.matmul: matmul,
    np.linalg.outer: np.outer,
    np.linalg.tensordot: np.tensordot,
    np.linalg.vecdot: vecdot,
    np.linalg.cross: lambda x1, x2, axis=-1: np.cross(x1, x2, axis=axis),
    np.linalg.trace: lambda x, offset=0: np.trace(x, offset, -2, -1),
}
