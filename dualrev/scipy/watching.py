"""Wrappers of the user's functions for SciPy: they return plain numbers, and note whether values were traced.

A function may read traced numbers that are not among its arguments; nobody knows before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualrev.implicit.solution import applied, constant
from dualrev.scipy.calls import is_plain

__all__ = ["Watch"]


class Watch:
    """Record of whether functions that SciPy called returned traced numbers."""

    def __init__(self) -> None:
        self.seen = False
        self._functions: dict[int, Callable[..., Any]] = {}

    def plain(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f with plain numbers for its values."""
        functions, key = self._functions, len(self._functions)
        functions[key] = applied(f)

        def call(*args: Any, **kwargs: Any) -> Any:
            """Call f, note whether its value is traced, and return the plain value."""
            made = functions[key](*args, **kwargs)
            if is_plain(made):
                return made
            self.seen = True
            return constant(made)

        return call

    def forget(self) -> None:
        """Drop the functions: SciPy may keep what it has called for a while, and no tape with it."""
        self._functions.clear()

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments for SciPy, functions that are watched and constants; note traced numbers."""
        made = {}
        for name, x in given.items():
            if callable(x) and name != "callback":
                made[name] = self.plain(x)
            else:
                self.seen = self.seen or not is_plain(x)
                made[name] = x if is_plain(x) else constant(x)
        return made
