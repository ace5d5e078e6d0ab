"""The tape of compiled derivatives: its memory, its owner, and its release after an exception.

The tape is a block of ints on the stack of the derivative that was called, its owner. Emitted code holds its address:

    tape[ADDRESS], tape[TOP], tape[ROOM]      64-bit words: where they are, how many are in use, how many there are
    tape[ARRAYS], tape[COUNT], tape[SPACE]    recorded arrays, each with a reference: the same, in words
    tape[CODE], tape[ERROR]                   the first failure: numba's status and its exception
    tape[HELD]                                how many arrays the tape holds without recording them
    then                                      the first words, room for the first arrays, and the arrays that it holds

More room comes from malloc; the thread keeps what the words had of it for its next tape (arena.py). An exception in
numba code returns a status, and nobody unwinds: what a function refers to is lost. So the owner has what lives as long
as the call, and hands it on by `attempt`, which calls a function and notes its failure in the tape:

    tape = new_tape(0)
    d_x = attempt(tape, zeros_like, x)
    made = attempt(tape, sweeps, x, d_x, tape)
    returned = unless_failed(tape, (made, d_x))
    close(tape)
    return returned

After a failure attempts do nothing, and give zeros, as `unless_failed` does: what the owner has goes by numba's own
rules. `close` frees the tape, and raises what failed. An attempt lends arrays: the callee gets them without their
reference counts, so that it cannot lose one. `hold` does that with an array that a sweep makes.

Numba 0.65 takes all counting of references out of a function that neither makes nor returns arrays, as most owners.
`keep` and `free` mark their modules, so that it stays: a tape's references are not those of variables.

No memory is shared by threads, and no place knows of calls that are under way: so calls may be nested, may run in
threads, without the GIL, and in forked processes.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.callconv import RETCODE_USEREXC, excinfo_ptr_t
from numba.extending import intrinsic
from numba.np import arrayobj

from dualrev.compiler.runtime.arrays.allocate import NO_MEMORY, empty_like, kind_like, known_zeros_like, new, zeros_like
from dualrev.compiler.runtime.link import call_apart
from dualrev.compiler.runtime.tape.arena import function, give_back, reallocate, release, take
from dualrev.compiler.types.aliases import (
    Intrinsic,
    IRBuilder,
    LLVMFunction,
    LLVMValue,
    LLVMValues,
    NumbaType,
    NumbaTypes,
    Signature,
    TargetContext,
    TypingContext,
)
from dualrev.rules.library.njit_internal import Inner

__all__ = [
    "attempt",
    "close",
    "column",
    "flags",
    "free",
    "grow",
    "hold",
    "keep",
    "kept",
    "new_tape",
    "raise_noted",
    "unless_failed",
    "words",
]

ADDRESS, TOP, ROOM, ARRAYS, COUNT, SPACE, CODE, ERROR, HELD = range(9)
WORDS, KEPT, SLOTS = 9, 64, 128  # where the first words begin, the first arrays, and those that are held

_INT, _SHORT = ir.IntType(64), ir.IntType(32)
_TAPE = types.CPointer(types.int64)
_MEMORY = types.MemInfoPointer(types.voidptr)
_FLOATS = types.Array(types.float64, 1, "C")


def _at(builder: IRBuilder, tape: LLVMValue, k: int) -> LLVMValue:
    return builder.gep(tape, [_SHORT(k)])


# Words


@intrinsic(prefer_literal=True)
def new_tape(typingctx: TypingContext, held: NumbaType) -> Intrinsic:
    """Allocate an empty tape in the caller's frame; `held`, a literal, is the number of its slots for held arrays."""
    count = held.literal_value

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the alloca, and initialise the fields."""
        tape = cgutils.alloca_once(builder, _INT, size=_SHORT(SLOTS + count))
        for k in [*range(WORDS), *range(SLOTS, SLOTS + count)]:
            builder.store(_INT(0), _at(builder, tape, k))
        for field, start, end in ((ADDRESS, WORDS, KEPT), (ARRAYS, KEPT, SLOTS)):
            builder.store(builder.ptrtoint(_at(builder, tape, start), _INT), _at(builder, tape, field))
            builder.store(_INT(end - start), _at(builder, tape, field + 2))
        builder.store(_INT(count), _at(builder, tape, HELD))
        return tape

    return _TAPE(held), codegen


@intrinsic
def words(typingctx: TypingContext, tape: NumbaType) -> Intrinsic:
    """View of the tape's words as an array of floats."""
    return _FLOATS(tape), lambda context, builder, signature, args: _words(context, builder, args[0])


