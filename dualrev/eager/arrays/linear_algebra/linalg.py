"""numpy.linalg: one block for a whole matrix, real or complex, by the rules of matrix calculus.

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; of pinv: G. Golub and V. Pereyra, 1973; of what it cuts away: the derivative of a function of
singular values (R. Bhatia, "Matrix Analysis", 1997, section V.3). The factors of matrices are in factors.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import imag_part, is_complex, join, real_part, values
from dualrev.eager.arrays.linear_algebra import factors
from dualrev.eager.arrays.linear_algebra.factors import svdvals
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, conjugated, of_matrices, rule
from dualrev.eager.arrays.linear_algebra.products import matmul, transposed, vecdot
from dualrev.eager.arrays.memory.storage import holds_duals
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS"]

SINGULAR = 1e5  # a condition number: above, products with inverses lose too many digits


def _inv(a: Any) -> Any:
    """d(inv a) = -inv(a) da inv(a)"""

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -y^H g y^H."""
        y = adjoint(ys[0])
        return [-(y @ gs[0] @ y)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return -y da y."""
        return [-(ys[0] @ ts[0] @ ys[0])]

    return rule(np.linalg.inv, pull, push, of_matrices(a))


def _solve(a: Any, b: Any) -> Any:
    """d(solve(a, b)) = solve(a, db - da y)"""
    a, b = of_matrices(a), of_matrices(b)
    if b.ndim == 1:
        return _solve(a, b.reshape(-1, 1))[..., 0]
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if (a.shape[:-2], b.shape[:-2]) != (shape, shape):
        a, b = (np.broadcast_to(x, shape + x.shape[-2:]) for x in (a, b))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return -w y^H and w, where a^H w = g."""
        g = np.linalg.solve(adjoint(xs[0]), gs[0])
        return [-(g @ adjoint(ys[0])), g]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return a^-1 (db - da y)."""
        (da, db), y = ts, ys[0]
        right = -(da @ y) if db is None else db if da is None else db - da @ y
        return [np.linalg.solve(xs[0], right)]

    return rule(np.linalg.solve, pull, push, a, b)


def _det(a: Any) -> Any:
    """d(det a) = <cofactors of a, da>"""

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return g times the conjugate cofactors."""
        return [_of_each(gs[0]) * conjugated(_cofactors(xs[0]))]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the sum of cofactors times da."""
        return [np.sum(_cofactors(xs[0]) * ts[0], axis=(-2, -1))]

    return rule(np.linalg.det, pull, push, of_matrices(a))


def _of_each(g: Any) -> Any:
    """A number for each matrix, as a factor of it."""
    return np.reshape(g, (*np.shape(values(g)), 1, 1))


def _cofactors(a: Any) -> Any:
    """The derivatives of det by the entries: det(a) inv(a)^T, and its limit where a is singular."""
    if a.shape[-1] < 2:
        return np.ones(a.shape)
    if not isinstance(a, np.ndarray):
        regular = np.max(np.linalg.cond(values(a)), initial=0.0) < SINGULAR
        return _of_each(np.linalg.det(a)) * transposed(np.linalg.inv(a)) if regular else _minors(a)
    u, s, vh = np.linalg.svd(a)
    others = np.stack([np.prod(np.delete(s, k, axis=-1), axis=-1) for k in range(a.shape[-1])], axis=-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * ((conjugated(u) * others[..., None, :]) @ conjugated(vh))


def _minors(a: Any) -> Any:
    """The same by determinants of the matrices without a row and a column: as many as entries, and never a division."""
    n = a.shape[-1]
    left = np.array([np.delete(np.arange(n), k) for k in range(n)])
    signs = np.where(np.add.outer(np.arange(n), np.arange(n)) % 2, -1.0, 1.0)
    return signs * np.linalg.det(a[..., left[:, None, :, None], left[None, :, None, :]])


def _slogdet(a: Any) -> Any:
    """d(log(det a)) = <inv(a)^T, da>, whose real part is log |det a|, and whose imaginary part is the sign's angle."""
    a = of_matrices(a)
    sign, _ = np.linalg.slogdet(values(a))

    def compute(x: Any) -> Any:
        """Return log|det|, and the phase as its imaginary part for complex matrices."""
        s, y = np.linalg.slogdet(x)
        return join(y, np.angle(s)) if is_complex(x) else y

    def slope(x: Any) -> Any:  # NaN where the matrix is singular
        """Return the transposed inverse, the derivative of log det."""
        return transposed(np.linalg.inv(np.where(np.reshape(sign, (*np.shape(sign), 1, 1)) == 0, np.nan, x)))

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return g times the conjugate of the transposed inverse."""
        return [_of_each(gs[0]) * conjugated(slope(xs[0]))]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the trace of a^-1 da."""
        return [np.sum(slope(xs[0]) * ts[0], axis=(-2, -1))]

    made = rule(compute, pull, push, a)
    kind = type(np.linalg.slogdet(np.eye(1)))
    if not is_complex(a):
        return kind(sign, made)
    turn: Any = np.exp(1j * imag_part(made))
    if np.any(sign == 0):
        turn = np.where(sign == 0, 0.0, turn)
    return kind(turn, real_part(made))


def _pinv(a: Any, rcond: Any = None) -> Any:
    """d(p) = -p da p + p p^H da^H (1 - a p) + (1 - p a) da^H p^H p, and what `_with_change_by_cut` adds to it."""

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of a: three terms, for its inverse and for its two null spaces."""
        a, p, g = xs[0], ys[0], gs[0]
        q, h = adjoint(p), adjoint(g)
        left, right = np.eye(a.shape[-2]) - a @ p, np.eye(a.shape[-1]) - p @ a
        return [_with_change_by_cut(left @ h @ p @ q + q @ p @ h @ right - q @ g @ q, h, a, rcond)]

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangent of the pseudo-inverse: three terms, for the inverse and for both null spaces."""
        a, p, t = xs[0], ys[0], ts[0]
        q, u = adjoint(p), adjoint(t)
        left, right = np.eye(a.shape[-2]) - a @ p, np.eye(a.shape[-1]) - p @ a
        made = p @ q @ u @ left + right @ u @ q @ p - p @ t @ p
        return [adjoint(_with_change_by_cut(adjoint(made), t, a, rcond))]

    return rule(lambda x: np.linalg.pinv(x, rcond), pull, push, of_matrices(a))


def _with_change_by_cut(made: Any, t: Any, a: Any, rcond: Any) -> Any:
    """Add to `made` the terms of the singular values of a that pinv cut away and that are not 0, for a tangent t of a.

    Let s[k] be kept and s[j] be cut away, e = u^H t v, r = s[j] / s[k] and w = r / (s[k]^2 - s[j]^2). The sum of terms
    is u x v^H, where x[k, j] = w (r e[k, j] + conj(e[j, k])), x[j, k] = w (r e[j, k] + conj(e[k, j])), and the rest of
    x is 0.
    """
    s = np.linalg.svd(values(a), compute_uv=False)
    largest = np.max(s, axis=-1, keepdims=True, initial=0.0)
    kept = s > (1e-15 if rcond is None else np.expand_dims(rcond, -1)) * largest
    rounded = s <= 4 * max(a.shape[-2:]) * np.spacing(largest)
    pairs = kept[..., :, None] & ~(kept | rounded)[..., None, :]
    if not np.any(pairs):
        return made
    u, s, v = np.linalg.svd(a, full_matrices=False)
    large, small = s[..., :, None], s[..., None, :]
    r = np.where(pairs, small / np.where(pairs, large, 1.0), 0.0)
    w = np.where(pairs, r / np.where(pairs, large - small, 1.0) / (large + small), 0.0)
    r, w = r + transposed(r), w + transposed(w)
    e = adjoint(u) @ t @ adjoint(v)
    return made + u @ (w * (r * e + adjoint(e))) @ v


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = of_matrices(a), of_matrices(b)
    _, residuals, rank, _ = np.linalg.lstsq(values(a), values(b), rcond)
    least = np.finfo(float).eps * max(a.shape) if rcond is None else rcond
    x = np.matmul(_pinv(a, least), b)
    if residuals.size:
        rest = b - np.matmul(a, x)
        residuals = np.reshape(np.sum(_squares(rest), axis=0), residuals.shape)
    return x, residuals, rank, svdvals(a)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = of_matrices(x)
    if holds_duals(ord):
        raise UnsupportedError("numpy.linalg.norm by its order", "np.sum(np.abs(x) ** ord) ** (1.0 / ord)")
    matrix = (axis is None and x.ndim == 2 and ord is not None) or (
        axis is not None and np.ndim(axis) == 1 and len(axis) == 2
    )
    if (ord is not None and axis is None and x.ndim not in (1, 2)) or (np.ndim(axis) and len(axis) not in (1, 2)):
        raise ValueError("Improper number of dimensions to norm.")
    if axis is None and ord is None:
        made = _root_of_squares(x, None, False)
        return np.reshape(made, (1,) * x.ndim) if keepdims else made
    if matrix:
        axes = (0, 1) if axis is None else tuple(axis)
        if ord in (None, "fro"):
            return _root_of_squares(x, axes, keepdims)
        if ord in (1, -1, np.inf, -np.inf):
            rows, columns = axes if abs(ord) == 1 else axes[::-1]
            sums = np.sum(np.abs(x), axis=rows, keepdims=True)
            made = (np.max if ord > 0 else np.min)(sums, axis=columns, keepdims=True)
        elif ord in (2, -2, "nuc"):
            s = svdvals(np.moveaxis(x, axes, (-2, -1)))
            made = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
            made = np.expand_dims(made, tuple(k % x.ndim for k in axes))
        else:
            raise ValueError(f"Invalid norm order {ord!r} for matrices")
        return made if keepdims else np.squeeze(made, axes)[()]
    axis = axis[0] if np.ndim(axis) else axis
    if ord in (None, 2):
        return _root_of_squares(x, axis, keepdims)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.linalg.norm(values(x), 0, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    sizes = np.abs(x)
    if ord == 1:
        return np.sum(sizes, axis=axis, keepdims=keepdims)
    return np.power(np.sum(sizes**ord, axis=axis, keepdims=keepdims), 1.0 / ord)


def _root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares; where elements are infinite, by hypot of those: it has the limit."""
    made = np.sqrt(np.sum(_squares(x), axis=axis, keepdims=keepdims))
    infinite = False if is_complex(x) else np.isinf(values(x))
    if not np.any(infinite):
        return made
    axes = tuple(range(x.ndim)) if axis is None else tuple(k % x.ndim for k in np.atleast_1d(axis).tolist())
    masked = np.moveaxis(np.where(infinite, x, 0.0), axes, range(-len(axes), 0))
    lines = np.reshape(masked, (*masked.shape[: x.ndim - len(axes)], -1))
    of_infinite = lines[..., 0]
    for k in range(1, lines.shape[-1]):
        of_infinite = np.hypot(of_infinite, lines[..., k])
    limit = np.reshape(of_infinite, np.shape(made))
    return np.where(np.isinf(values(made)) & np.any(infinite, axis=axis, keepdims=keepdims), limit, made)[()]


def _squares(x: Any) -> Any:
    """Return the squared moduli, which have a derivative where an element is 0; abs has none."""
    return real_part(x) ** 2 + imag_part(x) ** 2 if is_complex(x) else x * x


def _vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = of_matrices(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    lines = np.moveaxis(x, axes, range(-len(axes), 0))
    made = _norm(lines.reshape((*lines.shape[: x.ndim - len(axes)], -1)), ord, -1)
    return np.expand_dims(made, tuple(k % x.ndim for k in axes)) if keepdims else made


def _matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(x, ord, (-2, -1), keepdims)


def _cond(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return _matrix_norm(x, ord=p) * _matrix_norm(_inv(x), ord=p)


def _matrix_power(a: Any, n: int) -> Any:
    a = of_matrices(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        return np.linalg.matrix_power(values(a), n)  # numpy's own error
    if n < 0:
        return _matrix_power(np.linalg.inv(a), -n)
    made: Any = None
    while n:
        if n % 2:
            made = a if made is None else np.matmul(made, a)
        n //= 2
        a = np.matmul(a, a) if n else a
    return np.broadcast_to(np.eye(a.shape[-1]), a.shape) + 0.0 * values(a) if made is None else made


def _outer(x1: Any, x2: Any) -> Any:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(f"Input arrays must be one-dimensional, they have {np.ndim(x1)} and {np.ndim(x2)} axes")
    return np.outer(x1, x2)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = of_matrices(a), of_matrices(b)
    last = [k % a.ndim for k in axes or ()]
    a = np.transpose(a, [*(k for k in range(a.ndim) if k not in last), *last])
    shape = a.shape[-(a.ndim - b.ndim) :]  # all of it, as in numpy, if b has as many axes
    return np.reshape(np.linalg.solve(np.reshape(a, (-1, math.prod(shape))), np.ravel(b)), shape)


def _tensorinv(a: Any, ind: int = 2) -> Any:
    a = of_matrices(a)
    first, last = a.shape[:ind], a.shape[ind:]
    return np.reshape(np.linalg.inv(np.reshape(a, (math.prod(first), -1))), last + first)


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.linalg.inv: _inv,
    np.linalg.tensorinv: _tensorinv,
    np.linalg.tensorsolve: _tensorsolve,
    np.linalg.solve: _solve,
    np.linalg.det: _det,
    np.linalg.slogdet: _slogdet,
    np.linalg.cholesky: factors.cholesky,
    np.linalg.norm: _norm,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.multi_dot: lambda arrays: reduce(np.matmul, map(of_matrices, arrays)),
    np.linalg.eigh: factors.eigh,
    np.linalg.eigvalsh: factors.eigvalsh,
    np.linalg.eig: factors.eig,
    np.linalg.eigvals: lambda a: factors.eig(a)[0],
    np.linalg.svd: factors.svd,
    np.linalg.svdvals: svdvals,
    np.linalg.pinv: _pinv,
    np.linalg.lstsq: _lstsq,
    np.linalg.qr: factors.qr,
    np.linalg.cond: _cond,
    np.linalg.vector_norm: _vector_norm,
    np.linalg.matrix_norm: _matrix_norm,
    np.linalg.matmul: matmul,
    np.linalg.outer: _outer,
    np.linalg.tensordot: np.tensordot,
    np.linalg.vecdot: vecdot,
    np.linalg.cross: lambda x1, x2, axis=-1: np.cross(x1, x2, axis=axis),
    np.linalg.trace: lambda x, offset=0: np.trace(x, offset, -2, -1),
}
