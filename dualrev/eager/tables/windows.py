"""Statistics of windows: `rolling`, `expanding`, `ewm`, and these after `groupby`.

    y[i] = statistic(the numbers of x[start[i] : end[i]] without NaN)

pandas decides which rows a window has, and calls a function in C with their bounds. These functions are wrapped: for a
column, the one in C gives the values, and says by NaN where a window has too few numbers; the statistic of the
traced numbers of each window gives the derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.tables.boxes import as_numbers
from dualrev.eager.tables.column import Column
from dualrev.eager.tables.kinds import holds_numbers, refused
from dualrev.eager.tables.statistics import STATISTICS, by_rows, magnitude, with_values
from dualrev.errors import ConversionError

__all__ = ["KERNELS", "prepared_values"]


def prepared_values(prepare: Callable[..., Any]) -> Any:
    """The array of a column for a function of windows: infinities are NaN, as pandas has it."""

    def _prep_values(self: Any, values: Any) -> Any:
        """Prepare as pandas does; a column stays one."""
        if isinstance(values, pd.Series) and holds_numbers(values):
            values = values.array
        if isinstance(values, RealArray) and values.ndim == 1:
            values = Column(values)
        if not isinstance(values, Column):
            if isinstance(values, RealArray):
                raise refused("a window over several columns (method='table')")
            return prepare(self, values)
        infinite = np.isinf(values.numbers.x)
        return Column(np.where(infinite, np.nan, values.numbers)) if np.any(infinite) else values

    return _prep_values


def _traced(*arrays: Any) -> bool:
    return any(isinstance(u, Column) for u in arrays)


def _plain(u: Any) -> np.ndarray:
    return u.numbers.x if isinstance(u, Column) else np.asarray(u, float)


def _of_rows(f: Any, arrays: tuple[Any, ...], start: Any, end: Any, values: Any, name: str, **options: Any) -> Column:
    """A statistic of the numbers in each window, where pandas has one, with pandas' values."""
    known = ~np.isnan(sum(map(_plain, arrays)))
    there = np.flatnonzero(~np.isnan(values))
    rows = [np.flatnonzero(known[start[k] : end[k]]) + start[k] for k in there]
    made = RealArray(np.full(len(values), np.nan))
    made[there] = by_rows(f, arrays, rows, **options)
    scale = magnitude(name, *map(_plain, arrays))
    return Column(with_values(made, values, f"rolling(...).{name}()", scale))


