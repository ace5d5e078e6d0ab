"""How many rounds loops have, and how many words they need on the tape: without overflow, whatever a range is."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["falling", "rising", "room", "rounds"]

_MOST = 2**40  # words: more than any memory has; multiples of it do not overflow
_INT = ir.IntType(64)


@intrinsic
def room(typingctx: Any, top: Any, each: Any, rounds: Any) -> Any:
    """How many words there have to be for `each` in every one of so many rounds. No number of rounds overflows."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        top, each, rounds = args
        less = builder.icmp_signed if signature.args[2].signed else builder.icmp_unsigned
        many = builder.select(less("<", rounds, _INT(_MOST)), rounds, _INT(_MOST))
        return builder.add(top, builder.mul(each, many))

    whole = types.uint64 if types.unliteral(rounds) == types.uint64 else types.int64
    return types.int64(types.int64, types.int64, whole), codegen


@intrinsic(prefer_literal=True)
def rounds(typingctx: Any, start: Any, stop: Any, step: Any) -> Any:
    """How many rounds a loop over range(start, stop, step) has, or _MOST if there are more.

    Of range(0, stop, 1), the stop itself if it is not negative.
    """
    known = [t.literal_value if isinstance(t, types.IntegerLiteral) else None for t in (start, step)]
    given = tuple(map(types.unliteral, (start, stop, step)))
    if not all(isinstance(t, types.Integer) and t.signed for t in given):
        made = types.int64(*given)
        return made, lambda context, builder, signature, args: context.compile_internal(builder, _rounds, made, args)

    if known == [0, 1]:

        def from_0(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.select(builder.icmp_signed(">", args[1], _INT(0)), args[1], _INT(0))

        # numba tells implementations apart by the types here, so they have to stay those of known ints.
        return types.int64(start, types.int64, step), from_0

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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
    """How many rounds an inner loop has in all in `count` rounds of an outer one: `first`, and then each time one more.

    A number below 0 stands for no rounds.
    """
    if first < 0:
        count, first = max(count + first, 0), 0
    return count * first + ((count * (count - 1)) >> 1)


@njit
def falling(count, first):
    """The same of an inner loop that has each time one round less."""
    count = min(count, max(first, 0))
    return count * first - ((count * (count - 1)) >> 1)
