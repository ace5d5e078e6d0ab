"""pandas' statistics of the numbers of a column: what is done with NaN, and what the reductions of nothing are.

pandas computes the value from the plain floats, in its own order of summation; numpy's functions on the traced numbers
give the derivative. `with_values` puts the two together, and refuses where they differ.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array
from dualrev.eager.numbers.dual import value
from dualrev.eager.tables.boxes import as_numbers
from dualrev.eager.tables.kinds import refused
from dualrev.eager.tape.tape import Tape

__all__ = [
    "ACCUMULATED",
    "REDUCED",
    "STATISTICS",
    "accumulated",
    "interpolated",
    "magnitude",
    "reduced",
    "with_value",
    "with_values",
]


def with_values(x: Any, values: Any, what: str, scale: float = 0.0) -> RealArray:
    """x with the values that pandas computes, which equal its own up to rounding; NaN of pandas is a constant.

    `scale` is the magnitude of the terms of x: where they cancel, the rounding errors are relative to it.
    """
    x, values = as_numbers(x), np.asarray(values, float)
    if any(not isinstance(run, Tape) for run in x.layers()):
        return x  # a stage of the paper keeps the values in its numbers
    missing = np.isnan(x.x)
    atol = max(1e-6 * max(_largest(x.x), 1e-300), 1e-10 * scale)
    close = np.isclose(x.x, values, rtol=1e-6, atol=atol) | np.isnan(values) | missing
    if x.x.shape != values.shape or not np.all(close) or not _all_hold_duals(x[missing & ~np.isnan(values)]):
        raise refused(what)
    made = x.copy()
    made[np.isnan(values) & ~missing] = np.nan
    made.x[...] = values
    return made


def _all_hold_duals(x: RealArray) -> bool:
    return all(holds_duals(x[k : k + 1]) for k in range(len(x)))


def with_value(x: Any, y: Any, what: str, scale: float = 0.0) -> Any:
    """Return a traced number with the value that pandas computes."""
    return with_values([x], [y], what, scale)[0]


def _largest(x: np.ndarray) -> float:
    """The largest absolute value, without NaN and infinities; 0 of none."""
    return float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))


def magnitude(name: str, *arrays: np.ndarray) -> float:
    """The magnitude of the terms of a statistic of arrays, such as squares for a variance; 0 if no terms cancel."""
    if name in _RATIOS:
        return 1.0
    if name in ("prod", "cumprod"):
        return 0.0
    largest = [_largest(np.asarray(x, float)) for x in arrays]
    return largest[0] * largest[-1] if name in ("var", "cov") else largest[0]


_RATIOS = ("skew", "kurt", "corr")


def reduced(name: str, x: RealArray, skipna: bool, **kwargs: Any) -> Any:
    """pandas' reduction of this name; the value is rounded as numpy rounds it."""
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


# Statistics along the last axis, of numbers without NaN


def _sum(x: Any, min_count: int = 0, f: Any = np.sum, empty: float = 0.0) -> Any:
    n = x.shape[-1]
    if n < min_count:
        return np.nan
    return f(x, axis=-1) if n else empty


def _of_some(x: Any, min_count: int = 0, f: Any = np.mean) -> Any:
    """NaN of nothing."""
    return f(x, axis=-1) if x.shape[-1] >= max(min_count, 1) else np.nan


def _var(x: Any, ddof: int = 1, f: Any = np.var) -> Any:
    return f(x - x.x[..., :1], axis=-1, ddof=ddof) if x.shape[-1] > ddof else np.nan  # exactly 0 of equal numbers


def _sem(x: Any, ddof: int = 1) -> Any:
    return np.sqrt(_var(x, ddof) / x.shape[-1]) if x.shape[-1] > ddof else np.nan


def _moments(x: Any) -> Any:
    d = x - np.mean(x, axis=-1, keepdims=True)
    return [np.sum(d**k, axis=-1) for k in (2, 3, 4)]


