"""Arena: tape memory that a thread keeps between calls, one block per thread, of bounded size (a free list of one).

Large memory that is freed goes back to the system, and its pages are new in the next call. That takes longer than
what is done with them: a tape of 32 MB has 8,000 pages. So a tape that needs more room than its owner's frame takes the
block of its thread, and gives it back when it is closed.

A block is nobody's while a tape has it: a call inside of another one, or in another thread, finds none, and takes
memory of its own. Of two that are given back the larger one stays. So calls may be nested, may run in threads, without
the GIL, and in forked processes. The end of a thread frees its block. On Windows nothing is kept.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils

from dualrev.compiler.types.aliases import IRBuilder, LLVMFunction, LLVMType, LLVMValue

__all__ = ["external", "function", "give_back", "reallocate", "release", "take"]

MOST = 8 * 2**20  # words: larger memory is not kept
KNOWN = sys.platform in ("linux", "darwin")

_INT, _SHORT, _NOTHING = ir.IntType(64), ir.IntType(32), ir.VoidType()
_NAME = "dualrev_arena_key"
_key = (ctypes.c_uint64 * 1)()  # pthread_key_t: 32 bits on Linux, 64 on macOS, and small
if KNOWN:
    _library = ctypes.CDLL(None)
    if _library.pthread_key_create(_key, ctypes.cast(_library.free, ctypes.c_void_p)) != 0:
        KNOWN = False
elif sys.platform == "win32":  # a process has several C libraries there: what one allocates no other one may free
    for _each in ("realloc", "free"):
        llvmlite.binding.add_symbol(_each, ctypes.cast(ctypes.CDLL("ucrtbase")[_each], ctypes.c_void_p).value)
llvmlite.binding.add_symbol(_NAME, ctypes.addressof(_key))


def function(
    builder: IRBuilder,
    name: str,
    result: LLVMType,
    parameters: Sequence[LLVMType],
    write: Callable[[IRBuilder, LLVMFunction], None],
) -> LLVMFunction:
    """Get or define an internal runtime function in a module, not inlined."""
    made = cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, parameters), name)
    if made.is_declaration:
        made.linkage = "internal"
        made.attributes.add("noinline")
        write(ir.IRBuilder(made.append_basic_block()), made)
    return made


def external(builder: IRBuilder, name: str, result: LLVMType, *args: LLVMValue) -> LLVMValue:
    """Emit a call of a C library function; addresses are ints."""
    kind = ir.FunctionType(result, [x.type for x in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def reallocate(builder: IRBuilder, address: LLVMValue, words: LLVMValue) -> LLVMValue:
    """Emit a call of `realloc`, for so many words."""
    return external(builder, "realloc", _INT, address, builder.mul(words, _INT(8)))


def release(builder: IRBuilder, address: LLVMValue) -> None:
    """Emit a call of `free`."""
    external(builder, "free", _NOTHING, address)


def take(builder: IRBuilder) -> tuple[LLVMValue, LLVMValue]:
    """Take the thread's block from the arena: its address and its size in words; 0, 0 if it has none."""
    pair = ir.LiteralStructType([_INT, _INT])
    if not KNOWN:
        return _INT(0), _INT(0)
    taken = builder.call(function(builder, "dualrev_take", pair, [], _write_take), [])
    return builder.extract_value(taken, 0), builder.extract_value(taken, 1)


def give_back(builder: IRBuilder, address: LLVMValue, words: LLVMValue) -> None:
    """Give memory back to the arena, or free it."""
    if not KNOWN:
        release(builder, address)
        return
    builder.call(function(builder, "dualrev_give_back", _NOTHING, [_INT, _INT], _write_give_back), [address, words])


def _write_take(builder: IRBuilder, made: LLVMFunction) -> None:
    kept = _kept(builder)
    none = builder.icmp_unsigned("==", kept, _INT(0))
    empty = ir.Constant(made.function_type.return_type, [_INT(0), _INT(0)])
    with builder.if_then(none):
        builder.ret(empty)
    _keep(builder, _INT(0))
    pair = builder.insert_value(empty, kept, 0)
    builder.ret(builder.insert_value(pair, builder.load(_words(builder, kept)), 1))


def _write_give_back(builder: IRBuilder, made: LLVMFunction) -> None:
    address, words = made.args
    kept = _kept(builder)
    with builder.if_then(builder.icmp_unsigned(">", words, _INT(MOST))):
        release(builder, address)
        builder.ret_void()
    with builder.if_then(builder.icmp_unsigned("!=", kept, _INT(0))):
        with builder.if_then(builder.icmp_unsigned(">=", builder.load(_words(builder, kept)), words)):
            release(builder, address)
            builder.ret_void()
        release(builder, kept)
    builder.store(words, _words(builder, address))
    with builder.if_then(builder.icmp_unsigned("!=", _keep(builder, address), _SHORT(0))):
        release(builder, address)
    builder.ret_void()


def _words(builder: IRBuilder, address: LLVMValue) -> LLVMValue:
    """Pointer to the size of a kept block: its first word."""
    return builder.inttoptr(address, _INT.as_pointer())


def _key_of(builder: IRBuilder) -> LLVMValue:
    found = builder.module.globals.get(_NAME)
    key = ir.GlobalVariable(builder.module, _INT, _NAME) if found is None else found
    return builder.trunc(builder.load(key), _SHORT)


def _kept(builder: IRBuilder) -> LLVMValue:
    return external(builder, "pthread_getspecific", _INT, _key_of(builder))


def _keep(builder: IRBuilder, address: LLVMValue) -> LLVMValue:
    return external(builder, "pthread_setspecific", _SHORT, _key_of(builder), address)
