"""`f.py_func` of a numba function, on the tape: `math`, numpy's constructors, and constant arrays are ours in it.

Inside of numba code `math.sin` and `np.zeros` are whatever numba makes of them. Python runs the same text with Python's
math, which computes with plain floats, and with arrays of plain floats. A numba function's globals are constants, so
that a copy of the function may have its own: dualrev.math, dualrev.numpy, and such copies of the functions it calls.
Constant arrays of floats, globals and arguments, are RealArrays of the same memory: then their copies, and what is
computed of them, can hold traced numbers. Globals are read-only, as in numba code.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev import numpy as our_numpy
from dualrev.eager.arrays.memory.storage import RealArray, innermost
from dualrev.eager.numba_rules import Owner, Ruled
from dualrev.errors import LeafError
from dualrev.tree import flatten_leaves

__all__ = ["as_python", "numeric", "storable", "with_globals"]


def as_python(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a numba function that stands under its name in its module, for the tape; f for others."""
    return _as_python(f, {})


def _as_python(f: Callable[..., Any], made: dict[Any, Any]) -> Callable[..., Any]:
    """Return the Python function as `as_python` does, and put the copies of functions into `made`."""
    if f.__class__ is functools.partial:
        return storable(f, (), {})[0]
    if f.__class__ is not FunctionType:
        return f
    known = f.__globals__.get(f.__name__)
    ours = isinstance(known, (Dispatcher, Owner)) and getattr(known, "py_func", None) is f
    return with_globals(f, _meant, made) if ours else f


def storable(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """Return f as Python function, and its constant arguments: arrays of floats that can hold traced numbers.

    They have the memory of the arguments. An array that shares memory with another argument, or with a global array,
    stays as it is: two RealArrays would not share the traced numbers.
    """
    if f.__class__ is functools.partial:
        python, every, options = storable(f.func, [*f.args, *args], {**f.keywords, **kwargs})
        fixed = {key: options[key] for key in f.keywords if key not in kwargs}
        whole = functools.partial(python, *every[: len(f.args)], **fixed)
        return whole, every[len(f.args) :], {key: options[key] for key in kwargs}
    made: dict[Any, Any] = {}
    python, keys = _as_python(f, made), list(kwargs)
    given = [*args, *kwargs.values()]
    if python is not f:
        with contextlib.suppress(LeafError):  # what is no nested data may hold the same array
            arrays = [x for x in flatten_leaves(given)[0] if isinstance(x, np.ndarray)]
            arrays += [x for copied in made.values() for x in _constants(copied)]
            given = [RealArray(x) if _is_of_doubles(x) and _is_alone(x, arrays) else x for x in given]
    return python, given[: len(args)], dict(zip(keys, given[len(args) :], strict=True))


def _is_alone(x: np.ndarray, arrays: Sequence[np.ndarray]) -> bool:
    """Whether x, which is one of the arrays, shares memory with no other one."""
    return sum(np.may_share_memory(x, other) for other in arrays) <= 1  # an empty one has none


def _constants(copied: Any) -> Iterator[np.ndarray]:
    """The arrays that a copied function finds: globals, also in tuples and modules, closure variables, defaults."""
    names = set(_names(copied.__code__))
    given = [copied.__globals__.get(name) for name in names]
    given += [vars(module).get(name) for module in given if isinstance(module, ModuleType) for name in names]
    given += copied.__defaults__ or ()
    for cell in copied.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            given.append(cell.cell_contents)
    for x in given:
        for u in x if isinstance(x, (tuple, list)) else (x,):
            if isinstance(u, (RealArray, np.ndarray)):
                yield u.x if isinstance(u, RealArray) else u


def _is_of_doubles(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == np.float64 and x.dtype.isnative


def numeric(f: Callable[..., Any]) -> Callable[..., Any]:
    """f as a rule calls it: a numba function takes plain numbers, its Python function those of other runs."""
    python = with_globals(f.py_func, _meant, {}) if isinstance(f, Dispatcher) else as_python(f)
    if python is f:
        return f
    compiled = isinstance(f, Dispatcher)

    @functools.wraps(python)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Call the Python function for traced numbers, the numba function for plain ones."""
        leaves, structure = flatten_leaves((args, kwargs))
        if innermost(leaves) is not None:
            return python(*args, **kwargs)
        if compiled:
            args, kwargs = structure.rebuild_leaves([x.x if isinstance(x, RealArray) else x for x in leaves])
        return f(*args, **kwargs)

    return call


def with_globals(f: Any, meant: Callable[[Any, Callable[[Any], Any]], Any], made: dict[Any, Any]) -> Any:
    """A copy of a function where meant(x, copy) stands for a global, or a variable from around it, that is x.

    copy(g) copies a function that it calls likewise; `made` has the copies.
    """
    if f in made:
        return made[f]
    scope: dict[str, Any] = {**f.__globals__, "__builtins__": builtins, "__name__": f.__module__}
    cells = tuple(CellType() for _ in f.__closure__ or ())
    made[f] = copied = FunctionType(f.__code__, scope, f.__name__, f.__defaults__, cells)
    copied.__kwdefaults__, copied.__qualname__, copied.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
    copied.__dict__.update(f.__dict__)

    def copy(g: Any) -> Any:
        """Copy a function that this one calls."""
        return with_globals(g, meant, made)

    copied.__defaults__ = f.__defaults__ and tuple(meant(x, copy) for x in f.__defaults__)
    scope |= {name: meant(f.__globals__[name], copy) for name in _names(f.__code__) if name in f.__globals__}
    for cell, mine in zip(f.__closure__ or (), cells, strict=True):
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            mine.cell_contents = meant(cell.cell_contents, copy)
    return copied


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals, in functions inside of the function, too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _meant(x: Any, copy: Callable[[Any], Any]) -> Any:
    """Return the stand-in for a global on the tape."""
    if x is math:
        return _our_math()
    if x is np:
        return our_numpy
    if isinstance(x, Dispatcher) and not isinstance(x, Ruled):
        return copy(x.py_func)
    if isinstance(x, BuiltinFunctionType) and x.__module__ == "math":
        return getattr(_our_math(), x.__name__)
    if _is_of_doubles(x):
        constant = x.view()
        constant.flags.writeable = False
        return RealArray(constant)
    return x


def _our_math() -> Any:
    from dualrev import math as ours  # all lines of the table: most programs need a few of them

    return ours
