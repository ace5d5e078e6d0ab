"""Parallel loops: chunks of iterations, private arrays, and exceptions in threads.

An exception in a thread is noted, and raised when all chunks are done: that of the first chunk, however many threads
there are.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dualrev.compiler.runtime.tape.memory import CODE, ERROR, free, raise_noted
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

__all__ = [
    "MOST_PRIVATE",
    "add_parts",
    "bound",
    "chunks",
    "first_failed",
    "in_threads",
    "may_overlap",
    "natural",
    "no_overlap",
    "nothing_failed",
    "overlap",
    "private",
    "raise_failed",
    "released",
    "span",
]

FAR = 2**40  # iterations: more than a loop has
MOST_PRIVATE = 2**24  # elements: of all the arrays that chunks have of their own
_INT, _ANY = ir.IntType(64), ir.IntType(8).as_pointer()
_THUNK = ir.FunctionType(ir.VoidType(), [_ANY, _INT])  # of what is given, and a number


@inner
def chunks(start, stop, low, spread, most, size, works):
    """Choose the number of chunks of a parallel loop, independent of the number of threads.

    `start + low` is the first element that is written; the elements of two consecutive iterations lie `spread` apart.
    `size` is the size of the arrays that each chunk has of its own; `works` says whether an iteration may do a lot, so
    that these are worth it.
    """
    if stop <= start:
        return 0
    rounds = stop - start
    if start + low < 0:
        return 1  # a[-1] is another iteration's last element
    count = min(most, rounds // max(spread, 1))
    if size > 0:
        count = min(count, MOST_PRIVATE // size)
        if not works:
            count = min(count, 4 * rounds // size)
    return max(count, 1)


@inner
def span(x, axis):
    """Address range of the first slice of an array along an axis, and the stride to the next slice, in bytes."""
    low = high = np.int64(x.ctypes.data)
    for k in range(x.ndim):
        if k != axis:
            last = x.strides[k] * (x.shape[k] - 1)
            low, high = low + min(last, 0), high + max(last, 0)
    return low, high + x.itemsize, x.strides[axis]


@inner
def overlap(spans):
    """Largest index distance at which slices of arrays with these spans may overlap; FAR if it is not known."""
    low, high, step = spans[0]
    for other in spans:
        low, high = min(low, other[0]), max(high, other[1])
        if other[2] != step or step == 0:
            return FAR
    return (high - low - 1) // abs(step)


@inner
def no_overlap(spans):
    """Check that no two slices at different indices overlap, in arrays with these spans: 0 if so, else FAR."""
    return 0 if overlap(spans) == 0 else FAR


@inner
def may_overlap(a, b):
    """Whether the address ranges of two arrays overlap (may-alias test)."""
    low, high, _ = span(a, -1)
    begin, end, _ = span(b, -1)
    return a.size > 0 and b.size > 0 and low < end and begin < high


@inner
def bound(start, stop, count, k):
    """First iteration of the k-th of `count` chunks."""
    each, more = divmod(stop - start, count)
    return start + each * k + min(k, more)


@intrinsic
def natural(typingctx: TypingContext, number: NumbaType) -> Intrinsic:
    """Assume a number nonnegative (analysis/values/index_ranges.py): LLVM drops the wraparound test of the index."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit `llvm.assume`."""
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = builder.module.declare_intrinsic("llvm.assume", (), kind)
        builder.call(assume, [builder.icmp_signed(">=", args[0], ir.Constant(args[0].type, 0))])
        return args[0]

    return types.int64(types.int64), codegen


@inner(parallel=True)
def _shared_out(thunk, given, first, step, count):
    """Run a thunk in threads for first, first + step, ...: the only function that numba compiles as parallel."""
    for k in prange(count):
        _run(thunk, given, first + step * np.int64(k))


@intrinsic
def _run(typingctx: TypingContext, thunk: NumbaType, given: NumbaType, k: NumbaType) -> Intrinsic:
    """Call a thunk by its address."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the indirect call."""
        builder.call(builder.inttoptr(args[0], _THUNK.as_pointer()), [builder.inttoptr(args[1], _ANY), args[2]])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), codegen


