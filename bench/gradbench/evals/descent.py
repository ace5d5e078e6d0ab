"""Gradient descent for `particle` and `saddle`: steps grow after ten successes, and shrink after a failure.

The point in the plane is two numbers, not an array, so that the descent and its derivatives allocate no arrays.
"""

from __future__ import annotations

import math

from numba import njit

__all__ = ["argmin"]


@njit
def argmin(value_and_slope, x, y, u, v):
    """Minimize f(x, y, u, v) over x and y. `value_and_slope` returns f's value and its derivatives by x and y."""
    rate, successes = 1e-5, 0
    value, (along, across) = value_and_slope(x, y, u, v)
    while math.sqrt(along * along + across * across) > 1e-5:
        if successes == 10:
            rate, successes = 2.0 * rate, 0
            continue
        to_x, to_y = x - rate * along, y - rate * across
        if math.sqrt((x - to_x) * (x - to_x) + (y - to_y) * (y - to_y)) <= 1e-5:
            break
        new, (new_along, new_across) = value_and_slope(to_x, to_y, u, v)
        if new < value:
            x, y, value, along, across, successes = to_x, to_y, new, new_along, new_across, successes + 1
        else:
            rate, successes = rate / 2.0, 0
    return x, y
