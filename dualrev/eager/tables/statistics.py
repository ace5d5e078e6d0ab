"""pandas' statistics of the numbers of a column: what is done with NaN, and what the reductions of nothing are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.tables.kinds import refused

__all__ = ["ACCUMULATED", "REDUCED", "accumulated", "reduced"]


def reduced(name: str, x: RealArray, skipna: bool, **kwargs: Any) -> Any:
    """pandas' reduction of this name."""
    if name not in REDUCED:
        raise refused(name)
    f, options = REDUCED[name]
    if given := [key for key in kwargs if key not in options and kwargs[key] not in (None, False)]:
        raise refused(f"{name} with {', '.join(given)}")
    missing = np.isnan(x.x)
    if skipna:
        x = x[~missing]
    elif np.any(missing) and name not in ("any", "all", "count"):
        return np.sum(x)  # NaN, with a derivative by each number
    with np.errstate(all="ignore"):
        return f(x, **{key: kwargs[key] for key in options if kwargs.get(key) is not None})


def _sum(x: Any, min_count: int = 0, f: Any = np.sum, empty: float = 0.0) -> Any:
    if len(x) < min_count:
        return np.nan
    return f(x) if len(x) else empty


def _of_some(x: Any, min_count: int = 0, f: Any = np.mean) -> Any:
    """NaN of nothing."""
    return f(x) if len(x) >= max(min_count, 1) else np.nan


def _var(x: Any, ddof: int = 1, f: Any = np.var) -> Any:
    return f(x, ddof=ddof) if len(x) > ddof else np.nan


def _sem(x: Any, ddof: int = 1) -> Any:
    return np.sqrt(_var(x, ddof) / len(x)) if len(x) > ddof else np.nan


REDUCED: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "sum": (_sum, ("min_count",)),
    "prod": (functools.partial(_sum, f=np.prod, empty=1.0), ("min_count",)),
    "mean": (_of_some, ()),
    "median": (functools.partial(_of_some, f=np.median), ()),
    "min": (functools.partial(_of_some, f=np.min), ("min_count",)),
    "max": (functools.partial(_of_some, f=np.max), ("min_count",)),
    "var": (_var, ("ddof",)),
    "std": (functools.partial(_var, f=np.std), ("ddof",)),
    "sem": (_sem, ("ddof",)),
    "any": (lambda x: bool(np.any(plain(x))), ()),
    "all": (lambda x: bool(np.all(plain(x))), ()),
    "count": (len, ()),
}
ACCUMULATED: dict[str, tuple[Callable[..., Any], float]] = {
    "cumsum": (np.cumsum, 0.0),
    "cumprod": (np.cumprod, 1.0),
    "cummax": (np.maximum.accumulate, -np.inf),
    "cummin": (np.minimum.accumulate, np.inf),
}


def accumulated(name: str, x: RealArray, skipna: bool) -> Any:
    """pandas' cumulated statistic of this name: where there is NaN, there is NaN, which the others skip."""
    if name not in ACCUMULATED:
        raise refused(name)
    f, neutral = ACCUMULATED[name]
    if not skipna:
        return f(x)
    missing = np.isnan(x.x)
    return np.where(missing, np.nan, f(np.where(missing, neutral, x)))
