"""Errors for wrong data, and checks that raise them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DataError", "check_finite", "check_label"]


class DataError(ValueError):
    """Bad data; the message says where, what is wrong, and what to write."""


def check_label(label: Any, classes: int, place: str) -> None:
    """Raise DataError if a label is not a class."""
    if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < classes:
        raise DataError(f"{place}: the label is {label}; labels are the ints from 0 to {classes - 1}.")


def check_finite(array: np.ndarray, place: str) -> None:
    """Raise DataError if an array holds NaN or an infinity; it names the first one."""
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        index = tuple(int(i) for i in wrong[0])
        what = f"{array[index]} at index {list(index)}, one of {len(wrong)} of {array.size} numbers that are not finite"
        raise DataError(f"{place}: there is {what}. Leave this sample out, or put a number there.")
