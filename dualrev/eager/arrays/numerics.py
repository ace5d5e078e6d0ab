"""Numerical methods of numpy that are formulas in other functions: differences, interpolation, statistics.

They are written with numpy's functions, which do the differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dualrev.eager.arrays import polynomials
from dualrev.eager.arrays.memory.record import sum_of_rows
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.eager.arrays.reductions import NOT_GIVEN
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS"]

# Differences and sums of them


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NOT_GIVEN, append: Any = NOT_GIVEN) -> Any:
    a = real_array(a)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    ends = [[] if end is NOT_GIVEN else [_column(end, a.shape, axis)] for end in (prepend, append)]
    a = np.moveaxis(np.concatenate([*ends[0], a, *ends[1]], axis=axis), axis, -1)
    for _ in range(n):
        a = a[..., 1:] - a[..., :-1]
    return np.moveaxis(a, -1, axis)


def _column(end: Any, shape: tuple[int, ...], axis: int) -> Any:
    end = real_array(end)
    length_one = [*shape]
    length_one[axis] = 1
    return end if end.ndim else np.broadcast_to(end, length_one)


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ends = [[] if end is None else [np.ravel(real_array(end))] for end in (to_begin, to_end)]
    return np.concatenate([*ends[0], _diff(np.ravel(real_array(ary))), *ends[1]])


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = real_array(f)
    axes = list(range(f.ndim)) if axis is None else [*normalize_axis_tuple(axis, f.ndim)]
    if len(varargs) not in (0, 1, len(axes)) or (len(varargs) == 1 != len(axes) and np.ndim(varargs[0])):
        raise TypeError("invalid number of arguments")
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    made = [_slopes(f, step, k, edge_order) for step, k in zip(steps, axes, strict=True)]
    return made[0] if len(made) == 1 and np.ndim(axis) == 0 else tuple(made)


def _slopes(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    """The derivative of the parabola through each point and its neighbours; at the ends of order 1, of a line."""
    f, step = np.moveaxis(f, axis, -1), real_array(step)
    n = f.shape[-1]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    h = np.diff(step) if step.ndim else np.broadcast_to(step, (n - 1,))
    if len(h) != n - 1:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    s = np.diff(f, axis=-1) / h
    inner = (s[..., :-1] * h[1:] + s[..., 1:] * h[:-1]) / (h[1:] + h[:-1])
    first, last = s[..., :1], s[..., -1:]
    if edge_order == 2:
        first = first + h[0] * (s[..., :1] - s[..., 1:2]) / (h[0] + h[1])
        last = last + h[-1] * (s[..., -1:] - s[..., -2:-1]) / (h[-1] + h[-2])
    return np.moveaxis(np.concatenate([first, inner, last], axis=-1), -1, axis)


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    y = real_array(y)
    widths: Any = dx if x is None else np.diff(real_array(x), axis=-1 if np.ndim(x) == 1 else axis)
    (along,) = normalize_axis_tuple(axis, y.ndim)
    if x is not None and np.ndim(x) == 1:
        widths = np.reshape(widths, [len(widths) if k == along else 1 for k in range(y.ndim)])
    before = (slice(None),) * along
    return np.sum(widths * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]), axis=axis) / 2.0


# Grids and interpolation


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, axis: int = 0) -> Any:
    start, stop = real_array(start), real_array(stop)
    intervals = num - 1 if endpoint else num
    step = (stop - start) / intervals if intervals > 0 else stop - start
    y = np.arange(num).reshape(-1, *(1,) * max(start.ndim, stop.ndim)) * step + start
    if endpoint and num > 1:
        y[-1] = stop
    y = np.moveaxis(y, 0, axis)
    return (y, step if intervals > 0 else math.nan) if retstep else y


def _logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, axis: int = 0) -> Any:
    return np.power(base, _linspace(start, stop, num, endpoint, axis=axis))


def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, axis: int = 0) -> Any:
    sign = np.sign(plain(real_array(start)))
    if np.any(sign * plain(real_array(stop)) <= 0):
        raise UnsupportedError("numpy.geomspace between numbers of different signs", "numpy.linspace")
    return sign * np.exp(_linspace(np.log(sign * start), np.log(sign * stop), num, endpoint, axis=axis))


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear, by the formula of each piece; constant outside."""
    x, xp, fp = real_array(x), real_array(xp), real_array(fp)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError(f"interp: xp and fp have to be vectors, they have {xp.ndim} and {fp.ndim} axes")
    if not len(xp):
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        left = right = None
        x, xp = x % period, xp % period
        order = np.argsort(plain(xp))
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    low, high = plain(x) < plain(xp)[0], plain(x) > plain(xp)[-1]
    x = np.where(low, xp[0], np.where(high, xp[-1], x))
    at = np.clip(np.searchsorted(plain(xp), plain(x), side="right") - 1, 0, max(len(xp) - 2, 0))
    beyond = np.minimum(at + 1, len(xp) - 1)
    at = np.where(plain(xp)[beyond] == plain(xp)[at], beyond, at)  # the last knots coincide, and x with them
    width = np.where(beyond > at, xp[beyond] - xp[at], 1.0)
    inside = fp[at] + (fp[beyond] - fp[at]) / width * (x - xp[at])
    made = np.where(low, fp[0] if left is None else left, np.where(high, fp[-1] if right is None else right, inside))
    return made[()] if isinstance(made, np.ndarray) else made  # of a number that lies outside, a constant


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2.0 * math.pi) -> Any:
    p = real_array(p)
    return p + (np.unwrap(plain(p), discont, axis, period=plain(period)) - plain(p))


