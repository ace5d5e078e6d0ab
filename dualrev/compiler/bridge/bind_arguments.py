"""Argument binding for calls of dispatchers from Python, with default values and zero tangents."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np

from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.overload import DualNumber
from dualrev.errors import UnsupportedError
from dualrev.tree import Structure, flatten_leaves

__all__ = ["VARIABLE", "bound", "parameters_of", "real_leaves", "zeros"]


#: Flags of the code of a function with *args or **kwargs.
VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def real_leaves(f: Dispatcher, x: UserValue) -> tuple[list[UserValue], Structure]:
    """Flatten nested data to leaves; UnsupportedError for numbers under differentiation, which numba does not know."""
    leaves, structure = flatten_leaves(x)
    if any(isinstance(leaf, (DualNumber, RealArray)) for leaf in leaves):
        raise UnsupportedError.at(
            describe(f.py_func),
            "a numba function of numbers that are being differentiated",
            "numba has no derivatives of its derivatives",
            "f.py_func in its place, which takes the tape",
        )
    return leaves, structure


def parameters_of(f: Dispatcher) -> Mapping[str, inspect.Parameter]:
    """Parameters of a numba function, as numba has read them: `inspect.signature` takes many times as long."""
    found: Mapping[str, inspect.Parameter] = f._compiler.pysig.parameters
    return found


def bound(f: Dispatcher, args: tuple[UserValue, ...], kwargs: dict[str, UserValue]) -> tuple[UserValue, ...]:
    """Bind all arguments of f, default values included."""
    code = f.py_func.__code__
    if not kwargs and not code.co_kwonlyargcount and not code.co_flags & VARIABLE:  # inspect takes its time
        missing = code.co_argcount - len(args)
        if not missing:
            return args
        defaults = f.py_func.__defaults__ or ()
        if 0 < missing <= len(defaults) and not hasattr(f.py_func, "__wrapped__"):
            return (*args, *defaults[-missing:])
    bound = inspect.signature(f.py_func).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def zeros(args: tuple[UserValue, ...]) -> tuple[UserValue, ...]:
    """Zero tangents of arguments."""
    leaves, structure = flatten_leaves(args)
    made = structure.cotangent_leaves([np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0 for x in leaves])
    assert isinstance(made, tuple)
    return made
