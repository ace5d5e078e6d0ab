"""Callers of a column: functions of pandas and xarray whose names decide what it answers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["beside_constants", "called_by", "for_text", "for_xarray", "in_a_row_of_objects"]


def called_by(*names: str) -> bool:
    """Whether a function of pandas of one of these names is running, on behalf of the user."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("pandas.", "dualrev.eager.tables.")):
        if frame.f_code.co_name in names:
            return True
        frame = frame.f_back
    return False


def beside_constants() -> bool:
    """Whether pandas makes an array of objects of columns of ours and of constants, where it would make one of floats.

    The constants in it would be objects, too, and a table that pandas makes of it one of objects.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_interleave":
        if not frame.f_globals.get("__name__", "").startswith(("pandas.", "dualrev.eager.tables.")):
            return False
        frame = frame.f_back
    dtypes = [] if frame is None else [block.dtype for block in frame.f_locals["self"].blocks]
    others = [dtype for dtype in dtypes if not hasattr(dtype, "of_dualrev")]
    return bool(others) and all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in others)


def for_xarray() -> bool:
    """Whether xarray looks, by pandas, whether objects are dates: after each of its operations on objects."""
    frame: Any = sys._getframe(3)  # Series.__array__ has asked the column
    return bool(frame.f_code.co_name == "_possibly_convert_objects")


def in_a_row_of_objects() -> bool:
    """Whether pandas takes a number out of a column for a row of a DataFrame that is one of objects."""
    frame: Any = sys._getframe(3)  # the block has asked the column
    return bool(frame.f_code.co_name == "fast_xs" and frame.f_locals.get("dtype") == np.dtype(object))


def for_text() -> bool:
    """Whether pandas prints a table."""
    return bool(sys._getframe(2).f_globals.get("__name__") == "pandas.io.formats.format")
