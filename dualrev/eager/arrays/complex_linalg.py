"""numpy.linalg of complex matrices, and eigenvalues that are complex.

    solve, inv      of the real matrix [[Re, -Im], [Im, Re]]
    det             d(det a) = det(a) <inv(a)^T, da>
    eig             with p = inv(v) da v: dw = diag(p), dv = v (p / gaps) + v c

where c keeps the columns of v as LAPACK scales them: of length 1, and with a largest component that is real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex_elements import as_held, recorded, refused
from dualrev.eager.arrays.complexes import as_parts, imag_part, is_complex, join, real_part, stripped, values
from dualrev.eager.arrays.record import by_rule
from dualrev.eager.arrays.storage import innermost, plain, real_array

__all__ = ["HANDLERS", "eig"]


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    matrix = np.ndim(values(x)) == 2 if axis is None else np.ndim(axis) == 1 and len(axis) == 2
    if matrix and ord in (2, -2, "nuc"):
        raise refused(f"numpy.linalg.norm with ord={ord!r}")
    if ord is None or ord == "fro" or (ord == 2 and not matrix):  # exact where an element is 0, as abs is not
        x, y = real_part(x), imag_part(x)
        return np.sqrt(np.sum(x**2 + y**2, axis=axis, keepdims=keepdims))
    return np.linalg.norm(np.abs(as_parts(x)), ord, axis, keepdims)


def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    if ord == 2:
        return _norm(x, None, axis, keepdims)
    return np.linalg.vector_norm(np.abs(as_parts(x)), axis=axis, keepdims=keepdims, ord=ord)


def _embedded(a: Any) -> Any:
    """A complex matrix as a real one of twice the size: [[Re, -Im], [Im, Re]]."""
    x, y = real_part(a), imag_part(a)
    return np.concatenate([np.concatenate([x, -y], -1), np.concatenate([y, x], -1)], -2)


def _halves(x: Any) -> Any:
    """The rows of the real parts, and those of the imaginary ones."""
    n = x.shape[-2] // 2
    return join(x[..., :n, :], x[..., n:, :])


def _inv(a: Any) -> Any:
    n = np.shape(values(a))[-1]
    return _halves(np.linalg.inv(_embedded(as_parts(a)))[..., :n])


def _solve(a: Any, b: Any) -> Any:
    a, b = as_parts(a), as_parts(b) if is_complex(b) else real_array(b)
    if b.ndim == 1:
        return _solve(a, b[:, None])[..., 0]
    return _halves(np.linalg.solve(_embedded(a), np.concatenate([real_part(b), imag_part(b)], -2)))


def _det(a: Any) -> Any:
    """d(det a) = det(a) <inv(a)^T, da>; the matrix has to be regular."""
    a = as_parts(a)
    run = innermost([real_part(a), imag_part(a)])
    if run is None:
        return as_held(np.linalg.det(values(a)), [a])
    x: Any = stripped(a, run)
    y = np.linalg.det(x)
    slopes = np.reshape(y, (*np.shape(values(y)), 1, 1)) * np.swapaxes(np.linalg.inv(x), -1, -2)
    reduced = (*np.shape(values(y)), 1, 1)
    return recorded(run, y, [(a, slopes)], np.shape(values(a)), reduced)  # type: ignore[arg-type]


def _matrix_power(a: Any, n: int) -> Any:
    a = as_parts(a) if n >= 0 else _inv(a)
    return reduce(np.matmul, [a] * abs(n)) if n else np.linalg.matrix_power(plain(real_part(a)), 0) + 0j


def eig(a: Any) -> tuple[Any, Any]:
    """The eigenvalues and the eigenvectors of matrices, as complex numbers."""

    def compute(*parts: Any) -> tuple[Any, ...]:
        w, v = np.linalg.eig(join(*parts) if len(parts) > 1 else parts[0])
        return real_part(w), imag_part(w), real_part(v), imag_part(v)

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        w, v, gw, gv = join(*ys[:2]), join(*ys[2:]), join(gs[0], -gs[1]), join(gs[2], -gs[3])
        largest = _largest(v)
        s = np.sum(gv * v, axis=-2, keepdims=True)
        size = np.sum(largest * real_part(v), axis=-2, keepdims=True)
        of_u = gv - real_part(s) * np.conj(v) - 1j * largest * (imag_part(s) / size)
        p = _over_gaps(np.swapaxes(v, -1, -2) @ of_u, w) + gw[..., None] * np.eye(np.shape(values(w))[-1])
        made = np.linalg.solve(np.swapaxes(v, -1, -2), p @ np.swapaxes(v, -1, -2))
        return [real_part(made), -imag_part(made)][: len(xs)]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, ...]:
        w, v = join(*ys[:2]), join(*ys[2:])
        t = [np.zeros(np.shape(x)) if t is None else t for t, x in zip(ts, xs, strict=True)]
        p = np.linalg.solve(v, (join(*t) if len(t) > 1 else t[0]) @ v)
        u = v @ _over_gaps(p, w)
        largest = _largest(v)
        size = np.sum(largest * real_part(v), axis=-2, keepdims=True)
        turned = np.sum(largest * imag_part(u), axis=-2, keepdims=True) / size
        dv = u - v * (real_part(np.sum(np.conj(v) * u, axis=-2, keepdims=True)) + 1j * turned)
        dw = np.diagonal(p, axis1=-2, axis2=-1)
        return real_part(dw), imag_part(dw), real_part(dv), imag_part(dv)

    parts = (real_part(a), imag_part(a)) if is_complex(a) else (a,)
    made = by_rule(compute, pull, push, *parts)
    return join(*made[:2]), join(*made[2:])


def _largest(v: Any) -> Any:
    """1 at the largest component of every column, 0 elsewhere."""
    sizes = np.abs(values(v))
    place = np.argmax(sizes, axis=-2, keepdims=True)
    made = np.zeros(sizes.shape)
    np.put_along_axis(made, place, 1.0, axis=-2)
    return made


def _over_gaps(p: Any, w: Any) -> Any:
    """The vectors of a repeated eigenvalue have no derivative; what does not depend on them has."""
    gaps = w[..., None, :] - w[..., :, None]
    equal = values(gaps) == 0
    nothing = (values(p) == 0) | np.eye(equal.shape[-1], dtype=bool)
    return p * np.where(equal, np.where(nothing, 0.0, np.inf), 1.0 / np.where(equal, 1.0, gaps))


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.linalg.norm: _norm,
    np.linalg.vector_norm: _vector_norm,
    np.linalg.inv: _inv,
    np.linalg.solve: _solve,
    np.linalg.det: _det,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.multi_dot: lambda arrays: reduce(np.matmul, arrays),
    np.linalg.eig: lambda a: type(np.linalg.eig(np.eye(1)))(*eig(as_parts(a))),
    np.linalg.eigvals: lambda a: eig(as_parts(a))[0],
}
