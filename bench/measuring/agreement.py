"""Compare the values and gradients of two libraries: answers that disagree are not timed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

AGREES = 1e-9  # of an entry ...
ROUNDING = 1e-12  # ... or of the gradient's largest entry: what is left where larger numbers cancel


class DisagreementError(Exception):
    """A value or a gradient is not the expected one."""


def convert(f: Callable[[Any], Any], x: Any) -> Any:
    """Apply f to every leaf of nested lists and tuples."""
    if isinstance(x, (list, tuple)):
        return type(x)([convert(f, y) for y in x])
    return f(x)


def flatten(x: Any) -> list[float]:
    """Return all numbers in nested lists and tuples of numbers and arrays, of any library that numpy can read.

    >>> flatten([1.0, (np.ones((1, 2)), [2.0])])
    [1.0, 1.0, 1.0, 2.0]
    """
    return [z for y in x for z in flatten(y)] if isinstance(x, (list, tuple)) else np.ravel(x).tolist()


def disagreement(found: tuple[Any, Any], expected: tuple[Any, Any]) -> str | None:
    """Describe the first difference of a value and gradient from the expected ones, or None. Nesting may differ."""
    for what, a, b in zip(("value", "gradient"), map(flatten, found), map(flatten, expected), strict=True):
        if len(a) != len(b):
            return f"the {what} has {len(a)} entries in place of {len(b)}"
        slack = ROUNDING * max(map(abs, b), default=0.0)
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if not (math.isfinite(y) and abs(x - y) <= AGREES * abs(y) + slack):  # NaN and infinity disagree
                return f"the {what} is {x!r} in place of {y!r}" + (f" at entry {k}" if len(a) > 1 else "")
    return None


def check(found: tuple[Any, Any], expected: tuple[Any, Any], whose: str) -> None:
    """Raise DisagreementError if the value and gradient of `whose` are not the expected ones."""
    if wrong := disagreement(found, expected):
        raise DisagreementError(f"{whose}: {wrong}")
