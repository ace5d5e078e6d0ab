"""The names of numpy's functions that stay as they are written: inactive.py says when.

An order, a place, a count or a comparison is a constant, also of what is differentiated. What is computed of ints and
bools alone is one, too, whatever it is. Only functions that make new arrays are here: none gives a view.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["INACTIVE", "METHODS", "inactive"]

_NAMES = [
    *["argsort", "argpartition", "argwhere", "nonzero", "flatnonzero", "searchsorted", "digitize", "bincount"],
    *["array_equal", "allclose", "isclose", "logical_and", "logical_or", "logical_xor", "logical_not", "invert"],
    *["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "isin", "in1d", "gcd", "lcm"],
    *["sort", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d", "median", "repeat", "roll", "append"],
    *["delete", "hstack", "vstack", "column_stack", "stack", "take", "tri", "tril", "triu", "cumprod", "ptp"],
    *["isneginf", "isposinf", "isreal", "iscomplex", "signbit", "equal", "not_equal", "less", "less_equal"],
    *["greater", "greater_equal", "nanargmin", "nanargmax"],
]

#: The functions, by what they are called in emitted code.
INACTIVE: dict[str, Any] = {f"np.{n}": getattr(np, n) for n in _NAMES if hasattr(np, n)}
#: Methods that are functions of the same name.
METHODS = {"argsort", "nonzero", "searchsorted", "argpartition", "repeat"}


def inactive(f: Any) -> str | None:
    """The name of such a function in emitted code."""
    return next((text for text, known in INACTIVE.items() if known is f), None)
