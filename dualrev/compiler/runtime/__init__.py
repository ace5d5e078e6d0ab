"""What emitted code calls: small numba functions. Those of the tape are in memory.py.

Whole numbers are kept on the tape bit by bit, as floats.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import random as python_random  # noqa: F401 - where types are inferred, it is called so
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.typed import List  # noqa: F401 - where types are inferred, it is called so

from dualrev.compiler.runtime.arrays.allocate import (  # noqa: F401 - emitted code has them from here
    along,
    along_both,
    check_apart,
    check_new,
    clear_unless,
    common_shape,
    divide,
    empty,
    empty_like,
    known,
    known_zeros_like,
    scaled,
    zeros,
    zeros_like,
)
from dualrev.compiler.runtime.arrays.broadcast import (  # noqa: F401 - emitted code has them from here
    spread,
    spread_evenly,
)
from dualrev.compiler.runtime.arrays.complex_arrays import complex_array, conjugate  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.arrays.element_overlap import races  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.arrays.stack_arrays import block_in, few_zeros, frame, zeros_in  # noqa: F401 - emitted code has them from here
from dualrev.compiler.runtime.arrays.with_shadow import empty_with_shadow  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.jacobian_blocks import (  # noqa: F401 - emitted code has them from here
    block,
    clear,
    put_column,
    put_direction,
    put_few,
    put_number,
    put_row,
    shaped_1,
    shaped_1_single,
    shaped_2,
    shaped_2_single,
    shaped_few_1,
    shaped_few_2,
)
from dualrev.compiler.runtime.linalg.dot import dot  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.linalg.dot_vjp import (  # noqa: F401 - emitted code has them from here
    dot_left_11,
    dot_left_11_apart,
    dot_left_12,
    dot_left_12_apart,
    dot_left_21,
    dot_left_21_apart,
    dot_left_22,
    dot_left_22_apart,
    dot_right_11,
    dot_right_11_apart,
    dot_right_12,
    dot_right_12_apart,
    dot_right_21,
    dot_right_21_apart,
    dot_right_22,
    dot_right_22_apart,
)
from dualrev.compiler.runtime.markers import (  # noqa: F401 - emitted code has them from here
    double,
    in_order,
    in_rows,
    stopped,
)
from dualrev.compiler.runtime.objects.fields import (  # noqa: F401 - emitted code has them from here
    fields,
    mirrored,
    row,
    tangents,
    to_return,
)
from dualrev.compiler.runtime.objects.list_helpers import (  # noqa: F401 - emitted code has them from here
    as_list,
    count_in,
    elements,
    place_in,
    place_of,
    places_in,
    sorting_order,
    windows,
)
from dualrev.compiler.runtime.objects.listed import listed  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.recursion.by_reference import borrow, lend  # noqa: F401 - emitted code has them from here
from dualrev.compiler.runtime.recursion.stack_guard import need_stack  # noqa: F401 - emitted code has it from here
from dualrev.compiler.runtime.tape.memory import (  # noqa: F401 - emitted code has them from here
    attempt,
    close,
    column,
    flags,
    grow,
    hold,
    keep,
    kept,
    new_tape,
    unless_failed,
    words,
)
from dualrev.compiler.runtime.tape.sizes import falling, rising, room, rounds  # noqa: F401 - emitted code has them from here
from dualrev.compiler.runtime.threads import (  # noqa: F401 - emitted code has them from here
    add_parts,
    bound,
    chunks,
    first_failed,
    in_threads,
    may_overlap,
    natural,
    no_overlap,
    nothing_failed,
    overlap,
    private,
    raise_failed,
    released,
    span,
)
from dualrev.errors import CotangentError, TangentError
from dualrev.rules.library.inner import inner
from dualrev.rules.library.special import polygamma  # noqa: F401 - emitted code has it from here

_INT = ir.IntType(64)


@intrinsic
def bits(typingctx: Any, x: Any) -> Any:
    """The float that has the bits of an int."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = context.cast(builder, args[0], signature.args[0], types.int64)
        return builder.bitcast(whole, ir.DoubleType())

    return types.float64(x), codegen


