"""Sums, products, extremes and functions of them: n elements are one contribution each, in one block."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from dualrev.eager.arrays.memory.record import alone, by_rule, by_terms, ids_of
from dualrev.eager.arrays.memory.storage import RealArray, innermost, plain, real_array, strip, to_objects
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS", "NOT_GIVEN", "accumulate", "logsumexp"]

#: What numpy passes for an option that the caller left out.
NOT_GIVEN: Any = np._NoValue


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    return tuple(a % ndim if -ndim <= a < ndim else _out_of_range(a, ndim) for a in np.atleast_1d(axis).tolist())


def _out_of_range(axis: int, ndim: int) -> int:
    raise np.exceptions.AxisError(axis, ndim)


def _kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction that keeps its axes."""
    if axis is None:
        return (1,) * len(shape)
    axes = _axes(axis, len(shape))
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def _reduction(
    name: str,
    partials: Callable[[Any, Any, Any], Any],
    masked: float | None = None,
    slope: Callable[[Any, Any], float] | None = None,
) -> Callable[..., Any]:
    """A reduction as numpy has it, given partials(x, y with its axes kept, axis): dy/dx of every element.

    `masked` is what elements that are left out become. slope(x, axis) is dy/dx where it is the same for all of them.
    """
    func = getattr(np, name)
    total: Any = np.add.reduce if name == "sum" else None  # what np.sum does, but faster

    def handler(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = NOT_GIVEN, where: Any = True) -> Any:
        """Reduce along the axis, with a slope for each element."""
        if slope is not None and initial is NOT_GIVEN and where is True:
            tape, ids, _ = alone((a,))
            if tape is not None and a.__class__ is RealArray:
                y = total(a.x, axis, keepdims=bool(keepdims)) if total else func(a.x, axis, keepdims=bool(keepdims))
                return by_terms(tape, y, [(ids[0], slope(a.x, axis))], a.shape, _kept(a.shape, axis))
        a = real_array(a)
        initial = None if initial is NOT_GIVEN else initial
        if where is not True and where is not NOT_GIVEN:
            if initial is None and name in ("max", "min"):
                raise ValueError(f"numpy.{name} with where= needs initial=, as there may be no element")
            a = real_array(np.where(where, a, masked))
        if initial is not None and not _count(a, axis):
            kept = _kept(a.shape, axis)
            shape = kept if keepdims else [n for k, n in enumerate(kept) if k not in _axes(axis, a.ndim)]
            return np.full_like(a, initial, shape=shape)[()]
        run = innermost([a])
        if isinstance(run, Tape):
            x = strip(a, run)
            outer = x.__class__ is RealArray
            y = handler(x, axis, keepdims) if outer else func(x, axis=axis, keepdims=bool(keepdims))
            if slope is not None:
                p: Any = slope(x, axis)
            else:
                with np.errstate(all="ignore"):
                    p = partials(x, np.reshape(y, _kept(a.shape, axis)), axis)
            made = _contribute(run, a, y, p, axis)
        else:
            made = func(plain(a) if run is None else to_objects(a), axis=axis, keepdims=bool(keepdims))
        return made if initial is None else _COMBINE[name](made, initial)

    return handler


def _contribute(run: Tape, a: RealArray, y: Any, p: Any, axis: Any) -> Any:
    ids = ids_of(a, run)
    assert ids is not None
    return by_terms(run, y, [(ids, p)], a.shape, _kept(a.shape, axis))


def _count(x: Any, axis: Any) -> int:
    return math.prod(x.shape[k] for k in _axes(axis, x.ndim))


def _share(x: Any, axis: Any) -> float:
    return 1.0 / max(_count(x, axis), 1)


def _extreme(x: Any, y: Any, axis: Any) -> Any:
    """One for the extreme element; a tie is shared in equal parts."""
    x, y = plain(x), plain(y)
    chosen = x == y
    if np.isnan(y).any():
        chosen |= np.isnan(x) & np.isnan(y)
    return chosen / chosen.sum(axis=axis, keepdims=True)


def _others(x: Any, _: Any, axis: Any) -> Any:
    """The product of all other elements: without dividing, since one may be 0."""
    if not x.size:
        return np.ones(x.shape)
    axes = _axes(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    order = [*rest, *axes]
    lines = np.transpose(x, order).reshape(math.prod(x.shape[k] for k in rest), _count(x, axis))
    before, after = np.ones((len(lines), 1)), np.ones((len(lines), 1))
    if lines.shape[1] > 1:
        before = np.concatenate([before, np.cumprod(lines[:, :-1], axis=1)], axis=1)
        after = np.concatenate([np.cumprod(lines[:, :0:-1], axis=1)[:, ::-1], after], axis=1)
    return np.transpose((before * after).reshape([x.shape[k] for k in order]), np.argsort(order))


def _mean(a: Any, axis: Any = None, keepdims: Any = False, where: Any = True) -> Any:
    if where is True:
        return _mean_of_all(a, axis, keepdims)
    a, keepdims = real_array(a), bool(keepdims)
    count = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims)
    if np.any(count == 0):
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    with np.errstate(invalid="ignore"):
        return real_array(np.sum(a, axis=axis, keepdims=keepdims, where=where)) / count


