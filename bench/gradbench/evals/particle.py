"""A charged particle is to hit the origin: gradient descent through Euler's method, whose force is a gradient itself.

Of two letters the first is the mode of the outer derivative, by the control w, and the second that of the inner one, by
the position: f is forward, r is reverse. The descent is in a plane, of which w uses one direction.
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
    """Of two charges, at (10, 10 - w) and (10, 0)."""
    across = (x - 10.0) * (x - 10.0)
    return 1.0 / math.sqrt(across + (y - 10.0 + w) * (y - 10.0 + w)) + 1.0 / math.sqrt(across + y * y)


def forward_by_control(f):
    """The value and both derivatives by one pass, since f does not depend on its second argument."""

    @njit
    def both(w, unused, u, v):
        value, slope = dr.jvp(f, (w, unused, u, v), (1.0, 0.0, 0.0, 0.0))
        return value, (slope, 0.0)

    return both


def search_by(outer, inner):
    force = inner(potential)

    @njit
    def miss(w, unused, u, v):
        """The square of where the particle meets the x-axis."""
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
        return argmin(misses, w, 0.0, 0.0, 0.0)[0]

    return search


def prepare(given):
    return (real(given, "w"),)


OUTER = {"f": forward_by_control, "r": reverse}
FUNCTIONS = {
    outer + inner: Function(search_by(OUTER[outer], MODES[inner]), prepare, {"w": 0.2})
    for outer in OUTER
    for inner in MODES
}
