"""Translation of errors that numpy, Python and C raise for traced numbers into errors that name the cause and a cure.

numpy asks nobody what np.array([x, 1.0]) should be (no release of it has a hook for that): an array of objects, whose
functions look for methods on the elements, and on 1.0 find none. Such errors name no line. They are translated where
the derivative was called, by the traceback: what raises them is the user's line, or one of a library below it.
"""

from __future__ import annotations

import re
from traceback import walk_tb
from types import FrameType, TracebackType

import numpy as np

from dualrev.diagnostics import library_calls
from dualrev.diagnostics.user_lines import is_of_library, line_of, package_of
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals
from dualrev.eager.checking import attributes
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.kinds import CURE, LABELLED, holds_numbers, is_table
from dualrev.errors import ConversionError, DualrevError, UnsupportedError
from dualrev.pytree.objects import explain

__all__ = ["explained"]

_IN_C = r"(must be|expected) .*, (not|got) '?(RealArray|Real)\b"
_READ_ONLY = "assignment destination is read-only"
_OBJECTS = (
    r"loop of ufunc does not support argument \d+ of type [\w.]+ which has no callable (?P<name>\w+) method",
    r"ufunc '(?P<name>\w+)' not supported for the input types",
    r"Cannot cast ufunc '(?P<name>\w+?)1?(_lo|_up|_n|_n_s|_n_f)?' input.* from dtype\('O'\)",
    r"(?P<name>input) type 'object' not supported",
    r"Cannot cast (?P<name>array data) from dtype\('O'\)",
    r"'(float|int)' object has no attribute '(?P<name>\w+)'",
    r"Could not convert <class '[\w.]*\.(?P<name>\w+)'> to a NumPy dtype",
)
_PLAIN = r"Cannot cast (ufunc '\w+' output|scalar) from dtype\('O'\)"
_LOST_STORE = "Error setting single item of array."
_NDITER = r"NPY_ITER_REFS_OK|object which cannot be written back to via WRITEBACKIFCOPY"
_IN_TABLES = (TypeError, ValueError, NotImplementedError, AttributeError, AssertionError)
_PANDAS = (
    r"(Could not convert Real\(.*\) to numeric|No numeric types to aggregate|non-numeric type: object"
    r"|dtype->object\]|(object dtype|dtype object)\.?|^dtype 'object' does not support operation '\w+')$"
)


def explained(error: Exception) -> Exception | None:
    """Our error for one that a function raised because of a number under differentiation; None for all others."""
    if isinstance(error, DualrevError):
        return None
    if isinstance(error.__cause__, DualrevError) and (
        isinstance(error, SystemError)
        or str(error).startswith("setting an array element with a sequence")
        or _place(error.__traceback__)[1]
    ):
        return error.__cause__  # C code or a library raised another one; numpy takes what has indices for a sequence
    if isinstance(error, AttributeError):
        explain(error)
        attributes.explain(error)
    if (refused := _of_a_table(error)) is not None:
        return refused
    if (lost := _lost(error.__traceback__)) is not None:
        return lost
    user, below, package = _place(error.__traceback__)
    if str(error) == _READ_ONLY and user and below is None:
        return ValueError(
            f"{_READ_ONLY} at {user}. It is a view that numpy lets nobody write to, or a global of a"
            " numba function: write to y = x.copy()"
        )
    if str(error) == _LOST_STORE and (lost := ConversionError.latest(user)) is not None:
        return lost
    if not user or below is None:
        return None
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    called = library_calls.called(reversed(frames))
    refusal = _refusal(str(error), user + below, package, called)
    if refusal is None and called is not None:
        locals_ = [x for frame in frames if is_of_library(frame.f_code.co_filename) for x in frame.f_locals.values()]
        if any(isinstance(x, (DualNumber, RealArray)) and holds_duals(x) for x in locals_):
            error.add_note(
                f"{called} was called at {user} with numbers that are being differentiated, and may take plain ones"
                f" only. {library_calls.cure(called)}"
            )
    return refusal


def _lost(traceback: TracebackType | None) -> ConversionError | None:
    """Our error that code in C lost, and raised one of its own in the same line of Python code."""
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return ConversionError.lost(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)