def _words(context: TargetContext, builder: IRBuilder, tape: LLVMValue) -> LLVMValue:
    made = context.make_array(_FLOATS)(context, builder)
    room, size = builder.load(_at(builder, tape, ROOM)), _INT(8)
    data = builder.inttoptr(builder.load(_at(builder, tape, ADDRESS)), made.data.type)
    arrayobj.populate_array(made, data, [room], [size], size, None)
    return made._getvalue()


def _enlarge(
    context: TargetContext, builder: IRBuilder, tape: LLVMValue, field: int, first: int, needed: LLVMValue
) -> None:
    """Emit the growth of the words or the arrays of a tape; MemoryError if it fails, with the tape unchanged."""
    enlarge = function(builder, "dualrev_enlarge", _SHORT, [_INT.as_pointer(), _INT, _INT, _INT], _write_enlarge)
    failed = builder.call(enlarge, [tape, _INT(field), _INT(first), needed])
    with cgutils.if_unlikely(builder, builder.trunc(failed, ir.IntType(1))):
        context.call_conv.return_user_exc(
            builder, MemoryError, ("the tape of the derivative does not fit into memory",)
        )


def _write_enlarge(builder: IRBuilder, made: LLVMFunction) -> None:
    tape, field, first, needed = made.args
    fields = builder.gep(tape, [field])
    old, room = builder.load(fields), builder.load(_at(builder, fields, 2))
    inside = builder.icmp_unsigned("==", old, builder.ptrtoint(builder.gep(tape, [first]), _INT))
    many = cgutils.alloca_once_value(builder, _largest(builder, [needed, builder.mul(room, _INT(2)), _INT(512)]))
    address = cgutils.alloca_once_value(builder, _INT(0))
    with builder.if_then(builder.and_(inside, builder.icmp_unsigned("==", field, _INT(ADDRESS)))):
        kept, words = take(builder)
        with builder.if_else(builder.icmp_unsigned(">=", words, needed)) as (fits, other):
            with fits:
                builder.store(kept, address)
                builder.store(words, many)
            with other:
                release(builder, kept)
    with builder.if_then(_is_zero(builder, builder.load(address))):
        movable = builder.select(inside, _INT(0), old)
        builder.store(reallocate(builder, movable, builder.load(many)), address)
        with builder.if_then(_is_zero(builder, builder.load(address))):
            builder.store(builder.add(needed, builder.udiv(room, _INT(8))), many)
            builder.store(reallocate(builder, movable, builder.load(many)), address)
            with builder.if_then(_is_zero(builder, builder.load(address))):
                builder.ret(_SHORT(1))
    with builder.if_then(inside):
        new, before = (builder.inttoptr(x, cgutils.voidptr_t) for x in (builder.load(address), old))
        cgutils.raw_memcpy(builder, new, before, room, _INT(8))
    builder.store(builder.load(address), fields)
    builder.store(builder.load(many), _at(builder, fields, 2))
    builder.ret(_SHORT(0))


def _largest(builder: IRBuilder, some: LLVMValues) -> LLVMValue:
    first, *rest = some
    for x in rest:
        first = builder.select(builder.icmp_signed(">", first, x), first, x)
    return first


def _is_zero(builder: IRBuilder, x: LLVMValue) -> LLVMValue:
    return builder.icmp_unsigned("==", x, _INT(0))


@intrinsic
def grow(typingctx: TypingContext, tape: NumbaType, needed: NumbaType) -> Intrinsic:
    """Grow the tape to so many words, and return the new array of words."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the growth, and the view of the words."""
        _enlarge(context, builder, args[0], ADDRESS, WORDS, args[1])
        return _words(context, builder, args[0])

    return _FLOATS(tape, types.int64), codegen


