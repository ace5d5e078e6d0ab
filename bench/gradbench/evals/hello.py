"""A square, and its derivative, which GradBench calls `double`."""

from __future__ import annotations

from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, real

__all__ = ["FUNCTIONS"]


@njit
def square(x):
    """Square of a number."""
    return x * x


def prepare(given):
    """Read the number that is the whole input."""
    return (real({"input": given}, "input"),)


FUNCTIONS = {
    "square": Function(square, prepare, 1.0),
    "double": Function(dr.grad(square), prepare, 1.0),
}
