"""The derivative by the first two of four numbers, in forward mode and in reverse: `f` and `r` of the nested evals."""

from __future__ import annotations

from numba import njit

import dualrev as dr

__all__ = ["MODES", "forward", "reverse"]


def reverse(f):
    """The value and both derivatives, by one pass forwards and one backwards."""
    return dr.value_and_grad(f, (0, 1))


def forward(f):
    """The value and both derivatives, by two passes that keep nothing."""

    @njit
    def both(x, y, u, v):
        value, along = dr.jvp(f, (x, y, u, v), (1.0, 0.0, 0.0, 0.0))
        _, across = dr.jvp(f, (x, y, u, v), (0.0, 1.0, 0.0, 0.0))
        return value, (along, across)

    return both


MODES = {"f": forward, "r": reverse}
