"""Every exception of the library: what happened, where (the user's file and line), why, and what to write instead.

All are subclasses of `DualrevError` and of the built-in class that Python would raise in such a place, so that both
`except dualrev.errors.DualrevError` and `except TypeError` find them. The wording is tested in tests/test_errors.py.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = [
    "ArgumentError",
    "ConversionError",
    "CotangentError",
    "DualrevError",
    "HashError",
    "LeafError",
    "LeakError",
    "OutputError",
    "UnsupportedError",
]

_OURS = tuple(str(Path(__file__).resolve().parent.parent / package) + os.sep for package in ("dualrev", "stages"))
# Where the code of others is installed.
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class DualrevError(Exception):
    """The base of all exceptions of this library."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), str(self))  # pickle would pass the finished message to __init__


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
            f" derivative. {_CURES.get(conversion, '')}Where a constant is meant, write dualrev.value(x)."
        )


class HashError(DualrevError, TypeError):
    """A dual number was to be hashed."""

    def __init__(self) -> None:
        super().__init__(
            f"a number that is being differentiated was used as a key{_where()}: two such numbers may be equal"
            " and have different derivatives, so a dict or a cache would mix them up. Use dualrev.value(x) for"
            " the key, or a key that is not computed from the arguments."
        )


class LeakError(DualrevError, RuntimeError):
    """A dual number was used after the derivative call that it belongs to."""

    def __init__(self) -> None:
        super().__init__(
            f"a number from a differentiation that has ended was used{_where()}: it was kept in a global, a cache, a"
            " closure or a generator, and has no derivative any more. Keep dualrev.value(x) there, or make it anew in"
            " each call."
        )


class UnsupportedError(DualrevError, TypeError):
    """A function that would give a wrong answer on dual numbers."""

    def __init__(self, name: str, instead: str) -> None:
        super().__init__(
            f"{name} of numbers that are being differentiated{_where()}: it does nothing to arrays of objects, which"
            f" these numbers are kept in. Write {instead}."
        )


_CURES = {
    "float()": "The functions of Python's `math` do this: use the ones of the same name in dualrev.math, or numpy's;"
    " what is not there, math.isclose and the like, write of dualrev.value(x)."
    " Assigning to an element of an array of floats does it too: make the array with dtype=object. ",
}


def _where() -> str:
    """The innermost line of the user's code that is running: ' at file.py:3: `text`'.

    That is a line outside of this library, of installed packages and of the standard library; if there is none, the
    innermost line outside of this library.
    """
    fallback = ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if not file.startswith((*_OURS, "<dualrev ")):
            text = linecache.getline(file, line).strip()
            place = f" at {file}:{line}" + (f": `{text}`" if text else "")
            if not file.startswith(_INSTALLED):
                return place
            fallback = fallback or place
        frame = frame.f_back
    return fallback


def _again(cls: type[DualrevError], message: str) -> DualrevError:
    error = cls.__new__(cls)
    error.args = (message,)
    return error


def _short(x: Any) -> str:
    try:
        text = repr(x)
    except Exception:  # the user's __repr__, or one that recurses too deeply: the message matters more
        text = object.__repr__(x)
    return text if len(text) <= 60 else text[:57] + "..."