def _statistic(name: str, kernel: Callable[..., Any]) -> Any:
    """A statistic of the numbers in each window."""

    def of_windows(values: Any, start: Any, end: Any, minp: int, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of a column, a column."""
        if not _traced(values):
            return kernel(values, start, end, minp, *args, **kwargs)
        plain = kernel(_plain(values), start, end, minp, *args, **kwargs)
        if name in ("rank", "nunique"):
            return plain
        options: dict[str, Any] = {}
        if name == "var":
            options = {"ddof": args[0] if args else kwargs.get("ddof", 1)}
        elif name == "quantile":
            given = dict(zip(("quantile", "interpolation"), args, strict=False)) | kwargs
            options = {"q": given["quantile"], "method": given["interpolation"]}
        return _of_rows(STATISTICS[name], (values,), start, end, plain, name, **options)

    return of_windows


def _applied(kernel: Callable[..., Any]) -> Any:
    """A function of the user for each window."""

    def roll_apply(obj: Any, start: Any, end: Any, minp: int, function: Any, raw: bool, args: Any, kwargs: Any) -> Any:
        """Call the function as pandas does, for windows with enough numbers."""
        values = obj.array if isinstance(obj, pd.Series) and holds_numbers(obj) else obj
        if not _traced(values):
            try:
                return kernel(obj, start, end, minp, function, raw, args, kwargs)
            except ConversionError:  # the function gives traced numbers
                values = np.asarray(obj)
        known = ~np.isnan(_plain(values))
        numbers = values.numbers if _traced(values) else values
        made: list[Any] = []
        for a, b in zip(start, end, strict=True):
            enough = known[a:b].sum() >= minp and b > a
            window = numbers[a:b] if raw else obj.iloc[a:b]
            made.append(function(window, *args, **kwargs) if enough else np.nan)
        return Column(as_numbers(made))

    return roll_apply


def _of_pairs(name: str, kernel: Callable[..., Any]) -> Any:
    """The covariance or the correlation of two columns in each window."""

    def of_windows(x: Any, y: Any, start: Any, end: Any, minp: int, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of columns, a column."""
        if not _traced(x, y):
            return kernel(x, y, start, end, minp, *args, **kwargs)
        plain = kernel(_plain(x), _plain(y), start, end, minp, *args, **kwargs)
        ddof = args[0] if args else kwargs.get("ddof", 1)
        return _of_rows(_PAIRS[name], (x, y), start, end, plain, name, ddof=ddof)

    return of_windows


def _deviations(x: Any) -> Any:
    return x - np.mean(x, axis=-1, keepdims=True)


def covariance(x: Any, y: Any, ddof: int) -> Any:
    """The covariance of vectors without NaN."""
    return np.sum(_deviations(x) * _deviations(y), axis=-1) / (x.shape[-1] - ddof)


def correlation(x: Any, y: Any, ddof: int = 0) -> Any:
    """Pearson's correlation of vectors without NaN."""
    u, v = _deviations(x), _deviations(y)
    return np.sum(u * v, axis=-1) / np.sqrt(np.sum(u * u, axis=-1) * np.sum(v * v, axis=-1))


_PAIRS = {"cov": covariance, "corr": correlation}


def _of_weights(name: str, kernel: Callable[..., Any]) -> Any:
    """A mean or sum with given weights: rolling(n, win_type='triang')."""

    def of_windows(values: Any, weights: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuse a column."""
        if _traced(values) or isinstance(values, RealArray):
            raise refused(f"rolling(..., win_type=...).{name}()")
        return kernel(values, weights, *args, **kwargs)

    return of_windows


# Exponential weights


def _weights(
    known: np.ndarray,
    offset: int,
    com: float,
    adjust: bool,
    ignore_na: bool,
    shares: bool,
    deltas: Any = None,
    normalize: bool = True,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each row, the rows (plus an offset) that have a weight, and the weights, which decay by 1 - 1 / (1 + com).

    Without `adjust`, the last number has the weight 1 / (1 + com), or with `shares` what the others have lost.
    """
    alpha = 1.0 / (1.0 + com)
    rows, weights = np.zeros(0, int), np.zeros(0)
    for k in range(len(known)):
        if k and (known[k] or not ignore_na):
            step = 1.0 if deltas is None else float(deltas[k - 1])
            weights = weights * (1.0 - alpha) ** step
        if known[k]:
            first = adjust or not normalize or not len(rows)
            new = 1.0 if first else 1.0 - weights.sum() if shares else alpha
            rows, weights = np.append(rows, k), np.append(weights, new)
            kept = weights > 1e-20 * weights.max()  # the others change no digit
            rows, weights = rows[kept], weights[kept]
            if not adjust and normalize:
                weights = weights / weights.sum()
        yield rows + offset, weights


_GAP, _START, _END = np.array([1.0, np.nan, 0.0]), np.array([0]), np.array([3])


def _exponential(kernel: Callable[..., Any]) -> Any:
    """`ewm(...).mean()` and `.sum()`."""
    bounds = _START, _END, 0
    shares = bool(kernel(_GAP, *bounds, com=1.0, adjust=False, ignore_na=False, deltas=None)[2] == 0.25)  # pandas 3

    def ewm(vals: Any, start: Any, end: Any, minp: int, *args: Any, **kwargs: Any) -> Any:
        """Compute as pandas does; of a column, a column."""
        if not _traced(vals):
            return kernel(vals, start, end, minp, *args, **kwargs)
        plain = kernel(_plain(vals), start, end, minp, *args, **kwargs)
        given = dict(zip(("com", "adjust", "ignore_na", "deltas", "normalize"), args, strict=False)) | kwargs
        deltas = given.pop("deltas", None)
        weights = [
            pair
            for a, b in zip(start, end, strict=True)
            for pair in _weights(
                ~np.isnan(_plain(vals)[a:b]), a, shares=shares, deltas=None if deltas is None else deltas[a:], **given
            )
        ]
        sums = not given.get("normalize", True)
        return _of_weights_by_row(functools.partial(_weighted_mean, sums=sums), (vals,), weights, plain)

    return ewm


def _exponential_pairs(kernel: Callable[..., Any]) -> Any:
    """`ewm(...).var()`, `.std()`, `.cov()` and `.corr()`."""
    shares = bool(np.isclose(kernel(_GAP, _START, _END, 0, _GAP, 1.0, False, False, True)[2], 0.25 * 0.75))

    def ewmcov(
        input_x: Any,
        start: Any,
        end: Any,
        minp: int,
        input_y: Any,
        com: float,
        adjust: bool,
        ignore_na: bool,
        bias: Any,
    ) -> Any:
        """Compute as pandas does; of columns, a column."""
        options = (com, adjust, ignore_na, bias)
        if not _traced(input_x, input_y):
            return kernel(input_x, start, end, minp, input_y, *options)
        plain = kernel(_plain(input_x), start, end, minp, _plain(input_y), *options)
        known = ~np.isnan(_plain(input_x) + _plain(input_y))
        weights = [
            pair
            for a, b in zip(start, end, strict=True)
            for pair in _weights(known[a:b], a, com, adjust, ignore_na, shares)
        ]
        return _of_weights_by_row(functools.partial(_weighted_cov, bias=bias), (input_x, input_y), weights, plain)

    return ewmcov


def _weighted_mean(weights: np.ndarray, x: Any, sums: bool) -> Any:
    return np.sum((weights if sums else weights / np.sum(weights, axis=-1, keepdims=True)) * x, axis=-1)


def _weighted_cov(weights: np.ndarray, x: Any, y: Any, bias: bool) -> Any:
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    x, y = (u - np.sum(weights * u, axis=-1, keepdims=True) for u in (x, y))
    made = np.sum(weights * x * y, axis=-1)
    return made if bias else made / (1.0 - np.sum(weights**2, axis=-1))


def _of_weights_by_row(f: Any, arrays: tuple[Any, ...], weights: list[Any], values: np.ndarray) -> Column:
    """A weighted statistic for each row where pandas has one: of many rows at once, which have weights of 0 more."""
    made = RealArray(np.full(len(values), np.nan))
    there = np.flatnonzero(~np.isnan(values))
    for part in np.array_split(there, -(-len(there) // 256)) if len(there) else ():
        pairs = [weights[k] for k in part]
        n = max(len(rows) for rows, _ in pairs)
        index = np.array([np.pad(rows, (n - len(rows), 0), mode="edge") for rows, _ in pairs])
        w = np.array([np.pad(u, (n - len(u), 0)) for _, u in pairs])
        made[part] = f(w, *(as_numbers(x)[index] for x in arrays))
    scale = magnitude("cov" if len(arrays) == 2 else "mean", *map(_plain, arrays))
    return Column(with_values(made, values, "ewm(...)", scale))


#: What takes the place of the functions of pandas._libs.window.aggregations.
KERNELS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    **{
        f"roll_{name}": functools.partial(_statistic, name)
        for name in ("sum", "mean", "var", "skew", "kurt", "max", "min", "first", "last", "quantile", "rank", "nunique")
    },
    "roll_median_c": functools.partial(_statistic, "median"),
    "roll_apply": _applied,
    "roll_cov": functools.partial(_of_pairs, "cov"),
    "roll_corr": functools.partial(_of_pairs, "corr"),
    **{f"roll_weighted_{name}": functools.partial(_of_weights, name) for name in ("sum", "mean", "var")},
    "ewm": _exponential,
    "ewmcov": _exponential_pairs,
}
