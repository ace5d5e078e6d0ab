"""Allocation, broadcasting and divisions as LLVM IR, which numba neither infers nor compiles as functions.

Numba's own np.zeros_like is several functions, which take it a third of a second in every process.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable
from numba.np import arrayobj

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
from dualrev.rules.library.njit_internal import inner

__all__ = [
    *["NO_MEMORY", "check_apart", "check_new", "clear_unless", "common_shape", "divide", "empty", "empty_like"],
    *["kind_like", "new", "new_shaped", "raise_if", "scaled", "zeros", "zeros_like"],
    *["along", "along_both", "known", "known_zeros_like"],
]


# numba's words
NO_MEMORY = ("Allocation failed (probably too large).",)
TOO_LARGE = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."


def new(
    context: TargetContext,
    builder: IRBuilder,
    sizes: LLVMValues,
    kind: NumbaType,
    fill: str,
    failed: Callable[[], None],
) -> LLVMValue:
    """Emit the allocation of an array; `failed` emits the code for a failed allocation.

    It is numba's own in every other way, but numba compiles functions for that.
    """
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides, step, too_large = [], item, ir.IntType(1)(0)
    for extent in sizes if kind.layout == "F" else sizes[::-1]:
        strides.append(step)
        product = builder.smul_with_overflow(step, extent)
        step, too_large = builder.extract_value(product, 0), builder.or_(too_large, builder.extract_value(product, 1))
    strides = strides if kind.layout == "F" else strides[::-1]
    bytes_ = builder.select(too_large, item.type(2**63 - 2**12), step)
    align = context.get_preferred_array_alignment(kind.dtype)
    memory = context.nrt.meminfo_alloc_aligned_unchecked(builder, bytes_, align)
    made = context.make_array(kind)(context, builder)
    place = cgutils.alloca_once(builder, made._getvalue().type, zfill=True)
    with builder.if_else(cgutils.is_null(builder, memory), likely=False) as (none, some):
        with none:
            failed()
        with some:
            data = builder.bitcast(context.nrt.meminfo_data(builder, memory), made.data.type)
            if fill == "zeros":
                cgutils.memset(builder, data, step, 0)
            elif fill == "known zeros":
                with cgutils.for_range(builder, builder.udiv(step, item)) as loop:
                    builder.store(data.type.pointee(-0.0), builder.gep(data, [loop.index]))
            arrayobj.populate_array(made, data, sizes, strides, item, memory)
            builder.store(made._getvalue(), place)
    return builder.load(place)


def kind_like(x: NumbaType) -> NumbaType:
    """Type of a new array like another one: contiguous, as numpy makes it."""
    return types.Array(x.dtype, x.ndim, "F" if x.layout == "F" else "C")


def _like(x: NumbaType, fill: str) -> Intrinsic:
    """Signature and code generator of an allocation like `x`."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the allocation, with MemoryError on failure."""

        def failed() -> None:
            """Emit the return with MemoryError."""
            context.call_conv.return_user_exc(builder, MemoryError, NO_MEMORY)

        like = context.make_array(signature.args[0])(context, builder, args[0])
        sizes = cgutils.unpack_tuple(builder, like.shape)
        return new(context, builder, sizes, signature.return_type, fill, failed)

    return kind_like(x)(x), codegen


@intrinsic
def _empty_like(typingctx: TypingContext, x: NumbaType) -> Intrinsic:
    return _like(x, "")


@intrinsic
def _zeros_like(typingctx: TypingContext, x: NumbaType) -> Intrinsic:
    return _like(x, "zeros")


@inner
def zeros_like(x):
    """Allocate a zeroed shadow of an array."""
    return _zeros_like(x)


@intrinsic
def _known_zeros_like(typingctx: TypingContext, x: NumbaType) -> Intrinsic:
    return _like(x, "known zeros")


@inner
def known_zeros_like(x):
    """Allocate a shadow or a tangent of an array, filled with marked known zeros (-0.0)."""
    return _known_zeros_like(x)


@inner
def empty_like(x):
    """Allocate an uninitialised array like another one."""
    return _empty_like(x)


@intrinsic
def empty(typingctx: TypingContext, shape: NumbaType, dtype: NumbaType) -> Intrinsic:
    """Allocate an uninitialised array: `np.empty(shape, dtype)`."""
    return _shaped(shape, dtype, "")


@intrinsic
def zeros(typingctx: TypingContext, shape: NumbaType, dtype: NumbaType) -> Intrinsic:
    """Allocate a zeroed array: `np.zeros(shape, dtype)`."""
    return _shaped(shape, dtype, "zeros")


