"""numpy's polynomials, and their products: convolutions, which are a block of their own.

The others are written with numpy's functions, which do the differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.complex.rules import by_rule_of_parts
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import innermost, plain, real_array, to_objects
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS", "roots"]


def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a, v = np.atleast_1d(real_array(a)), np.atleast_1d(real_array(v))
    if len(v) > len(a):
        a, v = v, a
    n, m = len(a), len(v)
    run = innermost([a, v])
    if run is not None and not isinstance(run, Tape):
        return np.convolve(to_objects(a), to_objects(v), mode)
    full = by_rule(np.convolve, _pull_convolve, _push_convolve, a, v, keeps_value=False)
    start = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    return full[start : start + length]


def _pull_convolve(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
    return [np.correlate(gs[0], xs[1], "valid"), np.correlate(gs[0], xs[0], "valid")]


def _push_convolve(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
    moving = [t is not None and (t.__class__ is not np.ndarray or bool(np.any(t))) for t in ts]
    terms = [np.convolve(t, other) for t, other, moves in zip(ts, xs[::-1], moving, strict=True) if moves]
    return [sum(terms, np.zeros(len(xs[0]) + len(xs[1]) - 1))]


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    if not np.ndim(a) or not np.ndim(v):
        raise ValueError("correlate: an operand is a number; both have to be vectors")
    a, v = np.atleast_1d(real_array(a)), np.atleast_1d(real_array(v))
    return np.flip(_correlate(v, a, mode)) if len(v) > len(a) else _convolve(a, np.flip(v), mode)


def _polyval(p: Any, x: Any) -> Any:
    x = real_array(x)[()]
    y = x * 0.0
    for coefficient in real_array(p):
        y = y * x + coefficient
    return y


def _polyadd(a1: Any, a2: Any) -> Any:
    a, b = (np.atleast_1d(real_array(u)) for u in (a1, a2))
    more = len(a) - len(b)
    if more < 0:
        a = np.concatenate([np.zeros(-more), a])
    elif more > 0:
        b = np.concatenate([np.zeros(more), b])
    return a + b


def _polysub(a1: Any, a2: Any) -> Any:
    return _polyadd(a1, -1.0 * real_array(a2))


def _polymul(a1: Any, a2: Any) -> Any:
    return _convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


def _without_leading_zeros(p: Any) -> Any:
    p = np.atleast_1d(real_array(p))
    if p.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    if not len(p):
        return np.zeros(1)
    return p[min(np.flatnonzero(plain(p)), default=len(p) - 1) :]


def _polyder(p: Any, m: int = 1) -> Any:
    p = real_array(p)
    for _ in range(int(m)):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    p, m = real_array(p), int(m)
    constants = np.zeros(m) if k is None else np.atleast_1d(real_array(k))
    if len(constants) == 1 < m:
        constants = constants * np.ones(m)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = np.concatenate([p / np.arange(len(p), 0, -1), constants[i : i + 1]])
    return p


def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder, as numpy divides; how many coefficients the remainder has depends on their values."""
    u, v = (np.atleast_1d(real_array(x)) + 0.0 for x in (u, v))
    n = len(v) - 1
    scale, quotient = 1.0 / v[0], []
    r = u
    for k in range(len(u) - n):
        d = scale * r[k]
        quotient.append(d)
        r = np.concatenate([r[:k], r[k : k + n + 1] - d * v, r[k + n + 1 :]])
    while np.allclose(plain(r)[0], 0.0, rtol=1e-14) and len(r) > 1:
        r = r[1:]
    return real_array(quotient) if quotient else np.zeros(1), r


def roots(p: Any) -> Any:
    """dr = -dp(r) / p'(r) for each root r: a complex number, unless all of them are real."""
    p = np.atleast_1d(p if is_complex(p) else real_array(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    degree = len(p) - 1

    def powers(r: Any) -> Any:
        """Return the powers of the roots by which the coefficients are multiplied."""
        made = [np.ones(np.shape(r))]
        for _ in range(degree):
            made.append(made[-1] * r)
        return np.stack(made[::-1], axis=-1)

    def slopes(p: Any, r: Any, v: Any) -> Any:
        """Return -p'(r)."""
        return -(v[..., 1:] @ (p[:-1] * np.arange(degree, 0, -1)))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of the coefficients."""
        v = powers(ys[0])
        return [np.conj(v).T @ (gs[0] / np.conj(slopes(xs[0], ys[0], v)))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the roots."""
        v = powers(ys[0])
        return [(v @ ts[0]) / slopes(xs[0], ys[0], v)]

    if not len(np.roots(values(p))):
        return np.zeros(0)
    return by_rule_of_parts(np.roots, pull, push, p)


def _poly(seq_of_zeros: Any) -> Any:
    zeros = real_array(seq_of_zeros)
    if zeros.ndim != 1:
        raise UnsupportedError("numpy.poly of a matrix", "numpy.poly(numpy.linalg.eigvalsh(a)), if it is symmetric")
    made = np.ones(1)
    for zero in zeros:
        made = _polymul(made, np.stack([1.0, -zero]))
    return made


def _polyfit(x: Any, y: Any, deg: int, rcond: Any = None, *, w: Any = None) -> Any:
    """Least squares, with the columns scaled as numpy scales them."""
    x, y = real_array(x), real_array(y)
    if x.ndim != 1 or not len(x):
        raise TypeError("expected non-empty vector for x" if x.ndim == 1 else "expected 1D vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    columns = np.vander(x, int(deg) + 1)
    if w is not None:
        w = real_array(w)
        columns, y = columns * w[:, None], y * (w if y.ndim == 1 else w[:, None])
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    made = np.linalg.lstsq(columns / scale, y, rcond)[0]
    return made / (scale if made.ndim == 1 else scale[:, None])


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - numpy's name
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(np.shape(x)[0] if N is None else N)
    return real_array(x)[:, None] ** (powers if increasing else powers[::-1])


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.polyval: _polyval,
    np.polyadd: _polyadd,
    np.polysub: _polysub,
    np.polymul: _polymul,
    np.polyder: _polyder,
    np.polyint: _polyint,
    np.polydiv: _polydiv,
    np.roots: roots,
    np.poly: _poly,
    np.polyfit: _polyfit,
    np.vander: _vander,
}
