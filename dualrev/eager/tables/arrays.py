"""Traced arrays that become tables, and tables that become traced arrays.

pandas makes the columns of a table of arrays in `sanitize_array`, and the array of a table in `as_array`. There, and in
the constructors, a traced vector is a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, ValuesView
from typing import Any

import numpy as np
import pandas as pd

from dualrev.eager.arrays.memory.storage import RealArray, adopt
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.boxes import are_objects, as_numbers, is_scalar
from dualrev.eager.tables.column import Column
from dualrev.eager.tables.kinds import refused

__all__ = [
    "as_array",
    "as_column",
    "constructing_frames",
    "constructing_series",
    "interleaving",
    "sanitizing",
    "squeezing",
    "storing",
]


def as_column(data: Any, length: int | None, copy: bool = True) -> Any:
    """A column of a traced vector, or of a traced number for each row; anything else as it is."""
    if isinstance(data, RealArray) and data.ndim == 1:
        return Column(data.copy() if copy else data)
    if isinstance(data, DualNumber) or (isinstance(data, RealArray) and not data.ndim):
        return data if length is None else Column(as_numbers([data] * length))
    return data


def sanitizing(sanitize: Callable[..., Any]) -> Any:
    """The column of an array, a number or a list."""

    def sanitize_array(data: Any, index: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make a column as pandas does; of traced numbers, one of ours."""
        made = as_column(data, None if index is None else len(index))
        floats = dtype is not None and not isinstance(dtype, str) and getattr(dtype, "kind", "") == "f"
        listed = floats and isinstance(data, (list, tuple)) and any(isinstance(u, DualNumber) for u in data)
        if listed and all(map(is_scalar, data)):
            made = Column(as_numbers(data))
        if isinstance(made, RealArray):
            if kwargs.get("allow_2d") and made.ndim == 2:
                raise refused("a column of an array with two axes")
            raise ValueError(f"Data must be 1-dimensional, got ndarray of shape {made.shape} instead")
        return sanitize(made, index, dtype, *args, **kwargs)

    return sanitize_array


#: Whether a table of an array copies it, if `copy` is not given: pandas 2 does so for a dict of arrays only.
_OF_ARRAYS = int(pd.__version__.split(".")[0]) >= 3


def _is_copied(options: dict[str, Any], otherwise: bool) -> bool:
    """Whether a table has a copy of its array, as pandas' option `copy` says."""
    copy = options.get("copy")
    return otherwise if copy is None else bool(copy)


