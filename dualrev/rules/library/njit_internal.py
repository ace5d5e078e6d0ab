"""`@inner`: numba functions that other numba functions call, and Python hardly ever.

numba makes a function that Python would call them by, which takes it as long as they take themselves. They have none;
Python calls them by a numba function that does nothing else.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import njit
from numba.core import config
from numba.core.registry import CPUDispatcher

__all__ = ["WITHOUT_WRAPPERS", "Inner", "inner"]

WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # options of numba

_CPUDispatcher: Any = CPUDispatcher  # numba has no type information


class Inner(_CPUDispatcher):
    """A numba function without what Python would call it by."""

    def __call__(self, *args: Any) -> Any:
        """Call it from Python."""
        return _outer(self)(*args)


@functools.cache
def _outer(f: Any) -> Any:
    return njit(lambda *args: f(*args))


def inner(function: Any = None, **options: Any) -> Any:
    """As `njit`: a decorator, with options or without."""
    if function is None:
        return functools.partial(inner, **options)
    if config.DISABLE_JIT:
        return function
    return Inner(function, {}, {"nopython": True, "boundscheck": None, **WITHOUT_WRAPPERS, **options})
