"""The logarithm of a sum of exponentials, shifted by the largest exponent."""

from __future__ import annotations

import math

from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, reals

__all__ = ["FUNCTIONS", "log_sum_exp"]


@njit
def log_sum_exp(x):
    """Log-sum-exp of a vector."""
    largest = x[0]
    for i in range(1, len(x)):
        if x[i] > largest:
            largest = x[i]
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - largest)
    return math.log(total) + largest


def prepare(given):
    """Read the exponents."""
    x = reals(given, "x", None)
    if len(x) == 0:
        raise InputError("'x' is empty: the sum of no exponentials has no logarithm")
    return (x,)


EXAMPLE = {"x": [0.5, 0.25]}
FUNCTIONS = {
    "primal": Function(log_sum_exp, prepare, EXAMPLE),
    "gradient": Function(dr.grad(log_sum_exp), prepare, EXAMPLE, listed),
}
