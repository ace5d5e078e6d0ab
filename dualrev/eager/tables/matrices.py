"""Correlations and covariances of the columns of a table, and which numbers of an array are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tables.statistics import with_values
from dualrev.eager.tables.windows import correlation, covariance

__all__ = ["correlating", "finding_missing"]


def correlating(kernel: Callable[..., Any]) -> Any:
    """The matrix of `t.corr()` and `t.cov()`: of each two columns, the rows where both have a number."""

    def nancorr(mat: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of a traced array, a traced array."""
        if not isinstance(mat, RealArray):
            return kernel(mat, *args, **kwargs)
        given = dict(zip(("cov", "minp"), args, strict=False)) | kwargs
        plain = kernel(np.ascontiguousarray(mat.x), *args, **kwargs)
        known = ~np.isnan(mat.x)
        made: list[Any] = []
        for i, j in np.ndindex(*plain.shape):
            if i > j:
                made.append(made[j * plain.shape[0] + i])
                continue
            rows = known[:, i] & known[:, j]
            x, y = mat[rows, i], mat[rows, j]
            one = covariance(x, y, 1) if given.get("cov", False) and len(x) > 1 else None
            made.append(one if one is not None else correlation(x, y) if len(x) else np.nan)
            if np.isnan(plain[i, j]):
                made[-1] = np.nan
        return with_values(made, plain.ravel(), "corr() or cov()").reshape(plain.shape)

    return nancorr


def finding_missing(isna: Callable[..., Any]) -> Any:
    """`pd.isna` of a traced number or array."""

    def _isna(obj: Any) -> Any:
        """Find NaN as pandas does."""
        if isinstance(obj, RealArray):
            return np.isnan(obj.x)
        return bool(np.isnan(value(obj))) if isinstance(obj, DualNumber) else isna(obj)

    return _isna
