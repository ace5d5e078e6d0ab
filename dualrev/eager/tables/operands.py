"""Where pandas meets numbers under differentiation: in operations with a table, and in lists that it makes columns of.

This module imports pandas: meeting.py imports it for who has done so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas._libs import lib
from pandas.api.extensions import ExtensionArray
from pandas.core import arraylike
from pandas.core.dtypes import astype
from pandas.core.ops import array_ops

from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.arrays import as_array
from dualrev.eager.tables.boxes import Box, are_objects, as_numbers, is_scalar, unboxed
from dualrev.eager.tables.column import Column
from dualrev.eager.tables.dtype import DTYPE
from dualrev.eager.tables.kinds import holds_numbers
from dualrev.eager.tape.tape import Real
from dualrev.errors import ConversionError, UnsupportedError

__all__ = ["TAUGHT", "under", "with_columns"]


def with_columns(f: Callable[..., Any], *operands: Any) -> Any:
    """f(*operands) for a function that pandas knows, where it meets a column for each vector of ours."""
    tables = [u for u in operands if isinstance(u, (pd.Series, pd.DataFrame))]
    return f(*(_for_pandas(u, tables) for u in operands))


def _for_pandas(u: Any, tables: list[Any]) -> Any:
    if isinstance(u, (pd.Series, pd.DataFrame)):
        return under(u)
    if isinstance(u, (pd.Index, ExtensionArray)) and not isinstance(u, Column):
        raise UnsupportedError(f"an operation of a {type(u).__name__} and an array", "u.to_numpy() for it", _OTHERS)
    if isinstance(u, Real) or (isinstance(u, RealArray) and not u.ndim):
        return Box(u if isinstance(u, Real) else u[()])
    if isinstance(u, RealArray) and u.ndim == 1:
        return Column(u)
    if isinstance(u, RealArray):
        if u.ndim != 2 or not tables or tables[0].shape != u.shape:
            why = "an array with other axes than the table has no place for its labels"
            raise UnsupportedError("an operation with a table", "t.to_numpy() for the table", why)
        columns = {k: Column(u[:, k]) for k in range(u.shape[1])}
        made = pd.DataFrame(columns, index=tables[0].index)
        made.columns = tables[0].columns
        return made
    return u


_OTHERS = "pandas has no place there for numbers under differentiation"


def under(table: Any) -> Any:
    """Return the same table with a column of ours in place of each of numbers."""
    dtypes = [table.dtype] if table.ndim == 1 else table.dtypes.tolist()
    for dtype in dtypes:
        if dtype != DTYPE and not (isinstance(dtype, np.dtype) and dtype.kind in "biuf"):
            why = f"pandas takes a column of type {dtype} otherwise than one of floats"
            cure = "t[['x', 'y']] for the columns of floats, or s.astype(float) for such a column s"
            raise UnsupportedError("an operation with a table", cure, why)
    return table.astype(DTYPE)


# What pandas makes of objects


def _inferring(infer: Callable[..., Any]) -> Any:
    """The type of a list's elements: those of a column, if there are numbers under differentiation among them."""

    def maybe_convert_objects(objects: Any, *args: Any, **kwargs: Any) -> Any:
        """Convert as pandas does; traced numbers become a column."""
        made = infer(objects, *args, **kwargs)
        return Column(as_numbers(made)) if made.dtype == object and made.ndim == 1 and _are_numbers(made) else made

    return maybe_convert_objects


def _computing(compute: Callable[..., Any]) -> Any:
    """The arithmetic of arrays without labels: with a column for np.array([x, 1.0]), which is an array of objects."""

    def arithmetic(left: Any, right: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; operands of traced numbers become columns."""
        if (are_objects(left) or are_objects(right)) and (np.ndim(left) != 1 or np.ndim(right) > 1):
            raise _of_objects()
        operands = _as_column(left), _as_column(right)
        if not any(isinstance(u, Column) for u in operands):
            return compute(left, right, op, *args, **kwargs)
        return op(*operands)

    return arithmetic


def _extracting(extract: Callable[..., Any]) -> Any:
    """The arrays that a function of numpy is called with: a column for np.array([x, 1.0]) beside a table."""

    def extract_array(obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Extract the array as pandas does; traced numbers become a column."""
        return _as_column(extract(obj, *args, **kwargs))

    return extract_array


def _converting(convert: Callable[..., Any]) -> Any:
    """`s.astype(float)` of a column of objects."""

    def astype_array(values: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Convert as pandas does; of traced numbers, make a column."""
        if dtype == np.float64 and are_objects(values) and values.ndim == 1 and all(map(is_scalar, values)):
            return Column(as_numbers(values))
        return convert(values, dtype, *args, **kwargs)

    return astype_array


def _as_column(u: Any) -> Any:
    """A column of an array of objects, if all are numbers; anything else unchanged."""
    made = as_array(u) if are_objects(u) and u.ndim == 1 else u
    return Column(made) if made is not u else u


def _applying(apply: Callable[..., Any]) -> Any:
    """A ufunc with a table among its inputs: numpy's own loops over objects would lose the NaN of a DataFrame."""

    def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply a ufunc as pandas does; of traced DataFrames with the same labels, to their arrays."""
        if self.ndim > 1 and any(map(are_objects, inputs)):
            raise _of_objects()
        try:
            return apply(self, ufunc, method, *inputs, **kwargs)
        except (ConversionError, TypeError):
            if method != "__call__" or kwargs or not _are_alike(inputs):
                raise
        made = ufunc(*(u.to_numpy() if isinstance(u, pd.DataFrame) else unboxed(u) for u in inputs))
        parts = made if isinstance(made, tuple) else (made,)
        tables = tuple(self._constructor(part, index=self.index, columns=self.columns) for part in parts)
        return tables if isinstance(made, tuple) else tables[0]

    return array_ufunc


def _are_alike(inputs: tuple[Any, ...]) -> bool:
    """Whether all tables among them are DataFrames with the same labels."""
    frames = [u for u in inputs if isinstance(u, pd.DataFrame)]
    same = all(u.index.equals(frames[0].index) and u.columns.equals(frames[0].columns) for u in frames)
    return same and any(map(holds_numbers, frames)) and not any(isinstance(u, pd.Series) for u in inputs)


def _of_objects() -> UnsupportedError:
    why = "np.array([x, 1.0]) is an array of objects: numpy asks nobody about it"
    return UnsupportedError("an operation with a table", "dualrev.numpy.array([x, 1.0])", why)


#: Functions of pandas that look at objects: module, name, and what takes the function's place.
TAUGHT: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (lib, "maybe_convert_objects", _inferring),
    (array_ops, "_na_arithmetic_op", _computing),
    (arraylike, "extract_array", _extracting),
    (astype, "astype_array", _converting),
    (arraylike, "array_ufunc", _applying),
)


def _are_numbers(objects: np.ndarray) -> bool:
    """Whether there are numbers under differentiation, and else floats, ints and None only."""
    found = False
    for u in objects:
        if not is_scalar(u):
            return False
        found = found or isinstance(u, (DualNumber, Box))
    return found
