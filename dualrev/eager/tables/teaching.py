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
from pandas.core import construction
from pandas.core.dtypes import missing
from pandas.core.internals import managers
from pandas.core.window import rolling

from dualrev.eager.tables.arrays import constructing_frames, constructing_series, interleaving, sanitizing
from dualrev.eager.tables.matrices import correlating, finding_missing
from dualrev.eager.tables.operands import TAUGHT
from dualrev.eager.tables.windows import KERNELS, prepared_values

__all__ = ["teach"]

_FUNCTIONS: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    *TAUGHT,
    *((aggregations, name, taught) for name, taught in KERNELS.items()),
    (algos, "nancorr", correlating),
    (missing, "_isna", finding_missing),
    (construction, "sanitize_array", sanitizing),
    (rolling.BaseWindow, "_prep_values", prepared_values),
    (managers.BlockManager, "as_array", interleaving),
    (pd.Series, "__init__", constructing_series),
    (pd.DataFrame, "__init__", constructing_frames),
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


def _importers(name: str, function: Any) -> list[Any]:
    """The modules of pandas that have imported a function by its name."""
    modules = [module for key, module in sys.modules.items() if key.startswith("pandas.")]
    return [module for module in modules if getattr(module, "__dict__", {}).get(name) is function]