@intrinsic(prefer_literal=True)
def column(
    typingctx: TypingContext, words: NumbaType, first: NumbaType, count: NumbaType, dtype: NumbaType
) -> Intrinsic:
    """View of tape words from `first` on, as a column of this dtype: `column(words, top, n, "float64")`."""
    array = types.Array(_element(dtype), 1, "C")

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the view."""
        return _column(context, builder, args, array, _INT(0))

    return array(words, types.int64, types.int64, dtype), codegen


@intrinsic
def flags(
    typingctx: TypingContext, words: NumbaType, first: NumbaType, count: NumbaType, place: NumbaType
) -> Intrinsic:
    """View of tape words as a column of bools, after `place` others: `flags(words, top, n, 2)` is the third."""
    array = types.Array(types.boolean, 1, "C")

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the view."""
        return _column(context, builder, args, array, builder.mul(args[2], args[3]))

    return array(words, types.int64, types.int64, types.int64), codegen


def _column(
    context: TargetContext, builder: IRBuilder, args: LLVMValues, array: NumbaType, before: LLVMValue
) -> LLVMValue:
    """Emit a column that begins `before` elements after the first word."""
    made = context.make_array(array)(context, builder)
    first = builder.gep(context.make_array(_FLOATS)(context, builder, args[0]).data, [args[1]])
    data = _opaque(builder, builder.gep(builder.bitcast(first, made.data.type), [before]))
    size = _INT(context.get_abi_sizeof(context.get_data_type(array.dtype)))
    arrayobj.populate_array(made, data, [args[2]], [size], size, None)
    return made._getvalue()


def _opaque(builder: IRBuilder, address: LLVMValue) -> LLVMValue:
    """Hide the origin of an address from LLVM's analysis.

    Columns that are taken lie below the ones before. Where LLVM sees that, it asks once for all iterations of an outer
    loop whether columns and arrays are apart, expects addresses that grow, and never uses the vectors that it has made.
    """
    return builder.asm(ir.FunctionType(address.type, [address.type]), "", "=r,0", [address], side_effect=False)


def _element(dtype: NumbaType) -> NumbaType:
    return types.boolean if dtype.literal_value == "bool" else getattr(types, dtype.literal_value)


# Arrays


