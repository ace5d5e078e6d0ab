"""Where a table of pandas or a DataArray of xarray meets numbers under differentiation.

A table keeps its labels, and its package says what an operation on it means. pandas is given a column of ours for each
column of numbers (column.py); xarray takes arrays of ours as they are. Functions of numpy that take a table for its
values get these. All else that would meet a table is an error, because it would leave out what the table knows.

pandas asks what it is given for `_typ`, to know its own classes, before it computes with it. methods.py prepares the
numbers for the methods that it knows. In all others, a number under differentiation would go on as an object, or an
array as a block of a table: there, `_typ` raises an error.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import Holder, RealArray
from dualrev.eager.tables.kinds import holds_numbers, is_table, is_table_class
from dualrev.eager.tape.tape import Real
from dualrev.errors import UnsupportedError

__all__ = ["opened", "prepare", "with_table"]


def with_table(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc where a table is among its inputs."""
    package = next(filter(None, map(is_table, inputs)))
    if package == "xarray":
        return NotImplemented  # a DataArray takes the array as it is
    if package != "pandas" or method != "__call__" or kwargs:
        what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        raise _refused(f"{what} of a table of {package}")
    from dualrev.eager.tables.operands import with_columns  # imports pandas, as who has a table has done

    return with_columns(ufunc, *inputs)


def opened(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of numpy, with the values in place of tables, if it takes these for arrays."""
    loaded = sys.modules
    if ("pandas" in loaded or "xarray" in loaded or "polars" in loaded) and _have_table((*args, *kwargs.values())):
        if func not in _OF_VALUES:
            raise _refused(f"{func.__module__ or 'numpy'}.{func.__name__} of a table")
        return tuple(map(_values, args)), {key: _values(u) for key, u in kwargs.items()}
    return args, kwargs


def _have_table(given: Any) -> bool:
    kinds = set(map(type, given))
    if any(issubclass(kind, Holder) or is_table_class(kind) for kind in kinds):
        return True
    return not kinds.isdisjoint((list, tuple)) and any(_have_table(u) for u in given if isinstance(u, (list, tuple)))


def _values(u: Any) -> Any:
    if isinstance(u, (list, tuple)) and type(u) in (list, tuple):
        return type(u)(map(_values, u))
    if isinstance(u, Holder):
        return u.numbers
    return (u.to_numpy() if holds_numbers(u) else np.asarray(u)) if is_table(u) else u


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(what, "it with s.to_numpy() for the table s", "its labels, and its NaN, would be ignored")


def prepare() -> None:
    """Prepare pandas, once, for a function that may use it."""
    if "pandas" in sys.modules and not _PREPARED:
        from dualrev.eager.tables.teaching import teach  # imports pandas, as who has a table has done

        with _PREPARING:
            if not _PREPARED:
                teach()
                _PREPARED.append(True)


def _in_pandas(self: Any) -> str:
    """The attribute `_typ`, by which pandas knows its classes: an error where it would compute with our numbers."""
    frame: FrameType | None = sys._getframe(1)
    if not _module(frame).startswith("pandas."):
        raise AttributeError("_typ")
    while frame is not None and _module(frame) == "pandas.core.dtypes.generic":
        frame = frame.f_back
    if _module(frame).startswith(_COLLECTING) or (isinstance(self, Real) and _is_flexible(frame)):
        raise AttributeError("_typ")
    why = "pandas would take them for objects, and computes with these otherwise than with floats"
    cure = "numpy's function of t.to_numpy() for a table t, as in t.to_numpy() @ x"
    more = (
        "s * x, s + x and the like with a table s keep its labels. For an array x with labels, write"
        " pd.Series(x, index=labels)."
    )
    raise UnsupportedError("a method of a table", cure, why, more)


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else frame.f_globals.get("__name__", "")


def _is_flexible(frame: FrameType | None) -> bool:
    """Whether this is s.mul(x) and the like of a Series, which does what s * x does."""
    return frame is not None and frame.f_code.co_name in ("_flex_method", "get_op_result_name")


_PREPARED: list[bool] = []
_PREPARING = threading.Lock()
#: Here pandas asks what class a function's results are of, before it puts them together.
_COLLECTING: tuple[str, ...] = ("pandas.core.apply", "pandas.core.groupby", "pandas.core.construction")
_COLLECTING += ("pandas.core.internals",)
#: Functions that take a table for the array of its values, and give an array.
_OF_VALUES = {np.where, np.dot, np.vdot, np.inner, np.outer, np.interp, np.concatenate, np.stack, np.hstack, np.vstack}
_OF_VALUES |= {np.column_stack, np.append, np.linalg.solve, np.linalg.norm, np.searchsorted, np.bincount, np.polyval}


def _priority(self: Any) -> int:
    """The priority of an operand: with one above its own, pandas leaves s - x to x.__rsub__(s); not s -= x."""
    return 0 if sys._getframe(2).f_code.co_name == "_inplace_method" else 10_000


for _class in (Real, RealArray):
    _class._typ = property(_in_pandas)  # type: ignore[union-attr]
    _class.__pandas_priority__ = property(_priority)  # type: ignore[union-attr]
