"""numpy's functions on arrays of dual numbers, as far as they move elements, look at values, or are made of others.

Moving elements moves values and ids alike, and writes nothing on a tape. What looks at values only (comparisons,
argmax, shapes) gives numpy's answer about the values. Sums are in reductions.py, products in products.py, numpy.linalg
in linalg.py. A function that is in none of them is refused by name, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.arrays import linalg, products, reductions
from dualrev.arrays.storage import RealArray, holds_duals, innermost, plain, real_array
from dualrev.errors import ConversionError, UnsupportedError
from dualrev.overload import DualNumber
from dualrev.tape import Tape

__all__ = ["HANDLERS", "apply_function", "assemble"]


def apply_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What numpy calls when one of its functions meets an array or a number under differentiation."""
    handler = HANDLERS.get(func)
    if handler is not None:
        out = kwargs.pop("out", None)
        made = handler(*args, **kwargs)
        if out is None:
            return made
        if not isinstance(out, RealArray) and holds_duals(made):
            raise ConversionError("storing")
        out[...] = made
        return out
    if func in _OF_VALUES:
        return func(*_plain_tree(args), **{key: _plain_tree(x) for key, x in kwargs.items()})
    if any(map(holds_duals, _leaves((*args, *kwargs.values())))):
        module = func.__module__ or "numpy"
        raise UnsupportedError(
            f"{module}.{func.__name__}",
            "it with functions that have a rule (docs/numpy.md lists them), or dualrev.value(x) if it is a constant",
        )
    made = func(*_plain_tree(args), **{key: _plain_tree(x) for key, x in kwargs.items()})
    return RealArray(made) if isinstance(made, np.ndarray) and made.dtype == float and made.ndim else made


def assemble(make: Callable[[list[Any]], Any], *data: Any) -> Any:
    """One array out of several: `make` puts the values together, and the ids of every run in the same way."""
    arrays = [real_array(u) for u in data]
    found = [a for a in arrays if isinstance(a, RealArray)]
    if not found:
        return make(arrays)
    innermost(arrays)  # is none of them from a run that has ended?
    layers = {}
    for run in {run: None for a in found for run in a.layers() if not run.over}:
        nothing: Any = (0, np.int64) if isinstance(run, Tape) else (None, object)
        ids = [a.layers().get(run) if isinstance(a, RealArray) else None for a in arrays]
        layers[run] = np.ascontiguousarray(
            make([np.full(np.shape(a), *nothing) if i is None else i for a, i in zip(arrays, ids, strict=True)])
        )
    x = make([np.asarray(plain(a), dtype=float) for a in arrays])
    return RealArray(np.ascontiguousarray(x), layers) if np.ndim(x) else RealArray(np.asarray(x), layers)[()]


def _plain_tree(x: Any) -> Any:
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(_plain_tree(u) for u in x)
    return plain(x) if isinstance(x, (RealArray, DualNumber, np.ndarray)) else x


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for u in x for leaf in _leaves(u)]
    return [x]


def _moved(func: Any) -> Callable[..., Any]:
    """A function that selects or reorders the elements of one array: a view where numpy's is a view."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        a = real_array(a)
        if not isinstance(a, RealArray):
            return func(a, *args, **kwargs)
        return a.derived(lambda x: func(x, *args, **kwargs))

    return handler


def _pieces(func: Any) -> Callable[..., Any]:
    """A function that cuts an array into a list of views."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        count = len(func(a.x, *args, **kwargs))
        return [a.derived(lambda x, k=k: func(x, *args, **kwargs)[k]) for k in range(count)]

    return handler


