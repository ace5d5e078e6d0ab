"""Tables with labels: Series and DataFrames of pandas, DataArrays of xarray, as nested data.

Their floats are leaves, an array for a Series, for each column of a DataFrame, and for a DataArray; everything else is
discrete. The function gets a table with the same labels, and columns of numbers under differentiation in place of those
of floats (tables/column.py); a gradient has the labels, too. A Jacobian, which has more axes, is an array in place of a
Series or a DataArray, and a dict of arrays, a column each, in place of a DataFrame. These packages are not imported
here: who has such a table has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, adopt, holds_duals, real_array
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.kinds import is_table
from dualrev.errors import LeafError

__all__ = ["Table", "with_labels"]


class Table(NamedTuple):
    """A table that has come apart: how to make another one of new children, for a gradient and for a call."""

    children: list[Any]
    build: Callable[[list[Any]], Any]
    restore: Callable[[list[Any]], Any]


def with_labels(x: Any) -> Table | None:
    """The arrays of a table, and two ways to make another one; None for anything else."""
    package = is_table(x)
    module: Any = sys.modules.get(package)
    if package == "pandas" and isinstance(x, module.Series):
        objects = x.dtype == object  # such as a row of numbers and text

        def made(a: Any) -> Any:
            """Return a Series with the labels of x."""
            return module.Series(_as_column(a), index=x.index, name=x.name, dtype=object if objects else None)

        return _of_one(_numbers(x), x.shape, made)
    if package == "pandas" and isinstance(x, module.DataFrame):
        return _of_columns(x)
    if package == "xarray" and isinstance(x, module.DataArray):
        data = x.variable._data
        held = isinstance(data, (RealArray, DualNumber))  # xarray keeps these as they are
        return _of_one(_leaf(real_array(data) if held else x.to_numpy()), x.shape, lambda a: x.copy(data=a))
    return None


def _of_one(values: Any, shape: tuple[int, ...], make: Callable[[Any], Any]) -> Table | None:
    if values is None:
        return None

    def build(children: list[Any]) -> Any:
        """Put labels on an array of the table's shape; a Jacobian has more axes than labels."""
        made = children[0]
        return make(made) if np.shape(made) == shape else made  # a Jacobian has more axes than there are labels for

    return Table([values], build, build)


def _of_columns(x: Any) -> Table:
    columns = [x.iloc[:, k] for k in range(x.shape[1])]
    leaves = [_numbers(column) for column in columns]

    def make(made: list[Any]) -> Any:
        """Return a table of these columns."""
        whole = type(x)({k: _as_column(column) for k, column in enumerate(made)}, index=x.index)
        whole.columns = x.columns
        return whole

    def build(children: list[Any]) -> Any:
        """Return a table of the results, or a dict by column if their shapes differ from the columns'."""
        if any(child is not None and np.shape(child) != (len(x),) for child in children):
            if not x.columns.is_unique:
                why = "several columns have the same label, and a Jacobian has an array for each label"
                raise LeafError(x, why, "Write t.set_axis(range(t.shape[1]), axis=1) for the table t")
            return dict(zip(x.columns, children, strict=True))
        return make([[None] * len(x) if child is None else child for child in children])

    def restore(children: list[Any]) -> Any:
        """Return a table with new numbers, and the old columns that hold none."""
        pairs = zip(columns, children, leaves, strict=True)
        return make([column if leaf is None else child for column, child, leaf in pairs])

    return Table([b if a is None else a for a, b in zip(leaves, columns, strict=True)], build, restore)


def _numbers(column: Any) -> Any:
    """The numbers of a Series of floats; None for others, also for those of which pandas makes an array of floats."""
    discrete = not isinstance(column.dtype, np.dtype) and column.dtype.kind != "f"  # such as Int64 and category
    return None if discrete else _leaf(column.to_numpy())


def _leaf(values: np.ndarray) -> Any:
    """An array of floats, or of numbers under differentiation; None if the values are discrete."""
    if isinstance(values, RealArray):
        return values
    if values.dtype == object:
        return adopt(values) if values.size and holds_duals(values) else None
    return values if values.dtype.kind == "f" else None


def _as_column(child: Any) -> Any:
    """Return an array as pandas can hold it: a column if it is traced."""
    if not isinstance(child, RealArray):
        return child
    from dualrev.eager.tables.column import Column  # imports pandas, as who has a table has done

    return Column(child)
