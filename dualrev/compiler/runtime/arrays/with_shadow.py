"""Joint allocation of a new array and its shadow, or its shadows in several lanes (ad/vector_mode.py).

Small ones are one piece of memory: to allocate it takes longer than to fill it.

Each of them refers to the whole piece, which so lives as long as the longest one of them. That is why larger arrays
have memory of their own: a sweep may need the shadow for long, and the elements for a line.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from dualrev.compiler.runtime.arrays.allocate import new_shaped
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

__all__ = ["empty_with_shadow"]

LARGEST = 512  # bytes of an array that shares its memory with its shadows


@intrinsic
def _empty_with_shadows(typingctx: TypingContext, shape: NumbaType, dtype: NumbaType, rest: NumbaType) -> Intrinsic:
    kind = types.Array(dtype.dtype, len(shape) if isinstance(shape, types.BaseTuple) else 1, "C")
    count = 2 + len(rest)

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit one allocation for all if they are small, else one for each, and zero-fill the shadows."""
        sizes = arrayobj._parse_shape(context, builder, signature.args[0], args[0])
        slots = [cgutils.alloca_once(builder, context.get_value_type(kind)) for _ in range(count)]
        with builder.if_else(_is_small(context, builder, kind, sizes)) as (small, large):
            with small:
                every = kind.copy(ndim=kind.ndim + 1)
                made = context.make_array(every)(
                    context, builder, new_shaped(context, builder, [ir.IntType(64)(count), *sizes], every)
                )
                strides = cgutils.unpack_tuple(builder, made.strides)
                step = builder.udiv(strides[0], made.itemsize)
                for k, slot in enumerate(slots):
                    data = builder.gep(made.data, [builder.mul(step, step.type(k))])
                    part = context.make_array(kind)(context, builder)
                    arrayobj.populate_array(part, data, sizes, strides[1:], made.itemsize, made.meminfo)
                    builder.store(part._getvalue(), slot)
                for _ in slots[1:]:
                    context.nrt.incref(builder, every, made._getvalue())
            with large:
                for slot in slots:
                    builder.store(new_shaped(context, builder, sizes, kind), slot)
        for slot in slots[1:]:
            shadow = context.make_array(kind)(context, builder, builder.load(slot))
            cgutils.memset(builder, shadow.data, builder.mul(shadow.itemsize, shadow.nitems), 0)
        return context.make_tuple(builder, signature.return_type, [builder.load(slot) for slot in slots])

    return types.UniTuple(kind, count)(shape, dtype, rest), codegen


def _is_small(context: TargetContext, builder: IRBuilder, kind: NumbaType, sizes: LLVMValues) -> LLVMValue:
    """Whether an array of these sizes has at most LARGEST bytes; an overflowing product may pass for small."""
    count = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    for size in sizes:
        count = builder.mul(count, size)
    return builder.icmp_unsigned("<=", count, count.type(LARGEST))


@inner
def empty_with_shadow(shape, dtype, *rest):
    """Allocate an array and its zeroed shadows; ValueError if a length is negative, or the size is too large.

    There is one shadow, and one more for each element of `rest`.
    """
    return _empty_with_shadows(shape, dtype, rest)
