"""The type of a column of numbers under differentiation, for pandas.

This module imports pandas: it is imported for who has done so.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
from pandas.api.extensions import ExtensionDtype

from dualrev.eager.tables.kinds import refused

__all__ = ["DTYPE", "ColumnDtype"]


class ColumnDtype(ExtensionDtype):
    """The type of such columns: floats, for whoever asks for the kind."""

    name = "float64"
    type = np.float64
    kind = "f"
    na_value = np.nan
    column: ClassVar[Any] = None  # column.py says which
    of_dualrev = True  # for who does not import this module
    _is_numeric = True

    @classmethod
    def construct_array_type(cls) -> Any:
        """The class of arrays of this type."""
        return cls.column

    @property
    def index_class(self) -> Any:
        """Class of an index of this type: an error, because labels are constants."""
        raise refused("an index", "labels are constants", "dualrev.value(s) for a column s of labels")

    @classmethod
    def construct_from_string(cls, string: str) -> ColumnDtype:
        """Raise TypeError: "float64" is the name of the type of plain floats."""
        raise TypeError(f"{string!r} is a type of plain numbers")

    def _get_common_dtype(self, dtypes: list[Any]) -> Any:
        for dtype in dtypes:
            if getattr(dtype, "kind", "") == "c" or (dtype != self and getattr(dtype, "_is_numeric", False)):
                what, why = f"a column of floats beside one of {dtype}", "pandas has no common type of both"
                raise refused(what, why, "r.astype(float) for the other column r")
        return self if all(dtype == self or _is_number(dtype) for dtype in dtypes) else None

    def __eq__(self, other: object) -> bool:
        frame = sys._getframe(1)
        if isinstance(other, ColumnDtype):
            if "convert_dtypes" in (frame.f_code.co_name, getattr(frame.f_back, "f_code", frame.f_code).co_name):
                raise refused("convert_dtypes", "pandas' own types of floats hold plain floats")
            return True
        asks = frame.f_globals.get("__name__", "")
        if asks.startswith("pandas.") and not asks.startswith("pandas.core.ops."):  # it asks which class computes
            return False
        return bool(np.dtype(float) == other)

    def __hash__(self) -> int:
        return hash(ColumnDtype)


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


DTYPE = ColumnDtype()
