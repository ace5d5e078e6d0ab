"""The tape of compiled derivatives: its memory, who owns it, and how it comes back after an exception.

The tape is a block of ints on the stack of the derivative that was called, its owner. Emitted code holds its address:

    tape[ADDRESS], tape[TOP], tape[ROOM]      64-bit words: where they are, how many are in use, how many there are
    tape[ARRAYS], tape[COUNT], tape[SPACE]    recorded arrays, each with a reference: the same, in words
    tape[CODE], tape[ERROR]                   the first failure: numba's status and its exception
    tape[HELD]                                how many arrays the tape holds without recording them
    then                                      the first words, room for the first arrays, and the arrays that it holds

More room comes from malloc. An exception in numba code returns a status, and nobody unwinds: what a function refers to
is lost. So the owner has what lives as long as the call, and hands it on by `attempt`, which calls a function and notes
its failure in the tape:

    tape = new_tape(0)
    d_x = attempt(tape, zeros_like, x)
    made = attempt(tape, sweeps, x, d_x, tape)
    returned = unless_failed(tape, (made, d_x))
    close(tape)
    return returned

After a failure attempts do nothing, and give zeros, as `unless_failed` does: what the owner has goes by numba's own
rules. `close` frees the tape, and raises what failed. An attempt lends arrays: the callee gets them without their
reference counts, so that it cannot lose one. `hold` does that with an array that a sweep makes.

No memory is kept between calls, none is shared by threads, and no place knows of calls that are under way: so calls may
be nested, may run in threads, without the GIL, and in forked processes.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.callconv import excinfo_ptr_t
from numba.core.typing import signature
from numba.extending import intrinsic

__all__ = [
    "attempt",
    "close",
    "grow",
    "hold",
    "keep",
    "kept",
    "new_tape",
    "room",
    "rounds",
    "unless_failed",
    "words",
]

ADDRESS, TOP, ROOM, ARRAYS, COUNT, SPACE, CODE, ERROR, HELD = range(9)
WORDS, KEPT, SLOTS = 9, 64, 128  # where the first words begin, the first arrays, and those that are held
MOST = 2**40  # words: more than any memory has; multiples of it do not overflow

_njit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # they are called by emitted code only
_INT, _SHORT = ir.IntType(64), ir.IntType(32)
_TAPE = types.CPointer(types.int64)
_MEMORY = types.MemInfoPointer(types.voidptr)
_realloc = types.ExternalFunction("realloc", signature(types.intp, types.intp, types.intp))
_free = types.ExternalFunction("free", signature(types.void, types.intp))


def _at(builder: Any, tape: Any, k: int) -> Any:
    return builder.gep(tape, [_SHORT(k)])


# Words


@intrinsic(prefer_literal=True)
def new_tape(typingctx: Any, held: Any) -> Any:
    """An empty tape in the frame of the function that calls this; how many arrays it may hold is a literal."""
    count = held.literal_value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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
def _pointer(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _INT.as_pointer())

    return _TAPE(types.int64), codegen


@intrinsic
def _floats(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), codegen


@intrinsic
def _address(typingctx: Any, pointer: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], _INT)

    return types.int64(_TAPE), codegen


@_njit
def words(tape):
    """The words of a tape as an array of floats."""
    return numba.carray(_floats(tape[ADDRESS]), (tape[ROOM],))


@_njit
def _enlarge(tape, field, first, needed):
    """Move what tape[field] points to where it has more room; MemoryError if there is none, and all is as it was."""
    old, room, start = tape[field], tape[field + 2], _address(tape) + 8 * first
    many = max(needed, 2 * room, 512)
    address = _realloc(0 if old == start else old, 8 * many)
    if address == 0:
        many = needed + room // 8
        address = _realloc(0 if old == start else old, 8 * many)
    if address == 0:
        raise MemoryError("the tape of the derivative does not fit into memory")
    if old == start:
        new = _pointer(address)
        for k in range(room):
            new[k] = tape[first + k]
    tape[field], tape[field + 2] = address, many


@_njit
def grow(tape, needed):
    """Make room for so many words; the new array of words."""
    _enlarge(tape, ADDRESS, WORDS, needed)
    return words(tape)


@_njit
def room(top, each, rounds):
    """How many words there have to be for `each` in every one of so many rounds. No number of rounds overflows."""
    many = np.int64(MOST)
    if rounds < many:
        many = np.int64(rounds)
    return top + each * many


@_njit
def rounds(start, stop, step):
    """How many rounds a loop over range(start, stop, step) has, or MOST if there are more."""
    if step > 0 and start < stop:
        many = (np.uint64(stop) - np.uint64(start) - np.uint64(1)) // np.uint64(step)
    elif step < 0 and stop < start:
        many = (np.uint64(start) - np.uint64(stop) - np.uint64(1)) // (np.uint64(0) - np.uint64(step))
    else:
        return 0
    return np.int64(many) + 1 if many < np.uint64(MOST) else MOST


# Arrays


@intrinsic
def _entry(typingctx: Any, array: Any) -> Any:
    """How many words an array takes: its fields, the memory that it refers to, and their number."""
    return types.int64(array), lambda context, builder, signature, args: _INT(_fields(context, array) + 2)


def _fields(context: Any, kind: Any) -> int:
    return -(-context.get_abi_sizeof(context.get_value_type(kind)) // 8)


@intrinsic
def _put(typingctx: Any, place: Any, array: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, value = args
        count = _fields(context, array)
        context.nrt.incref(builder, array, value)
        builder.store(value, builder.bitcast(place, value.type.as_pointer()))
        memory = context.make_array(array)(context, builder, value).meminfo
        builder.store(builder.ptrtoint(memory, _INT), _at(builder, place, count))
        builder.store(_INT(count), _at(builder, place, count + 1))
        return context.get_dummy_value()

    return types.none(_TAPE, array), codegen


@intrinsic
def _drop(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        context.nrt.decref(builder, _MEMORY, builder.inttoptr(args[0], context.get_value_type(_MEMORY)))
        return context.get_dummy_value()

    return types.none(types.int64), codegen


@_njit
def keep(tape, array):
    """Record an array, and a reference to it."""
    count = _entry(array)
    if tape[COUNT] + count > tape[SPACE]:
        _enlarge(tape, ARRAYS, KEPT, tape[COUNT] + count)
    _put(_pointer(tape[ARRAYS] + 8 * tape[COUNT]), array)
    tape[COUNT] += count


@intrinsic(prefer_literal=True)
def kept(typingctx: Any, tape: Any, dtype: Any, ndim: Any, layout: Any) -> Any:
    """Take the array that was recorded last: `kept(tape, "float64", 2, "C")`."""
    element = types.boolean if dtype.literal_value == "bool" else getattr(types, dtype.literal_value)
    array = types.Array(element, ndim.literal_value, layout.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tape, kind = args[0], context.get_value_type(array)
        count = builder.sub(builder.load(_at(builder, tape, COUNT)), _INT(_fields(context, array) + 2))
        builder.store(count, _at(builder, tape, COUNT))
        place = builder.add(builder.load(_at(builder, tape, ARRAYS)), builder.mul(count, _INT(8)))
        return builder.load(builder.inttoptr(place, kind.as_pointer()))

    return array(tape, dtype, ndim, layout), codegen


@intrinsic(prefer_literal=True)
def hold(typingctx: Any, tape: Any, slot: Any, array: Any) -> Any:
    """The array without its reference count; the tape refers to it in its place, and no more to what had the slot."""
    place = SLOTS + slot.literal_value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        context.nrt.incref(builder, array, args[2])
        memory = context.make_array(array)(context, builder, args[2]).meminfo
        before = builder.load(_at(builder, args[0], place))
        builder.store(builder.ptrtoint(memory, _INT), _at(builder, args[0], place))
        context.nrt.decref(builder, _MEMORY, builder.inttoptr(before, context.get_value_type(_MEMORY)))
        return _lent(context, builder, array, args[2])

    return array(tape, slot, array), codegen


# Calls that may fail


def _lent(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The same arrays without reference counts."""
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
def attempt(typingctx: Any, tape: Any, function: Any, *given: Any) -> Any:
    """Call a numba function; a failure goes to the tape, and then, as after an earlier failure, the value is zeros."""
    typed = function.get_call_type(typingctx, given, {})
    compiled = function.dispatcher.overloads[tuple(typed.args)]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tape = args[0]
        values = cgutils.unpack_tuple(builder, args[2])
        context.active_code_library.add_linking_library(compiled.library)
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


