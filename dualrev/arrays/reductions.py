"""Sums, products, extremes and what is made of them: n elements are one contribution each, in one block."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from dualrev.arrays.record import by_rule, by_terms, ids_of
from dualrev.arrays.storage import RealArray, innermost, plain, real_array, strip, to_objects
from dualrev.errors import UnsupportedError
from dualrev.tape import Tape

__all__ = ["HANDLERS", "logsumexp"]

_NOTHING: Any = getattr(np, "_NoValue", None)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim if -ndim <= a < ndim else _out_of_range(a, ndim) for a in np.atleast_1d(axis).tolist())


def _out_of_range(axis: int, ndim: int) -> int:
    raise np.exceptions.AxisError(axis, ndim)


def _kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction that keeps its axes."""
    axes = _axes(axis, len(shape))
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def _rows(shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """To which element of the result every element contributes, flat; one number where there is only one."""
    kept = _kept(shape, axis)
    if math.prod(kept) == 1:
        return np.zeros(1, np.int64)
    return np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape).flatten()


def _reduction(
    name: str, partials: Callable[[Any, Any, np.ndarray, Any], Any], masked: float | None = None
) -> Callable[..., Any]:
    """A reduction as numpy has it, given dy/dx of x, of y with its axes kept, and of the axes."""
    func = getattr(np, name)

    def handler(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: Any = False,
        initial: Any = _NOTHING,
        where: Any = True,
    ) -> Any:
        a = real_array(a)
        keepdims = bool(keepdims) if keepdims is not _NOTHING else False
        if where is not True and where is not _NOTHING:
            if masked is None:
                raise UnsupportedError(f"numpy.{name} with where=", f"numpy.{name}(x[condition])")
            a = np.where(where, a, masked)
        run = innermost([a])
        if not isinstance(run, Tape):
            return func(plain(a) if run is None else to_objects(a), axis=axis, keepdims=keepdims)
        x = strip(a, run)
        y = func(x, axis=axis, keepdims=keepdims)
        p = partials(x, np.reshape(y, _kept(a.shape, axis)), y, axis)
        made = _contribute(run, a, y, p, axis)
        return made if initial is _NOTHING else _COMBINE[name](made, initial)

    return handler


def _contribute(run: Tape, a: RealArray, y: Any, p: Any, axis: Any) -> Any:
    ids = ids_of(a, run)
    assert ids is not None
    return by_terms(run, y, [(_rows(a.shape, axis), p if np.ndim(p) == 0 else p.reshape(-1), ids.flatten())])


def _count(x: Any, axis: Any) -> int:
    return math.prod(x.shape[k] for k in _axes(axis, x.ndim))


def _extreme(x: Any, y: Any, _: Any, axis: Any) -> Any:
    """One for the extreme element; a tie is shared in equal parts."""
    x, y = plain(x), plain(y)
    chosen = (x == y) | (np.isnan(x) & np.isnan(y))
    return chosen / chosen.sum(axis=axis, keepdims=True)


