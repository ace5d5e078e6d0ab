"""Derivatives with respect to the first two of four numbers: forward (`f`) and reverse (`r`) mode of nested evals."""

from __future__ import annotations

from numba import njit

import dualrev as dr

__all__ = ["MODES", "forward", "reverse"]


def reverse(f):
    """Return a function of the value and both derivatives, by a forward and a reverse pass."""
    return dr.value_and_grad(f, (0, 1))


def forward(f):
    """Return a function of the value and both derivatives, by two forward-mode passes."""

    @njit
    def both(x, y, u, v):
        """Return f's value and its derivatives with respect to x and y, by two `jvp`s."""
        value, along = dr.jvp(f, (x, y, u, v), (1.0, 0.0, 0.0, 0.0))
        _, across = dr.jvp(f, (x, y, u, v), (0.0, 1.0, 0.0, 0.0))
        return value, (along, across)

    return both


MODES = {"f": forward, "r": reverse}
