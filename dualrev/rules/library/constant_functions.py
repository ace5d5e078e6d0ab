"""Numba type of a constant numba function that is an argument of another one, so that machine code can be cached.

numba passes such a function as the address of its Python object. That differs in each process, so code with a function
among the arguments of a call is not cached. The type of the argument says already which function is called: with the
type below, a null pointer is passed in place of the address. It becomes the address again where numba needs the object,
in a value of a first-class function type, and where the function is returned to Python.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_cast, lower_constant
from numba.core.pythonapi import box
from numba.core.registry import CPUDispatcher
from numba.experimental.function_type import lower_cast_dispatcher_to_function_type

__all__ = ["ConstantFunction", "ConstantFunctionType", "TakesFunctions", "as_constant"]

_Dispatcher: Any = types.Dispatcher  # numba has no type information
_CPUDispatcher: Any = CPUDispatcher


class ConstantFunctionType(_Dispatcher):
    """Type of one numba function, as an argument that needs no address."""

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher)
        self.name = f"constant type({dispatcher})"


class ConstantFunction:
    """A numba function, as a global of an emitted module that passes it to other functions."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self._numba_type_ = ConstantFunctionType(dispatcher)


register_default(ConstantFunctionType)(models.OpaqueModel)


@lower_constant(ConstantFunctionType)
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_constant_null(kind)


def _address(context: Any, builder: Any, kind: Any) -> Any:
    """Emit the address of the Python object, which keeps the code from being cached."""
    return context.add_dynamic_addr(builder, id(kind.dispatcher), info="a numba function")


@lower_cast(ConstantFunctionType, types.FunctionType)
def _first_class(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return lower_cast_dispatcher_to_function_type(context, builder, source, target, _address(context, builder, source))


@lower_cast(types.Dispatcher, ConstantFunctionType)
def _without_address(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return context.get_constant_null(target)


@box(ConstantFunctionType)
def _boxed(kind: Any, value: Any, c: Any) -> Any:
    made = _address(c.context, c.builder, kind)
    c.pyapi.incref(made)
    return made


class TakesFunctions(_CPUDispatcher):
    """A numba function that other numba functions call with functions among the arguments."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the template of a call (numba's) with the type for constants in place of the functions' types."""
        return super().get_call_template(tuple(map(as_constant, args)), {k: as_constant(x) for k, x in kws.items()})


def as_constant(kind: Any) -> Any:
    """Return the ConstantFunctionType for the type of a numba function; any other type unchanged."""
    return ConstantFunctionType(kind.dispatcher) if type(kind) is types.Dispatcher else kind