def _joined(func: Any) -> Callable[..., Any]:
    """A function that puts a sequence of arrays together."""

    def handler(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dtype", None)
        return assemble(lambda parts: func(parts, *args, **kwargs), *arrays)

    return handler


def _like(value: Any) -> Callable[..., Any]:
    """zeros_like and the like: an array that can hold numbers under differentiation, of the same shape."""

    def handler(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
        shape = np.shape(a) if shape is None else shape
        made = np.full(shape, value, dtype or float)
        return RealArray(made) if made.dtype == float else made

    return handler


def _full_like(a: Any, fill_value: Any, dtype: Any = None, *_: Any, shape: Any = None, **__: Any) -> Any:
    made = _like(0.0)(a, dtype, shape=shape)
    made[...] = fill_value
    return made


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, RealArray):
        raise ConversionError("storing")
    if where is True:
        dst[...] = src
    else:
        chosen = np.broadcast_to(where, dst.shape)
        dst[chosen] = np.broadcast_to(real_array(src), dst.shape)[chosen]


def _where(condition: Any, *choices: Any) -> Any:
    condition = plain(real_array(condition))
    return assemble(lambda xy: np.where(condition, *xy), *choices) if choices else np.where(condition)


def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    made = default
    for condition, choice in list(zip(conditions, choices, strict=True))[::-1]:
        made = _where(condition, choice, made)
    return made


def _pad(a: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if mode == "constant":
        filled = np.pad(np.zeros(a.shape), pad_width, **kwargs)  # the constants around zeros
        inside = np.pad(np.ones(a.shape, bool), pad_width)
        made = RealArray(filled)
        made[inside] = a.reshape(-1)
        return made
    if mode in ("edge", "reflect", "symmetric", "wrap") and kwargs.get("reflect_type", "even") == "even":
        return a.derived(lambda x: np.pad(x, pad_width, mode, **kwargs))
    raise UnsupportedError(f"numpy.pad with mode={mode!r}", "one of the modes constant, edge, reflect, symmetric, wrap")


def _triangle(func: Any) -> Callable[..., Any]:
    def handler(a: Any, k: int = 0) -> Any:
        return _where(func(np.ones(a.shape[-2:], bool), k), a, 0.0)

    return handler


def _broadcast_arrays(*arrays: Any, **_: Any) -> Any:
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    return tuple(np.broadcast_to(real_array(a), shape) for a in arrays)


def _atleast(func: Any) -> Callable[..., Any]:
    def handler(*arrays: Any) -> Any:
        made = tuple(_moved(func)(a) for a in arrays)
        return made if len(made) > 1 else made[0]

    return handler


def _sort(a: Any, axis: Any = -1, kind: Any = None, **_: Any) -> Any:
    a = real_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    order = np.argsort(plain(a), axis=axis, kind=kind)
    return np.take_along_axis(a, order, axis)


def _append(a: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        a, values, axis = np.ravel(real_array(a)), np.ravel(real_array(values)), 0
    return np.concatenate([real_array(a), real_array(values)], axis)


def _insert(a: Any, at: Any, values: Any, axis: int | None = None) -> Any:
    a = real_array(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    if np.ndim(at):
        raise UnsupportedError("numpy.insert at several places", "numpy.concatenate of the pieces")
    before, after = np.split(a, [int(at)], axis)
    shape = [*a.shape]
    shape[axis] = np.shape(values)[axis] if np.ndim(values) == a.ndim else 1
    return np.concatenate([before, np.broadcast_to(real_array(values), shape), after], axis)


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        a = np.swapaxes(a, axis, -1)
        a = np.swapaxes(a[..., 1:] - a[..., :-1], axis, -1)
    return a


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear, by the formula of each piece; constant outside."""
    if period is not None:
        raise UnsupportedError("numpy.interp with period=", "x % period, and points that cover the whole period")
    x, xp, fp = real_array(x), real_array(xp), real_array(fp)
    at = np.clip(np.searchsorted(plain(xp), plain(x), side="right") - 1, 0, len(xp) - 2)
    slope = (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at])
    inside = fp[at] + slope * (x - xp[at])
    low, high = plain(x) < plain(xp)[0], plain(x) > plain(xp)[-1]
    return np.where(low, fp[0] if left is None else left, np.where(high, fp[-1] if right is None else right, inside))


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **kwargs: Any) -> Any:
    if kwargs:
        raise UnsupportedError(f"numpy.linspace with {', '.join(kwargs)}", "start + step * numpy.arange(num)")
    t = np.linspace(0.0, 1.0, num, endpoint)
    start, stop = real_array(start), real_array(stop)
    t = t.reshape(t.shape + (1,) * max(start.ndim, stop.ndim))
    return start * (1.0 - t) + stop * t


def _meshgrid(*xs: Any, indexing: str = "xy", **_: Any) -> Any:
    grids = [real_array(x).reshape((1,) * k + (-1,) + (1,) * (len(xs) - k - 1)) for k, x in enumerate(xs)]
    shape = np.broadcast_shapes(*(g.shape for g in grids))
    made = [np.broadcast_to(g, shape).copy() for g in grids]
    return [np.swapaxes(g, 0, 1) for g in made] if indexing == "xy" and len(xs) > 1 else made


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    largest = np.finfo(float).max
    x = np.where(np.isnan(x), nan, x)
    x = np.where(plain(x) == np.inf, largest if posinf is None else posinf, x)
    return np.where(plain(x) == -np.inf, -largest if neginf is None else neginf, x)


def _round(a: Any, decimals: int = 0) -> Any:
    return np.round(plain(real_array(a)), decimals)


def _unique(a: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs:
        raise UnsupportedError(
            "numpy.unique with options", "numpy.unique(x) alone, or numpy.unique(dualrev.value(x), ...)"
        )
    return np.ravel(a)[np.unique(plain(a), return_index=True)[1]]


def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    lines = np.moveaxis(real_array(arr), axis, -1)
    axis = axis % lines.ndim
    made = [real_array(func1d(line, *args, **kwargs)) for line in lines.reshape(-1, lines.shape[-1])]
    new = made[0].shape
    whole = np.stack(made).reshape(lines.shape[:-1] + new)
    return np.moveaxis(whole, range(-len(new), 0), range(axis, axis + len(new)))


def _size(a: Any, axis: int | None = None) -> int:
    return int(np.size(plain(a), axis))


_MOVING = [np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze]
_MOVING += [np.diagonal, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.tile, np.repeat, np.broadcast_to]
_MOVING += [np.take, np.take_along_axis, np.delete, np.diag, np.diagflat, np.resize, np.matrix_transpose]
_JOINING = [np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack]

#: What is done for each function of numpy; those of numpy.linalg are there by the same keys.
HANDLERS: dict[Any, Callable[..., Any]] = {
    **{func: _moved(func) for func in _MOVING},
    **{func: _pieces(func) for func in (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)},
    **{func: _joined(func) for func in _JOINING},
    **{func: _atleast(func) for func in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    np.block: lambda arrays: _block(arrays),
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.empty_like: _like(0.0),
    np.full_like: _full_like,
    np.copy: lambda a, *args, **kwargs: a.copy(),
    np.copyto: _copyto,
    np.where: _where,
    np.select: _select,
    np.choose: lambda index, choices: _select([index == k for k in range(len(choices))], choices),
    np.compress: lambda condition, a, axis=None: real_array(a).derived(lambda x: np.compress(condition, x, axis)),
    np.apply_along_axis: _apply_along_axis,
    np.extract: lambda condition, a: np.ravel(a)[np.flatnonzero(condition)],
    np.pad: _pad,
    np.triu: _triangle(np.triu),
    np.tril: _triangle(np.tril),
    np.broadcast_arrays: _broadcast_arrays,
    np.sort: _sort,
    np.append: _append,
    np.insert: _insert,
    np.diff: _diff,
    np.ediff1d: lambda a: _diff(np.ravel(a)),
    np.interp: _interp,
    np.linspace: _linspace,
    np.meshgrid: _meshgrid,
    np.nan_to_num: _nan_to_num,
    np.round: _round,
    np.around: _round,
    np.fix: lambda x: np.trunc(x),
    np.unique: _unique,
    np.clip: lambda a, a_min=None, a_max=None, **kw: _clip(a, kw.pop("min", a_min), kw.pop("max", a_max)),
    np.real: lambda a: a,
    np.imag: lambda a: np.zeros(np.shape(a)),
    np.sinc: lambda x: np.where(plain(x) == 0, 1.0, _sinc(np.where(plain(x) == 0, 1.0, x))),
    np.size: _size,
    **reductions.HANDLERS,
    **products.HANDLERS,
    **linalg.HANDLERS,
}


def _sinc(x: Any) -> Any:
    return np.sin(np.pi * x) / (np.pi * x)


def _clip(a: Any, low: Any, high: Any) -> Any:
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _block(arrays: Any, axis: int = -1) -> Any:
    def depth(x: Any) -> int:
        return 1 + depth(x[0]) if isinstance(x, list) else 0

    def join(x: Any, level: int) -> Any:
        if not isinstance(x, list):
            return real_array(x)
        parts = [join(u, level - 1) for u in x]
        ndim = max(levels, *(np.ndim(part) for part in parts))
        parts = [np.reshape(part, (1,) * (ndim - np.ndim(part)) + np.shape(part)) for part in parts]
        return np.concatenate(parts, axis=-level)

    levels = depth(arrays)
    return join(arrays, levels)


_OF_VALUES = {np.argmax, np.argmin, np.argsort, np.lexsort, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero}
_OF_VALUES |= {np.searchsorted, np.digitize, np.isclose, np.allclose, np.array_equal, np.array_equiv, np.all, np.any}
_OF_VALUES |= {np.shape, np.ndim, np.nanargmax, np.nanargmin, np.argpartition, np.isneginf, np.isposinf, np.isin}
_OF_VALUES |= {np.isreal, np.iscomplex, np.iscomplexobj, np.isrealobj, np.array2string, np.array_repr, np.array_str}
_OF_VALUES |= {np.may_share_memory, np.shares_memory, np.result_type, np.can_cast, np.min_scalar_type}