def _is_fine(builder: Any, tape: Any) -> Any:
    return builder.icmp_signed("==", builder.load(_at(builder, tape, CODE)), _INT(0))


@intrinsic
def unless_failed(typingctx: Any, tape: Any, value: Any) -> Any:
    """The value; zeros in its place if an attempt has failed."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = cgutils.alloca_once(builder, args[1].type, zfill=True)
        with cgutils.if_likely(builder, _is_fine(builder, args[0])):
            context.nrt.incref(builder, value, args[1])
            builder.store(args[1], made)
        return builder.load(made)

    return value(tape, value), codegen


@intrinsic
def _raise_again(typingctx: Any, tape: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = builder.trunc(builder.load(_at(builder, args[0], CODE)), _SHORT)
        error = builder.inttoptr(builder.load(_at(builder, args[0], ERROR)), excinfo_ptr_t)
        status = context.call_conv._get_return_status(builder, code, error)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(tape), codegen


@_njit
def close(tape):
    """Free what the tape has, and raise what has failed."""
    while tape[COUNT] > 0:
        last = _pointer(tape[ARRAYS] + 8 * tape[COUNT])
        _drop(last[-2])
        tape[COUNT] -= last[-1] + 2
    for k in range(tape[HELD]):
        _drop(tape[SLOTS + k])
    for field, first in ((ADDRESS, WORDS), (ARRAYS, KEPT)):
        if tape[field] != _address(tape) + 8 * first:
            _free(tape[field])
    _raise_again(tape)