def constructing_series(init: Callable[..., Any]) -> Any:
    """`pd.Series(data, index, ...)`."""

    def __init__(self: Any, data: Any = None, index: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        """Construct as pandas does; of a traced array, a Series with a column of ours."""
        if isinstance(data, (RealArray, DualNumber)):
            data = as_column(data, 1 if index is None else len(index), _is_copied(kwargs, _OF_ARRAYS))
        init(self, data, index, *args, **kwargs)

    return __init__


def constructing_frames(init: Callable[..., Any]) -> Any:
    """`pd.DataFrame(data, index, columns, ...)`."""

    def __init__(  # noqa: N807
        self: Any, data: Any = None, index: Any = None, columns: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        """Construct as pandas does; of a traced matrix, a DataFrame with columns of ours."""
        data = as_array(data)
        if isinstance(data, (RealArray, DualNumber)):
            made = _frame(data, index, columns, _is_copied(kwargs, _OF_ARRAYS))
            init(self, made, None, None, *args, **kwargs)
            return
        if type(data) is dict and any(isinstance(u, RealArray) for u in data.values()):
            copied = _is_copied(kwargs, True)
            data = {key: as_column(u, None, copied) for key, u in data.items()}
        init(self, data, index, columns, *args, **kwargs)

    return __init__


def as_array(data: Any) -> Any:
    """The traced array of an array of objects, or of scalars or rows; anything else unchanged, iterators as lists."""
    if are_objects(data):
        return adopt(data) if all(u is not None and is_scalar(u) for u in data.flat) else data
    data = list(data) if isinstance(data, (Iterator, ValuesView)) else data
    if type(data) not in (list, tuple):
        return data
    if any(isinstance(u, DualNumber) for u in data):
        return as_numbers(data) if all(map(is_scalar, data)) else data
    if not any(isinstance(u, RealArray) for u in data):
        return data
    rows = [u if isinstance(u, (RealArray, np.ndarray)) else np.empty(0, object) for u in data]
    alike = len({u.shape for u in rows}) == 1 and all(u.ndim == 1 and u.dtype.kind in "iuf" for u in rows)
    return np.stack(rows) if alike else data


def storing(make: Callable[..., Any]) -> Any:
    """The block of a table that holds an array."""

    def block(values: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a block as pandas does; refuse a traced array, which pandas would take for one of numpy's."""
        if isinstance(values, RealArray):
            why = "pandas would take it for an array of plain floats"
            raise refused("this way to make a column of a traced array", why, "pd.DataFrame({'a': x}) for the array x")
        return make(values, *args, **kwargs)

    return block


def _frame(data: Any, index: Any, columns: Any, copy: bool) -> pd.DataFrame:
    """A DataFrame of a traced array, or of a traced number for all rows and columns."""
    if isinstance(data, DualNumber) or not data.ndim:
        if index is None or columns is None:
            raise ValueError("DataFrame constructor not properly called!")
        data = np.broadcast_to(as_numbers([data]), (len(index), len(columns)))
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2:
        raise ValueError(f"Must pass 2-d input. shape={data.shape}")
    vectors = (data[:, k] for k in range(data.shape[1]))
    made = pd.DataFrame({k: as_column(u, None, copy) for k, u in enumerate(vectors)}, index=range(len(data)), copy=copy)
    if index is not None:
        made.index = index
    if columns is not None:
        made.columns = columns
    return made


def squeezing(squeeze: Callable[..., Any]) -> Any:
    """The part of another table for a column: `t.where(condition, other)`."""

    def _maybe_squeeze_arg(self: Any, arg: Any) -> Any:
        """Return the column of a traced matrix that has one."""
        if isinstance(arg, RealArray) and arg.ndim == 2:
            return Column(arg[:, 0] if len(arg) == len(self.values) else arg[0])
        return squeeze(self, arg)

    return _maybe_squeeze_arg


def interleaving(as_array_of_pandas: Callable[..., Any]) -> Any:
    """`t.to_numpy()` and `t.values`: a traced matrix, if there is a column of ours, and all others hold numbers."""

    def array_of_manager(
        self: Any, dtype: Any = None, copy: bool = False, na_value: Any = pd.api.extensions.no_default
    ) -> Any:
        """Make the array as pandas does; of columns of ours, a traced one."""
        dtypes = [block.dtype for block in self.blocks]
        ours = [hasattr(u, "of_dualrev") for u in dtypes]
        plain = all(o or (isinstance(u, np.dtype) and u.kind in "iuf") for o, u in zip(ours, dtypes, strict=True))
        if not any(ours) or not plain or (dtype is not None and np.dtype(dtype).kind == "O"):
            return as_array_of_pandas(self, dtype, copy, na_value)
        made = RealArray(np.empty(self.shape).T)  # in the order in which pandas has it, so that sums are the same
        for block in self.blocks:
            columns = [block.values] if block.values.ndim == 1 else block.values
            for k, column in zip(block.mgr_locs, columns, strict=True):
                made[:, int(k)] = as_numbers(column)
        if na_value is not pd.api.extensions.no_default and not pd.isna(na_value):
            made[np.isnan(made.x)] = na_value
        return made if dtype is None or np.dtype(dtype) == np.float64 else made.astype(dtype)

    return array_of_manager
