"""Calling convention for arrays that a recursive function passes unchanged to itself: one address for all.

A call passes seven words for each array, most of them through memory: in a short recursive function that is most of the
time. The arrays that every call gets unchanged lie in the frame of the function that begins the recursion, and its
calls pass their address. No references are counted: the caller of that function holds the arrays until it returns.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from dualrev.compiler.types.aliases import (
    Intrinsic,
    IRBuilder,
    LLVMType,
    LLVMValue,
    LLVMValues,
    NumbaType,
    Signature,
    TargetContext,
    TypingContext,
)

__all__ = ["borrow", "lend"]


class _Address(types.Type):
    """Numba type of the address of a tuple of arrays."""

    def __init__(self, arrays: NumbaType) -> None:
        self.arrays = arrays
        super().__init__(f"address({arrays})")


@register_model(_Address)
class _AddressModel(models.OpaqueModel):
    """Data model of the address: an opaque pointer."""


@intrinsic
def lend(typingctx: TypingContext, arrays: NumbaType) -> Intrinsic:
    """Store a tuple of arrays in the caller's frame, and return its address, valid until that returns."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the alloca and the store."""
        place = cgutils.alloca_once(builder, args[0].type)
        builder.store(args[0], place)
        return builder.bitcast(place, context.get_value_type(signature.return_type))

    return _Address(arrays)(arrays), codegen


@intrinsic
def borrow(typingctx: TypingContext, address: NumbaType) -> Intrinsic:
    """Load the arrays at an address, in a function that counts no references."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the loads."""
        kind = context.get_value_type(signature.return_type)
        return _loaded(builder, builder.bitcast(args[0], kind.as_pointer()), kind)

    return address.arrays(address), codegen


def _loaded(builder: IRBuilder, place: LLVMValue, kind: LLVMType) -> LLVMValue:
    """Load an aggregate word by word: LLVM drops the loads that nobody uses."""
    if not isinstance(kind, ir.Aggregate):
        return builder.load(place)
    made = ir.Constant(kind, ir.Undefined)
    for k in range(len(kind)):
        part = cgutils.gep_inbounds(builder, place, 0, k)
        made = builder.insert_value(made, _loaded(builder, part, part.type.pointee), k)
    return made
