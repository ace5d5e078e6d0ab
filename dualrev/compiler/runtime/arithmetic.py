"""Integer arithmetic of emitted code that raises what f raises: quotients, powers, and trip counts."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from numba import njit

__all__ = ["floor_divide", "power", "range_length", "remainder"]


@njit
def range_length(start, stop, step):
    """Trip count of `range(start, stop, step)`."""
    return len(range(start, stop, step))


# In numba's usual error model, which emitted code does not have: they raise what f raises, in numba's words. It is
# asked for, since a function inherits that of its first caller.


@njit(error_model="python")
def floor_divide(a, b):
    """Compute `a // b`, or raise ZeroDivisionError."""
    return a // b


@njit(error_model="python")
def remainder(a, b):
    """Compute `a % b`, or raise ZeroDivisionError."""
    return a % b


@njit(error_model="python")
def power(a, b):
    """Compute `a ** b`, or raise ZeroDivisionError: for an int `b`, which may be negative."""
    return a**b
