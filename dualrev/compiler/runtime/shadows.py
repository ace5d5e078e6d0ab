"""Additions to shadows (adjoint arrays): cotangents that the caller or a custom rule gives, and those of extrema."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.errors import CotangentError
from dualrev.rules.library.njit_internal import inner

__all__ = ["add_cotangent", "add_to", "contribute", "is_extreme", "share", "unmark"]


@inner
def add_to(array, value):
    """Accumulate `array += value`."""
    array += value


@inner
def unmark(array):
    """Clear the known-zero marks of a shadow, after an addition that does not keep them."""
    array += 0.0


@inner
def add_cotangent(array, value):
    """Accumulate a cotangent given by the caller; CotangentError unless the shapes agree."""
    if array.shape != value.shape:
        raise CotangentError
    array += value


@inner
def contribute(array, value):
    """Accumulate a contribution given by a custom rule; ValueError unless the shapes agree."""
    if array.shape != value.shape:
        raise ValueError("a rule gives a derivative of another shape than the array that it belongs to")
    array += value


@inner
def share(d_x, x, extreme, ct):
    """Adjoint of `min` and `max`: split `ct` equally among the elements of `x` that are extreme (that may be NaN)."""
    count = 0
    for value in x.flat:
        if is_extreme(value, extreme):
            count += 1
    for index, value in np.ndenumerate(x):
        if is_extreme(value, extreme):
            d_x[index] += ct / count


@inner
def is_extreme(value, extreme):
    """Whether an element equals the extreme value; NaN equals NaN."""
    return value == extreme or (value != value and extreme != extreme)
