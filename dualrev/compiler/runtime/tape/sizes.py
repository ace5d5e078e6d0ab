"""Trip counts of loops, and the tape words that they need, without overflow."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
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

__all__ = ["falling", "rising", "room", "rounds"]

_MOST = 2**40  # words: more than any memory has; multiples of it do not overflow
_INT = ir.IntType(64)


@intrinsic
def room(typingctx: TypingContext, top: NumbaType, each: NumbaType, rounds: NumbaType) -> Intrinsic:
    """Tape words needed when a loop pushes `each` words per iteration: `top + each * rounds`, without overflow.

    A trip count above _MOST counts as _MOST.
    """

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the saturated product and the sum."""
        top, each, rounds = args
        less = builder.icmp_signed if signature.args[2].signed else builder.icmp_unsigned
        many = builder.select(less("<", rounds, _INT(_MOST)), rounds, _INT(_MOST))
        return builder.add(top, builder.mul(each, many))

    whole = types.uint64 if types.unliteral(rounds) == types.uint64 else types.int64
    return types.int64(types.int64, types.int64, whole), codegen


@intrinsic(prefer_literal=True)
def rounds(typingctx: TypingContext, start: NumbaType, stop: NumbaType, step: NumbaType) -> Intrinsic:
    """Trip count of a loop over `range(start, stop, step)`, saturated at _MOST.

    Of range(0, stop, 1), the stop itself if it is not negative.
    """
    known = [t.literal_value if isinstance(t, types.IntegerLiteral) else None for t in (start, step)]
    given = tuple(map(types.unliteral, (start, stop, step)))
    if not all(isinstance(t, types.Integer) and t.signed for t in given):
        made = types.int64(*given)
        return made, lambda context, builder, signature, args: context.compile_internal(builder, _rounds, made, args)

    if known == [0, 1]:

        def from_0(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
            """Emit the trip count of `range(0, stop, 1)`."""
            return builder.select(builder.icmp_signed(">", args[1], _INT(0)), args[1], _INT(0))

        # numba tells implementations apart by the types here, so they have to stay those of known ints.
        return types.int64(start, types.int64, step), from_0

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the trip count of a general range."""
        # _rounds, with both differences at hand: numba has nothing to infer, and LLVM as much to know
        start, stop, step = args
        up = builder.and_(builder.icmp_signed(">", step, _INT(0)), builder.icmp_signed("<", start, stop))
        down = builder.and_(builder.icmp_signed("<", step, _INT(0)), builder.icmp_signed("<", stop, start))
        distance = builder.select(up, builder.sub(stop, start), builder.sub(start, stop))
        size = builder.select(up, step, builder.select(down, builder.neg(step), _INT(1)))
        many = builder.udiv(builder.sub(distance, _INT(1)), size)
        many = builder.select(builder.icmp_unsigned("<", many, _INT(_MOST)), builder.add(many, _INT(1)), _INT(_MOST))
        return builder.select(builder.or_(up, down), many, _INT(0))

    return types.int64(types.int64, types.int64, types.int64), codegen


def _rounds(start, stop, step):
    if step > 0 and start < stop:
        many = (np.uint64(stop) - np.uint64(start) - np.uint64(1)) // np.uint64(step)
    elif step < 0 and stop < start:
        many = (np.uint64(start) - np.uint64(stop) - np.uint64(1)) // (np.uint64(0) - np.uint64(step))
    else:
        return 0
    return np.int64(many) + 1 if many < np.uint64(_MOST) else _MOST


@njit
def rising(count, first):
    """Total trip count of an inner loop over `count` outer ones, if it starts at `first` and rises by one each time.

    A negative trip count means none.
    """
    if first < 0:
        count, first = max(count + first, 0), 0
    return count * first + ((count * (count - 1)) >> 1)


@njit
def falling(count, first):
    """Total trip count of an inner loop over `count` outer ones, if it starts at `first` and falls by one each time."""
    count = min(count, max(first, 0))
    return count * first - ((count * (count - 1)) >> 1)