@intrinsic
def in_threads(
    typingctx: TypingContext, first: NumbaType, stop: NumbaType, step: NumbaType, function: NumbaType, *given: NumbaType
) -> Intrinsic:
    """Parallel loop: `function(k, *given)` for `k` in `range(first, stop, step)`; it must not raise or return a value.

    numba takes a second to compile a loop over prange. So there is one for all (_shared_out), which gets the address of
    a thunk: a function that finds what is given in the caller's memory. One number alone takes no threads.
    """
    number, outer = types.int64, types.int64(*[types.int64] * 5)
    kinds = (number, *map(types.unliteral, given))
    typed = function.get_call_type(typingctx, kinds, {})
    compiled = function.dispatcher.overloads[tuple(typed.args)]
    typingctx.resolve_function_type(typingctx.resolve_value_type(_shared_out), outer.args, {})
    shared = _shared_out.overloads[outer.args]

    def call(context: TargetContext, builder: IRBuilder, k: LLVMValue, values: LLVMValues) -> None:
        """Emit a call of the loop body."""
        callee = context.declare_function(builder.module, compiled.fndesc)
        cast = [context.cast(builder, x, a, b) for x, a, b in zip([k, *values], kinds, typed.args, strict=True)]
        context.call_conv.call_function(builder, callee, typed.return_type, compiled.fndesc.argtypes, cast)

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the thunk, and the call of the shared parallel loop; a single iteration runs without threads."""
        begin, end, by = args[:3]
        values = [
            context.cast(builder, x, a, b)
            for x, a, b in zip(cgutils.unpack_tuple(builder, args[4]), given, kinds[1:], strict=True)
        ]
        for made in (compiled, shared):
            context.active_code_library.add_linking_library(made.library)
        room = cgutils.alloca_once(builder, ir.LiteralStructType([x.type for x in values]))
        for at, x in enumerate(values):
            builder.store(x, cgutils.gep_inbounds(builder, room, 0, at))
        thunk = ir.Function(builder.module, _THUNK, builder.module.get_unique_name(f"{builder.function.name}.thunk"))
        thunk.linkage = "internal"
        inside = ir.IRBuilder(thunk.append_basic_block())
        of = inside.bitcast(thunk.args[0], room.type)
        call(
            context,
            inside,
            thunk.args[1],
            [inside.load(cgutils.gep_inbounds(inside, of, 0, at)) for at in range(len(values))],
        )
        inside.ret_void()
        several = builder.icmp_signed("<", builder.add(begin, by), end)
        one = builder.icmp_signed("<", begin, end)
        with builder.if_else(several) as (in_several, alone):
            with in_several:
                count = builder.sdiv(builder.sub(builder.add(end, by), builder.add(begin, _INT(1))), by)
                addresses = [builder.ptrtoint(x, _INT) for x in (thunk, room)]
                callee = context.declare_function(builder.module, shared.fndesc)
                context.call_conv.call_function(
                    builder, callee, types.none, shared.fndesc.argtypes, [*addresses, begin, by, count]
                )
            with alone, builder.if_then(one):
                call(context, builder, begin, values)
        return context.get_dummy_value()

    return types.none(number, number, number, function, types.StarArgTuple(given)), codegen


@inner
def nothing_failed(count):
    """Allocate the failure table of so many chunks: numba's status and its exception, no failures yet."""
    return np.zeros((count, 2), np.int64)


@inner
def private(count, x):
    """Allocate a private copy of an array for each chunk, uninitialised."""
    return np.empty((count, *x.shape), x.dtype)


@inner
def add_parts(x, parts):
    """Reduce the chunks' private arrays into an array, in their order."""
    for k in range(len(parts)):
        _add(x, parts[k])


def _add(x, part):
    """Add an array to another one, of any layout."""
    raise NotImplementedError("it is called from compiled code")


@overload(_add)
def _overload_add(x, part):
    if x.layout != "C":

        def add(x, part):
            """Add elementwise, in any layout."""
            for index in np.ndindex(x.shape):
                x[index] += part[index]

        return add

    def add_in_a_row(x, part):  # in which LLVM sees a loop over vectors
        """Add contiguous arrays in one loop, which LLVM vectorises."""
        to, of = x.reshape(x.size), part.reshape(x.size)
        for i in range(x.size):
            to[i] += of[i]

    return add_in_a_row


# Exceptions


@intrinsic
def released(typingctx: TypingContext, tape: NumbaType) -> Intrinsic:
    """Free a tape's memory, and return its noted failure: numba's status and its exception."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the release, and load the failure."""
        free(context, builder, args[0])
        noted = [builder.load(cgutils.gep_inbounds(builder, args[0], k)) for k in (CODE, ERROR)]
        return context.make_tuple(builder, signature.return_type, noted)

    return types.UniTuple(types.int64, 2)(tape), codegen


@intrinsic
def raise_failed(typingctx: TypingContext, failed: NumbaType) -> Intrinsic:
    """Raise a failure, unless its status is 0."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the raise."""
        raise_noted(context, builder, *cgutils.unpack_tuple(builder, args[0]))
        return context.get_dummy_value()

    return types.none(failed), codegen


@inner
def first_failed(failed):
    """Failure of the first chunk that failed; (0, 0) if none did."""
    for k in range(len(failed)):
        if failed[k, 0] != 0:
            return failed[k, 0], failed[k, 1]
    return 0, 0