def _sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); near 0 its series, so that all derivatives are there."""
    y = np.pi * real_array(x)[()]
    near = np.abs(plain(y)) < 0.25
    z = np.where(near, y, 0.0) ** 2
    series = 1.0 - z / 6 * (1 - z / 20 * (1 - z / 42 * (1 - z / 72 * (1 - z / 110 * (1 - z / 156)))))
    far = np.where(near, 1.0, y)
    return np.where(near, series, np.sin(far) / far)


def _meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    grids = [real_array(x).reshape((1,) * k + (-1,) + (1,) * (len(xi) - k - 1)) for k, x in enumerate(xi)]
    if indexing == "xy" and len(xi) > 1:
        grids = [np.swapaxes(g, 0, 1) for g in grids]
    made = tuple(grids) if sparse else np.broadcast_arrays(*grids)
    return tuple(g.copy() for g in made) if copy else made


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    largest = np.finfo(float).max
    if not copy:
        raise UnsupportedError("numpy.nan_to_num with copy=False", "x[...] = numpy.nan_to_num(x)")
    x = np.where(np.isnan(x), nan, real_array(x))
    x = np.where(plain(x) == np.inf, largest if posinf is None else posinf, x)
    return np.where(plain(x) == -np.inf, -largest if neginf is None else neginf, x)


# Statistics


def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    rows = _variables(m, rowvar)
    if not len(rows):
        return np.zeros((0, 0))
    if y is not None:
        rows = np.concatenate([rows, _variables(y, rowvar or np.ndim(y) < 2 or len(y) == 1)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    frequency, weights = (np.ones(rows.shape[1]) if w is None else real_array(w) for w in (fweights, aweights))
    w = frequency * weights
    total = np.sum(w)
    lost = ddof if aweights is None else ddof * np.sum(w * weights) / total
    if rows.shape[1] == 1:
        rows = plain(rows)  # one observation is its own mean, whatever it is
    if rows.shape[1]:
        rows = rows - np.average(rows, axis=1, weights=w)[:, None]
    return np.squeeze(np.matmul(rows * w, rows.T) / (total - lost))[()]


def _variables(m: Any, rowvar: bool) -> Any:
    m = real_array(m)
    if m.ndim > 2:
        raise ValueError("numpy.cov and numpy.corrcoef: an array has more than 2 dimensions")
    rows = np.atleast_2d(m)
    return rows if rowvar or m.ndim < 2 else rows.T


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = _cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    deviations = np.sqrt(np.diag(c))
    return c / np.outer(deviations, deviations)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if not np.size(x):
        return np.bincount(x, plain(weights), minlength)  # zeros, of ints where there are none
    n = len(np.bincount(x, minlength=minlength))
    return sum_of_rows(real_array(weights), np.asarray(x), n)


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Counts are constants; the edges move with the extremes or the range, and sums of weights with the weights."""
    shape = np.shape(a)
    a = np.ravel(real_array(a))
    values = plain(a)
    limits: Any = None if range is None else tuple(float(plain(real_array(x))) for x in range)
    counts, plain_edges = np.histogram(values, plain(real_array(bins)) if np.ndim(bins) else bins, limits)
    edges: Any = plain_edges
    if np.ndim(bins):
        edges = real_array(bins)
    elif a.size or range is not None:
        low, high = (np.min(a), np.max(a)) if range is None else range
        if plain_edges[0] < plain(real_array(low)):  # numpy makes room around a single value
            low, high = low - 0.5, high + 0.5
        edges = _linspace(low, high, len(counts) + 1)
    if weights is not None:
        if np.shape(weights) != shape:
            raise ValueError("weights should have the same shape as a.")
        chosen = (values >= plain_edges[0]) & (values <= plain_edges[-1])
        places = np.searchsorted(plain_edges, values[chosen], side="right") - 1
        weights = np.ravel(real_array(weights))[chosen]
        counts = sum_of_rows(real_array(weights), np.minimum(places, len(counts) - 1), len(counts))
    return (counts / np.diff(edges) / np.sum(counts) if density else counts), edges


def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    lines = np.moveaxis(real_array(arr), axis, -1)
    axis = axis % lines.ndim
    count = math.prod(lines.shape[:-1])
    if not count:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [real_array(func1d(line, *args, **kwargs)) for line in lines.reshape(count, lines.shape[-1])]
    new = made[0].shape
    whole = np.stack(made).reshape(lines.shape[:-1] + new)
    return np.moveaxis(whole, range(-len(new), 0), range(axis, axis + len(new)))


def _apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    a = real_array(a)
    for axis in np.atleast_1d(axes).tolist():
        made = func(a, axis)
        a = made if np.ndim(made) == a.ndim else np.expand_dims(made, axis)
    return a


HANDLERS: dict[Any, Callable[..., Any]] = {
    **polynomials.HANDLERS,
    np.apply_along_axis: _apply_along_axis,
    np.apply_over_axes: _apply_over_axes,
    np.diff: _diff,
    np.ediff1d: _ediff1d,
    np.gradient: _gradient,
    np.trapezoid: _trapezoid,
    np.linspace: _linspace,
    np.logspace: _logspace,
    np.geomspace: _geomspace,
    np.interp: _interp,
    np.meshgrid: _meshgrid,
    np.nan_to_num: _nan_to_num,
    np.unwrap: _unwrap,
    np.sinc: _sinc,
    np.cov: _cov,
    np.corrcoef: _corrcoef,
    np.bincount: _bincount,
    np.histogram: _histogram,
}
