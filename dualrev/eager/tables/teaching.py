"""The functions of pandas that are wrapped, so that they know traced numbers.

Each wrapper does what pandas does if there are no traced numbers among its arguments. A function that another pandas
does not have is left out: its operation is refused there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas._libs import algos
from pandas._libs.window import aggregations
from pandas.core import apply, construction, indexing, nanops
from pandas.core.dtypes import missing
from pandas.core.groupby import generic, groupby
from pandas.core.internals import blocks, managers
from pandas.core.methods import describe as methods_of_describe
from pandas.core.window import rolling

from dualrev.eager.tables.applying import choosing
from dualrev.eager.tables.arrays import (
    constructing_frames,
    constructing_series,
    interleaving,
    sanitizing,
    squeezing,
    storing,
)
from dualrev.eager.tables.groups import combining, describing, quantiles
from dualrev.eager.tables.matrices import correlating, covariances, finding_missing, pairing, reducing, trusting
from dualrev.eager.tables.methods import (
    BOXING,
    IN_PLACE,
    as_traced_array,
    boxing,
    computing_in_place,
    discrete,
    multiplying,
    of_constants,
    ranking,
    selecting,
    setting,
    setting_columns,
    sorting,
    updating,
)
from dualrev.eager.tables.numpy_functions import ForNumpy
from dualrev.eager.tables.operands import TAUGHT
from dualrev.eager.tables.windows import KERNELS, prepared_values

__all__ = ["teach"]

_OF_CONSTANTS: tuple[str, ...] = ("mode", "value_counts", "factorize", "convert_dtypes")
_OF_CONSTANTS += ("to_csv", "to_json", "to_excel", "to_pickle", "to_sql", "to_hdf", "to_parquet", "to_records")
_FUNCTIONS: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    *TAUGHT,
    *((aggregations, name, taught) for name, taught in KERNELS.items()),
    (generic.DataFrameGroupBy, "_wrap_applied_output_series", combining),
    (groupby.GroupBy, "quantile", quantiles),
    (apply.Apply, "transform_str_or_callable", choosing),
    (apply.SeriesApply, "apply_compat", choosing),
    (pd.DataFrame, "sort_values", sorting),
    (pd.DataFrame, "_reduce", reducing),
    (methods_of_describe, "describe_numeric_1d", describing),
    (algos, "nancorr", correlating),
    (nanops, "_ensure_numeric", trusting),
    (nanops, "nancorr", pairing),
    (nanops, "nancov", pairing),
    (pd.DataFrame, "cov", covariances),
    (missing, "_isna", finding_missing),
    (construction, "sanitize_array", sanitizing),
    (rolling.BaseWindow, "_prep_values", prepared_values),
    (blocks.EABackedBlock, "_maybe_squeeze_arg", squeezing),
    (blocks.ExtensionBlock, "_maybe_squeeze_arg", squeezing),
    (blocks, "new_block", storing),
    (blocks, "new_block_2d", storing),
    (managers.BlockManager, "as_array", interleaving),
    (pd.Series, "__init__", constructing_series),
    (pd.DataFrame, "__init__", constructing_frames),
    *((kind, name, boxing) for kind in (pd.Series, pd.DataFrame) for name in BOXING),
    *((kind, name, multiplying) for kind in (pd.Series, pd.DataFrame) for name in ("dot", "__matmul__", "__rmatmul__")),
    *((pd.DataFrame, name, setting_columns) for name in ("__setitem__", "insert", "isetitem", "assign")),
    *((kind, name, selecting) for kind in (pd.Series, pd.DataFrame) for name in ("nlargest", "nsmallest")),
    *((pd.DataFrame, name, discrete) for name in ("rank", "isin", "nunique", "idxmax", "idxmin")),
    (pd.DataFrame, "to_numpy", as_traced_array),
    *((kind, "corr", ranking) for kind in (pd.Series, pd.DataFrame)),
    *((kind, name, of_constants) for kind in (pd.Series, pd.DataFrame) for name in _OF_CONSTANTS),
    *((kind, name, computing_in_place(op)) for kind in (pd.Series, pd.DataFrame) for name, op in IN_PLACE.items()),
    *((kind, "update", updating) for kind in (pd.Series, pd.DataFrame)),
    (pd.Series, "__setitem__", updating),
    *(
        (kind, "__setitem__", setting)
        for kind in (indexing._LocationIndexer, indexing._AtIndexer, indexing._iAtIndexer)
    ),
)


def teach() -> None:
    """Teach pandas that numbers under differentiation are floats, in the functions where it looks at objects."""
    for owner, name, taught in _FUNCTIONS:
        function = getattr(owner, name, None)  # no other pandas may break a derivative that has no table in it
        if function is None or hasattr(function, "of_dualrev"):
            continue
        made: Any = functools.wraps(function)(taught(function))
        made.of_dualrev = True
        setattr(owner, name, made)
        if not isinstance(owner, type):
            for module in _importers(name, function):
                setattr(module, name, made)
    for kind in (pd.Series, pd.DataFrame):
        if not hasattr(kind, "__array_function__"):
            kind.__array_function__ = ForNumpy()


def _importers(name: str, function: Any) -> list[Any]:
    """The modules of pandas that have imported a function by its name."""
    modules = [module for key, module in sys.modules.items() if key.startswith("pandas.")]
    return [module for module in modules if getattr(module, "__dict__", {}).get(name) is function]