def _of_a_table(error: Exception) -> Exception | None:
    """Our error for one of pandas that a table with numbers under differentiation has led to."""
    cause: BaseException | None = error
    frames: list[FrameType] = []
    while cause is not None and not isinstance(cause, DualrevError):
        frames += [frame for frame, _ in walk_tb(cause.__traceback__)]
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    frames = [frame for frame in frames if frame.f_globals.get("__name__", "").startswith(LABELLED)]
    if not frames:
        return None
    if isinstance(cause, DualrevError):
        return cause
    if not isinstance(error, _IN_TABLES) or (isinstance(error, AttributeError) and is_table(error.obj)):
        return None
    evaluated = any(frame.f_globals["__name__"].startswith("pandas.core.computation") for frame in frames)  # text
    if not evaluated and not any(_is_traced(x) for frame in frames for x in frame.f_locals.values()):
        return None
    user, below, _ = _place(error.__traceback__)
    why = f"pandas computes it of plain floats ({type(error).__name__}: {error})"
    return UnsupportedError.at(user + (below or ""), "this method of a table", why, CURE)


def _is_traced(x: object) -> bool:
    """Whether x holds traced numbers; a table that pandas has not finished making may not know."""
    try:
        return holds_numbers(x)
    except Exception:  # pandas' own
        return False


def _refusal(text: str, place: str, package: str, called: library_calls.Called | None) -> UnsupportedError | None:
    """Our error for one of numpy's or Python's, in a line of an installed package or of the user's; None for others."""
    if re.search(_IN_C, text) and "integer" not in text:  # as an index, or the size of an array
        why, cure = (
            f"it takes plain numbers only ({text})",
            "the one of dualrev.scipy, or give it a rule of its own by ",
        )
        return UnsupportedError.at(place, "this function in C", why, cure + "dualrev.custom_jvp")
    if re.search(_PANDAS, text):
        why, cure = "pandas computes it of plain numbers", "it with numpy, of v = dualrev.numpy.array(list(s))"
        return UnsupportedError.at(place, "this method of a table", why, f"{cure} for a column s: np.quantile(v, 0.5)")
    if re.search(_PLAIN, text):
        why = "it would lose its derivative"
        cure = "dualrev.numpy.array(u) for a constant array u, dualrev.numpy.zeros(n) for np.zeros(n)"
        return UnsupportedError.at(place, "a number under differentiation in an array of plain numbers", why, cure)
    if re.search(_NDITER, text):
        cure = "a loop over a.flat, or for i in np.ndindex(a.shape)"
        return UnsupportedError.at(place, "np.nditer", "numpy has it for arrays of plain numbers only", cure)
    found = next(filter(None, (re.search(pattern, text) for pattern in _OBJECTS)), None)
    if found is None or (text.startswith("'") and not isinstance(getattr(np, found["name"], None), np.ufunc)):
        return None
    name = found["name"]
    if package not in ("", "numpy"):
        why = f"it makes an array of objects of the number, and asks for {name} of it"
        if called is not None and called.package == package:
            return UnsupportedError.because(place, str(called), why, library_calls.cure(called))
        return UnsupportedError.at(
            place,
            f"this function of {package}",
            why,
            "it with numpy, or give it a rule of its own by dualrev.custom_jvp",
        )
    return UnsupportedError.at(
        place,
        f"{name} of an array of objects",
        "np.array([x, 1.0]) of a number x under differentiation has dtype object",
        "dualrev.numpy.array([x, 1.0]) or np.stack([x, 1.0]); for a function of SciPy, that of dualrev.scipy",
    )


def _place(traceback: TracebackType | None) -> tuple[str, str | None, str]:
    """Return the user's line that raised, and the line of a library below it, with its name.

    None in place of the second if this library raised it.
    """
    user = package = ""
    library: str | None = ""
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        kind = is_of_library(code.co_filename)
        if kind is None:
            library = None
        elif kind:
            library = f" (in {line_of(code.co_filename, line)})"
            package = package if package not in ("", "numpy") else package_of(code.co_filename)
        else:
            user, library, package = line_of(code.co_filename, line), "", ""
        traceback = traceback.tb_next
    return user, library, package
