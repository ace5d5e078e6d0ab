"""Bitcasts between ints and floats: whole numbers are kept on the tape as floats, bit by bit."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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

__all__ = ["bits", "whole"]


_INT = ir.IntType(64)


@intrinsic
def bits(typingctx: TypingContext, x: NumbaType) -> Intrinsic:
    """Bitcast an int to a float."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the bitcast."""
        whole = context.cast(builder, args[0], signature.args[0], types.int64)
        return builder.bitcast(whole, ir.DoubleType())

    return types.float64(x), codegen


@intrinsic
def whole(typingctx: TypingContext, x: NumbaType) -> Intrinsic:
    """Bitcast a float to an int: the inverse of `bits`."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the bitcast."""
        return builder.bitcast(args[0], _INT)

    return types.int64(types.float64), codegen
