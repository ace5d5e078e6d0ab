"""The Radau IIA method of order 5 for stiff equations, with the step control of SciPy's class.

Newton's method solves the stage equations without derivatives. Its matrix, with one Jacobian for all stages, falls
apart into a real and a complex matrix of size n. The factors serve for several steps, if the size of the steps does
not change.

Source: E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", second edition, IV.8.
"""

from __future__ import annotations

import math

import numpy as np

import dualrev as dr
from dualrev.ode.banded import factor, solve_factored
from dualrev.ode.collocation import POINTS, WEIGHTS, checked_jacobian, extent, stage_moves
from dualrev.ode.compiling import within
from dualrev.ode.control import (
    GROW,
    SAFETY,
    SHRINK,
    first_step_size,
    root_mean_square,
    scaled,
    set_row,
    shortest_step,
    slope,
)
from dualrev.ode.driver import solver

__all__ = ["radau"]

_ITERATIONS = 6
_ESTIMATE = np.array([-13.0 - 7.0 * 6.0**0.5, -13.0 + 7.0 * 6.0**0.5, -1.0]) / 3.0
_POWERS = np.linalg.inv(POINTS[:, None] ** [1, 2, 3])  # the cubic through 0 and the moves: coefficients by points


def _transformation() -> tuple[float, complex, np.ndarray, np.ndarray]:
    """Return the eigenvalues of the inverse of the weights, the real basis of eigenvectors, and its inverse."""
    values, vectors = np.linalg.eig(np.linalg.inv(WEIGHTS))
    vectors = vectors / vectors[2]  # the scale of Hairer's matrices
    real, pair = np.argmin(np.abs(values.imag)), np.argmax(values.imag)
    basis = np.stack([vectors[:, real].real, vectors[:, pair].real, vectors[:, pair].imag], axis=1)
    return float(values[real].real), complex(values[pair].conjugate()), basis, np.linalg.inv(basis)


_REAL, _COMPLEX, _BASIS, _INVERSE = _transformation()

# The memory of a solver: the Jacobian, the factors of both matrices with their exchanges of rows, the coefficients of
# the last step's cubic, and these numbers.
_FACTORED, _CURRENT, _LAST_STEP, _LAST_SIZE, _LAST_ERROR = range(5)


@within
def _begin(fun, t, y, f, last, args, rtol, atol, max_step, first_step, band, counts):
    counts[0], counts[1] = 2, 1
    n = len(y)
    slopes = checked_jacobian(fun, t, y, args, band)
    size = first_step if first_step > 0.0 else first_step_size(fun, t, y, f, last, max_step, args, 3, rtol, atol)
    numbers = np.zeros(5)
    numbers[_CURRENT] = 1.0
    memory = (
        slopes,
        np.zeros(slopes.shape),
        np.zeros(slopes.shape, np.complex128),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((3, n)),
        numbers,
    )
    return size, memory


@within
def _factor_both(h, memory, below, above):
    """Factor the real and the complex matrix for a step of size h; return whether both are regular."""
    slopes, real, pair, real_pivots, pair_pivots, _, numbers = memory
    for i in range(slopes.shape[0]):
        for j in range(slopes.shape[1]):
            real[i, j] = -slopes[i, j]
            pair[i, j] = -slopes[i, j]
        real[i, below] += _REAL / h
        pair[i, below] += _COMPLEX / h
    numbers[_FACTORED] = 1.0
    return factor(real, below, above, real_pivots) and factor(pair, below, above, pair_pivots)


@within
def _combined(weights, rows):
    """Return weights @ rows, of shape (3, n)."""
    made = np.zeros(rows.shape)
    for s in range(3):
        for r in range(3):
            for i in range(rows.shape[1]):
                made[s, i] += weights[s, r] * rows[r, i]
    return made


@within
def _newton(fun, t, y, h, z, scale, args, tolerance, memory, below, above, counts):
    """Solve the stage equations, from z and in place; return the number of iterations and their rate, or -1."""
    _, real, pair, real_pivots, pair_pivots, _, _ = memory
    n = len(y)
    w, f, x = _combined(_INVERSE, z), np.empty((3, n)), np.empty(n)
    before, rate = -1.0, -1.0
    for k in range(_ITERATIONS):
        finite = True
        for s in range(3):
            for i in range(n):
                x[i] = y[i] + z[s, i]
            set_row(f, s, fun(t + h * POINTS[s], x, *args))
            for i in range(n):
                finite = finite and math.isfinite(f[s, i])
        counts[0] += 3
        if not finite:
            return -1, rate
        moved = _combined(_INVERSE, f)
        first, second = np.empty(n), np.empty(n, np.complex128)
        for i in range(n):
            first[i] = moved[0, i] - _REAL / h * w[0, i]
            second[i] = complex(moved[1, i], moved[2, i]) - _COMPLEX / h * complex(w[1, i], w[2, i])
        solve_factored(real, below, above, real_pivots, first)
        solve_factored(pair, below, above, pair_pivots, second)
        size = 0.0
        for i in range(n):
            size += (first[i] / scale[i]) ** 2 + (second[i].real / scale[i]) ** 2 + (second[i].imag / scale[i]) ** 2
        size = math.sqrt(size / (3 * n))
        if before >= 0.0:
            rate = size / before if before > 0.0 else 0.0
            if rate >= 1.0 or rate ** (_ITERATIONS - k) / (1.0 - rate) * size > tolerance:
                return -1, rate
        for i in range(n):
            w[0, i] += first[i]
            w[1, i] += second[i].real
            w[2, i] += second[i].imag
            for s in range(3):
                z[s, i] = _BASIS[s, 0] * w[0, i] + _BASIS[s, 1] * w[1, i] + _BASIS[s, 2] * w[2, i]
        if size == 0.0 or (before >= 0.0 and rate / (1.0 - rate) * size < tolerance):
            return k + 1, rate
        before = size
    return -1, rate


