"""Least squares: a polynomial with coefficients x, fitted to the sign of t at n points from -1 to 1."""

from __future__ import annotations

from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, listed, reals, whole

__all__ = ["FUNCTIONS"]


@njit
def primal(x, n):
    """Half the sum of squared residuals."""
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        rest = 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0)
        power = 1.0
        for j in range(len(x)):
            rest -= x[j] * power
            power *= t
        total += rest * rest
    return total / 2.0


def prepare(given):
    """Read the coefficients and the number of points."""
    return reals(given, "x", None), whole(given, "n", 2)


EXAMPLE = {"x": [0.5, 0.25], "n": 3}
FUNCTIONS = {
    "primal": Function(primal, prepare, EXAMPLE),
    "gradient": Function(dr.grad(primal), prepare, EXAMPLE, listed),
}