def _others(x: Any, y: Any, _: Any, axis: Any) -> Any:
    """The product of all other elements: without dividing, since one may be 0."""
    axes = _axes(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    order = [*rest, *axes]
    lines = np.transpose(x, order).reshape(-1, math.prod(x.shape[k] for k in axes))
    before, after = np.ones((len(lines), 1)), np.ones((len(lines), 1))
    if lines.shape[1] > 1:
        before = np.concatenate([before, np.cumprod(lines[:, :-1], axis=1)], axis=1)
        after = np.concatenate([np.cumprod(lines[:, :0:-1], axis=1)[:, ::-1], after], axis=1)
    return np.transpose((before * after).reshape([x.shape[k] for k in order]), np.argsort(order))


def _variance(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: Any = False, **kwargs: Any
) -> Any:
    ddof = kwargs.pop("correction", ddof)
    if any(value is not _NOTHING and value is not True for value in kwargs.values()):
        raise UnsupportedError(f"numpy.var with {', '.join(kwargs)}", "numpy.var(x[condition])")
    a = real_array(a)
    deviation = a - np.mean(a, axis=axis, keepdims=True)
    total = np.sum(deviation * deviation, axis=axis, keepdims=bool(keepdims) if keepdims is not _NOTHING else False)
    return total / (_count(a, axis) - ddof)


def _standard_deviation(a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.sqrt(_variance(a, *args, **kwargs))


def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = real_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return by_rule(
        lambda x: np.cumsum(x, axis=axis),
        lambda xs, ys, gs: [np.flip(np.cumsum(np.flip(gs[0], axis), axis=axis), axis)],
        lambda xs, ys, ts: [np.cumsum(ts[0], axis=axis)],
        a,
    )


def _cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = real_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    if not isinstance(a, RealArray):
        return np.cumprod(a, axis=axis)
    slices: Any = np.moveaxis(cast(Any, a), axis, 0)
    made = [slices[0]] if len(slices) else []
    for k in range(1, len(slices)):
        made.append(made[-1] * slices[k])
    return np.stack(made, axis) if made else a.copy()


def logsumexp(a: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    """log(sum(exp(a))) over the axes, without overflow."""
    largest = np.max(plain(a), axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(a - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis) if axis is not None else np.ravel(total)[0]


def _average(a: Any, axis: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    if kwargs.get("returned"):
        raise UnsupportedError("numpy.average with returned=True", "numpy.average(x, weights=w), numpy.sum(w)")
    if weights is None:
        return np.mean(a, axis=axis)
    a, weights = real_array(a), real_array(weights)
    if weights.ndim != a.ndim:
        weights = np.swapaxes(np.broadcast_to(weights, (1,) * (a.ndim - 1) + weights.shape), -1, axis)
    return np.sum(a * weights, axis=axis) / np.sum(np.broadcast_to(weights, a.shape), axis=axis)


def _median(a: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    return _quantile(a, 0.5, axis=axis, keepdims=keepdims)


def _quantile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False, **_: Any) -> Any:
    """Between the two sorted elements around the place q * (n - 1)."""
    if method != "linear" or np.ndim(axis) or np.ndim(plain(q)):
        raise UnsupportedError(
            "numpy.quantile with several q, several axes or a method", "one q, one axis, the default"
        )
    a = real_array(a)
    shape = _kept(a.shape, axis)
    a = np.reshape(a, -1) if axis is None else np.moveaxis(a, axis, 0)
    a = np.sort(a, axis=0)
    place = q * (len(a) - 1)
    low = min(int(np.floor(plain(place))), max(len(a) - 2, 0))
    high = min(low + 1, len(a) - 1)
    made = a[low] + (a[high] - a[low]) * (place - low)
    made = np.where(np.isnan(plain(a[-1])), math.nan, made)
    return np.reshape(made, shape) if keepdims else made


def _percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return _quantile(a, q / 100.0, *args, **kwargs)


def _ignoring_nan(func: Any, fill: float) -> Callable[..., Any]:
    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        return func(np.where(np.isnan(plain(a)), fill, a), *args, **kwargs)

    return handler


def _nanmean(a: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    count = np.sum(~np.isnan(plain(a)), axis=axis, keepdims=keepdims)
    return np.sum(np.where(np.isnan(plain(a)), 0.0, a), axis=axis, keepdims=keepdims) / count


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    y = np.moveaxis(real_array(y), axis, -1)
    widths = dx if x is None else np.diff(real_array(x), axis=-1 if np.ndim(x) == 1 else axis)
    if x is not None and np.ndim(x) > 1:
        widths = np.moveaxis(real_array(widths), axis, -1)
    return np.sum(widths * (y[..., 1:] + y[..., :-1]), axis=-1) / 2.0


_sum = _reduction("sum", lambda x, y, _, axis: 1.0, masked=0.0)
_max = _reduction("max", _extreme)
_min = _reduction("min", _extreme)
_COMBINE: dict[str, Callable[..., Any]] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}

HANDLERS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.mean: _reduction("mean", lambda x, y, _, axis: 1.0 / _count(x, axis)),
    np.prod: _reduction("prod", _others, masked=1.0),
    np.max: _max,
    np.min: _min,
    np.amax: _max,
    np.amin: _min,
    np.ptp: lambda a, axis=None, **kwargs: np.max(a, axis=axis, **kwargs) - np.min(a, axis=axis, **kwargs),
    np.var: _variance,
    np.std: _standard_deviation,
    np.cumsum: _cumsum,
    np.cumprod: _cumprod,
    np.average: _average,
    np.median: _median,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.nansum: _ignoring_nan(np.sum, 0.0),
    np.nanprod: _ignoring_nan(np.prod, 1.0),
    np.nanmax: _ignoring_nan(np.max, -math.inf),
    np.nanmin: _ignoring_nan(np.min, math.inf),
    np.nanmean: _nanmean,
    np.trapezoid: _trapezoid,
}
