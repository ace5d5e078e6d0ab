"""Step-size control: error norms, the first step, and factors, as SciPy's solvers choose them.

Source: E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", second edition, II.4.
"""

from __future__ import annotations

import math

import numpy as np

from dualrev.ode.compiling import within

# This package has loops over elements, which numba compiles much faster than expressions of arrays. Functions that have
# derivatives here take fun after a number, because numba warns of tuples that begin with a function.

__all__ = ["first_step_size", "root_mean_square", "scaled", "set_row", "shortest_step", "slope"]

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0


@within
def set_row(a, i, row):
    """Set row i of a matrix to a vector, which may be a tuple: numba checks no index."""
    if len(row) != a.shape[1]:
        raise ValueError("fun(t, y, *args) must return as many numbers as y has: return an array of len(y) numbers")
    for j in range(a.shape[1]):
        a[i, j] = row[j]


@within
def slope(t, y, fun, args):
    """Return fun(t, y, *args), a sequence of n numbers, as a new vector."""
    f = np.empty((1, len(y)))
    set_row(f, 0, fun(t, y, *args))
    return f[0]


@within
def scaled(y, x, rtol, atol):
    """Return the error that the tolerances allow in a step from y to x, a vector."""
    made = np.empty(len(y))
    for i in range(len(y)):
        made[i] = atol[i] + rtol * max(abs(y[i]), abs(x[i]))
    return made


@within
def root_mean_square(x, scale):
    """Return the norm of x / scale that SciPy's solvers use."""
    total = 0.0
    for i in range(len(x)):
        total += (x[i] / scale[i]) ** 2
    return math.sqrt(total / len(x))


@within
def shortest_step(t):
    """Return ten times the distance from t to the next float."""
    return 10.0 * np.spacing(abs(t))


@within
def first_step_size(fun, t, y, f, last, max_step, args, order, rtol, atol):
    """Return the length of the first step for a method whose error estimate has the given order."""
    interval = abs(last - t)
    if interval == 0.0 or len(y) == 0:
        return 0.0
    direction = 1.0 if last >= t else -1.0
    scale = scaled(y, y, rtol, atol)
    d0, d1 = root_mean_square(y, scale), root_mean_square(f, scale)
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, interval)
    x = np.empty(len(y))
    for i in range(len(y)):
        x[i] = y[i] + h0 * direction * f[i]
    f1 = slope(t + h0 * direction, x, fun, args)
    for i in range(len(y)):
        f1[i] -= f[i]
    d2 = root_mean_square(f1, scale) / h0
    h1 = max(1e-6, h0 * 1e-3) if d1 <= 1e-15 and d2 <= 1e-15 else (0.01 / max(d1, d2)) ** (1.0 / (order + 1.0))
    return min(min(100.0 * h0, h1), min(interval, max_step))
