"""Copies of arrays that keep layout or strides, and the check that an array does not overlap itself."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numba
import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = ["check_spread", "copy", "store", "strided_copy", "strided_zeros"]


@inner
def store(array, x):
    """Copy an array of the same shape: `array[...] = x`.

    Where numba compiles that line, it compiles the text of an error about shapes, too, which takes it a second.
    """
    _store(array, x)


def _store(array, x):
    raise NotImplementedError


@numba.extending.overload(_store)
def _overload_store(array, x):
    if array.layout == x.layout == "C" or x.ndim == 0:

        def one(array, x):
            """Copy elements in the order of memory."""
            for k in range(x.size):
                array.flat[k] = x.flat[k]

    elif array.layout == x.layout == "F":

        def one(array, x):
            """Copy elements in the order of memory, by columns."""
            for k in range(x.size):
                array.T.flat[k] = x.T.flat[k]

    elif x.ndim == 1:

        def one(array, x):
            """Copy elements of a vector."""
            for i in range(x.shape[0]):
                array[i] = x[i]

    elif x.ndim == 2:

        def one(array, x):
            """Copy elements of a matrix."""
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    array[i, j] = x[i, j]

    else:

        def one(array, x):
            """Copy elements by their indices."""
            for index in np.ndindex(x.shape):
                array[index] = x[index]

    return one


@inner
def copy(x):
    """Copy an array, in its layout: numba compiles some functions otherwise for another one."""
    return _copy(x)


def _copy(x):
    raise NotImplementedError


@numba.extending.overload(_copy)
def _overload_copy(x):
    def loose(x):
        """Copy into an array whose layout is not known to numba."""
        made = x.copy()
        return np.lib.stride_tricks.as_strided(made, made.shape, made.strides)

    return {"C": lambda x: x.copy(), "F": lambda x: x.T.copy().T, "A": loose}[x.layout]


@inner
def strided_zeros(x):
    """Zeros with the shape and strides of `x`: views of both are contiguous alike."""
    if x.size == 0:
        return np.lib.stride_tricks.as_strided(np.zeros(1, x.dtype), x.shape, x.strides)
    before, after = 0, 0  # the bytes of elements on both sides of the first one
    for k in range(x.ndim):
        reach = (x.shape[k] - 1) * x.strides[k]
        if reach > 0:
            after += reach
        else:
            before -= reach
    size = x.itemsize
    first = (before + size - 1) // size  # strides of a field of records may be any number of bytes
    memory = np.zeros(first + (after + size - 1) // size + 1, x.dtype)
    return np.lib.stride_tricks.as_strided(memory[first:], x.shape, x.strides)


@inner
def strided_copy(x):
    """A copy with the strides of x."""
    made = strided_zeros(x)
    store(made, x)
    return made


@inner
def check_spread(a):
    """Refuse an argument array whose own elements may overlap (ValueError): each axis has to step over the inner ones.

    (There are a few arrays that this refuses without need, such as one of shape (3, 2) with strides 2 and 3.)
    """
    if a.size > 0:
        for k in range(a.ndim):
            within = a.itemsize
            for j in range(a.ndim):
                if (abs(a.strides[j]), j) < (abs(a.strides[k]), k):
                    within += (a.shape[j] - 1) * abs(a.strides[j])
            if a.shape[k] > 1 and abs(a.strides[k]) < within:
                raise ValueError("an argument shares memory with itself and is written: pass a copy of it")