def _shaped(shape: NumbaType, dtype: NumbaType, fill: str) -> Intrinsic:
    """Signature and code generator of an allocation by shape; ValueError, in numba's words, for a bad shape."""
    kind = types.Array(dtype.dtype, len(shape) if isinstance(shape, types.BaseTuple) else 1, "C")

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the allocation."""
        sizes = arrayobj._parse_shape(context, builder, signature.args[0], args[0])
        return new_shaped(context, builder, sizes, kind, fill)

    return kind(shape, dtype), codegen


def new_shaped(
    context: TargetContext, builder: IRBuilder, sizes: LLVMValues, kind: NumbaType, fill: str = ""
) -> LLVMValue:
    """Emit the allocation of an array of nonnegative sizes; ValueError if their product is too large."""
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    count, too_large = item.type(1), ir.IntType(1)(0)
    for size in (*sizes, item):
        product = builder.smul_with_overflow(count, size)
        count, too_large = builder.extract_value(product, 0), builder.or_(too_large, builder.extract_value(product, 1))
    raise_if(context, builder, too_large, ValueError, TOO_LARGE)
    failed = lambda: context.call_conv.return_user_exc(builder, MemoryError, NO_MEMORY)  # noqa: E731
    return new(context, builder, sizes, kind, fill, failed)


@intrinsic
def _clear_unless(typingctx: TypingContext, x: NumbaType, extents: NumbaType) -> Intrinsic:
    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the comparison of the shapes, and the zero-fill."""
        array = context.make_array(signature.args[0])(context, builder, args[0])
        sizes, given = cgutils.unpack_tuple(builder, array.shape), cgutils.unpack_tuple(builder, args[1])
        other = ir.IntType(1)(0)
        for size, extent, kind in zip(sizes, given, signature.args[1], strict=True):
            extent = context.cast(builder, extent, kind, types.intp)
            other = builder.or_(other, builder.icmp_signed("!=", size, extent))
        with cgutils.if_unlikely(builder, other):
            cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
        return context.get_dummy_value()

    return types.none(x, extents), codegen


@inner
def clear_unless(x, *shape):
    """Zero-fill a new array unless it has this shape: then all of its elements are set later."""
    _clear_unless(x, shape)


# Broadcasting


