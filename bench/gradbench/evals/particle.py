"""Steer a charged particle to the origin: gradient descent through Euler's method, whose force is a gradient.

A function's name has two letters, f for forward and r for reverse mode: the first is the mode of the outer derivative,
with respect to the control w, the second that of the inner one, with respect to the position. The descent is for two
numbers; w is the first of them.
"""

from __future__ import annotations

import math

from numba import njit

import dualrev as dr
from bench.gradbench.evals.descent import argmin
from bench.gradbench.evals.modes import MODES, reverse
from bench.gradbench.function import Function, real

__all__ = ["FUNCTIONS"]


@njit
def potential(x, y, w, _):
    """Potential of two charges, at (10, 10 - w) and (10, 0)."""
    across = (x - 10.0) * (x - 10.0)
    return 1.0 / math.sqrt(across + (y - 10.0 + w) * (y - 10.0 + w)) + 1.0 / math.sqrt(across + y * y)


def forward_by_control(f):
    """Return a function of the value and both derivatives, by one forward-mode pass: f ignores its second argument."""

    @njit
    def both(w, unused, u, v):
        """Return f's value and its two derivatives; the second one is 0."""
        value, slope = dr.jvp(f, (w, unused, u, v), (1.0, 0.0, 0.0, 0.0))
        return value, (slope, 0.0)

    return both


def search_by(outer, inner):
    """Build the descent with one mode for the derivative with respect to w and one for the force."""
    force = inner(potential)

    @njit
    def miss(w, unused, u, v):
        """Squared x at which the particle meets the x-axis."""
        x, y, speed, fall, step = 0.0, 8.0, 0.75, 0.0, 0.1
        while y + step * fall > 0.0:
            _, (along, down) = force(x, y, w, 0.0)
            x, y = x + step * speed, y + step * fall
            speed, fall = speed - step * along, fall - step * down
        hit = x - y / fall * speed
        return hit * hit

    misses = outer(miss)

    @njit
    def search(w):
        """Find the control with the least miss, by gradient descent from w."""
        return argmin(misses, w, 0.0, 0.0, 0.0)[0]

    return search


def prepare(given):
    """Read the first control."""
    return (real(given, "w"),)


OUTER = {"f": forward_by_control, "r": reverse}
FUNCTIONS = {
    outer + inner: Function(search_by(OUTER[outer], MODES[inner]), prepare, {"w": 0.2})
    for outer in OUTER
    for inner in MODES
}
