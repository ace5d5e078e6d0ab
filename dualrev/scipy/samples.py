"""Integrals of samples: `trapezoid`, `simpson`, `romb` and the cumulative ones, by the samples and their abscissas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import integrate as _integrate

from dualrev.eager.arrays.linear_algebra.matrices import of_matrices
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.scipy.values import valued_by

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def _last(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return the samples with their axis last, and the spacings along it: an array, or a number."""
    y = of_matrices(y)
    moved = np.moveaxis(y, axis, -1)
    if x is None:
        return moved, real_array(dx)
    x = real_array(x)
    return moved, np.diff(x) if x.ndim == 1 else np.diff(np.moveaxis(x, axis, -1))


def _every(spacing: Any, n: int) -> Any:
    """Return n spacings."""
    return spacing if np.ndim(spacing) else np.broadcast_to(spacing, (n,))


def _over(p: Any, q: Any) -> Any:
    """Return p / q, and 0 where q is 0, as SciPy does for samples at the same point."""
    nothing = plain(q) == 0.0
    return np.where(nothing, 0.0, p / np.where(nothing, 1.0, q)) if np.any(nothing) else p / q


@valued_by(_integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule.

    >>> float(trapezoid([1.0, 3.0]))
    2.0
    """
    y, d = _last(y, x, dx, axis)
    return np.sum(d * (y[..., 1:] + y[..., :-1]) * 0.5, axis=-1)


@valued_by(_integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Cumulative integral by the trapezoidal rule.

    >>> cumulative_trapezoid([1.0, 3.0, 3.0])
    array([2., 5.])
    """
    y, d = _last(y, x, dx, axis)
    made = np.cumsum(d * (y[..., 1:] + y[..., :-1]) * 0.5, axis=-1)
    if initial is not None:
        made = np.concatenate([np.full((*made.shape[:-1], 1), float(initial)), made], axis=-1)
    return np.moveaxis(made, -1, axis)


@valued_by(_integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by Simpson's rule; of an even number of samples, with Cartwright's correction for the last interval.

    >>> float(simpson([0.0, 1.0, 4.0]))
    2.6666666666666665
    """
    y, d = _last(y, x, dx, axis)
    n = y.shape[-1]
    d = _every(d, n - 1)
    if n == 2:
        return 0.5 * d[..., 0] * (y[..., 0] + y[..., 1])
    pairs = n - 1 - (n - 1) % 2
    a, b = d[..., 0:pairs:2], d[..., 1:pairs:2]
    first, middle, last = y[..., 0 : pairs - 1 : 2], y[..., 1:pairs:2], y[..., 2 : pairs + 1 : 2]
    both = a + b
    terms = first * (2.0 - _over(b, a)) + middle * both * _over(both, a * b) + last * (2.0 - _over(a, b))
    made = np.sum(both / 6.0 * terms, axis=-1)
    if n % 2:
        return made
    a, b = d[..., -2], d[..., -1]
    alpha, beta = _over(2.0 * b**2 + 3.0 * a * b, 6.0 * (a + b)), _over(b**2 + 3.0 * a * b, 6.0 * a)
    return made + alpha * y[..., -1] + beta * y[..., -2] - _over(b**3, 6.0 * a * (a + b)) * y[..., -3]


def _parabolas(y: Any, d: Any) -> Any:
    """Return the integrals over the first interval of each parabola through three samples."""
    a, b = d[..., :-1], d[..., 1:]
    part = a / (a + b)
    bend = part * (a / b)
    return a / 6.0 * ((3.0 - part) * y[..., :-2] + (3.0 + bend + part) * y[..., 1:-1] - bend * y[..., 2:])


@valued_by(_integrate.cumulative_simpson)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Cumulative integral by Simpson's rule.

    >>> cumulative_simpson([0.0, 1.0, 4.0]).round(6)
    array([0.333333, 2.666667])
    """
    y, d = _last(y, x, dx, axis)
    n = y.shape[-1]
    d = _every(d, n - 1)
    if n < 3:
        made = np.cumsum(d * (y[..., 1:] + y[..., :-1]) * 0.5, axis=-1)
    else:
        ahead, back = _parabolas(y, d), _parabolas(y[..., ::-1], d[..., ::-1])[..., ::-1]
        k = np.arange(n - 1)
        by_ahead = (k % 2 == 0) & (k < n - 2)
        made = np.cumsum(np.where(by_ahead, ahead[..., k % (n - 2)], back[..., np.maximum(k - 1, 0)]), axis=-1)
    if initial is not None:
        initial = np.moveaxis(real_array(initial), axis, -1) if np.ndim(initial) else real_array(initial)
        made = made + initial
        made = np.concatenate([np.broadcast_to(initial, (*made.shape[:-1], 1)), made], axis=-1)
    return np.moveaxis(made, -1, axis)


@valued_by(_integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integral by Romberg's rule, of 2^k + 1 samples with equal spacings.

    >>> float(romb([0.0, 1.0, 4.0]))
    2.6666666666666665
    """
    y, d = _last(y, None, dx, axis)
    n = y.shape[-1] - 1
    rows = []
    for k in range(n.bit_length()):
        step = n >> k
        rows.append(d * step * (np.sum(y[..., ::step], axis=-1) - 0.5 * (y[..., 0] + y[..., -1])))
    for order in range(1, len(rows)):
        rows = [fine + (fine - coarse) / (4.0**order - 1.0) for coarse, fine in itertools.pairwise(rows)]
    return rows[0]
