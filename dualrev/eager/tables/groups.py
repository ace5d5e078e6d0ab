"""pandas' statistics of the groups of a column: `groupby(...)` and `resample(...)`.

pandas computes the values from the plain floats, numpy's functions of each group's numbers give the derivatives.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby.ops import WrappedCythonOp

from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.tables.kinds import holds_numbers, refused
from dualrev.eager.tables.statistics import (
    ACCUMULATED,
    REDUCED,
    STATISTICS,
    accumulated,
    by_rows,
    magnitude,
    with_values,
)

__all__ = ["combining", "describing", "of_groups", "quantiles"]

_DISCRETE = ("any", "all", "count", "rank", "idxmin", "idxmax")


def of_groups(how: str, x: RealArray, ids: np.ndarray, ngroups: int, **options: Any) -> Any:
    """The statistic `how` of the groups of a column: an array that has an element per group, or per row.

    `ids` has the number of each row's group, -1 for none.
    """
    if how == "ohlc":
        parts = [of_groups(part, x, ids, ngroups, **options) for part in ("first", "max", "min", "last")]
        return np.stack(parts, axis=1)
    values = _of_floats(how, x.x, ids, ngroups, **options)
    if how in _DISCRETE:
        return values
    options = {key: u for key, u in options.items() if key in ("ddof", "skipna", "min_count")}
    skipna = options.pop("skipna", True)
    order = np.argsort(ids, kind="stable")
    rows = np.split(order, np.searchsorted(ids[order], np.arange(ngroups + 1)))[1:-1]
    if how in ACCUMULATED:
        made = RealArray(np.full(len(x), np.nan))
        for k in rows:
            if len(k):
                made[k] = accumulated(how, x[k], skipna)
        return with_values(made, values, f"groupby(...).{how}()", magnitude(how, x.x))
    if values.ndim != 1 or (how not in REDUCED and how not in STATISTICS):
        raise refused(f"groupby(...).{how}()")
    if how in REDUCED:
        takes = REDUCED[how][1]
        options = {key: u for key, u in options.items() if key in takes and (key != "min_count" or u > 0)}
    else:
        options = {}
    there = [k[~np.isnan(x.x[k])] for k in rows] if skipna else rows
    made = by_rows(STATISTICS[how], (x,), there, **options)
    return with_values(made, values, f"groupby(...).{how}()", magnitude(how, x.x))


def combining(wrap: Callable[..., Any]) -> Any:
    """DataFrame of the Series that the user's function returns for each group."""

    def _wrap_applied_output_series(self: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
        """Combine as pandas does; Series with columns of ours become a traced matrix."""
        traced = any(isinstance(u, pd.Series) and holds_numbers(u) for u in values)
        if not traced or not all(u.index.equals(values[0].index) for u in values):  # pandas concatenates these
            return wrap(self, values, *args, **kwargs)
        floats = [pd.Series(plain(u.to_numpy()), index=u.index, name=u.name) for u in values]
        made = wrap(self, floats, *args, **kwargs)
        numbers = np.stack([u.to_numpy() for u in values])
        if not isinstance(made, pd.DataFrame) or made.shape != numbers.shape:
            raise refused("groupby(...).apply(f), where f returns a Series,")
        return pd.DataFrame(numbers, index=made.index, columns=made.columns)

    return _wrap_applied_output_series


def quantiles(method: Callable[..., Any]) -> Any:
    """`groupby(...).quantile(q)`."""

    def quantile(self: Any, q: Any = 0.5, interpolation: str = "linear", **kwargs: Any) -> Any:
        """Compute as pandas does; for columns of ours, a quantile per group."""
        if not holds_numbers(self._selected_obj):
            return method(self, q, interpolation, **kwargs)
        if not np.isscalar(q) or any(kwargs.values()):
            raise refused("groupby(...).quantile(q) with a list of q, or with options,")
        return self.agg(lambda group: group.quantile(q, interpolation=interpolation))

    return quantile


def describing(describe: Callable[..., Any]) -> Any:
    """`describe()` of a column."""

    def describe_numeric_1d(series: Any, percentiles: Any) -> Any:
        """Describe as pandas does."""
        if not holds_numbers(series):
            return describe(series, percentiles)
        floats = describe(pd.Series(series.array.numbers.x, name=series.name), percentiles)
        quantiles = series.quantile(list(percentiles)).tolist()
        made = [float(series.count()), series.mean(), series.std(), series.min(), *quantiles, series.max()]
        return pd.Series(made, index=floats.index, name=floats.name)

    return describe_numeric_1d


def _of_floats(how: str, x: np.ndarray, ids: np.ndarray, ngroups: int, has_dropped_na: bool, **options: Any) -> Any:
    """Statistic of the groups of a plain array, by pandas' function in C."""
    arguments: dict[str, Any] = {"how": how, "has_dropped_na": has_dropped_na}
    if "kind" in inspect.signature(WrappedCythonOp.__init__).parameters:
        arguments["kind"] = WrappedCythonOp.get_kind_from_how(how)
    op = WrappedCythonOp(**arguments)
    return op._cython_op_ndim_compat(x, ngroups=ngroups, comp_ids=ids, mask=None, **options)
