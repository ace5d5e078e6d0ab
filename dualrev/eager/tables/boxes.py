"""Traced numbers on their way into a column: as pandas takes them for scalars, and as the column stores them.

This module imports pandas: it is imported for who has done so.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

from dualrev.eager.arrays.memory.storage import Holder, RealArray, adopt, holds_duals
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.errors import ConversionError

__all__ = ["Box", "are_objects", "as_number", "as_numbers", "is_missing", "is_scalar", "opened", "unboxed"]


class Box:
    """A number under differentiation that pandas takes for a scalar, and hands on to a column."""

    __slots__ = ("number",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, number: Any) -> None:
        self.number = number

    def __float__(self) -> float:  # that makes it a scalar
        raise ConversionError("float()")

    def __lt__(self, other: Any) -> bool:
        return bool(value(self.number) < value(unboxed(other)))

    def __gt__(self, other: Any) -> bool:
        return bool(value(self.number) > value(unboxed(other)))


Number.register(Box)  # pandas asks for that


def opened(u: Any) -> Any:
    """Nested lists and tuples with the RealArray in place of each column."""
    if isinstance(u, (list, tuple)) and type(u) in (list, tuple):
        return type(u)(map(opened, u))
    return u.numbers if isinstance(u, Holder) else u


def unboxed(u: Any) -> Any:
    """Return the number in a Box, the RealArray in a column, or u itself."""
    return u.number if isinstance(u, Box) else u.numbers if isinstance(u, Holder) else u


def is_missing(u: Any) -> bool:
    """Whether u is a constant that pandas takes for a missing number."""
    return u is None or u is pd.NA or (isinstance(u, float) and u != u)


def is_scalar(u: Any) -> bool:
    """Whether u can be in a column: a float or an int, or None for a missing one."""
    return (
        isinstance(u, (DualNumber, Box, int, float, np.floating, np.integer)) and not isinstance(u, bool)
    ) or u is None


def are_objects(u: Any) -> bool:
    """Whether u is an array of objects with a traced number: np.array([x, 1.0])."""
    return isinstance(u, np.ndarray) and u.dtype == object and holds_duals(u)


def as_number(u: Any) -> Any:
    """A number of a column."""
    u = unboxed(u)
    u = u[()] if isinstance(u, RealArray) and not u.ndim else u
    return np.nan if is_missing(u) else u


def as_numbers(scalars: Any) -> RealArray:
    """Return the RealArray of the scalars that pandas makes a column of."""
    scalars = unboxed(scalars)
    if isinstance(scalars, (pd.Series, pd.Index)):
        scalars = scalars.array
    scalars = scalars.to_numpy() if isinstance(scalars, ExtensionArray) else scalars
    if isinstance(scalars, RealArray):
        return scalars
    if isinstance(scalars, np.ndarray) and scalars.dtype.kind in "biuf":
        return RealArray(scalars.astype(float))
    made = np.empty(len(scalars), dtype=object)
    made[:] = [as_number(u) for u in scalars]
    return adopt(made)
