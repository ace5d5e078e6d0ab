"""Types for the programs of language_numba.py: records and instances of a jitclass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64
from numba.experimental import jitclass

__all__ = ["BODY", "INSTANCES", "Box", "bodies"]

BODY = np.dtype([("x", "f8"), ("k", "i8"), ("v", "f8", (2,))])


def bodies(rows: list[list[float]]) -> np.ndarray:
    """Records of these numbers, x and v of each."""
    made = np.zeros(len(rows), BODY)
    for k, (x, *v) in enumerate(rows):
        made[k] = (x, k, v)
    return made


@jitclass([("value", float64), ("places", float64[:]), ("count", int64)])
class Box:
    """An instance has a number, an array of three, and an int."""

    def __init__(self, value: Any, places: Any, count: Any) -> None:
        self.value = value
        self.places = places
        self.count = count

    def total(self, k: Any) -> Any:
        return self.value * self.places[k] + self.places.sum()

    def grow(self, by: Any) -> None:
        self.value = 0.5 * self.value + by
        self.count += 1
        self.places[1] *= by

    @property
    def half(self) -> Any:
        return self.value / 2

    @half.setter
    def half(self, v: Any) -> None:
        self.value = v * 2


#: What makes instances, and their fields, by the name of the class.
INSTANCES: dict[str, tuple[Any, tuple[str, ...]]] = {"Box": (Box, ("value", "places", "count"))}
