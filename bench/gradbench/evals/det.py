"""The determinant by recursive expansion along rows. GradBench wants this algorithm, with about n! products."""

from __future__ import annotations

from numba import float64, int64, njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, reals, whole

__all__ = ["FUNCTIONS"]


@njit(float64(float64[::1], int64, int64, int64))
def minor(a, n, row, left):
    """Determinant of the rows from `row` on and the columns whose bits are set in `left`."""
    if row == n - 1:
        column = 0
        while left > 1:
            left >>= 1
            column += 1
        return a[row * n + column]
    total = 0.0
    sign = 1.0
    for column in range(n):
        bit = 1 << column
        if left & bit:
            total += sign * a[row * n + column] * minor(a, n, row + 1, left ^ bit)
            sign = -sign
    return total


@njit
def primal(a, n):
    """Determinant of the n x n matrix whose rows follow each other in `a`."""
    return minor(a, n, 0, (1 << n) - 1)


def prepare(given):
    """Read the matrix `A` and its side `ell`."""
    n = whole(given, "ell", 1)
    if n > 20:
        raise InputError(f"'ell' is {n}: a sum of {n}! products does not end; it may be 20 at most")
    return reals(given, "A", n * n), n


EXAMPLE = {"A": [2.0, 1.0, 1.0, 3.0], "ell": 2}
FUNCTIONS = {
    "primal": Function(primal, prepare, EXAMPLE),
    "gradient": Function(dr.grad(primal), prepare, EXAMPLE, listed),
}
