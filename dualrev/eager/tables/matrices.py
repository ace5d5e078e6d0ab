"""Statistics of several columns: correlations, covariances, reductions; and which numbers of an array are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tables.column import Column, of_values
from dualrev.eager.tables.kinds import holds_numbers, refused
from dualrev.eager.tables.statistics import magnitude, with_value, with_values
from dualrev.eager.tables.windows import correlation, covariance

__all__ = ["correlating", "covariances", "finding_missing", "pairing", "reducing", "trusting"]


def correlating(kernel: Callable[..., Any]) -> Any:
    """The matrix of `t.corr()` and `t.cov()`: of each two columns, the rows where both have a number."""

    def nancorr(mat: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of a traced array, a traced array."""
        if not isinstance(mat, RealArray):
            return kernel(mat, *args, **kwargs)
        given = dict(zip(("cov", "minp"), args, strict=False)) | kwargs
        floats = kernel(np.ascontiguousarray(mat.x), *args, **kwargs)
        known = ~np.isnan(mat.x)
        made: list[Any] = []
        for i, j in np.ndindex(*floats.shape):
            rows = known[:, i] & known[:, j]
            x, y = mat[rows, i], mat[rows, j]
            if i > j:
                made.append(made[j * len(floats) + i])
            elif np.isnan(floats[i, j]):
                made.append(np.nan)
            else:
                made.append(covariance(x, y, 1) if given.get("cov", False) else correlation(x, y))
        scale = magnitude("cov" if given.get("cov", False) else "corr", mat.x)
        return with_values(made, floats.ravel(), "corr() or cov()", scale).reshape(floats.shape)

    return nancorr


def pairing(kernel: Callable[..., Any]) -> Any:
    """The correlation or covariance of two Series: `s.corr(r)`, `s.cov(r)`, with the value of pandas."""

    def of_pairs(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of traced arrays, a traced number."""
        made = kernel(a, b, *args, **kwargs)
        if not isinstance(made, DualNumber) or callable(kwargs.get("method")):
            return made
        name, arrays = kernel.__name__.removeprefix("nan"), (plain(a), plain(b))
        return with_value(made, kernel(*arrays, *args, **kwargs), f"{name}()", magnitude(name, *arrays))

    return of_pairs


def covariances(method: Callable[..., Any]) -> Any:
    """`t.cov()`, which is a matrix product if no number is missing, with the values of pandas."""

    def cov(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of columns of ours, a DataFrame of traced numbers."""
        made = method(self, *args, **kwargs)
        if not holds_numbers(made):
            return made
        floats = of_values(self)
        scale = magnitude("cov", floats.select_dtypes(["float", "int"]).to_numpy())
        values = method(floats, *args, **kwargs).to_numpy()
        return pd.DataFrame(with_values(made.to_numpy(), values, "cov()", scale), made.index, made.columns)

    return cov


def finding_missing(isna: Callable[..., Any]) -> Any:
    """`pd.isna` of a traced number or array."""

    def _isna(obj: Any) -> Any:
        """Find NaN as pandas does."""
        if isinstance(obj, RealArray):
            return np.isnan(obj.x)
        return bool(np.isnan(value(obj))) if isinstance(obj, DualNumber) else isna(obj)

    return _isna


def trusting(ensure_numeric: Callable[..., Any]) -> Any:
    """The check of pandas' statistics that an array holds numbers."""

    def _ensure_numeric(x: Any) -> Any:
        """Return a traced array as it is."""
        return x if isinstance(x, RealArray) else ensure_numeric(x)

    return _ensure_numeric


def reducing(reduce: Callable[..., Any]) -> Any:
    """`t.sum()`, `t.std(axis=1)` and the like: the values are those of the whole table, as pandas adds them up."""

    def _reduce(self: Any, op: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Reduce as pandas does; of columns of ours, traced numbers with pandas' values."""
        made = reduce(self, op, name, *args, **kwargs)
        if not isinstance(made, DualNumber) and not holds_numbers(made):
            return made
        floats = of_values(self)
        values = reduce(floats, op, name, *args, **kwargs)
        scale = magnitude(name, floats.select_dtypes(["float", "int"]).to_numpy())
        if isinstance(made, DualNumber):
            return with_value(made, values, f"{name}()", scale)
        if not isinstance(made, pd.Series) or not made.index.equals(values.index):
            raise refused(f"{name}()")
        numbers = with_values(made.array, values.to_numpy(), f"{name}()", scale)
        return pd.Series(Column(numbers), index=values.index, name=values.name)

    return _reduce
