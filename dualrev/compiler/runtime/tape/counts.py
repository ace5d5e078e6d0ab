"""Counters of the tape, for `dr.tape_info`: words and arrays by the line that records them.

A counted module has the address of its counters as a literal. They are 64-bit ints:

    LIVE, MOST                   words that are on the tapes now, and most at once
    EVENTS                       how many arrays were recorded or taken, in order
    from SITES on                for each site: how often it was reached, and words in all

The table of events has a row for each: the tape, the site (-1: taken), the array's address, its bytes, and LIVE. The
updates are atomic, since threads of a parallel loop have tapes of their own, and share the counters.
"""

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

__all__ = [
    "CAPACITY",
    "COLUMNS",
    "EVENTS",
    "MOST",
    "SITES",
    "TAKEN",
    "count_array",
    "count_taken",
    "count_words",
]

LIVE, MOST, EVENTS, SITES = range(4)
COLUMNS, CAPACITY = 5, 2**22  # of the table of events; untouched rows take no memory
TAKEN = -1

_INT = ir.IntType(64)


def _add(builder: IRBuilder, address: LLVMValue, value: LLVMValue) -> LLVMValue:
    """Emit an atomic addition, and return the former value."""
    return builder.atomic_rmw("add", address, value, "monotonic")


def _table(builder: IRBuilder, address: NumbaType) -> LLVMValue:
    return builder.inttoptr(_INT(address.literal_value), _INT.as_pointer())


@intrinsic(prefer_literal=True)
def count_words(
    typingctx: TypingContext, counters: NumbaType, site: NumbaType, times: NumbaType, count: NumbaType
) -> Intrinsic:
    """Count words that were put on a tape at a site, by so many pushes; or, at the site -1, words that were taken."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the updates."""
        table, place = _table(builder, counters), site.literal_value
        kinds = signature.args[2:]
        times, count = (context.cast(builder, x, t, types.int64) for x, t in zip(args[2:], kinds, strict=True))
        if place == TAKEN:
            _add(builder, builder.gep(table, [_INT(LIVE)]), builder.neg(count))
            return context.get_dummy_value()
        live = builder.add(_add(builder, builder.gep(table, [_INT(LIVE)]), count), count)
        builder.atomic_rmw("max", builder.gep(table, [_INT(MOST)]), live, "monotonic")
        _add(builder, builder.gep(table, [_INT(SITES + 2 * place)]), times)
        _add(builder, builder.gep(table, [_INT(SITES + 2 * place + 1)]), count)
        return context.get_dummy_value()

    return types.none(counters, site, times, count), codegen


def _event(builder: IRBuilder, table: LLVMValue, events: LLVMValue, row: LLVMValues) -> None:
    """Emit a row of the table of events, if there is room."""
    k = _add(builder, builder.gep(table, [_INT(EVENTS)]), _INT(1))
    with builder.if_then(builder.icmp_signed("<", k, _INT(CAPACITY))):
        first = builder.gep(events, [builder.mul(k, _INT(COLUMNS))])
        for column, value in enumerate((*row, builder.load(builder.gep(table, [_INT(LIVE)])))):
            builder.store(value, builder.gep(first, [_INT(column)]))


@intrinsic(prefer_literal=True)
def count_array(
    typingctx: TypingContext, counters: NumbaType, events: NumbaType, site: NumbaType, tape: NumbaType, array: NumbaType
) -> Intrinsic:
    """Note that an array was recorded at a site."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the row."""
        made = context.make_array(array)(context, builder, args[4])
        size = builder.mul(made.nitems, made.itemsize)
        row = [builder.ptrtoint(args[3], _INT), _INT(site.literal_value), builder.ptrtoint(made.data, _INT), size]
        _event(builder, _table(builder, counters), _table(builder, events), row)
        return context.get_dummy_value()

    return types.none(counters, events, site, tape, array), codegen


@intrinsic(prefer_literal=True)
def count_taken(typingctx: TypingContext, counters: NumbaType, events: NumbaType, tape: NumbaType) -> Intrinsic:
    """Note that the array that was recorded last was taken."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the row."""
        row = [builder.ptrtoint(args[2], _INT), _INT(TAKEN), _INT(0), _INT(0)]
        _event(builder, _table(builder, counters), _table(builder, events), row)
        return context.get_dummy_value()

    return types.none(counters, events, tape), codegen
