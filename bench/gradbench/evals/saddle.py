"""A saddle point: minimize over x the maximum over y, by a gradient descent inside of another one.

A function's name has two letters, f for forward and r for reverse mode: the first is the mode of the outer derivative,
with respect to x, the second that of the inner one, with respect to y. The outer derivative goes through all steps and
gradients of the inner descent.
"""

from __future__ import annotations

from numba import njit

from bench.gradbench.evals.descent import argmin
from bench.gradbench.evals.modes import MODES
from bench.gradbench.function import Function, listed, reals

__all__ = ["FUNCTIONS"]


@njit
def height(x1, x2, y1, y2):
    """Height of the saddle at (x1, x2, y1, y2)."""
    return (x1 * x1 + x2 * x2) - (y1 * y1 + y2 * y2)


@njit
def depth(y1, y2, x1, x2):
    """Negative height: minimizing it over y maximizes the height."""
    return -height(x1, x2, y1, y2)


def search_by(outer, inner):
    """Build the descent with one mode for the derivative with respect to x and one for y."""
    inner_depths, outer_depths = inner(depth), outer(depth)

    @njit
    def greatest(x1, x2, u, v):
        """Maximum of the height over y, by a descent from (u, v)."""
        y1, y2 = argmin(inner_depths, u, v, x1, x2)
        return height(x1, x2, y1, y2)

    heights = outer(greatest)

    @njit
    def search(start):
        """Find the saddle point by nested gradient descents, and return x1, x2, y1, y2."""
        x1, x2 = argmin(heights, start[0], start[1], start[0], start[1])
        y1, y2 = argmin(outer_depths, start[0], start[1], x1, x2)
        return x1, x2, y1, y2

    return search


def prepare(given):
    """Read the point from which all descents start."""
    return (reals(given, "start", 2),)


FUNCTIONS = {
    outer + inner: Function(search_by(MODES[outer], MODES[inner]), prepare, {"start": [2e-5, 1e-5]}, listed)
    for outer in MODES
    for inner in MODES
}