def _variance(
    a: Any,
    axis: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    a, keepdims = real_array(a), bool(keepdims)
    if mean is None:
        count = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=True)
        mean = np.sum(a, axis=axis, keepdims=True, where=where) / np.maximum(count, 1)
        alone = count == 1  # 0 whatever the number is, and so is its root
        if np.any(alone):
            a, mean = (real_array(np.where(alone, plain(u), u)) for u in (a, mean))
    deviation = a - mean
    if where is not True:
        deviation = np.where(where, deviation, 0.0)  # NaN there must not reach the sum
    total = np.sum(deviation * deviation, axis=axis, keepdims=keepdims)
    count = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims)
    freedom = count - (ddof if correction is None else correction)
    if np.any(freedom <= 0):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return real_array(total) / np.maximum(freedom, 0)


def _standard_deviation(a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.sqrt(_variance(a, *args, **kwargs))


def _cumsum(a: Any, axis: Any = None) -> Any:
    a, axis = _line(a, axis)
    return by_rule(
        lambda x: np.cumsum(x, axis=axis),
        lambda xs, ys, gs: [np.flip(np.cumsum(np.flip(gs[0], axis), axis=axis), axis)],
        lambda xs, ys, ts: [np.cumsum(ts[0], axis=axis)],
        a,
        keeps_value=False,
    )


def _cumprod(a: Any, axis: Any = None) -> Any:
    a, axis = _line(a, axis)
    return accumulate(np.multiply, a, axis)


def accumulate(ufunc: Any, a: Any, axis: int = 0) -> Any:
    """ufunc.accumulate, one slice after the other."""
    a = real_array(a)
    if not isinstance(a, RealArray):
        return ufunc.accumulate(a, axis=axis)
    made: list[Any] = []
    slices: Any = np.moveaxis(cast(Any, a), axis, 0)
    for part in slices:
        made.append(ufunc(made[-1], part) if made else part)
    return np.stack(made, axis) if made else a.copy()


def _cumulative(func: Any, first: float) -> Callable[..., Any]:
    def handler(x: Any, axis: Any = None, include_initial: bool = False) -> Any:
        """Accumulate along the axis, after the initial number if that is included."""
        x = np.atleast_1d(real_array(x))
        if axis is None and x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = axis or 0
        made = func(x, axis=axis)
        start = [1 if k == axis % x.ndim else n for k, n in enumerate(x.shape)]
        return np.concatenate([np.full(start, first), made], axis) if include_initial else made

    return handler


def _line(a: Any, axis: Any) -> tuple[Any, int]:
    a = real_array(a)
    return (a.reshape(-1), 0) if axis is None else (a, axis)


def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(a))) over the axes, without overflow."""
    largest = np.max(plain(a), axis=axis, keepdims=True, initial=-math.inf)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(a - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, _axes(axis, np.ndim(a)))[()]


def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: Any = False) -> Any:
    a = real_array(a)
    if weights is None:
        made = np.mean(a, axis=axis, keepdims=keepdims)
        count = a.size / np.size(made)
        return (made, np.full(np.shape(made), count)[()]) if returned else made
    weights = real_array(weights)
    if weights.shape != a.shape:
        axes = _axes(axis, a.ndim)
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.shape != tuple(a.shape[k] for k in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weights = np.transpose(weights, np.argsort(axes)).reshape(
            [n if k in axes else 1 for k, n in enumerate(a.shape)]
        )
    weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    if np.any(plain(total) == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    made = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (made, total) if returned else made


# overwrite_input allows numpy to leave anything in the input; here it stays as it is.


def _median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    a = real_array(a)
    lines = np.sort(_lines(a, axis), axis=-1)
    n = lines.shape[-1]
    if not n:
        return np.mean(a, axis=axis, keepdims=keepdims)
    made = (lines[..., (n - 1) // 2] + lines[..., n // 2]) / 2.0 if n % 2 == 0 else lines[..., n // 2]
    made = np.where(np.isnan(plain(lines)[..., -1]), lines[..., -1], made)
    return np.reshape(made, _kept(a.shape, axis)) if keepdims else made


def _lines(a: Any, axis: Any) -> Any:
    """The elements over the axes along one new last axis."""
    axes = _axes(axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    return np.transpose(a, [*rest, *axes]).reshape([*(a.shape[k] for k in rest), _count(a, axis)])


def _quantile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False
) -> Any:
    """Between the two sorted elements around the place q * (n - 1)."""
    if method != "linear":
        raise UnsupportedError(f"numpy.quantile with method={method!r}", "it with the default method, 'linear'")
    a, q = real_array(a), real_array(q)
    if np.any((plain(q) < 0) | (plain(q) > 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    lines = np.sort(_lines(a, axis), axis=-1)
    n = lines.shape[-1]
    place = q * (n - 1.0)
    low = np.minimum(np.floor(plain(place)).astype(int), max(n - 2, 0))
    high = np.minimum(low + 1, n - 1)
    made = lines[..., low] + (lines[..., high] - lines[..., low]) * (place - low)
    last = lines[..., -1].reshape(lines.shape[:-1] + (1,) * q.ndim)
    made = np.where(np.isnan(plain(last)), last, made)
    made = np.moveaxis(made, range(-q.ndim, 0), range(q.ndim)) if q.ndim else made
    return np.reshape(made, q.shape + _kept(a.shape, axis)) if keepdims else made


def _percentile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False
) -> Any:
    return _quantile(a, real_array(q)[()] / 100.0, axis, overwrite_input, method, keepdims)


def _ignoring_nan(func: Any, fill: float) -> Callable[..., Any]:
    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        """Replace NaN by a number that changes no result, and reduce."""
        a = real_array(a)
        return func(np.where(np.isnan(plain(a)), fill, a), *args, **kwargs)

    return handler


def _extreme_number(func: Any, fill: float) -> Callable[..., Any]:
    """np.nanmax and np.nanmin; where all elements are NaN, they share the derivative, as in np.max."""

    def handler(a: Any, axis: Any = None, **kwargs: Any) -> Any:
        """Find the extreme without NaN, or NaN with numpy's warning where everything is NaN."""
        a = real_array(a)
        missing = np.isnan(plain(a))
        if not missing.any():
            return func(a, axis=axis, **kwargs)
        nothing = np.all(missing, axis=axis, keepdims=True)
        if np.any(nothing):
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)
        made = func(np.where(missing & ~nothing, fill, a), axis=axis, **kwargs)
        tied = plain(made) == fill  # with what stands for NaN: all numbers of the slice are this infinity
        if not np.any(tied):
            return made
        share = np.mean(a, axis=axis, keepdims=kwargs.get("keepdims", False), where=~missing | nothing)
        return np.where(tied, share, made)[()]

    return handler


