"""Marker functions that replace others while a numba function is read, and whose types numba infers.

stop_gradient   `dualrev.stop_gradient`: the same numbers, and a copy of arrays of real numbers, as on the tape
double          a number: the compiler refuses any but a float64
in_order        an array of which `.flat` goes in the order of np.nditer
in_rows         the same array, if that goes over rows also where it has other arrays beside it
barrier         a barrier of the threads of a CUDA block: they read and write these arrays
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

from dualrev.compiler.types.aliases import NumbaType
from dualrev.diagnostics.quoting import execute
from dualrev.eager.custom import stop_gradient

__all__ = ["barrier", "double", "in_order", "in_rows", "stopped", "typed"]

_PLAIN = (types.Number, types.Boolean, types.NoneType, types.UnicodeType, types.Dispatcher)


def typed(x):
    """Overload of `stop_gradient` for a numba type: see register.py, which registers it."""
    kind: NumbaType = types.unliteral(x)
    if isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Float, types.Complex)):
        return lambda x: x.copy()
    if isinstance(kind, (types.Array, *_PLAIN)):
        return lambda x: x
    if isinstance(kind, types.BaseTuple):
        space: dict[str, object] = {"stop_gradient": stop_gradient, "made": getattr(kind, "instance_class", None)}
        parts = "".join(f"stop_gradient(x[{k}]), " for k in range(len(kind.types)))
        text = f"({parts})" if space["made"] is None else f"made({parts})"
        execute(f"def stopped(x):\n    return {text}", space)
        return space["stopped"]
    return None


@njit
def stopped(x):
    """Apply `stop_gradient`, under a name for emitted code."""
    return stop_gradient(x)


def in_order(a):
    """Transpose an array if need be, so that its `.flat` follows the element order of numba's np.nditer."""
    return a.T if a.flags.fnc else a


@overload(in_order)
def _in_order(a):
    if isinstance(a, types.Number):
        return lambda a: np.asarray(a)
    if not isinstance(a, types.Array):
        return None
    return (lambda a: a.T) if goes_back(a) else (lambda a: a)


def in_rows(a):
    """Mark an array that np.nditer traverses by rows even beside other arrays; it is returned unchanged."""
    return a


@overload(in_rows)
def _in_rows(a):
    return (lambda a: a) if isinstance(a, types.Array) else None


def double(x):
    """Mark a number that must be a float64; it is returned unchanged."""
    return x


@overload(double)
def _double(x):
    return lambda x: x


def barrier(*arrays):
    """Mark a barrier of the threads of a CUDA block; in one thread, it does nothing."""


@overload(barrier)
def _barrier(*arrays):
    return lambda *arrays: None


def goes_back(kind: NumbaType) -> bool:
    """Whether np.nditer varies the first axis fastest, by the layout that numba knows."""
    return bool(kind.layout == "F" and kind.ndim > 1)
