"""The ODE y' = (x[0], x[1] y[0], x[2] y[1], ...), solved by s steps of RK4 from 0 to 2."""

from __future__ import annotations

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, reals, whole

__all__ = ["FUNCTIONS"]


@njit
def primal(x, s):
    """Return y at 2. A step is one pass over y: an element needs only the one before it, at the four stages."""
    h = 2.0 / s
    y = np.zeros(len(x))
    for _ in range(s):
        y0 = y1 = y2 = y3 = 1.0  # what stands before the first element, at the four stages
        for i in range(len(x)):
            k1, k2, k3, k4 = x[i] * y0, x[i] * y1, x[i] * y2, x[i] * y3
            y0 = y[i]
            y1 = y0 + h * k1 / 2.0
            y2 = y0 + h * k2 / 2.0
            y3 = y0 + h * k3
            y[i] = y0 + h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
    return y


@njit
def last(x, s):
    """Last element of y after s steps."""
    return primal(x, s)[-1]


def prepare(given):
    """Read the coefficients and the number of steps."""
    x = reals(given, "x", None)
    if len(x) == 0:
        raise InputError("'x' is empty: there is no last element")
    return x, whole(given, "s", 1)


EXAMPLE = {"x": [0.5, 0.25], "s": 2}
FUNCTIONS = {
    "primal": Function(primal, prepare, EXAMPLE, listed),
    "gradient": Function(dr.grad(last), prepare, EXAMPLE, listed),
}
