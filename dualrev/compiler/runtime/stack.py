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
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import intrinsic

from dualrev.rules.library.inner import inner

__all__ = ["need_stack"]

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
def _memory(typingctx: Any) -> Any:
    """Room for an address, a size, and a thread's attributes (56 bytes or so), and its own address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = cgutils.alloca_once(builder, _INT, size=ir.IntType(32)(34))
        return context.make_tuple(builder, kind, (made, builder.ptrtoint(made, _INT)))

    kind = types.Tuple((types.CPointer(types.int64), types.int64))
    return kind(), codegen


if sys.platform == "darwin":
    _end = types.ExternalFunction("pthread_get_stackaddr_np", signature(types.intp, types.intp))
    _size = types.ExternalFunction("pthread_get_stacksize_np", signature(types.intp, types.intp))

    @inner
    def _bounds():
        size = _size(_self())
        return _end(_self()) - size, size

else:
    _attributes = types.ExternalFunction("pthread_getattr_np", signature(types.int32, types.intp, types.intp))
    _stack = types.ExternalFunction("pthread_attr_getstack", signature(types.int32, types.intp, types.intp, types.intp))
    _destroy = types.ExternalFunction("pthread_attr_destroy", signature(types.int32, types.intp))

    @inner
    def _bounds():
        """The lowest address of this thread's stack, and its size; 0, 0 if they are not known."""
        found, start = _memory()
        if _attributes(_self(), start + 16) != 0:
            return 0, 0
        _stack(start + 16, start, start + 8)
        _destroy(start + 16)
        return found[0], found[1]


@inner
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


@intrinsic(prefer_literal=True)
def need_stack(typingctx: Any, name: Any) -> Any:
    """Raise RecursionError where this thread has no room for many more frames of the function of this name.

    It raises as numba's own code does, by the status that the function returns. A `raise` statement would make numba
    count the references to every array among the arguments, in every call.
    """
    if not KNOWN:
        return types.none(name), lambda context, builder, signature, args: context.get_dummy_value()
    _look.compile((types.int64,))
    compiled = _look.overloads[(types.int64,)]
    text = f"{name.literal_value}: the recursion is too deep for the stack of this thread, since a derivative takes"
    text += " more of it than the function: write a loop, or run it where threading.stack_size is larger"

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.module.globals.get(_NAME)
        first = ir.GlobalVariable(builder.module, _INT, _NAME) if found is None else found
        lowest, above = (builder.load(builder.gep(first, [_INT(k)])) for k in (0, 1))
        here = builder.ptrtoint(cgutils.alloca_once(builder, _INT), _INT)
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", builder.sub(here, lowest), above)):
            context.active_code_library.add_linking_library(compiled.library)
            look = _apart(context, builder, compiled)
            with cgutils.if_unlikely(builder, builder.call(look, [here])):
                context.call_conv.return_user_exc(builder, RecursionError, (text,))
        return context.get_dummy_value()

    return types.none(name), codegen


def _apart(context: Any, builder: Any, compiled: Any) -> Any:
    """_look as a function that is not inlined: what it calls needs nothing of the caller's frame."""
    kind, name = compiled.signature.return_type, "dualrev_look"
    made = builder.module.globals.get(name)
    if made is None:
        made = ir.Function(builder.module, ir.FunctionType(context.get_value_type(kind), [_INT]), name)
        made.linkage = "internal"
        made.attributes.add("noinline")
        inside = ir.IRBuilder(made.append_basic_block())
        callee = context.declare_function(builder.module, compiled.fndesc)
        inside.ret(context.call_conv.call_function(inside, callee, kind, compiled.signature.args, made.args)[1])
    return made
