"""File, line and text of the user's code that is running, for errors."""

from __future__ import annotations

import linecache
import opcode
import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

__all__ = [
    "innermost_frame",
    "is_assigned_to_an_element",
    "is_of_library",
    "is_of_user",
    "library",
    "line_of",
    "package_of",
    "where",
]

# The folders of this library, as Python imported them (perhaps by a link, or by "..") and resolved.
_OURS = tuple(
    str(file.parents[2] / package) + os.sep
    for file in {Path(__file__), Path(__file__).resolve()}
    for package in ("dualrev", "stages")
)
# Where the code of others is installed.
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
# Tracebacks name the sources of Cython where the package was built.
_CYTHON = (".pyx", ".pxd", ".pxi", "View.MemoryView", "<stringsource>")
_PACKAGES = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")})


def is_of_user(file: str) -> bool:
    """Whether a file holds code of the user: none of this library, of installed packages or of the standard library."""
    return not file.startswith((*_OURS, "<dualrev ", *_INSTALLED, "<frozen "))


def innermost_frame() -> FrameType | None:
    """Return the innermost running frame outside of this library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_OURS, "<dualrev ")):
        frame = frame.f_back
    return frame


def is_assigned_to_an_element(frame: FrameType) -> bool:
    """Whether a frame is at an assignment `a[i] = x`, or `a.real = x`."""
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR")


def is_of_library(file: str) -> bool | None:
    """Whether a file is of an installed package or of the standard library; None for a file of this library."""
    if file.startswith((*_OURS, "<dualrev ")):
        return None
    return file.startswith((*_INSTALLED, "<frozen ", "<__array_function__")) or file.endswith(_CYTHON)


def line_of(file: str, line: int) -> str:
    """`file.py:3`, with the text of the line if there is any."""
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f": `{text}`" if text else "")


def library() -> str:
    """The line of an installed package that is running, called by the user's code: ` (inside scipy, at file.py:3)`.

    "" if the user's own line is the innermost one outside of this library.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        kind = is_of_library(file)
        if kind is not None:
            inside = package_of(file)
            if inside != "numpy":  # that is what asked
                return f" (inside {inside}, at {file}:{frame.f_lineno})" if inside else ""
        frame = frame.f_back
    return ""


def package_of(file: str) -> str:
    """The name of the installed package that a file is of; "" if it is of none."""
    return next((file[len(root) :] for root in _PACKAGES if file.startswith(root)), "").partition(os.sep)[0]


def where() -> str:
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
