"""The stage equations of the Radau IIA method of order 5, and the derivative of their solution.

The unknowns are the moves z_s = y(t + c_s h) - y at three points c, the last of which is the end of the step:

    z_s = h sum_r w_sr f(t + c_r h, y + z_r)

Row s of w integrates the parabola through the slopes from 0 to c_s. By the implicit function theorem a move of t, h, y
or args moves z by the solution of a linear system with the matrix I - h w_sr J_r, where J_r is the Jacobian of f at
stage r. Forward mode gives J; if the Jacobian is a band matrix, a group of columns at a time.

Source: E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", second edition, IV.5 and IV.8.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import dualrev as dr
from dualrev.ode.banded import factor, solve_factored
from dualrev.ode.compiling import within
from dualrev.ode.control import slope

__all__ = ["POINTS", "WEIGHTS", "checked_jacobian", "extent", "jacobian", "stage_moves"]

POINTS = np.array([(4.0 - 6.0**0.5) / 10.0, (4.0 + 6.0**0.5) / 10.0, 1.0])
WEIGHTS = (POINTS[:, None] ** [1, 2, 3] / [1, 2, 3]) @ np.linalg.inv(POINTS[:, None] ** [0, 1, 2])


@within
def extent(n, band):
    """Return the numbers of diagonals below and above the main one of an n by n matrix; without band, all."""
    if band is None:
        return n - 1, n - 1
    return min(band[0], n - 1), min(band[1], n - 1)


@within
def jacobian(fun, t, y, args, band):
    """Return the Jacobian of fun by y, stored as `banded` says: forward mode, a group of columns at a time."""
    n = len(y)
    below, above = extent(n, band)
    made, seed = np.zeros((n, 2 * below + above + 1)), np.zeros(n)
    for group in range(min(n, below + above + 1)):
        for j in range(group, n, below + above + 1):
            seed[j] = 1.0
        _, column = dr.jvp(slope, (t, y, fun, args), (None, seed, None, None))
        for j in range(group, n, below + above + 1):
            seed[j] = 0.0
            for i in range(max(0, j - above), min(n, j + below + 1)):
                made[i, j - i + below] = column[i]
    return made


@within
def checked_jacobian(fun, t, y, args, band):
    """Return the Jacobian; raise an error if it has elements outside of the band: derivatives would be wrong."""
    n = len(y)
    made = jacobian(fun, t, y, args, band)
    if band is not None:
        below, above = extent(n, band)
        direction = np.empty(n)
        for i in range(n):
            direction[i] = 1.0 + np.sin(1.0 + i)
        _, whole = dr.jvp(slope, (t, y, fun, args), (None, direction, None, None))
        for i in range(n):
            inside, size = 0.0, abs(whole[i])
            for j in range(max(0, i - below), min(n, i + above + 1)):
                inside += made[i, j - i + below] * direction[j]
                size += abs(made[i, j - i + below])
            if abs(whole[i] - inside) > 1e-9 * size:
                raise ValueError("the Jacobian of fun has elements outside of band=(below, above): make it wider")
    return made


@within
def _moved(z, t, h, y, fun, args):
    """Return the right-hand sides of the stage equations, of shape (3, n)."""
    n = len(y)
    made, x = np.zeros((3, n)), np.empty(n)
    for r in range(3):
        for i in range(n):
            x[i] = y[i] + z[r, i]
        f = fun(t + POINTS[r] * h, x, *args)
        for s in range(3):
            weight = h * WEIGHTS[s, r]
            for i in range(n):
                made[s, i] += weight * f[i]
    return made


@within
def _solved(fun, z, t, h, y, args, band, right):
    """Return the solution of the linear system for a right-hand side, both of shape (3, n).

    In the order 3 i + s, the unknowns of a band matrix have a band matrix, too.
    """
    n = len(y)
    inner_below, inner_above = extent(n, band)
    below, above = 3 * inner_below + 2, 3 * inner_above + 2
    matrix, x = np.zeros((3 * n, 2 * below + above + 1)), np.empty(n)
    for r in range(3):
        for i in range(n):
            x[i] = y[i] + z[r, i]
        slopes = jacobian(fun, t + POINTS[r] * h, x, args, band)
        for s in range(3):
            weight = h * WEIGHTS[s, r]
            first = below - 3 * inner_below + r - s
            for i in range(n):
                row, of_fun = matrix[3 * i + s, first:], slopes[i]
                for k in range(inner_below + inner_above + 1):
                    row[3 * k] = -weight * of_fun[k]
    moves, pivots = np.empty(3 * n), np.empty(3 * n, np.int64)
    for i in range(n):
        for s in range(3):
            matrix[3 * i + s, below] += 1.0
            moves[3 * i + s] = right[s, i]
    factor(matrix, below, above, pivots)
    solve_factored(matrix, below, above, pivots, moves)
    made = np.empty((3, n))
    for i in range(n):
        for s in range(3):
            made[s, i] = moves[3 * i + s]
    return made


@partial(dr.custom_jvp, nondiff_argnums=(4,))
@within
def stage_moves(z, t, h, y, fun, args, band):
    """Return z, the solution of the stage equations, with its derivative by t, h, y and args."""
    return z.copy()


@stage_moves.defjvp
@within
def _stage_moves_jvp(fun, primals, tangents):
    z, t, h, y, args, band = primals
    _, dt, dh, dy, dargs, _ = tangents
    x = stage_moves(z, t, h, y, fun, args, band)
    _, right = dr.jvp(_moved, (x, t, h, y, fun, args), (None, dt, dh, dy, None, dargs))
    return x, _solved(fun, x, t, h, y, args, band, right)
