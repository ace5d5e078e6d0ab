"""Calls of BLAS for `np.dot` as LLVM IR, which numba neither infers nor compiles as functions.

Numba's own is seven functions, which take it half a second for each pair of types. BLAS is called as numba calls it, so
the elements are the same bit by bit. Arrays that have to be copied for BLAS are left to numba.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import linalg

from dualrev.compiler.runtime.arrays.allocate import new_shaped, raise_if
from dualrev.compiler.types.aliases import (
    ArrayStruct,
    Intrinsic,
    IRBuilder,
    LLVMValue,
    LLVMValues,
    NumbaType,
    Signature,
    TargetContext,
    TypingContext,
)

__all__ = ["dot", "is_quick"]

_WORDS = {1: "vector", 2: "matrix"}
_Factor: TypeAlias = tuple[NumbaType, LLVMValues, LLVMValue]  # its type, its sizes, and the address of its elements


def is_quick(*arrays: NumbaType) -> bool:
    """Whether BLAS takes arrays of these types without copies."""
    same = all(x.dtype == arrays[0].dtype for x in arrays)
    return same and arrays[0].dtype in (types.float32, types.float64) and all(x.layout in "CF" for x in arrays)


@intrinsic
def dot(typingctx: TypingContext, a: NumbaType, b: NumbaType) -> Intrinsic:
    """Product `np.dot(a, b)` of vectors and matrices."""
    if not is_quick(a, b):
        found = typingctx.resolve_function_type(np.dot, (a, b), {}).return_type(a, b)
        return found, lambda context, builder, signature, args: context.compile_internal(builder, _dot, found, args)
    dtype, ndim = a.dtype, a.ndim + b.ndim - 2
    made = types.Array(dtype, ndim, "C") if ndim else dtype

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the checks of sizes, the allocation of the result and the call of BLAS."""
        linalg.ensure_blas()
        x, y = (context.make_array(kind)(context, builder, value) for kind, value in zip((a, b), args, strict=True))
        sizes, others = cgutils.unpack_tuple(builder, x.shape), cgutils.unpack_tuple(builder, y.shape)
        text = f"incompatible array sizes for np.dot(a, b) ({_WORDS[a.ndim]} * {_WORDS[b.ndim]})"  # numba's words
        raise_if(context, builder, builder.icmp_signed("!=", sizes[-1], others[0]), ValueError, text)
        for size in (*sizes, *others[1:]):
            large = builder.icmp_signed(">", size, size.type(2**31 - 1))
            raise_if(context, builder, large, OverflowError, "array size too large to fit in C int")
        if not ndim:
            place = cgutils.alloca_once(builder, context.get_value_type(dtype))
            linalg.call_xxdot(context, builder, False, dtype, sizes[0], x.data, y.data, place)
            return builder.load(place)
        out = context.make_array(made)(context, builder, new_shaped(context, builder, [*sizes[:-1], *others[1:]], made))
        empty = ir.IntType(1)(0)
        for size in (*sizes, *others[1:]):
            empty = builder.or_(empty, builder.icmp_signed("==", size, size.type(0)))
        with builder.if_else(empty, likely=False) as (nothing, some):
            with nothing:
                cgutils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
            with some:
                _multiply(context, builder, (a, sizes, x.data), (b, others, y.data), (made, out))
        return out._getvalue()

    return made(a, b), codegen


def _dot(a, b):
    return np.dot(a, b)


def _multiply(
    context: TargetContext, builder: IRBuilder, one: _Factor, other: _Factor, made: tuple[NumbaType, ArrayStruct]
) -> None:
    """Emit the call of BLAS; a matrix with one row or column is a vector."""
    (a, sizes, x), (b, others, y), (kind, out) = one, other, made

    def by_vector() -> None:
        """Emit matrix times vector."""
        linalg.call_xxgemv(context, builder, a.layout == "C", a, sizes, x, y, out.data)

    def vector_by() -> None:
        """Emit vector times matrix."""
        linalg.call_xxgemv(context, builder, b.layout == "F", b, others, y, x, out.data)

    if b.ndim == 1:
        return by_vector()
    if a.ndim == 1:
        return vector_by()
    row, column = (builder.icmp_signed("==", size, size.type(1)) for size in (sizes[0], others[1]))
    with builder.if_else(column) as (is_column, is_none):
        with is_column, builder.if_else(row) as (is_row, is_matrix):
            with is_row:
                linalg.call_xxdot(context, builder, False, a.dtype, sizes[1], x, y, out.data)
            with is_matrix:
                by_vector()
        with is_none, builder.if_else(row) as (is_row, is_matrix):
            with is_row:
                vector_by()
            with is_matrix:
                shape = cgutils.unpack_tuple(builder, out.shape)
                linalg.call_xxgemm(context, builder, a, sizes, x, b, others, y, kind, shape, out.data)
    return None
