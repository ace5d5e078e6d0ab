"""Every exception of the library: what happened, where (the user's file and line), why, and what to write instead.

All are subclasses of `DualrevError` and of the built-in class that Python would raise in such a place, so that both
`except dualrev.errors.DualrevError` and `except TypeError` find them. The wording is tested in tests/test_errors.py.
"""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from typing import Any

__all__ = [
    "ArgumentError",
    "ConversionError",
    "CotangentError",
    "DualrevError",
    "HashError",
    "LeafError",
    "OutputError",
]

_OURS = tuple(str(Path(__file__).resolve().parent.parent / package) + os.sep for package in ("dualrev", "stages"))


class DualrevError(Exception):
    """The base of all exceptions of this library."""


class ArgumentError(DualrevError, TypeError):
    """The arguments of the function to differentiate hold no real scalar."""

    def __init__(self, primals: tuple[Any, ...]) -> None:
        kinds = ", ".join(type(x).__name__ for x in primals) or "none"
        super().__init__(
            f"there is nothing to differentiate with respect to: the arguments (types: {kinds}) hold no real"
            " scalar. Real scalars are floats, numpy floating scalars and the elements of floating arrays;"
            " ints, bools, strings, None and objects of unregistered classes are constants."
            " Write 2.0 where you wrote 2, or register the class with dualrev.tree.register_node."
        )


class LeafError(DualrevError, TypeError):
    """Nested data holds a value that is neither a real scalar nor safe to treat as a constant."""

    def __init__(self, x: Any, why: str, instead: str) -> None:
        super().__init__(f"a value of type {type(x).__name__} cannot be differentiated: {why}. {instead}.")


class OutputError(DualrevError, TypeError):
    """The function to differentiate returned no real scalar."""

    def __init__(self, y: Any) -> None:
        super().__init__(
            f"the function returned {_short(y)} (type {type(y).__name__}), which holds no real scalar, so it has"
            " no derivative. Return a float, or nested data with floats in it; a function that returns None"
            " may lack its `return`."
        )


class CotangentError(DualrevError, ValueError):
    """The argument of a pullback does not have the structure of the function's value."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(
            f"the pullback was given {_short(found)} (type {type(found).__name__}) where the function's value has"
            f" {expected}. A cotangent has the structure of the value: a number for every real scalar,"
            " an array of the same shape for an array, None for every discrete value."
        )


class ConversionError(DualrevError, TypeError):
    """A dual number was to become a plain one, which would lose its derivative."""

    def __init__(self, conversion: str) -> None:
        super().__init__(
            f"{conversion} of a number that is being differentiated{_where()}: the plain number would lose its"
            " derivative. `math` functions do this: use the function of the same name from dualrev.math or numpy."
            " Where a constant is meant, write dualrev.value(x)."
        )


class HashError(DualrevError, TypeError):
    """A dual number was to be hashed."""

    def __init__(self) -> None:
        super().__init__(
            f"a number that is being differentiated was used as a key{_where()}: two such numbers may be equal"
            " and have different derivatives, so a dict or a cache would mix them up. Use dualrev.value(x) for"
            " the key, or a key that is not computed from the arguments."
        )


def _where() -> str:
    """The innermost line of the running program that is not the library's own: ' at file.py:3: `text`'."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_OURS, "<dualrev ")):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).strip()
    return f" at {file}:{line}" + (f": `{text}`" if text else "")


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."
