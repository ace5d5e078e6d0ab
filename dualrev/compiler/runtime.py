"""What emitted code calls: small numba functions, and the tape.

The tape is a block of memory outside of numba's arrays, of 64-bit words, that grows as needed: a header of three ints
(address, words in use, words there are), and a view of the words as floats. Whole numbers are kept bit by bit. Memory
is asked for by `realloc`, which moves large blocks without copying, and pages that are not used do not count: so what
the tape takes is 8 bytes per recorded value.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dualrev import special

_POINTER = ir.IntType(8).as_pointer()
_INT = ir.IntType(64)


@intrinsic
def _reallocate(typingctx: Any, address: Any, size: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_POINTER, [_POINTER, _INT])
        function = cgutils.get_or_insert_function(builder.module, kind, "realloc")
        return builder.ptrtoint(builder.call(function, [builder.inttoptr(args[0], _POINTER), args[1]]), _INT)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _release(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_POINTER])
        function = cgutils.get_or_insert_function(builder.module, kind, "free")
        builder.call(function, [builder.inttoptr(args[0], _POINTER)])
        return context.get_dummy_value()

    return types.none(types.int64), codegen


@intrinsic
def _pointer(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _POINTER)

    return types.voidptr(types.int64), codegen


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


@njit
def new_tape():
    """An empty tape; it takes memory when the first value is recorded."""
    return np.zeros(3, np.int64)


@njit
def words(tape):
    """The words of a tape as an array."""
    return numba.carray(_pointer(tape[0]), (tape[2],), np.float64)


@njit
def grow(tape, needed):
    """Make room for so many words; the new array of words."""
    room = max(needed, 2 * tape[2], 512)
    address = _reallocate(tape[0], 8 * room)
    if address == 0:
        raise MemoryError("the tape of the derivative does not fit into memory")
    tape[0] = address
    tape[2] = room
    return numba.carray(_pointer(address), (room,), np.float64)


@njit
def free_tape(tape):
    """Give the memory back."""
    _release(tape[0])
    tape[0] = 0
    tape[1] = 0
    tape[2] = 0


@njit
def range_length(start, stop, step):
    """How many numbers range(start, stop, step) has."""
    return len(range(start, stop, step))


@njit
def divide(a, b):
    """A / b, or ZeroDivisionError: what a numba function does in its usual error model."""
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return a / b


@njit
def floor_divide(a, b):
    """A // b, or ZeroDivisionError."""
    if b == 0:
        raise ZeroDivisionError("integer division by zero")
    return a // b


@njit
def remainder(a, b):
    """A % b, or ZeroDivisionError."""
    if b == 0:
        raise ZeroDivisionError("integer modulo by zero")
    return a % b


@njit
def spread(a, shape):
    """A view of a in the shape that it is broadcast to; axes of length 1 are repeated in place."""
    return _spread(a, shape)


def _spread(a, shape):
    raise NotImplementedError


@numba.extending.overload(_spread)
def _overload_spread(a, shape):
    ndim, more = a.ndim, len(shape) - a.ndim

    def one(a, shape):
        strides = shape
        for k in range(ndim):
            if a.shape[k] == shape[k + more]:
                stride = a.strides[k]
            elif a.shape[k] == 1:
                stride = 0
            else:
                raise ValueError("operands could not be broadcast together")
            strides = numba.np.unsafe.ndarray.tuple_setitem(strides, k + more, stride)
        for k in range(more):
            strides = numba.np.unsafe.ndarray.tuple_setitem(strides, k, 0)
        return np.lib.stride_tricks.as_strided(a, shape, strides)

    return one


@njit
def add_to(array, value):
    """array += value."""
    array += value


@njit
def share(x, extreme, d_x, ct):
    """Add ct to the elements of d_x where x has its extreme value, in equal parts."""
    count = 0
    for value in x.flat:
        if value == extreme:
            count += 1
    for index, value in np.ndenumerate(x):
        if value == extreme:
            d_x[index] += ct / count


@njit
def extent(a):
    """The first and the last address of an array's memory."""
    low = a.ctypes.data
    high = low + a.itemsize
    for k in range(a.ndim):
        reach = (a.shape[k] - 1) * a.strides[k]
        if reach > 0:
            high += reach
        else:
            low += reach
    return low, high


@njit
def check_apart(a, b):
    """ValueError if two arrays, one of which is written, may share memory."""
    if a.size > 0 and b.size > 0:
        low_a, high_a = extent(a)
        low_b, high_b = extent(b)
        if low_a < high_b and low_b < high_a:
            raise ValueError("two arguments share memory and one of them is written: pass a copy of one")


@njit
def dot_left_11(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times vector."""
    for i in range(d_a.size):
        d_a[i] += ct * b[i]


@njit
def dot_right_11(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times vector."""
    for i in range(d_b.size):
        d_b[i] += ct * a[i]


@njit
def dot_left_21(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times vector."""
    for i in range(d_a.shape[0]):
        for j in range(d_a.shape[1]):
            d_a[i, j] += ct[i] * b[j]


@njit
def dot_right_21(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times vector."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d_b[j] += a[i, j] * ct[i]


@njit
def dot_left_12(d_a, b, ct):
    """The cotangent of a in dot(a, b): vector times matrix."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            d_a[i] += b[i, j] * ct[j]


@njit
def dot_right_12(d_b, a, ct):
    """The cotangent of b in dot(a, b): vector times matrix."""
    for i in range(d_b.shape[0]):
        for j in range(d_b.shape[1]):
            d_b[i, j] += a[i] * ct[j]


@njit
def dot_left_22(d_a, b, ct):
    """The cotangent of a in dot(a, b): matrix times matrix."""
    d_a += np.dot(np.ascontiguousarray(ct), np.ascontiguousarray(b).T)


@njit
def dot_right_22(d_b, a, ct):
    """The cotangent of b in dot(a, b): matrix times matrix."""
    d_b += np.dot(np.ascontiguousarray(a).T, np.ascontiguousarray(ct))


# Forward mode


@njit
def tangent(x, t_x):
    """The tangent of an array, if it has the array's shape; else ValueError."""
    if t_x.shape != x.shape:
        raise ValueError("a tangent has another shape than the array that it belongs to")
    return t_x


@njit
def new_tangent(x, t_x):
    """The same as a new array, of x's dtype and layout: the function may write it."""
    made = np.zeros_like(x)
    made[...] = tangent(x, t_x)
    return made


@njit
def at_extreme(x, extreme, t_x):
    """The mean of the tangents of those elements of x that have its extreme value."""
    count, total = 0, 0.0
    for index, value in np.ndenumerate(x):
        if value == extreme:
            count += 1
            total += t_x[index]
    return total / count if count else 0.0


#: Its code on floats, where the helper function is compiled, too.
polygamma = njit(
    FunctionType(special.polygamma.__code__, {**vars(special), "_power": njit(special._power)}, "polygamma")
)