def _without_nan(func: Any) -> Callable[..., Any]:
    """The same of the elements that are not NaN, for a function that has where=."""

    def handler(a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
        """Reduce the elements that are not NaN."""
        a = real_array(a)
        return func(a, *args, where=~np.isnan(plain(a)) & where, **kwargs)

    return handler


def _nanmedian(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    return _line_by_line(_median, a, axis, keepdims)


def _nanquantile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False
) -> Any:
    if np.ndim(q):
        raise UnsupportedError("numpy.nanquantile or numpy.nanpercentile with several q", "one q at a time")
    return _line_by_line(lambda line: _quantile(line, q, method=method), a, axis, keepdims)


def _nanpercentile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False
) -> Any:
    return _nanquantile(a, real_array(q)[()] / 100.0, axis, overwrite_input, method, keepdims)


def _line_by_line(func: Callable[[Any], Any], a: Any, axis: Any, keepdims: Any) -> Any:
    """A function of the elements over the axes that are not NaN."""
    a = real_array(a)
    if not a.size:
        return np.nanmean(a, axis=axis, keepdims=keepdims)
    made = np.apply_along_axis(lambda line: func(line[~np.isnan(line)]), -1, _lines(a, axis))[()]
    return np.reshape(made, _kept(a.shape, axis)) if keepdims else made


_sum = _reduction("sum", lambda x, y, axis: 1.0, masked=0.0, slope=lambda x, axis: 1.0)
_max = _reduction("max", _extreme, masked=-math.inf)
_min = _reduction("min", _extreme, masked=math.inf)
_mean_of_all = _reduction("mean", lambda x, y, axis: _share(x, axis), slope=lambda x, axis: _share(x, axis))
#: How `initial` joins the others.
_COMBINE: dict[str, Callable[..., Any]] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}

HANDLERS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.mean: _mean,
    np.prod: _reduction("prod", _others, masked=1.0),
    np.max: _max,
    np.min: _min,
    np.amax: _max,
    np.amin: _min,
    np.ptp: lambda a, axis=None, keepdims=False: _max(a, axis, keepdims) - _min(a, axis, keepdims),
    np.var: _variance,
    np.std: _standard_deviation,
    np.cumsum: _cumsum,
    np.cumprod: _cumprod,
    np.cumulative_sum: _cumulative(_cumsum, 0.0),
    np.cumulative_prod: _cumulative(_cumprod, 1.0),
    np.average: _average,
    np.median: _median,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.nansum: _ignoring_nan(np.sum, 0.0),
    np.nanprod: _ignoring_nan(np.prod, 1.0),
    np.nanmax: _extreme_number(np.max, -math.inf),
    np.nanmin: _extreme_number(np.min, math.inf),
    np.nancumsum: _ignoring_nan(np.cumsum, 0.0),
    np.nancumprod: _ignoring_nan(np.cumprod, 1.0),
    np.nanmean: _without_nan(np.mean),
    np.nanvar: _without_nan(np.var),
    np.nanstd: _without_nan(np.std),
    np.nanmedian: _nanmedian,
    np.nanquantile: _nanquantile,
    np.nanpercentile: _nanpercentile,
}
