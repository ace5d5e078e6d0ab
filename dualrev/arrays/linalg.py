"""numpy.linalg: one block for a whole matrix, by the rules of matrix calculus.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of cholesky: I. Murray, "Differentiation of the Cholesky decomposition", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dualrev.arrays.products import matmul, transposed
from dualrev.arrays.record import by_rule
from dualrev.arrays.storage import RealArray, innermost, real_array
from dualrev.errors import UnsupportedError
from dualrev.tape import Tape

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
    sign, _ = np.linalg.slogdet(real_array(a).x if isinstance(a, RealArray) else a)

    def compute(x: Any) -> Any:
        return np.linalg.slogdet(x)[1]

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        return [real_array(gs[0])[..., None, None] * transposed(np.linalg.inv(xs[0]))]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        return [np.sum(transposed(np.linalg.inv(xs[0])) * ts[0], axis=(-2, -1))]

    kind = type(np.linalg.slogdet(np.eye(1)))
    return kind(sign, _rule(compute, pull, push, a))


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    """d(L) = L phi(inv(L) da inv(L)^T), where phi takes the lower triangle and half of the diagonal.

    numpy reads the lower triangle of a only; so the derivatives by the entries above the diagonal are 0.
    """
    if upper:
        return transposed(_cholesky(transposed(a)))

    def phi(x: Any) -> Any:
        n = x.shape[-1]
        return x * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        factor, n = ys[0], ys[0].shape[-1]
        inverse = np.linalg.inv(factor)
        s = transposed(inverse) @ phi(transposed(factor) @ np.tril(gs[0])) @ inverse
        return [(s + transposed(s)) * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        factor = ys[0]
        inverse = np.linalg.inv(factor)
        below = np.tril(ts[0])
        symmetric = below + transposed(np.tril(ts[0], -1))
        return [factor @ phi(inverse @ symmetric @ transposed(inverse))]

    return _rule(np.linalg.cholesky, pull, push, a)


def _rule(compute: Callable[..., Any], pull: Any, push: Any, *args: Any) -> Any:
    run = innermost([real_array(u) for u in args])
    if run is not None and not isinstance(run, Tape):
        raise UnsupportedError("numpy.linalg in a stage of the paper", "it as loops, or use the default engine")
    return by_rule(compute, pull, push, *args)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
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
            return made if keepdims else np.squeeze(made, axes)
        raise UnsupportedError(f"numpy.linalg.norm of a matrix with ord={ord!r}", "ord 'fro', 1, -1, inf or -inf")
    axis = axis[0] if np.ndim(axis) else axis
    if ord in (None, 2):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.linalg.norm(x.x if isinstance(x, RealArray) else x, 0, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    sizes = np.abs(x)
    return (
        np.sum(sizes, axis=axis, keepdims=keepdims)
        if ord == 1
        else np.sum(sizes**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)
    )


def _matrix_power(a: Any, n: int) -> Any:
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
}
