"""The plain Python function that a numba function was made from, such that the eager tape can run it.

    twin f = f.py_func, with other functions in its globals, its closure and its defaults:
             numba's dispatchers -> their twins        math -> dualrev.math        numpy -> dualrev.numpy

The code is the same, that of register_jitable, cfunc and the kernels of vectorize and guvectorize, too. float(x) and
np.float32(x) give x itself if it is being differentiated: everything is computed in double precision.
"""

from __future__ import annotations

import builtins
import math
import types
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.typed import List

import dualrev as dr
from dualrev.compiler.frontend.reading.callables import is_callback, is_generalized, is_ufunc, registered
from dualrev.eager.numba_rules import Owner
from dualrev.eager.numbers.overload import DualNumber

__all__ = ["twin"]


def twin(x: Any, memo: dict[int, Any] | None = None) -> Any:
    """Return the twin of a numba function, or of modules, functions and tuples with numba functions; else x itself."""
    memo = {} if memo is None else memo
    if isinstance(x, tuple) and not hasattr(x, "_make"):
        return tuple(twin(u, memo) for u in x)
    if isinstance(x, Owner) and x.numba_function is not None:
        return memo[id(x)] if id(x) in memo else _owner(x, memo)
    if isinstance(x, Dispatcher):
        return memo[id(x)] if id(x) in memo else _function(x, memo)
    if is_ufunc(x):
        return _elementwise(_function(x._dispatcher, memo))
    if is_generalized(x):
        return _generalized(_function(x._dispatcher, memo), x.expected_ndims())
    if registered(x) or is_callback(x):
        return memo[id(x)] if id(x) in memo else _function(x, memo)
    if x is math:
        return dr.math
    if x is np:
        return _NUMPY
    if x is List:
        return _List
    if isinstance(x, types.BuiltinFunctionType) and x.__module__ == "math":
        return getattr(dr.math, x.__name__)
    if callable(x) and getattr(np, getattr(x, "__name__", ""), None) is x:
        return getattr(_NUMPY, x.__name__)
    return x


def _owner(x: Any, memo: dict[int, Any]) -> Any:
    """The same rule for the twin. Checkpoints change no derivative, and the tape's do not write to arguments."""
    if x.kind == "checkpoint":
        return _function(x.numba_function, memo)
    made = memo[id(x)] = object.__new__(type(x))  # before the names of its functions are looked up: one may call it
    made.__init__(_function(x.numba_function, memo))
    made.functions = tuple(twin(f, memo) for f in x.functions)
    return made


def _function(dispatcher: Any, memo: dict[int, Any]) -> Any:
    f, names, cells = dispatcher, {}, []
    f = f._pyfunc if is_callback(f) else getattr(f, "py_func", f)
    for cell in f.__closure__ or ():
        cells.append(memo.setdefault(id(cell), types.CellType()))
    made = types.FunctionType(f.__code__, names, f.__name__, None, tuple(cells))
    memo[id(dispatcher)] = made  # before its names are looked up: it may call itself
    for own, cell in zip(f.__closure__ or (), cells, strict=True):
        cell.cell_contents = twin(own.cell_contents, memo)
    used = {name: f.__globals__[name] for name in _names(f.__code__) if name in f.__globals__}
    names.update({name: twin(x, memo) for name, x in used.items()})
    names["__builtins__"] = {**vars(builtins), "float": _float}
    made.__defaults__ = twin(f.__defaults__, memo)
    return made


def _names(code: types.CodeType) -> set[str]:
    """Return the names in code and in the functions inside of it."""
    inner = (_names(x) for x in code.co_consts if isinstance(x, types.CodeType))
    return set(code.co_names).union(*inner)


def _elementwise(kernel: Any) -> Any:
    def ufunc(*args: Any) -> Any:
        shape = np.broadcast_shapes(*map(np.shape, args))
        if not shape:
            return kernel(*args)
        parts = [dr.numpy.broadcast_to(x, shape) for x in args]
        made = dr.numpy.empty(shape)
        for index in np.ndindex(shape):
            made[index] = kernel(*(x[index] for x in parts))
        return made

    return ufunc


def _generalized(kernel: Any, ranks: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    """The kernel for all places of the axes in front; a result without axes of its own is an array of one number."""
    core = [*ranks[0], *ranks[1]]

    def ufunc(*args: Any) -> None:
        front = [np.ndim(x) - rank for x, rank in zip(args, core, strict=True)]
        shape = next((np.shape(x)[:k] for x, k in zip(args, front, strict=True) if k), ())
        for index in np.ndindex(shape):
            given = []
            for n, (x, k) in enumerate(zip(args, front, strict=True)):
                ends = (*index[:-1], slice(index[-1], index[-1] + 1)) if n >= len(ranks[0]) and not core[n] else index
                given.append(x[ends] if k else x)
            kernel(*given)

    return ufunc


def _float(x: Any = 0.0) -> Any:
    return x if isinstance(x, DualNumber) else float(x)


class _List(list):
    """numba.typed.List."""

    @staticmethod
    def empty_list(kind: Any) -> list[Any]:
        return []


class _Float64(np.float64):
    """np.float64, as a type and as a conversion."""

    def __new__(cls, x: Any = 0.0) -> Any:
        return _float(x)


class _Numpy(types.ModuleType):
    """dualrev.numpy, with conversions of numbers."""

    float64 = float32 = _Float64
    int64 = int32 = staticmethod(int)
    bool_ = staticmethod(bool)

    def __getattr__(self, name: str) -> Any:
        return getattr(dr.numpy, name)


_NUMPY = _Numpy("numpy")
