"""Decorators of this package's numba functions: LLVM optimises a solver with all that it calls once, at the end.

    @solving     a function that Python and other numba functions call, with functions among its arguments
    @within      a function that those call

numba optimises each function, and again in each function that calls it. A function that calls a solver waits 7 seconds
for it in place of 11.
"""

from __future__ import annotations

from typing import Any

from numba.core import config
from numba.core.compiler_lock import global_compiler_lock

from dualrev.rules.library.constant_functions import TakesFunctions
from dualrev.rules.library.njit_internal import WITHOUT_WRAPPERS, Inner

__all__ = ["solving", "within"]

_OPTIONS = {"nopython": True, "boundscheck": None}


class _Solving(TakesFunctions):
    """A numba function that is compiled with deferred machine code."""

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, as numba's dispatchers do."""
        from dualrev.compiler.bridge.fast_compilation import fast_compilation  # it takes time to import

        with global_compiler_lock, fast_compilation():
            return super().compile(sig)


class _Within(Inner, _Solving):
    """A numba function without a function that Python would call it by."""


def solving(function: Any) -> Any:
    """As `njit`, for a solver: it may have functions among its arguments, and numba can cache what calls it."""
    return function if config.DISABLE_JIT else _Solving(function, {}, dict(_OPTIONS))


def within(function: Any) -> Any:
    """As `solving`, for a function that solvers call, or a solver that another one calls."""
    if config.DISABLE_JIT:
        return function
    return _Within(getattr(function, "py_func", function), {}, {**_OPTIONS, **WITHOUT_WRAPPERS})
