"""What numpy, Python and C say in their own words where a number under differentiation is nothing to them: in ours.

numpy asks nobody what np.array([x, 1.0]) should be (no release of it has a hook for that): an array of objects, whose
functions look for methods on the elements, and on 1.0 find none. Such errors name no line. They are translated where
the derivative was asked for, by the traceback: what raises them is the user's line, or one of a library below it.
"""

from __future__ import annotations

import re
from types import TracebackType

import numpy as np

from dualrev.errors import DualrevError, UnsupportedError
from dualrev.objects import explain
from dualrev.places import is_of_library, line_of

__all__ = ["explained"]

_OBJECTS = (
    re.compile(r"loop of ufunc does not support argument \d+ of type \w+ which has no callable (?P<name>\w+) method"),
    re.compile(r"ufunc '(?P<name>\w+)' not supported for the input types"),
    re.compile(r"Cannot cast ufunc '(?P<name>\w+?)1?(_lo|_up|_n|_n_s|_n_f)?' input.* from dtype\('O'\)"),
    re.compile(r"(?P<name>input) type 'object' not supported"),
    re.compile(r"Cannot cast (?P<name>array data) from dtype\('O'\)"),
    re.compile(r"'(float|int)' object has no attribute '(?P<name>\w+)'"),
)


def explained(error: Exception) -> DualrevError | None:
    """Our error for one that a function raised because of a number under differentiation; None for all others."""
    if isinstance(error, DualrevError):
        return None
    if isinstance(error, SystemError) and isinstance(error.__cause__, DualrevError):
        return error.__cause__  # C code went on with an error set
    if isinstance(error, AttributeError):
        explain(error)
    return _refusal(str(error), error.__traceback__)


def _refusal(text: str, traceback: TracebackType | None) -> UnsupportedError | None:
    """Our error for one of numpy's or Python's; None for all others."""
    place = _place(traceback)
    if not place:
        return None
    found = next(filter(None, (pattern.search(text) for pattern in _OBJECTS)), None)
    if found is None or (text.startswith("'") and not isinstance(getattr(np, found["name"], None), np.ufunc)):
        return None
    name = found["name"]
    return UnsupportedError.at(
        place,
        f"{name} of what is no array of floats",
        "np.array([x, 1.0]) with a number x under differentiation is an array of objects: numpy asks nobody about it",
        "dualrev.numpy.array([x, 1.0]) or np.stack([x, 1.0]); in place of functions of SciPy, those of dualrev.scipy",
    )


def _place(traceback: TracebackType | None) -> str:
    """The user's line, and that of a library below it, where something was raised; "" if this library raised it."""
    user = library = ""
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        kind = is_of_library(code.co_filename)
        if kind is None:
            library = "ours"
        elif kind:
            library = f" (in {line_of(code.co_filename, line)})"
        else:
            user, library = line_of(code.co_filename, line), ""
        traceback = traceback.tb_next
    return "" if library == "ours" else user + library
