"""Stack allocation of small arrays that a function lends to callees and never returns."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from dualrev.compiler.runtime.arrays.allocate import zeros_like
from dualrev.compiler.types.aliases import (
    Intrinsic,
    IRBuilder,
    LLVMValue,
    LLVMValues,
    NumbaType,
    Signature,
    TargetContext,
    TypingContext,
)
from dualrev.rules.library.njit_internal import inner

__all__ = ["block_in", "few_zeros", "frame", "zeros_in"]

_ROOM = 32  # floats
_INT = ir.IntType(64)
_FLOATS = types.Array(types.float64, 1, "C")


@intrinsic
def frame(typingctx: TypingContext) -> Intrinsic:
    """Allocate a few floats in the caller's stack frame; no reference to them outlives the call."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the alloca, and an array over it."""
        made = context.make_array(_FLOATS)(context, builder)
        data = cgutils.alloca_once(builder, ir.DoubleType(), size=ir.IntType(32)(_ROOM))
        arrayobj.populate_array(made, data, [_INT(_ROOM)], [_INT(8)], _INT(8), None)
        return made._getvalue()

    return _FLOATS(), codegen


def _zeros(room, x):
    raise NotImplementedError("it is called from compiled code")


@overload(_zeros)
def _overload_zeros(room, x):
    if x.dtype != types.float64 or x.ndim != 1:
        return lambda room, x: zeros_like(x)

    def zeros(room, x):
        """Take zeros from the room if they fit."""
        if x.size > room.size:
            return zeros_like(x)
        made = room[: x.size]
        for i in range(x.size):
            made[i] = 0.0
        return made

    return zeros


@inner
def zeros_in(room, x):
    """Allocate zeros like an array, in this stack room if it is a vector that fits."""
    return _zeros(room, x)


@intrinsic
def _matrix(typingctx: TypingContext, room: NumbaType, n: NumbaType, m: NumbaType) -> Intrinsic:
    """View the first elements of a room as a matrix."""
    array = types.Array(types.float64, 2, "C")

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the array structure over the room."""
        room, n, m = args
        made = context.make_array(array)(context, builder)
        data = context.make_array(_FLOATS)(context, builder, room).data
        arrayobj.populate_array(made, data, [n, m], [builder.mul(m, _INT(8)), _INT(8)], _INT(8), None)
        return made._getvalue()

    return array(room, types.int64, types.int64), codegen


@inner
def block_in(room, n, m):
    """Allocate a matrix, in this stack room if it fits."""
    return _matrix(room, n, m) if n * m <= room.size else np.empty((n, m))


@inner
def few_zeros(n):
    """Allocate a vector of zeros."""
    return np.zeros(n)
