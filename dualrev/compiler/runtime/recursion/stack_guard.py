"""Stack guard: recursion that does not fit on the thread's stack raises, where it would crash.

numba does not look, so a function crashes when it recurses too deep. Its derivative needs larger frames; it looks.

The bounds of a thread are asked for once (on Linux that takes a millisecond for the first thread). They are kept in
the thread, and for the first thread in `_FIRST`, which compiled code reads at an address with a name. Only that thread
writes there. Windows tells a thread its bounds in nanoseconds: they are asked for at each look, and not kept. On any
other system the bounds are not known, and nothing is refused.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import ctypes
import sys

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dualrev.compiler.runtime.tape.arena import external, function
from dualrev.compiler.types.aliases import (
    Intrinsic,
    IRBuilder,
    LLVMFunction,
    LLVMValue,
    LLVMValues,
    NumbaType,
    Signature,
    TargetContext,
    TypingContext,
)

__all__ = ["need_stack"]

_MARGIN = 128 * 1024  # what everything else may take that a function calls
_INT, _SHORT, _BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)
_NAME = "dualrev_first_stack"
_FIRST = (ctypes.c_int64 * 4)()  # the lowest address to use, how many there are above it, a key, an address in it

HAS_PTHREADS = sys.platform in ("linux", "darwin")
KNOWN = HAS_PTHREADS or sys.platform == "win32"
_LIMITS = "GetCurrentThreadStackLimits"  # of Windows' kernel32
if HAS_PTHREADS:
    _library = ctypes.CDLL(None)
    _key = (ctypes.c_uint32 * 2)()  # (a key has 64 bits on macOS, and is small)
    _library.pthread_key_create(_key, None)
    _FIRST[2] = _key[0]
    try:
        _FIRST[3] = ctypes.c_void_p.in_dll(_library, "__libc_stack_end").value or 0
    except ValueError:  # another C library
        _FIRST[3] = 0
elif KNOWN:
    _library = ctypes.CDLL("kernel32")
    llvmlite.binding.add_symbol(_LIMITS, ctypes.cast(_library[_LIMITS], ctypes.c_void_p).value)
llvmlite.binding.add_symbol(_NAME, ctypes.addressof(_FIRST))


def _bounds(builder: IRBuilder, platform: str = sys.platform) -> tuple[LLVMValue, LLVMValue]:
    """Lowest address of this thread's stack, and its size; 0, 0 if they are unknown."""
    room = cgutils.alloca_once(builder, _INT, size=_SHORT(34))  # an address, a size, attributes (56 bytes or so)
    low, size, attributes = (builder.gep(room, [_SHORT(k)]) for k in range(3))
    if platform == "win32":
        external(builder, _LIMITS, ir.VoidType(), low, size)  # the lowest address, and the highest
        return builder.load(low), builder.sub(builder.load(size), builder.load(low))
    this = external(builder, "pthread_self", _INT)
    if platform == "darwin":
        stack = external(builder, "pthread_get_stacksize_np", _INT, this)
        return builder.sub(external(builder, "pthread_get_stackaddr_np", _INT, this), stack), stack
    builder.store(_INT(0), low)
    builder.store(_INT(0), size)
    failed = external(builder, "pthread_getattr_np", _SHORT, this, attributes)
    with builder.if_then(builder.icmp_signed("==", failed, _SHORT(0))):
        external(builder, "pthread_attr_getstack", _SHORT, attributes, low, size)
        external(builder, "pthread_attr_destroy", _SHORT, attributes)
    return builder.load(low), builder.load(size)


def _write_look(builder: IRBuilder, made: LLVMFunction, platform: str = sys.platform) -> None:
    """Emit the slow path of the guard: whether an address is too near to the end of this thread's stack."""
    (here,) = made.args
    lowest, above, key, inside = (builder.gep(_first(builder), [_SHORT(k)]) for k in range(4))
    kept = platform != "win32"
    number = builder.trunc(builder.load(key), _SHORT)
    if kept:
        known = external(builder, "pthread_getspecific", _INT, number)
        enough = builder.icmp_unsigned(">=", here, known)
        with builder.if_then(builder.and_(builder.icmp_unsigned("!=", known, _INT(0)), enough)):
            builder.ret(_BIT(0))
    low, size = _bounds(builder, platform)  # also if it is known: the first thread's limit may have been raised
    with builder.if_then(builder.icmp_unsigned("==", size, _INT(0))):
        builder.ret(_BIT(0))
    quarter = builder.udiv(size, _INT(4))
    margin = builder.select(builder.icmp_unsigned("<", quarter, _INT(_MARGIN)), quarter, _INT(_MARGIN))
    limit = builder.add(low, margin)
    if kept:
        external(builder, "pthread_setspecific", _SHORT, number, limit)
        ours = builder.icmp_unsigned("<", builder.sub(builder.load(inside), low), size)
        with builder.if_then(ours):  # this is the first thread
            builder.store(limit, lowest)
            builder.store(builder.sub(builder.add(low, size), limit), above)
    builder.ret(builder.icmp_unsigned("<", here, limit))


def _first(builder: IRBuilder) -> LLVMValue:
    found = builder.module.globals.get(_NAME)
    return ir.GlobalVariable(builder.module, _INT, _NAME) if found is None else found


@intrinsic(prefer_literal=True)
def need_stack(typingctx: TypingContext, name: NumbaType) -> Intrinsic:
    """Raise RecursionError if the thread's stack has no room for many more frames of the function `name`.

    It raises as numba's own code does, by the status that the function returns. A `raise` statement would make numba
    count the references to every array among the arguments, in every call.
    """
    if not KNOWN:
        return types.none(name), lambda context, builder, signature, args: context.get_dummy_value()
    text = f"{name.literal_value}: the recursion is too deep for the stack of this thread, since a derivative takes"
    text += " more of it than the function: write a loop, or run it where threading.stack_size is larger"

    def codegen(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
        """Emit the fast check against the first thread's bounds, and the slow path."""
        lowest, above = (builder.load(builder.gep(_first(builder), [_SHORT(k)])) for k in (0, 1))
        here = builder.ptrtoint(cgutils.alloca_once(builder, _INT), _INT)
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", builder.sub(here, lowest), above)):
            look = function(builder, "dualrev_look", _BIT, [_INT], _write_look)
            with cgutils.if_unlikely(builder, builder.call(look, [here])):
                context.call_conv.return_user_exc(builder, RecursionError, (text,))
        return context.get_dummy_value()

    return types.none(name), codegen
