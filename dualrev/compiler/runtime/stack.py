"""How much a thread has left of its stack: recursion that does not fit is refused, where it would crash.

numba does not look, so a function crashes when it recurses too deep. Its derivative needs larger frames; it looks.

The bounds of a thread are asked for once (on Linux that takes a millisecond for the first thread). They are kept in
the thread, and for the first thread in `_FIRST`, which compiled code reads at an address with a name. Only that thread
writes there. Where the bounds are not known, as on Windows, nothing is refused.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import intrinsic

__all__ = ["stack_is_low"]

_njit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
_MARGIN = 128 * 1024  # what everything else may take that a function calls
_INT = ir.IntType(64)
_NAME = "dualrev_first_stack"
_FIRST = (ctypes.c_int64 * 4)()  # the lowest address to use, how many there are above it, a key, an address in it

_get = types.ExternalFunction("pthread_getspecific", signature(types.intp, types.uint32))
_set = types.ExternalFunction("pthread_setspecific", signature(types.int32, types.uint32, types.intp))
_self = types.ExternalFunction("pthread_self", signature(types.intp))

KNOWN = sys.platform in ("linux", "darwin")
if KNOWN:
    _library = ctypes.CDLL(None)
    _key = (ctypes.c_uint32 * 2)()  # (a key has 64 bits on macOS, and is small)
    _library.pthread_key_create(_key, None)
    _FIRST[2] = _key[0]
    try:
        _FIRST[3] = ctypes.c_void_p.in_dll(_library, "__libc_stack_end").value or 0
    except ValueError:  # another C library
        _FIRST[3] = 0
llvmlite.binding.add_symbol(_NAME, ctypes.addressof(_FIRST))


@intrinsic
def _first(typingctx: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.module.globals.get(_NAME)
        return ir.GlobalVariable(builder.module, _INT, _NAME) if found is None else found

    return types.CPointer(types.int64)(), codegen


@intrinsic
def _here(typingctx: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, _INT), _INT)

    return types.int64(), codegen


@intrinsic
def _memory(typingctx: Any) -> Any:
    """Room for an address, a size, and a thread's attributes (56 bytes or so), and its own address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = cgutils.alloca_once(builder, _INT, size=ir.IntType(32)(34))
        return context.make_tuple(builder, kind, (made, builder.ptrtoint(made, _INT)))

    kind = types.Tuple((types.CPointer(types.int64), types.int64))
    return kind(), codegen


@intrinsic
def _apart(typingctx: Any, function: Any, x: Any) -> Any:
    """function(x) of an int, which raises nothing. What the call needs of the stack is not in the caller's frame."""
    typed = function.get_call_type(typingctx, (x,), {})
    compiled = function.dispatcher.overloads[tuple(typed.args)]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        context.active_code_library.add_linking_library(compiled.library)
        name = f"{function.dispatcher.py_func.__name__}_apart"
        made = builder.module.globals.get(name)
        if made is None:
            kind = ir.FunctionType(context.get_value_type(typed.return_type), [_INT])
            made = ir.Function(builder.module, kind, name)
            made.linkage = "internal"
            made.attributes.add("noinline")
            inside = ir.IRBuilder(made.append_basic_block())
            callee = context.declare_function(builder.module, compiled.fndesc)
            inside.ret(context.call_conv.call_function(inside, callee, typed.return_type, typed.args, made.args)[1])
        return builder.call(made, args[1:])

    return typed.return_type(function, x), codegen


if sys.platform == "darwin":
    _end = types.ExternalFunction("pthread_get_stackaddr_np", signature(types.intp, types.intp))
    _size = types.ExternalFunction("pthread_get_stacksize_np", signature(types.intp, types.intp))

    @_njit
    def _bounds():
        size = _size(_self())
        return _end(_self()) - size, size

else:
    _attributes = types.ExternalFunction("pthread_getattr_np", signature(types.int32, types.intp, types.intp))
    _stack = types.ExternalFunction("pthread_attr_getstack", signature(types.int32, types.intp, types.intp, types.intp))
    _destroy = types.ExternalFunction("pthread_attr_destroy", signature(types.int32, types.intp))

    @_njit
    def _bounds():
        """The lowest address of this thread's stack, and its size; 0, 0 if they are not known."""
        found, start = _memory()
        if _attributes(_self(), start + 16) != 0:
            return 0, 0
        _stack(start + 16, start, start + 8)
        _destroy(start + 16)
        return found[0], found[1]


@_njit
def _look(here):
    first = _first()
    key = np.uint32(first[2])
    known = _get(key)
    if known != 0 and here >= known:
        return False
    low, size = _bounds()  # also if it is known: the first thread's limit may have been raised
    if size == 0:
        return False
    limit = low + min(_MARGIN, size // 4)
    _set(key, limit)
    if low <= first[3] < low + size:
        first[0] = limit
        first[1] = low + size - limit
    return here < limit


if KNOWN:

    @_njit
    def stack_is_low():
        """Whether this thread has no room for many more frames."""
        here, first = _here(), _first()
        if np.uint64(here - first[0]) < np.uint64(first[1]):
            return False
        return _apart(_look, here)

else:

    @_njit
    def stack_is_low():
        """Whether this thread has no room for many more frames: not known."""
        return False
