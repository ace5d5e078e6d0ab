"""Type aliases for the classes of numba and llvmlite, which have no type information, and for common arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import base, cgutils, dispatcher, types, typing

__all__ = [
    "AccessPath",
    "ArgNums",
    "ArrayStruct",
    "Dispatcher",
    "IRBuilder",
    "Intrinsic",
    "LLVMFunction",
    "LLVMType",
    "LLVMValue",
    "LLVMValues",
    "NumbaType",
    "NumbaTypes",
    "Signature",
    "TargetContext",
    "TypingContext",
    "UserValue",
]

#: A type of numba, such as float64 or array(float64, 1d, C); those of a call's arguments.
NumbaType: TypeAlias = types.Type
NumbaTypes: TypeAlias = tuple[NumbaType, ...]

#: A function that `numba.njit` has made.
Dispatcher: TypeAlias = dispatcher.Dispatcher

#: The types of a call's arguments and of its result.
Signature: TypeAlias = typing.Signature

#: What numba infers types by, and what it emits LLVM code by.
TypingContext: TypeAlias = typing.BaseContext
TargetContext: TypeAlias = base.BaseContext

#: What emits instructions of LLVM, and their results.
IRBuilder: TypeAlias = ir.IRBuilder
LLVMValue: TypeAlias = ir.Value
LLVMValues: TypeAlias = Sequence[LLVMValue]

#: A value of the user's program: a number, an array, a tuple, a function, or anything else that numba takes.
UserValue: TypeAlias = Any

#: The steps that lead from a numba function to an object that it names: see bridge/cache/store.py.
AccessPath: TypeAlias = tuple[tuple[str, UserValue], ...]

#: The number of the argument that is differentiated, or those of several.
ArgNums: TypeAlias = int | tuple[int, ...] | list[int]

#: A function of LLVM, and the types that LLVM knows: not those of numba.
LLVMFunction: TypeAlias = ir.Function
LLVMType: TypeAlias = ir.Type

#: The struct that an array is in LLVM code, with its fields: what `context.make_array(...)` makes.
ArrayStruct: TypeAlias = cgutils.ValueStructProxy

#: What an `@intrinsic` gives numba: the types of the call, and the function that emits its code.
Intrinsic: TypeAlias = tuple[Signature, Callable[[TargetContext, IRBuilder, Signature, LLVMValues], LLVMValue]]