def _fields(context: TargetContext, kind: NumbaType) -> int:
    return -(-context.get_abi_sizeof(context.get_value_type(kind)) // 8)


@intrinsic
def keep(typingctx: TypingContext, tape: NumbaType, array: NumbaType) -> Intrinsic:
    """Push an array: its fields, the memory that it refers to, and the number of words of the fields."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the push, with a new reference."""
        tape, value = args
        fields = _fields(context, array)
        _count_references(builder)
        count = builder.load(_at(builder, tape, COUNT))
        needed = builder.add(count, _INT(fields + 2))
        with cgutils.if_unlikely(builder, builder.icmp_signed(">", needed, builder.load(_at(builder, tape, SPACE)))):
            _enlarge(context, builder, tape, ARRAYS, KEPT, needed)
        place = _entry(builder, tape, count)
        context.nrt.incref(builder, array, value)
        builder.store(value, builder.bitcast(place, value.type.as_pointer()))
        builder.store(_memory(context, builder, array, value), _at(builder, place, fields))
        builder.store(_INT(fields), _at(builder, place, fields + 1))
        builder.store(needed, _at(builder, tape, COUNT))
        return context.get_dummy_value()

    return types.none(tape, array), codegen


def _count_references(builder: IRBuilder) -> None:
    """Let numba leave all counting of references in a module as it is: the mark is that of functions of lists."""
    module = builder.module
    module.add_named_metadata("numba_args_may_always_need_nrt").add(module.add_metadata([builder.function]))


def _entry(builder: IRBuilder, tape: LLVMValue, count: LLVMValue) -> LLVMValue:
    """Emit the address behind so many words of the recorded arrays."""
    return builder.gep(builder.inttoptr(builder.load(_at(builder, tape, ARRAYS)), _INT.as_pointer()), [count])


def _memory(context: TargetContext, builder: IRBuilder, array: NumbaType, value: LLVMValue) -> LLVMValue:
    """Emit the address of an array's reference counter (meminfo)."""
    return builder.ptrtoint(context.make_array(array)(context, builder, value).meminfo, _INT)


def _drop(context: TargetContext, builder: IRBuilder, address: LLVMValue) -> None:
    context.nrt.decref(builder, _MEMORY, builder.inttoptr(address, context.get_value_type(_MEMORY)))


@intrinsic(prefer_literal=True)
def kept(typingctx: TypingContext, tape: NumbaType, dtype: NumbaType, ndim: NumbaType, layout: NumbaType) -> Intrinsic:
    """Pop the array that was recorded last: `kept(tape, "float64", 2, "C")`."""
    array = types.Array(_element(dtype), ndim.literal_value, layout.literal_value)

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the pop."""
        tape, kind = args[0], context.get_value_type(array)
        count = builder.sub(builder.load(_at(builder, tape, COUNT)), _INT(_fields(context, array) + 2))
        builder.store(count, _at(builder, tape, COUNT))
        return builder.load(builder.bitcast(_entry(builder, tape, count), kind.as_pointer()))

    return array(tape, dtype, ndim, layout), codegen


@intrinsic(prefer_literal=True)
def hold(typingctx: TypingContext, tape: NumbaType, slot: NumbaType, array: NumbaType) -> Intrinsic:
    """Hold an array in a slot of the tape, which drops the slot's former array; return it without a reference count."""
    place = SLOTS + slot.literal_value

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the exchange of references, and the array without its own."""
        context.nrt.incref(builder, array, args[2])
        before = builder.load(_at(builder, args[0], place))
        builder.store(_memory(context, builder, array, args[2]), _at(builder, args[0], place))
        _drop(context, builder, before)
        return _lent(context, builder, array, args[2])

    return array(tape, slot, array), codegen


# Calls that may fail


def _lent(context: TargetContext, builder: IRBuilder, kind: NumbaType, value: LLVMValue) -> LLVMValue:
    """Emit a value whose arrays have no reference counts."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = cgutils.unpack_tuple(builder, value)
        lent = [_lent(context, builder, t, x) for t, x in zip(kind.types, parts, strict=True)]
        return context.make_tuple(builder, kind, lent)
    return value


@intrinsic
def attempt(typingctx: TypingContext, tape: NumbaType, function: NumbaType, *given: NumbaType) -> Intrinsic:
    """Call a numba function, and note a failure in the tape; after a failure the value is zeros."""
    if function.dispatcher in _NEW and isinstance(given[0], types.Array):
        return _attempt_new(tape, function, given, _NEW[function.dispatcher])
    typed = function.get_call_type(typingctx, given, {})
    compiled = function.dispatcher.overloads[tuple(typed.args)]

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the guarded call with lent arrays, and the note of a failure."""
        tape = args[0]
        values = cgutils.unpack_tuple(builder, args[2])
        library = context.active_code_library
        if isinstance(function.dispatcher, Inner):
            library.add_linking_library(compiled.library)
        else:
            call_apart(library, compiled.library)
        callee = context.declare_function(builder.module, compiled.fndesc)
        made = cgutils.alloca_once(builder, context.get_value_type(typed.return_type), zfill=True)
        with cgutils.if_likely(builder, _is_fine(builder, tape)):
            cast = [context.cast(builder, x, a, b) for x, a, b in zip(values, given, typed.args, strict=True)]
            lent = [_lent(context, builder, t, x) for x, t in zip(cast, typed.args, strict=True)]
            status, value = context.call_conv.call_function(
                builder, callee, typed.return_type, compiled.fndesc.argtypes, lent, attrs=("alwaysinline",)
            )
            builder.store(value, made)
            with cgutils.if_unlikely(builder, status.is_error):
                builder.store(builder.sext(status.code, _INT), _at(builder, tape, CODE))
                builder.store(builder.ptrtoint(status.excinfoptr, _INT), _at(builder, tape, ERROR))
        return builder.load(made)

    return typed.return_type(tape, function, types.StarArgTuple(given)), codegen


_NEW = {zeros_like: "zeros", known_zeros_like: "known zeros", empty_like: ""}


def _attempt_new(tape: NumbaType, function: NumbaType, given: NumbaTypes, fill: str) -> Intrinsic:
    """Allocate an array as an attempt, without a function to compile."""
    kind = kind_like(given[0])

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the guarded allocation."""

        def failed() -> None:
            """Emit the note of a MemoryError."""
            error = context.call_conv._get_excinfo_argument(builder.function)
            context.call_conv.set_static_user_exc(builder, MemoryError, NO_MEMORY)
            builder.store(_INT(RETCODE_USEREXC.constant), _at(builder, args[0], CODE))
            builder.store(builder.ptrtoint(builder.load(error), _INT), _at(builder, args[0], ERROR))

        made = cgutils.alloca_once(builder, context.get_value_type(kind), zfill=True)
        with cgutils.if_likely(builder, _is_fine(builder, args[0])):
            (x,) = cgutils.unpack_tuple(builder, args[2])
            like = context.make_array(given[0])(context, builder, x)
            sizes = cgutils.unpack_tuple(builder, like.shape)
            builder.store(new(context, builder, sizes, kind, fill, failed), made)
        return builder.load(made)

    return kind(tape, function, types.StarArgTuple(given)), codegen


def _is_fine(builder: IRBuilder, tape: LLVMValue) -> LLVMValue:
    return builder.icmp_signed("==", builder.load(_at(builder, tape, CODE)), _INT(0))


@intrinsic
def unless_failed(typingctx: TypingContext, tape: NumbaType, value: NumbaType) -> Intrinsic:
    """Return the value, or zeros if an attempt has failed."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the selection, with a new reference."""
        made = cgutils.alloca_once(builder, args[1].type, zfill=True)
        with cgutils.if_likely(builder, _is_fine(builder, args[0])):
            context.nrt.incref(builder, value, args[1])
            builder.store(args[1], made)
        return builder.load(made)

    return value(tape, value), codegen


@intrinsic
def close(typingctx: TypingContext, tape: NumbaType) -> Intrinsic:
    """Free the tape's memory, and raise a noted failure."""

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit both."""
        free(context, builder, args[0])
        raise_noted(context, builder, *(builder.load(_at(builder, args[0], k)) for k in (CODE, ERROR)))
        return context.get_dummy_value()

    return types.none(tape), codegen


def free(context: TargetContext, builder: IRBuilder, tape: LLVMValue) -> None:
    """Emit the release of a tape's memory and references."""
    _count_references(builder)
    _drop_recorded(context, builder, tape)
    with cgutils.for_range(builder, builder.load(_at(builder, tape, HELD))) as loop:
        _drop(context, builder, builder.load(builder.gep(tape, [builder.add(loop.index, _INT(SLOTS))])))
    for field, first in ((ADDRESS, WORDS), (ARRAYS, KEPT)):
        address, inside = builder.load(_at(builder, tape, field)), builder.ptrtoint(_at(builder, tape, first), _INT)
        with builder.if_then(builder.icmp_unsigned("!=", address, inside)):
            if field == ADDRESS:
                give_back(builder, address, builder.load(_at(builder, tape, ROOM)))
            else:
                release(builder, address)


def raise_noted(context: TargetContext, builder: IRBuilder, code: LLVMValue, error: LLVMValue) -> None:
    """Emit the raise of a noted failure (numba's status and its exception), if one was noted."""
    exception = builder.inttoptr(error, excinfo_ptr_t)
    status = context.call_conv._get_return_status(builder, builder.trunc(code, _SHORT), exception)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)


def _drop_recorded(context: TargetContext, builder: IRBuilder, tape: LLVMValue) -> None:
    """Emit the release of the recorded arrays' references, last one first."""
    test, body, done = (builder.append_basic_block(name) for name in ("test", "drop", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    count = builder.load(_at(builder, tape, COUNT))
    builder.cbranch(builder.icmp_signed(">", count, _INT(0)), body, done)
    builder.position_at_end(body)
    end = _entry(builder, tape, count)
    _drop(context, builder, builder.load(_at(builder, end, -2)))
    fields = builder.load(_at(builder, end, -1))
    builder.store(builder.sub(count, builder.add(fields, _INT(2))), _at(builder, tape, COUNT))
    builder.branch(test)
    builder.position_at_end(done)