@within
def _update(a, new):
    """Replace the elements of a matrix."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = new[i, j]


@within
def _factor_of(size, last_size, error, last_error):
    """Return by how much the next step should be longer, from the last two (Hairer's predictive controller)."""
    if error == 0.0:
        return np.inf
    known = last_error > 0.0 and last_size > 0.0
    multiplier = size / last_size * (last_error / error) ** 0.25 if known else 1.0
    return min(1.0, multiplier) * error**-0.25


@within
def _step(fun, t, last, y, f, args, size, rtol, atol, max_step, band, memory, counts):
    """Find a step whose error is small enough: its end, its moves of shape (3, n), and the size of the next step."""
    slopes, real, _, pivots, _, q, numbers = memory
    n = len(y)
    below, above = extent(n, band)
    direction = 1.0 if last >= t else -1.0
    least, given = shortest_step(t), size
    if size > max_step or size < least:
        size = min(max(size, least), max_step)
        numbers[_LAST_SIZE] = 0.0
    tolerance = max(10.0 * np.finfo(np.float64).eps / rtol, min(0.03, rtol**0.5))
    rejected, iterations, rate, h = False, -1, -1.0, 0.0
    while True:
        if not size >= least:  # NaN, too
            return t, np.zeros((3, n)), -1.0
        goal = t + size * direction
        after = last if direction * (goal - last) > 0.0 else goal
        h = after - t
        size = abs(h)
        scale = scaled(y, y, rtol, atol)
        while True:
            z = np.zeros((3, n))
            if numbers[_LAST_STEP] != 0.0:  # the last step's cubic, continued
                for s in range(3):
                    part = 1.0 + POINTS[s] * h / numbers[_LAST_STEP]
                    for i in range(n):
                        z[s, i] = ((q[2, i] * part + q[1, i]) * part + q[0, i]) * part - (q[0, i] + q[1, i] + q[2, i])
            iterations = -1
            regular = True
            if numbers[_FACTORED] == 0.0:
                regular = _factor_both(h, memory, below, above)
                counts[2] += 2
            if regular:
                iterations, rate = _newton(fun, t, y, h, z, scale, args, tolerance, memory, below, above, counts)
            if iterations >= 0 or numbers[_CURRENT] != 0.0:
                break
            _update(slopes, checked_jacobian(fun, t, y, args, band))
            counts[1] += 1
            numbers[_CURRENT], numbers[_FACTORED] = 1.0, 0.0
        if iterations < 0:
            size *= 0.5
            numbers[_FACTORED] = 0.0
            continue
        x, error, estimate = np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            x[i] = y[i] + z[2, i]
            estimate[i] = (_ESTIMATE[0] * z[0, i] + _ESTIMATE[1] * z[1, i] + _ESTIMATE[2] * z[2, i]) / h
            error[i] = f[i] + estimate[i]
        solve_factored(real, below, above, pivots, error)
        scale = scaled(y, x, rtol, atol)
        norm = root_mean_square(error, scale)
        safety = SAFETY * (2 * _ITERATIONS + 1) / (2 * _ITERATIONS + iterations)
        if rejected and norm > 1.0:
            for i in range(n):
                error[i] += y[i]
            error = slope(t, error, fun, args)
            for i in range(n):
                error[i] += estimate[i]
            solve_factored(real, below, above, pivots, error)
            norm = root_mean_square(error, scale)
            counts[0] += 1
        factor_ = _factor_of(size, numbers[_LAST_SIZE], norm, numbers[_LAST_ERROR])
        if norm <= 1.0:
            break
        size *= max(SHRINK, safety * factor_) if math.isfinite(norm) else SHRINK
        numbers[_FACTORED] = 0.0
        rejected = True
    factor_ = min(GROW, safety * factor_)
    again = iterations > 2 and rate > 1e-3
    if not again and factor_ < 1.2:
        factor_ = 1.0
    else:
        numbers[_FACTORED] = 0.0
    if again:
        _update(slopes, checked_jacobian(fun, after, x, args, band))
        counts[1] += 1
    numbers[_CURRENT] = 1.0 if again else 0.0
    numbers[_LAST_SIZE], numbers[_LAST_ERROR], numbers[_LAST_STEP] = given, norm, h
    _update(q, _combined(_POWERS, z))
    return after, z, size * factor_


@within
def _advance(fun, t, last, y, f, args, size, rtol, atol, max_step, band, memory, counts):
    now, end = dr.stop_gradient(t), dr.stop_gradient(last)
    here, there = dr.stop_gradient(y), dr.stop_gradient(f)
    constants = dr.stop_gradient(args)
    goal, z, size = _step(fun, now, end, here, there, constants, size, rtol, atol, max_step, band, memory, counts)
    after = last if goal == end else goal
    moves = stage_moves(z, t, after - t, y, fun, args, band)
    x = np.empty(len(y))
    for i in range(len(y)):
        x[i] = y[i] + moves[2, i]
    counts[0] += 1
    return after, x, slope(after, x, fun, args), moves, size


@within
def _interpolant(fun, t, h, y, x, k, args, counts):
    return _combined(_POWERS, k)


radau = solver(_begin, _advance, _interpolant, 3)