def common_shape(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast two shapes; ValueError if they do not match."""
    return np.broadcast_shapes(one, two)


@type_callable(common_shape)
def _type_common_shape(context: TypingContext) -> Callable[[NumbaType, NumbaType], NumbaType]:
    return lambda one, two: types.UniTuple(types.intp, max(len(one), len(two)))


@lower_builtin(common_shape, types.BaseTuple, types.BaseTuple)
def _lower_common_shape(
    context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues
) -> LLVMValue:
    unit = context.get_constant(types.intp, 1)
    common, wrong = [unit] * signature.return_type.count, ir.IntType(1)(0)
    for shape in args:
        sizes = cgutils.unpack_tuple(builder, shape)
        for k, size in enumerate(sizes, len(common) - len(sizes)):
            common[k] = builder.select(builder.icmp_signed("==", common[k], unit), size, common[k])
            other = builder.icmp_signed("!=", size, common[k])
            wrong = builder.or_(wrong, builder.and_(other, builder.icmp_signed("!=", size, unit)))
    raise_if(context, builder, wrong, ValueError, "shape mismatch: objects cannot be broadcast to a single shape")
    return context.make_tuple(builder, signature.return_type, common)


def raise_if(context: TargetContext, builder: IRBuilder, test: LLVMValue, error: type[Exception], text: str) -> None:
    """Emit an exception under a condition."""
    with cgutils.if_unlikely(builder, test):
        context.call_conv.return_user_exc(builder, error, (text,))


# Arguments


@intrinsic
def check_apart(typingctx: TypingContext, a: NumbaType, b: NumbaType) -> Intrinsic:
    """Refuse two arguments that may share memory, where one is written (ValueError)."""
    return _checked(a, b, "two arguments share memory and one of them is written: pass a copy of one")


@intrinsic
def check_new(typingctx: TypingContext, made: NumbaType, given: NumbaType) -> Intrinsic:
    """Refuse a result of an undifferentiated function that may share memory with others or arguments (ValueError)."""
    text = "a function that is not differentiated returns memory of an argument, or twice the same: return a copy"
    return _checked(made, given, text)


def _checked(a: NumbaType, b: NumbaType, text: str) -> Intrinsic:
    """Signature and code generator of a check that two arrays share no memory."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the comparison of both address ranges."""
        (low_a, high_a), (low_b, high_b) = (
            _extent(builder, kind.ndim, context.make_array(kind)(context, builder, x))
            for kind, x in zip(signature.args, args, strict=True)
        )
        below, above = builder.icmp_unsigned("<", low_a, high_b), builder.icmp_unsigned("<", low_b, high_a)
        raise_if(context, builder, builder.and_(below, above), ValueError, text)
        return context.get_dummy_value()

    return types.none(a, b), codegen


def _extent(builder: IRBuilder, ndim: int, array: ArrayStruct) -> tuple[LLVMValue, LLVMValue]:
    """Address range of an array's memory: its first byte, and the one behind its last; empty for an empty array."""
    low = builder.ptrtoint(array.data, array.itemsize.type)
    high, zero = builder.add(low, array.itemsize), array.itemsize.type(0)
    for size, stride in zip(
        *(cgutils.unpack_tuple(builder, x, ndim) for x in (array.shape, array.strides)), strict=True
    ):
        reach = builder.mul(builder.sub(size, size.type(1)), stride)
        forwards = builder.icmp_signed(">", reach, zero)
        high = builder.add(high, builder.select(forwards, reach, zero))
        low = builder.add(low, builder.select(forwards, zero, reach))
    nothing = builder.icmp_unsigned("==", array.nitems, zero)
    return builder.select(nothing, zero.type(-1), low), builder.select(nothing, zero, high)


# Divisions


@intrinsic
def divide(typingctx: TypingContext, a: NumbaType, b: NumbaType) -> Intrinsic:
    """Compute `a / b`, or raise ZeroDivisionError, as in numba's default error model, which emitted code does not use.

    Elements of arrays are divided as numpy does it: by zero, too.
    """
    found = typingctx.resolve_function_type(operator.truediv, (a, b), {})
    if not isinstance(found.return_type, types.Float):
        made = found.return_type(a, b)
        return made, lambda context, builder, signature, args: context.compile_internal(builder, _quotient, made, args)

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the check and the division."""
        zero = builder.fcmp_ordered("==", args[1], args[1].type(0.0))
        raise_if(context, builder, zero, ZeroDivisionError, "division by zero")
        return builder.fdiv(*args)

    return found.return_type(found.return_type, found.return_type), codegen


def _quotient(a, b):
    return a / b


@intrinsic
def known(typingctx: TypingContext, t: NumbaType) -> Intrinsic:
    """Mark a zero as known: -0.0 where `t` is 0, else `t`."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the selection."""
        zero = builder.fcmp_ordered("==", args[0], args[0].type(0.0))
        return builder.select(zero, args[0].type(-0.0), args[0])

    return t(t), codegen


@intrinsic
def along(typingctx: TypingContext, factor: NumbaType, t: NumbaType) -> Intrinsic:
    """Product that keeps known zeros of `t`: -0.0 where `t` is -0.0, else `factor * t + 0.0`."""
    made = typingctx.resolve_function_type(operator.mul, (factor, t), {}).return_type

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the product and the selection."""
        factor, t = args
        known = _is_known(builder, t)
        product = builder.fadd(builder.fmul(factor, t), t.type(0.0))
        return context.cast(builder, builder.select(known, t, product), made, types.float64)

    return types.float64(made, made), codegen


@intrinsic
def along_both(typingctx: TypingContext, t: NumbaType, u: NumbaType) -> Intrinsic:
    """Product that keeps known zeros of both: -0.0 where `t` or `u` is -0.0, else `t * u + 0.0`."""
    made = typingctx.resolve_function_type(operator.mul, (t, u), {}).return_type

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the product and the selection."""
        t, u = args
        known = builder.or_(_is_known(builder, t), _is_known(builder, u))
        product = builder.fadd(builder.fmul(t, u), t.type(0.0))
        return context.cast(builder, builder.select(known, t.type(-0.0), product), made, types.float64)

    return types.float64(made, made), codegen


def _is_known(builder: IRBuilder, t: LLVMValue) -> LLVMValue:
    bits = ir.IntType(64 if isinstance(t.type, ir.DoubleType) else 32)
    return builder.icmp_unsigned("==", builder.bitcast(t, bits), bits(1 << (bits.width - 1)))


@intrinsic
def scaled(typingctx: TypingContext, factor: NumbaType, t: NumbaType) -> Intrinsic:
    """Product in which a zero annihilates: 0.0 where `t` is 0, else `factor * t`, even if the factor is infinite.

    It stands for `factor * t if t != 0.0 else 0.0`, whose branches cost numba time in all its passes. To LLVM it is a
    branch: where cotangents are zero for many iterations, what multiplies them is not computed. The branch is marked as
    likely. Otherwise LLVM makes it a selection, and each product waits for the comparison of the one before.
    """
    made = typingctx.resolve_function_type(operator.mul, (factor, t), {}).return_type

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the product under a branch."""
        factor, t = args
        before = builder.block
        with builder.if_then(builder.fcmp_unordered("!=", t, t.type(0.0)), likely=True):
            product = builder.fmul(factor, t)
            inside = builder.block
        found = builder.phi(t.type)
        found.add_incoming(t.type(0.0), before)
        found.add_incoming(product, inside)
        return context.cast(builder, found, made, types.float64)

    return types.float64(made, made), codegen
