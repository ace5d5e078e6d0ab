"""Where a table of pandas or a DataArray of xarray meets numbers under differentiation.

A table keeps its labels, and its package says what an operation on it means. pandas is given a column of ours for each
column of numbers (column.py); xarray takes arrays of ours as they are. Functions of numpy that take a table for its
values get these. All else that would meet a table is an error, because it would leave out what the table knows.

pandas asks what it is given for `_typ`, to know its own classes, before it computes with it: in `df.mul(x)`, in
`df.clip(upper=x)`. A number under differentiation would go on as an object there, or an array as a block of a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from dualrev.eager.arrays.storage import Holder, RealArray
from dualrev.eager.dual import DualNumber
from dualrev.eager.tape import Real
from dualrev.errors import UnsupportedError

__all__ = ["CURE", "LABELLED", "holds_numbers", "is_table", "opened", "prepare", "with_table"]

#: Packages whose tables hold arrays, and would take our numbers for objects.
LABELLED = ("pandas", "xarray")
CURE = (
    "it with numpy, as np.quantile(s.to_numpy(), 0.5); for s.rolling(n), np.lib.stride_tricks.sliding_window_view"
    "(s.to_numpy(), n); of a table t, s = t['x'], or np.column_stack([t[c].to_numpy() for c in t])"
)
_CLASSES = {
    "pandas": ("Series", "DataFrame", "Index", "api.extensions.ExtensionArray"),
    "xarray": ("DataArray", "Dataset", "Variable"),
    "polars": ("Series", "DataFrame", "LazyFrame", "Expr"),
}
_KNOWN: dict[type, str] = {}


def is_table(x: Any) -> str:
    """The package that x is a table of; "" for anything else, and for a column of ours."""
    kind = x.__class__
    found = _KNOWN.get(kind)
    if found is None:
        found = "" if issubclass(kind, Holder) else next(filter(None, map(_of_package(kind), _CLASSES)), "")
        if len(_KNOWN) < 1000:  # for who makes classes in a loop
            _KNOWN[kind] = found
    return found


def _of_package(kind: type) -> Callable[[str], str]:
    def find(package: str) -> str:
        module: Any = sys.modules.get(package)
        for name in _CLASSES[package] if module is not None else ():
            cls: Any = module
            for part in name.split("."):
                cls = getattr(cls, part, object())
            if isinstance(cls, type) and issubclass(kind, cls):
                return package
        return ""

    return find


def holds_numbers(x: Any) -> bool:
    """Whether x is a number or an array of ours, a column, or a table of pandas with one."""
    if isinstance(x, (Holder, DualNumber, RealArray)) or is_table(x) != "pandas":
        return isinstance(x, (Holder, DualNumber, RealArray))
    dtypes = getattr(x, "dtypes", None)
    return any(hasattr(dtype, "of_dualrev") for dtype in (dtypes if is_table(dtypes) else [dtypes]))


def with_table(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc where a table is among its inputs."""
    package = next(filter(None, map(is_table, inputs)))
    if package == "xarray":
        return NotImplemented  # a DataArray takes the array as it is
    if package != "pandas" or method != "__call__" or kwargs:
        what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        raise _refused(f"{what} of a table of {package}")
    from dualrev.eager.arrays.column import with_columns  # imports pandas, as who has a table has done

    return with_columns(ufunc, *inputs)


def opened(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of numpy, with the values in place of tables, if it takes these for arrays."""
    if not any(map(_has_table, (*args, *kwargs.values()))):
        return args, kwargs
    name = f"{func.__module__ or 'numpy'}.{func.__name__}"
    if func not in _OF_VALUES:
        raise _refused(f"{name} of a table")
    return tuple(map(_values, args)), {key: _values(u) for key, u in kwargs.items()}


def _has_table(u: Any) -> bool:
    if isinstance(u, (list, tuple)):
        return any(map(_has_table, u))
    return bool(isinstance(u, Holder) or is_table(u))


def _values(u: Any) -> Any:
    if isinstance(u, (list, tuple)) and type(u) in (list, tuple):
        return type(u)(map(_values, u))
    if isinstance(u, Holder):
        return u.numbers
    return np.asarray(u) if is_table(u) else u


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(what, "it with s.to_numpy() for the table s", "its labels, and its NaN, would be ignored")


def prepare() -> None:
    """What has to be done once before a function runs that may use pandas."""
    if "pandas" in sys.modules and not _PREPARED:
        from dualrev.eager.arrays.column import infer_columns  # imports pandas, as who has a table has done

        infer_columns()
        _PREPARED.append(True)


def _in_pandas(self: Any) -> str:
    """What pandas asks of everything that it computes with: an error, as for numbers of no class that it knows."""
    frame: FrameType | None = sys._getframe(1)
    if not _module(frame).startswith("pandas."):
        raise AttributeError("_typ")
    while frame is not None and _module(frame) == "pandas.core.dtypes.generic":
        frame = frame.f_back
    if _module(frame).startswith(_COLLECTING) or (isinstance(self, Real) and _is_flexible(frame)):
        raise AttributeError("_typ")
    why = "pandas would take them for objects, and computes with these otherwise than with floats"
    cure = "s * x, s + x and the like with a table s, s = s * x for s *= x, or numpy's function of s.to_numpy(); for an array x with labels,"
    raise UnsupportedError("a method of a table", f"{cure} pd.Series(list(x), index=labels)", why)


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else frame.f_globals.get("__name__", "")


def _is_flexible(frame: FrameType | None) -> bool:
    """Whether this is s.mul(x) and the like of a Series, which does what s * x does."""
    return frame is not None and frame.f_code.co_name in ("_flex_method", "get_op_result_name")


_PREPARED: list[bool] = []
#: Here pandas asks what class a function's results are of, before it puts them together.
_COLLECTING = ("pandas.core.apply", "pandas.core.groupby")
#: Functions that take a table for the array of its values, and give an array.
_OF_VALUES = {np.where, np.dot, np.vdot, np.inner, np.outer, np.interp, np.concatenate, np.stack, np.hstack, np.vstack}
_OF_VALUES |= {np.column_stack, np.append, np.linalg.solve, np.linalg.norm, np.searchsorted, np.bincount, np.polyval}

def _priority(self: Any) -> int:
    """What pandas asks of the other operand of s - x: x.__rsub__(s) is called then. In s -= x, pandas does not."""
    return 0 if sys._getframe(2).f_code.co_name == "_inplace_method" else 10_000


for _class in (Real, RealArray):
    _class._typ = property(_in_pandas)  # type: ignore[union-attr]
    _class.__pandas_priority__ = property(_priority)  # type: ignore[union-attr]
