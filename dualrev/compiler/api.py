"""The public functions of derivatives.py for numba functions: what they return, and how Python calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from dualrev.compiler.build import Derivative, derivative
from dualrev.compiler.pipeline import emit
from dualrev.compiler.source import describe, is_numba_function
from dualrev.errors import CotangentError, UnsupportedError
from dualrev.tree import flatten_leaves

__all__ = ["derivative_source", "gradient", "is_numba_function", "vjp"]


def _first_order(f: Any, wanted: str) -> None:
    if isinstance(f, Derivative):
        inner, transform, _ = f.derivative_of
        raise UnsupportedError.at(
            describe(inner.py_func),
            f"the {transform} of a numba function, once more ({wanted})",
            "the compiler makes first derivatives only",
            "dr.hessian(f.py_func) or another function of the tape for the second ones",
        )


def gradient(f: Any, transform: str, argnums: int | Sequence[int]) -> Derivative:
    """The numba dispatcher for `grad` and `value_and_grad` of a numba function."""
    _first_order(f, transform)
    return derivative(f, transform, tuple(argnums) if isinstance(argnums, Sequence) else argnums)


def _copied(x: Any) -> Any:
    """The same arguments, with copies of the arrays: f may write them."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, tuple):
        parts = [_copied(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x


def vjp(f: Any, primals: tuple[Any, ...]) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a numba function, and its pullback."""
    _first_order(f, "vjp")
    kept = _copied(primals)
    y = f(*primals)
    leaves, structure = flatten_leaves(y)
    compiled = derivative(f, "vjp", 0)

    def pullback(ct: Any) -> tuple[Any, ...]:
        given = structure.read_leaves(ct, CotangentError)
        cts = [np.asarray(c, x.dtype) if isinstance(x, np.ndarray) else float(c) for c, x in zip(given, leaves, strict=True)]
        return compiled(*_copied(kept), structure.cotangent_leaves(cts))[1]

    return y, pullback


def derivative_source(f: Any, *args: Any, argnums: int | Sequence[int] = 0, transform: str = "value_and_grad") -> str:
    """The Python source of the derivative of a numba function, for arguments of these types.

    The source is a module: the derivative itself, and for each function that f calls its forward and reverse sweeps.
    transform is "value_and_grad", "grad", "vjp" or "jvp". Raises UnsupportedError as dualrev.grad does.
    """
    if not is_numba_function(f):
        raise UnsupportedError.at(describe(f), "derivative_source", "this is no numba function", "@njit above it")
    _first_order(f, "derivative_source")
    numbers = tuple(argnums) if isinstance(argnums, Sequence) else argnums
    return emit(f, transform, numbers, tuple(map(numba.typeof, args))).source


assert functools
