"""New arrays and divisions, written as what LLVM takes: numba infers nothing, and compiles them in no time.

Numba's own np.zeros_like is several functions, which take it a third of a second in every process.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import operator
from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

__all__ = ["divide", "empty_like", "zeros_like"]

_njit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # they are called by emitted code only


def _like(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    shape = context.make_array(signature.args[0])(context, builder, args[0]).shape
    return arrayobj._empty_nd_impl(context, builder, signature.return_type, cgutils.unpack_tuple(builder, shape))


def _kind(x: Any) -> Any:
    """The type of a new array that is like another one: contiguous, as numpy makes it."""
    return types.Array(x.dtype, x.ndim, "F" if x.layout == "F" else "C")


@intrinsic
def _empty_like(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _like(context, builder, signature, args)._getvalue()

    return _kind(x)(x), codegen


@intrinsic
def _zeros_like(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = _like(context, builder, signature, args)
        cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
        return made._getvalue()

    return _kind(x)(x), codegen


@_njit
def zeros_like(x):
    """A shadow of an array."""
    return _zeros_like(x)


@_njit
def empty_like(x):
    """Room for a copy of an array."""
    return _empty_like(x)


@intrinsic
def divide(typingctx: Any, a: Any, b: Any) -> Any:
    """A / b, or ZeroDivisionError, as in numba's usual error model, which emitted code does not have."""
    found = typingctx.resolve_function_type(operator.truediv, (a, b), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = builder.fcmp_ordered("==", args[1], args[1].type(0.0))
        with cgutils.if_unlikely(builder, zero):
            context.call_conv.return_user_exc(builder, ZeroDivisionError, ("division by zero",))
        return builder.fdiv(*args)

    return found.return_type(found.return_type, found.return_type), codegen
