"""pandas' statistics of the groups of a column: `groupby(...)` and `resample(...)`.

pandas computes the values from the plain floats, numpy's functions of each group's numbers give the derivatives.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from pandas.core.groupby.ops import WrappedCythonOp

from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.tables.kinds import refused
from dualrev.eager.tables.statistics import ACCUMULATED, REDUCED, STATISTICS, accumulated, reduced, with_values

__all__ = ["of_groups"]

_DISCRETE = ("any", "all", "count", "rank", "idxmin", "idxmax")


def of_groups(how: str, x: RealArray, ids: np.ndarray, ngroups: int, **options: Any) -> Any:
    """The statistic `how` of the groups of a column: an array that has an element per group, or per row.

    `ids` has the number of each row's group, -1 for none.
    """
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
        return with_values(made, values, f"groupby(...).{how}()")
    if values.ndim != 1 or (how not in REDUCED and how not in STATISTICS):
        raise refused(f"groupby(...).{how}()")
    if how in REDUCED:
        takes = REDUCED[how][1]
        options = {key: u for key, u in options.items() if key in takes and (key != "min_count" or u > 0)}
        return with_values([reduced(how, x[k], skipna, **options) for k in rows], values, f"groupby(...).{how}()")
    there = [k[~np.isnan(x.x[k])] if skipna else k for k in rows]
    return with_values([STATISTICS[how](x[k]) for k in there], values, f"groupby(...).{how}()")


def _of_floats(how: str, x: np.ndarray, ids: np.ndarray, ngroups: int, has_dropped_na: bool, **options: Any) -> Any:
    """What pandas' function in C gives for plain floats."""
    arguments: dict[str, Any] = {"how": how, "has_dropped_na": has_dropped_na}
    if "kind" in inspect.signature(WrappedCythonOp.__init__).parameters:
        arguments["kind"] = WrappedCythonOp.get_kind_from_how(how)  # type: ignore[attr-defined]
    op = WrappedCythonOp(**arguments)
    return op._cython_op_ndim_compat(x, ngroups=ngroups, comp_ids=ids, mask=None, **options)
