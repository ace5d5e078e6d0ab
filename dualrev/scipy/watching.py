"""User's functions as SciPy calls them: with plain numbers out, and a note of those that were under differentiation.

A function may read numbers under differentiation that are not among its arguments; nobody knows before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualrev.implicit.solution import applied, constant
from dualrev.scipy.calls import is_plain

__all__ = ["Watch"]


class Watch:
    """What has been seen in the values of functions."""

    def __init__(self) -> None:
        self.seen = False
        self._functions: dict[int, Callable[..., Any]] = {}

    def plain(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """f with the plain numbers of its values."""
        functions, key = self._functions, len(self._functions)
        functions[key] = applied(f)

        def call(*args: Any, **kwargs: Any) -> Any:
            made = functions[key](*args, **kwargs)
            if is_plain(made):
                return made
            self.seen = True
            return constant(made)

        return call

    def forget(self) -> None:
        """SciPy may keep what it has called until the next collection of garbage: this keeps no tape with it."""
        self._functions.clear()

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Arguments for SciPy: functions that are watched, and constants. Numbers under differentiation are noted."""
        made = {}
        for name, x in given.items():
            if callable(x) and name != "callback":
                made[name] = self.plain(x)
            else:
                self.seen = self.seen or not is_plain(x)
                made[name] = x if is_plain(x) else constant(x)
        return made
