"""Where pandas meets numbers under differentiation: in operations with a table, and in lists that it makes columns of.

This module imports pandas: meeting.py imports it for who has done so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas._libs import lib
from pandas.api.extensions import ExtensionArray

from dualrev.eager.arrays.storage import RealArray
from dualrev.eager.dual import DualNumber
from dualrev.eager.tables.column import DTYPE, Box, Column, as_numbers, is_scalar
from dualrev.eager.tape import Real
from dualrev.errors import UnsupportedError

__all__ = ["infer_columns", "with_columns"]


def with_columns(f: Callable[..., Any], *operands: Any) -> Any:
    """f(*operands) for a function that pandas knows, where it meets a column for each vector of ours."""
    tables = [u for u in operands if isinstance(u, (pd.Series, pd.DataFrame))]
    return f(*(_for_pandas(u, tables) for u in operands))


def _for_pandas(u: Any, tables: list[Any]) -> Any:
    if isinstance(u, (pd.Series, pd.DataFrame)):
        return _under(u)
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


def _under(table: Any) -> Any:
    """The same table with a column of ours in place of each of numbers."""
    dtypes = [table.dtype] if table.ndim == 1 else table.dtypes.tolist()
    for dtype in dtypes:
        if dtype != DTYPE and not (isinstance(dtype, np.dtype) and dtype.kind in "biuf"):
            why = f"pandas takes a column of type {dtype} otherwise than one of floats"
            cure = "t[['x', 'y']] for the columns of floats, or s.to_numpy(float) for such a column s"
            raise UnsupportedError("an operation with a table", cure, why)
    return table.astype(DTYPE)


# Where pandas makes a column of single values


def infer_columns() -> None:
    """Teach pandas that numbers under differentiation are numbers, where it infers the type of a list's elements."""
    infer = lib.maybe_convert_objects
    if hasattr(infer, "of_dualrev"):
        return

    @functools.wraps(infer)
    def maybe_convert_objects(objects: Any, *args: Any, **kwargs: Any) -> Any:
        made = infer(objects, *args, **kwargs)
        return Column(as_numbers(made)) if made.dtype == object and made.ndim == 1 and _is_ofas_numbers(made) else made

    maybe_convert_objects.of_dualrev = True  # type: ignore[attr-defined]
    lib.maybe_convert_objects = maybe_convert_objects


def _is_ofas_numbers(objects: np.ndarray) -> bool:
    """Whether there are numbers under differentiation, and else floats, ints and None only."""
    found = False
    for u in objects:
        if not is_scalar(u):
            return False
        found = found or isinstance(u, DualNumber)
    return found
