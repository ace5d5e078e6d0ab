"""A saddle point: the least x of the greatest y, by gradient descent in the objective of gradient descent.

Of two letters the first is the mode of the outer derivative, by x, and the second that of the inner one, by y: f is
forward, r is reverse. The outer one goes through all steps of the inner descent, and its gradients.
"""

from __future__ import annotations

from numba import njit

from bench.gradbench.evals.descent import argmin
from bench.gradbench.evals.modes import MODES
from bench.gradbench.function import Function, listed, reals

__all__ = ["FUNCTIONS"]


@njit
def height(x1, x2, y1, y2):
    return (x1 * x1 + x2 * x2) - (y1 * y1 + y2 * y2)


@njit
def depth(y1, y2, x1, x2):
    """The greatest height by y is the least depth."""
    return -height(x1, x2, y1, y2)


def search_by(outer, inner):
    inner_depths, outer_depths = inner(depth), outer(depth)

    @njit
    def greatest(x1, x2, u, v):
        """The height at the best y, which is looked for from (u, v)."""
        y1, y2 = argmin(inner_depths, u, v, x1, x2)
        return height(x1, x2, y1, y2)

    heights = outer(greatest)

    @njit
    def search(start):
        x1, x2 = argmin(heights, start[0], start[1], start[0], start[1])
        y1, y2 = argmin(outer_depths, start[0], start[1], x1, x2)
        return x1, x2, y1, y2

    return search


def prepare(given):
    return (reals(given, "start", 2),)


FUNCTIONS = {
    outer + inner: Function(search_by(MODES[outer], MODES[inner]), prepare, {"start": [2e-5, 1e-5]}, listed)
    for outer in MODES
    for inner in MODES
}
