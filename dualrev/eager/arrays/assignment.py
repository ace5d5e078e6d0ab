"""numpy's functions that write to places of an array, and those that insert and append.

Each finds the places with numpy's own function on an array of positions, and assigns to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dualrev.eager.arrays.complex.pairs import ComplexArray, as_parts, holds_complex, is_complex, values
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array, to_objects
from dualrev.errors import ConversionError

__all__ = ["HANDLERS", "assign", "copyto"]


def assign(a: Any, key: Any, new: Any) -> None:
    """a[key] = new, where a is an array of either kind; ConversionError if it would lose a derivative."""
    new = as_parts(new) if is_complex(new) else real_array(new)
    if isinstance(a, (RealArray, ComplexArray)):
        a[key] = new
    elif a.dtype == object and isinstance(new, RealArray):  # as np.full(3, x) of numpy itself
        a[key] = to_objects(new)
    elif holds_duals(new) or holds_complex(new):
        raise ConversionError("storing")
    else:
        a[key] = values(new)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """numpy.copyto."""
    if where is True:
        assign(dst, ..., src)
    else:
        chosen = np.broadcast_to(where, np.shape(dst))
        src = as_parts(src) if is_complex(src) else real_array(src)
        assign(dst, chosen, np.broadcast_to(src, np.shape(dst))[chosen])


def _put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    places = np.take(_positions(a), ind, mode=mode)
    if np.size(v):
        assign(a, np.unravel_index(places, a.shape), np.resize(real_array(v), places.shape))


def _place(arr: Any, mask: Any, vals: Any) -> None:
    mask = np.asarray(plain(mask), bool).reshape(arr.shape)
    vals = real_array(vals)
    if not vals.size and mask.any():
        raise ValueError("Cannot insert from an empty array!")
    assign(arr, mask, np.ravel(vals)[_read_in_order(plain(arr), mask, plain(vals))])


def _read_in_order(a: np.ndarray, mask: np.ndarray, new: np.ndarray) -> Any:
    """Indices into `new` of the elements that np.place writes: one after the other, and again from the first.

    Where `new` is memory of `a` that numpy does not copy, it reads elements that it has written before.
    """
    count = np.count_nonzero(mask)
    as_they_are = a.flags.c_contiguous and new.flags.c_contiguous and new.dtype == a.dtype
    if not (as_they_are and np.shares_memory(a, new)):
        return np.resize(np.arange(new.size), count)
    read = _addresses(new).ravel().tolist()
    held = {address: k for k, address in enumerate(read)}  # which element of `new` is there
    found = []
    for k, address in enumerate(_addresses(a)[mask].tolist()):
        found.append(held[read[k % len(read)]])
        held[address] = found[-1]
    return np.array(found, dtype=int)


def _addresses(x: np.ndarray) -> np.ndarray:
    offsets = sum(np.ix_(*(np.arange(n) * stride for n, stride in zip(x.shape, x.strides, strict=True))))
    return np.asarray(x.__array_interface__["data"][0] + offsets)


def _putmask(a: Any, mask: Any, values: Any) -> None:
    mask = np.asarray(plain(mask), bool).reshape(a.shape)
    if np.size(values):
        assign(a, mask, np.resize(real_array(values), a.shape)[mask])


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    places = np.take_along_axis(_positions(arr), indices, axis)
    assign(arr, np.unravel_index(places, arr.shape), np.broadcast_to(real_array(values), places.shape))


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    chosen = np.zeros(a.shape, bool)
    np.fill_diagonal(chosen, True, wrap)
    if np.size(val):
        assign(a, chosen, np.resize(real_array(val), np.count_nonzero(chosen)))


def _positions(a: Any) -> np.ndarray:
    return np.arange(a.size).reshape(a.shape)


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    a, values = real_array(arr), real_array(values)
    if axis is None:
        a, values, axis = np.ravel(a), np.ravel(values), 0
    return np.concatenate([a, values], axis)


def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    a, values = real_array(arr), real_array(values)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    values = values.reshape((1,) * (a.ndim - values.ndim) + values.shape)
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        values = np.moveaxis(values, 0, axis)
    n = a.shape[axis]
    count = np.size(np.arange(n + 1)[obj]) if not isinstance(obj, slice) else len(range(*obj.indices(n)))
    count = values.shape[axis] if count == 1 else count
    while values.ndim > a.ndim and values.shape[0] == 1:  # as numpy assigns
        values = values[0]
    shape = [*a.shape]
    shape[axis] = count
    order = np.insert(np.arange(n), obj, np.arange(n, n + count))
    return np.take(np.concatenate([a, np.broadcast_to(values, shape)], axis), order, axis)


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.copyto: copyto,
    np.put: _put,
    np.place: _place,
    np.putmask: _putmask,
    np.put_along_axis: _put_along_axis,
    np.fill_diagonal: _fill_diagonal,
    np.append: _append,
    np.insert: _insert,
}
