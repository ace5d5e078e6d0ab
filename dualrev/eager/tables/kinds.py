"""Tests whether data are tables of pandas, xarray or polars, without importing these."""

from __future__ import annotations

import sys
from typing import Any

from dualrev.diagnostics.user_lines import library, where
from dualrev.eager.arrays.memory.storage import Holder, RealArray
from dualrev.eager.numbers.dual import DualNumber
from dualrev.errors import UnsupportedError

__all__ = ["CURE", "LABELLED", "holds_numbers", "is_table", "is_table_class", "refused"]

#: Packages whose tables hold arrays, and would take our numbers for objects.
LABELLED = ("pandas", "xarray")
CURE = (
    "it with numpy, of s.to_numpy() for a Series s or t.to_numpy() for a DataFrame t, as np.quantile(s.to_numpy(), 0.5)"
)
_CLASSES = {
    "pandas": ("Series", "DataFrame", "Index", "api.extensions.ExtensionArray"),
    "xarray": ("DataArray", "Dataset", "Variable"),
    "polars": ("Series", "DataFrame", "LazyFrame", "Expr"),
}
_KNOWN: dict[type, str] = {}


def is_table(x: Any) -> str:
    """Return the package of a table x; "" for anything else, and for a column of ours."""
    return is_table_class(x.__class__)


def is_table_class(kind: type) -> str:
    """Return the package of a class of tables; "" for any other class."""
    found = _KNOWN.get(kind)
    if found is None:
        found = "" if issubclass(kind, Holder) else next((p for p in _CLASSES if _is_of_package(kind, p)), "")
        if len(_KNOWN) < 1000:  # for who makes classes in a loop
            _KNOWN[kind] = found
    return found


def _is_of_package(kind: type, package: str) -> bool:
    module: Any = sys.modules.get(package)
    for name in _CLASSES[package] if module is not None else ():
        cls: Any = module
        for part in name.split("."):
            cls = getattr(cls, part, None)
        if isinstance(cls, type) and issubclass(kind, cls):
            return True
    return False


def holds_numbers(x: Any) -> bool:
    """Whether x is a number or an array of ours, a column, or a table of pandas with one."""
    if isinstance(x, (Holder, DualNumber, RealArray)) or is_table(x) != "pandas":
        return isinstance(x, (Holder, DualNumber, RealArray))
    dtypes: Any = getattr(x, "dtypes", None)
    return any(hasattr(dtype, "of_dualrev") for dtype in (dtypes if is_table(dtypes) else [dtypes]))


def refused(what: str, why: str = "pandas computes it of plain floats", cure: str = CURE) -> UnsupportedError:
    """The refusal of an operation on a table."""
    return UnsupportedError.at(f"{where().removeprefix(' at ')}{library()}", f"{what} of a table", why, cure)
