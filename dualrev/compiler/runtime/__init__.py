"""Runtime library of emitted code: small numba functions.

The functions of the tape are in memory.py.

Whole numbers are kept on the tape bit by bit, as floats.

Other rooms import markers, objects/fields, recursion/stack_guard.
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
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.special import polygamma  # noqa: F401 - emitted code has it from here

_INT = ir.IntType(64)


@intrinsic
def bits(typingctx: Any, x: Any) -> Any:
    """Bitcast an int to a float."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = context.cast(builder, args[0], signature.args[0], types.int64)
        return builder.bitcast(whole, ir.DoubleType())

    return types.float64(x), codegen


@intrinsic
def whole(typingctx: Any, x: Any) -> Any:
    """Bitcast a float to an int: the inverse of `bits`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _INT)

    return types.int64(types.float64), codegen


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
    """Trip count of `range(start, stop, step)`."""
    return len(range(start, stop, step))


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


# In numba's usual error model, which emitted code does not have: they raise what f raises, in numba's words. It is
# asked for, since a function inherits that of its first caller.


@njit(error_model="python")
def floor_divide(a, b):
    """Compute `a // b`, or raise ZeroDivisionError."""
    return a // b


@njit(error_model="python")
def remainder(a, b):
    """Compute `a % b`, or raise ZeroDivisionError."""
    return a % b


@njit(error_model="python")
def power(a, b):
    """Compute `a ** b`, or raise ZeroDivisionError: for an int `b`, which may be negative."""
    return a**b


@inner
def add_to(array, value):
    """Accumulate `array += value`."""
    array += value


@inner
def unmark(array):
    """Clear the known-zero marks of a shadow, after an addition that does not keep them."""
    array += 0.0


@inner
def add_cotangent(array, value):
    """Accumulate a cotangent given by the caller; CotangentError unless the shapes agree."""
    if array.shape != value.shape:
        raise CotangentError
    array += value


@inner
def contribute(array, value):
    """Accumulate a contribution given by a custom rule; ValueError unless the shapes agree."""
    if array.shape != value.shape:
        raise ValueError("a rule gives a derivative of another shape than the array that it belongs to")
    array += value


@inner
def share(d_x, x, extreme, ct):
    """Adjoint of `min` and `max`: split `ct` equally among the elements of `x` that are extreme (that may be NaN)."""
    count = 0
    for value in x.flat:
        if is_extreme(value, extreme):
            count += 1
    for index, value in np.ndenumerate(x):
        if is_extreme(value, extreme):
            d_x[index] += ct / count


@inner
def is_extreme(value, extreme):
    """Whether an element equals the extreme value; NaN equals NaN."""
    return value == extreme or (value != value and extreme != extreme)


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


# Forward mode


@inner
def tangent(x, t_x):
    """Check the shape of a tangent array, and return it; TangentError if it differs from the primal's."""
    if t_x.shape != x.shape:
        raise TangentError
    return t_x


@inner
def copy(x):
    """Copy an array, in its layout: numba compiles some functions otherwise for another one."""
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
    """Copy a tangent into a new array of the primal's dtype and layout, which the function may write."""
    made = np.zeros_like(x)
    store(made, tangent(x, t_x))
    return made


@inner
def strided_tangent(x, t_x):
    """Copy a tangent into a new array with the strides of the primal."""
    made = strided_zeros(x)
    store(made, tangent(x, t_x))
    return made
