"""List and index helpers of emitted code: numba functions without derivative, and conversions."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numba
import numpy as np
from numba import njit, types
from numba.cpython.listobj import arg_sort_backwards, arg_sort_forwards
from numba.typed import List

__all__ = ["as_list", "count_in", "elements", "place_in", "place_of", "places_in", "sorting_order", "windows"]


@njit
def sorting_order(a, backwards):
    """Permutation by which `list.sort` orders the elements, ties and NaN as numba treats them."""
    return np.array(arg_sort_backwards(a) if backwards else arg_sort_forwards(a), np.int64)


@njit
def count_in(a, x):
    """Count the elements of a list that equal `x`."""
    count = 0
    for y in a:
        if y == x:
            count += 1
    return count


@njit
def place_in(a, x):
    """Index of the first element of a list that equals `x`, or -1."""
    for k in range(len(a)):
        if a[k] == x:
            return k
    return -1


@njit
def elements(x):
    """Convert a list of numbers to an array."""
    return _elements(x)


def _elements(x):
    raise NotImplementedError


@numba.extending.overload(_elements)
def _overload_elements(x):
    dtype = numba.np.numpy_support.as_dtype(x.dtype)

    def one(x):
        """Copy the elements one by one."""
        made = np.empty(len(x), dtype)
        for k in range(len(x)):
            made[k] = x[k]
        return made

    return one


@njit
def as_list(like, x):
    """Convert an array to a list, reflected or typed as `like`."""
    return _as_list(like, x)


def _as_list(like, x):
    raise NotImplementedError


@numba.extending.overload(_as_list)
def _overload_as_list(like, x):
    if isinstance(like, types.ListType):
        kind = x.dtype

        def one(like, x):
            """Append the elements to a typed list."""
            made = List.empty_list(kind)
            for k in range(len(x)):
                made.append(x[k])
            return made

        return one
    return lambda like, x: [x[k] for k in range(len(x))]


@njit
def places_in(shape):
    """Number of elements of an array with this shape."""
    return _places_in(shape)


def _places_in(shape):
    raise NotImplementedError


@numba.extending.overload(_places_in)
def _overload_places_in(shape):
    if isinstance(shape, types.Integer):  # np.ndindex(n)
        return lambda shape: shape
    if not shape.count:  # numba has no loop over the empty tuple
        return lambda shape: 1

    def product(shape):
        """Multiply the extents."""
        n = 1
        for size in shape:
            n *= size
        return n

    return product


@njit
def place_of(shape, k):
    """Index tuple of the k-th element of an array with this shape, in C order."""
    return _place_of(shape, k)


def _place_of(shape, k):
    raise NotImplementedError


@numba.extending.overload(_place_of)
def _overload_place_of(shape, k):
    if isinstance(shape, types.Integer):
        return lambda shape, k: (k,)
    if not shape.count:
        return lambda shape, k: shape

    def place(shape, k):
        """Divide `k` by the extents, last axis first."""
        place = shape
        for i in range(len(shape)):
            axis = len(shape) - 1 - i
            place = numba.np.unsafe.ndarray.tuple_setitem(place, axis, k % shape[axis])
            k //= shape[axis]
        return place

    return place


@njit
def windows(a, n):
    """Sliding windows of a vector: `np.lib.stride_tricks.sliding_window_view`."""
    return np.lib.stride_tricks.as_strided(a, (a.shape[0] - n + 1, n), (a.strides[0], a.strides[0]))


@njit
def unique_places(a):
    """Index of the first occurrence of each distinct number, in the order of the numbers (np.unique's return_index)."""
    order = np.argsort(a, kind="mergesort")
    count = 0
    for k in range(len(order)):
        if k == 0 or a[order[k]] != a[order[k - 1]]:
            order[count] = order[k]
            count += 1
    return order[:count]