def _skew(x: Any) -> Any:
    n = x.shape[-1]
    if n < 3:
        return np.nan
    m2, m3, _ = _moments(x)
    return n * np.sqrt(n - 1.0) / (n - 2.0) * m3 / _divisor(m2) ** 1.5


def _kurt(x: Any) -> Any:
    n = x.shape[-1]
    if n < 4:
        return np.nan
    m2, _, m4 = _moments(x)
    return (n * (n + 1.0) * (n - 1.0) * m4 / _divisor(m2) ** 2 - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0))


def _divisor(x: Any) -> Any:
    """A divisor that may be 0: NaN for a number, as for an array."""
    return x if np.ndim(x) or value(x) else x * np.nan


def quantile(x: Any, q: float, method: str = "linear") -> Any:
    """A quantile of numbers without NaN; NaN of none."""
    n = x.shape[-1]
    if not n:
        return np.nan
    if method == "linear":
        return np.quantile(x, q, axis=-1)
    x, place = np.sort(x, axis=-1), q * (n - 1)
    low, high = _first(x, math.floor(place)), _first(x, math.ceil(place))
    return {"lower": low, "higher": high, "midpoint": 0.5 * (low + high), "nearest": _first(x, round(place))}[method]


def _first(x: Any, k: int = 0) -> Any:
    return (x[k] if x.ndim == 1 else x[..., k]) if x.shape[-1] else np.nan


def by_rows(f: Callable[..., Any], arrays: tuple[Any, ...], rows: list[Any], **options: Any) -> RealArray:
    """f of the numbers of each list of rows: a call for all lists of the same length."""
    lengths = np.array([len(row) for row in rows], dtype=int)
    made = RealArray(np.full(len(rows), np.nan))
    for n in np.unique(lengths):
        which = np.flatnonzero(lengths == n)
        index = np.array([rows[k] for k in which], dtype=int).reshape(len(which), n)
        with np.errstate(all="ignore"):
            made[which] = f(*(as_numbers(x)[index] for x in arrays), **options)
    return made


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
    "skew": (_skew, ()),
    "kurt": (_kurt, ()),
    "any": (lambda x: bool(np.any(plain(x))), ()),
    "all": (lambda x: bool(np.all(plain(x))), ()),
    "count": (lambda x: x.shape[-1], ()),
}
#: Statistics of numbers without NaN.
STATISTICS: dict[str, Callable[..., Any]] = {
    **{name: f for name, (f, _) in REDUCED.items()},
    "first": _first,
    "last": functools.partial(_first, k=-1),
    "quantile": quantile,
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
    if not len(x):
        return x
    missing = np.isnan(x.x)
    if not np.any(missing):
        return f(x)
    if not skipna:
        first = int(np.argmax(missing))
        return np.concatenate([real_array(f(x[:first])) if first else x[:0], np.full(len(x) - first, np.nan)])
    return np.where(missing, np.nan, f(np.where(missing, neutral, x)))


def interpolated(x: RealArray, values: np.ndarray, index: Any) -> RealArray:
    """The numbers with gaps filled as pandas fills them: from the numbers on both sides, or from the last one."""
    missing = np.isnan(x.x)
    known = np.flatnonzero(~missing)
    made = x.copy()
    place = (
        np.arange(len(x), dtype=float)
        if index is None
        else np.asarray(index).astype("int64" if index.dtype.kind in "mM" else float)
    )
    for k in np.flatnonzero(missing & ~np.isnan(values)):
        after = int(np.searchsorted(known, k))
        a, b = known[max(after - 1, 0)], known[min(after, len(known) - 1)]
        share = (place[k] - place[a]) / (place[b] - place[a]) if a < k < b else 0.0
        made[k] = x[a] + (x[b] - x[a]) * share if a < k < b else x[a]
    return with_values(made, values, "interpolate", magnitude("interpolate", x.x))
