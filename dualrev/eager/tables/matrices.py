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
            rows = known[:, i] & known[:, j]
            x, y = mat[rows, i], mat[rows, j]
            if i > j:
                made.append(made[j * len(plain) + i])
            elif np.isnan(plain[i, j]):
                made.append(np.nan)
            else:
                made.append(covariance(x, y, 1) if given.get("cov", False) else correlation(x, y))
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