@intrinsic
def whole(typingctx: Any, x: Any) -> Any:
    """The int whose bits a float has: the inverse of bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _INT)

    return types.int64(types.float64), codegen


@inner
def store(array, x):
    """array[...] = x, which has the same shape.

    Where numba compiles that line, it compiles the text of an error about shapes, too, which takes it a second.
    """
    _store(array, x)


def _store(array, x):
    raise NotImplementedError


@numba.extending.overload(_store)
def _overload_store(array, x):
    if array.layout == x.layout == "C" or x.ndim == 0:

        def one(array, x):
            for k in range(x.size):
                array.flat[k] = x.flat[k]

    elif array.layout == x.layout == "F":

        def one(array, x):
            for k in range(x.size):
                array.T.flat[k] = x.T.flat[k]

    elif x.ndim == 1:

        def one(array, x):
            for i in range(x.shape[0]):
                array[i] = x[i]

    elif x.ndim == 2:

        def one(array, x):
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    array[i, j] = x[i, j]

    else:

        def one(array, x):
            for index in np.ndindex(x.shape):
                array[index] = x[index]

    return one


@njit
def range_length(start, stop, step):
    """How many numbers range(start, stop, step) has."""
    return len(range(start, stop, step))


@njit
def unique_places(a):
    """Where np.unique finds each number first, in the order of the numbers."""
    order = np.argsort(a, kind="mergesort")
    count = 0
    for k in range(len(order)):
        if k == 0 or a[order[k]] != a[order[k - 1]]:
            order[count] = order[k]
            count += 1
    return order[:count]


# In numba's usual error model, which emitted code does not have: they raise what f raises, in numba's words. It is
# asked for, since a function inherits that of its first caller.


@njit(error_model="python")
def floor_divide(a, b):
    """A // b, or ZeroDivisionError."""
    return a // b


@njit(error_model="python")
def remainder(a, b):
    """A % b, or ZeroDivisionError."""
    return a % b


@njit(error_model="python")
def power(a, b):
    """A ** b, or ZeroDivisionError: for a whole b, which may be negative."""
    return a**b


@inner
def add_to(array, value):
    """array += value."""
    array += value


@inner
def unmark(array):
    """Take the marks of known zeros from a shadow to which something was added that does not know of them."""
    array += 0.0


@inner
def add_cotangent(array, value):
    """array += value, which somebody has given for a cotangent: it has to have the same shape."""
    if array.shape != value.shape:
        raise CotangentError
    array += value


@inner
def contribute(array, value):
    """array += value, which a rule has given: it has to have the same shape."""
    if array.shape != value.shape:
        raise ValueError("a rule gives a derivative of another shape than the array that it belongs to")
    array += value


@inner
def share(d_x, x, extreme, ct):
    """Add ct to the elements of d_x where x has its extreme value, in equal parts; that may be NaN."""
    count = 0
    for value in x.flat:
        if is_extreme(value, extreme):
            count += 1
    for index, value in np.ndenumerate(x):
        if is_extreme(value, extreme):
            d_x[index] += ct / count


@inner
def is_extreme(value, extreme):
    """Whether an element has the extreme value: NaN is one if it is there."""
    return value == extreme or (value != value and extreme != extreme)


@inner
def strided_zeros(x):
    """Zeros with the shape and the strides of x: a view of x is contiguous where the same view of these is."""
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
def check_spread(a):
    """ValueError if elements of an array that is written may share memory: every axis has to step over the inner ones.

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


# Forward mode


@inner
def tangent(x, t_x):
    """The tangent of an array, if it has the array's shape; else TangentError."""
    if t_x.shape != x.shape:
        raise TangentError
    return t_x


@inner
def copy(x):
    """A copy of an array, which has its type: numba compiles some functions otherwise for another layout."""
    return _copy(x)


def _copy(x):
    raise NotImplementedError


@numba.extending.overload(_copy)
def _overload_copy(x):
    def loose(x):
        made = x.copy()
        return np.lib.stride_tricks.as_strided(made, made.shape, made.strides)

    return {"C": lambda x: x.copy(), "F": lambda x: x.T.copy().T, "A": loose}[x.layout]


@inner
def strided_copy(x):
    """A copy with the strides of x."""
    made = strided_zeros(x)
    store(made, x)
    return made


@inner
def new_tangent(x, t_x):
    """The same as a new array, of x's dtype and layout: the function may write it."""
    made = np.zeros_like(x)
    store(made, tangent(x, t_x))
    return made


@inner
def strided_tangent(x, t_x):
    """The same with the strides of x."""
    made = strided_zeros(x)
    store(made, tangent(x, t_x))
    return made
