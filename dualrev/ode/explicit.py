"""Explicit Runge-Kutta methods of order 3, 5 and 8, with the coefficients and the step control of SciPy's classes.

    k_s = f(t + c_s h, y + h sum_j a_sj k_j),    y(t + h) = y + h sum_j b_j k_j

The last stage is the slope at the end, and the first one of the next step. Between the ends the solution is
y + h sum_j sum_s p_sj k_s x**(j + 1), where x = 0..1; for dop853 that takes three more stages.

Sources: J. Dormand, P. Prince, "A family of embedded Runge-Kutta formulae", 1980; P. Bogacki, L. Shampine, "A 3(2) pair
of Runge-Kutta formulas", 1989; E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", 1993.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import integrate as _integrate

import dualrev as dr
from dualrev.ode.compiling import within
from dualrev.ode.control import GROW, SAFETY, SHRINK, first_step_size, set_row, shortest_step
from dualrev.ode.driver import solver

__all__ = ["dop853", "dop853_step", "rk23", "rk23_step", "rk45", "rk45_step"]


def _stages(method: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a and c of all stages, those for the interpolant last, and the number of stages of a step."""
    rows = [*method.A[: method.n_stages], method.B, *getattr(method, "A_EXTRA", ())]
    a = np.zeros((len(rows), len(rows)))
    for row, values in zip(a, rows, strict=True):
        row[: len(values)] = values[: len(row)]
    return a, np.array([*method.C[: method.n_stages], 1.0, *getattr(method, "C_EXTRA", ())]), method.n_stages + 1


def _polynomial(method: Any, stages: int) -> np.ndarray:
    """Return p: a row for each stage, a column for each power of x, from 1."""
    if not hasattr(method, "D"):
        return np.array(method.P)
    # dop853 nests f0 + (1 - x) (f1 + x (f2 + (1 - x) (...))), times x: rows of f are combinations of the stages
    wide = method.n_stages + 1
    b, first, last = np.zeros(stages), np.eye(stages)[0], np.eye(stages)[wide - 1]
    b[: wide - 1] = method.B
    f = [b, first - b, 2.0 * b - (last + first), *method.D]
    powers = np.zeros((stages, len(f) + 1))
    for j, row in enumerate(reversed(f)):
        powers[:, 0] += row
        shifted = np.roll(powers, 1, axis=1)
        powers = shifted if j % 2 == 0 else powers - shifted
    return powers[:, 1:]


def _explicit(method: Any, error_norm: Any) -> tuple[Any, Any]:
    """Return the solver of one of SciPy's explicit methods, and its step."""
    a, c, wide = _stages(method)
    p = np.ascontiguousarray(_polynomial(method, len(a)))
    order = method.error_estimator_order
    exponent = -1.0 / (order + 1)

    @within
    def stage(fun, s, t, h, y, k, x, args):
        """Write y + h sum_j a_sj k_j into x, and stage s into k."""
        for i in range(len(y)):
            x[i] = 0.0
        for j in range(s):
            weight = a[s, j]
            for i in range(len(y)):
                x[i] += weight * k[j, i]
        for i in range(len(y)):
            x[i] = y[i] + h * x[i]
        set_row(k, s, fun(t + c[s] * h, x, *args))

    @within
    def begin(fun, t, y, f, last, args, rtol, atol, max_step, first_step, band, counts):
        counts[0] = 1
        if first_step > 0.0:
            return first_step, ()
        counts[0] = 2
        return first_step_size(fun, t, y, f, last, max_step, args, order, rtol, atol), ()

    @within
    def advance(fun, t, last, y, f, args, size, rtol, atol, max_step, band, memory, counts):
        now, end = dr.stop_gradient(t), dr.stop_gradient(last)
        direction = 1.0 if end >= now else -1.0
        least = shortest_step(now)
        size = min(max(size, least), max_step)
        rejected = False
        while True:
            k, x = np.empty((wide, len(y))), np.empty(len(y))
            goal = now + size * direction
            after = last if direction * (goal - end) >= 0.0 else goal
            h = after - t
            for i in range(len(y)):
                k[0, i] = f[i]
            for s in range(1, wide):
                stage(fun, s, t, h, y, k, x, args)
            counts[0] += wide - 1
            error = dr.stop_gradient(error_norm(k, h, y, x, rtol, atol))
            size = dr.stop_gradient(abs(h))
            if error < 1.0:
                factor = GROW if error == 0.0 else min(GROW, SAFETY * error**exponent)
                return after, x, k[wide - 1], k, size * (min(1.0, factor) if rejected else factor)
            rejected = True
            size *= max(SHRINK, SAFETY * error**exponent) if math.isfinite(error) else SHRINK
            if not size >= least:  # NaN, too
                return t, x, k[wide - 1], k, -1.0

    @within
    def interpolant(fun, t, h, y, x, k, args, counts):
        n = len(y)
        q, more, scratch = np.zeros((p.shape[1], n)), np.zeros((len(a), n)), np.empty(n)
        if len(a) > wide:
            more[:wide] = k
            for s in range(wide, len(a)):
                stage(fun, s, t, h, y, more, scratch, args)
                counts[0] += 1
        for s in range(len(a)):
            for j in range(p.shape[1]):
                weight = h * p[s, j]
                for i in range(n):
                    q[j, i] += weight * (k[s, i] if s < wide else more[s, i])
        return q

    @within
    def step(fun, t, h, y, args):
        """Return the state after a step of a given size."""
        k, x = np.empty((wide, len(y))), np.empty(len(y))
        for s in range(wide - 1):
            stage(fun, s, t, h, y, k, x, args)
        made = np.empty(len(y))
        for i in range(len(y)):
            moved = 0.0
            for s in range(wide - 1):
                moved += a[wide - 1, s] * k[s, i]
            made[i] = y[i] + h * moved
        return made

    return solver(begin, advance, interpolant, p.shape[1]), step


def _one_estimate(weights: np.ndarray) -> Any:
    @within
    def error_norm(k, h, y, x, rtol, atol):
        """Return the norm of h sum_s e_s k_s."""
        total = 0.0
        for i in range(len(y)):
            error = 0.0
            for s in range(len(weights)):
                error += weights[s] * k[s, i]
            total += (h * error / (atol[i] + rtol * max(abs(y[i]), abs(x[i])))) ** 2
        return math.sqrt(total / len(y))

    return error_norm


def _two_estimates(third: np.ndarray, fifth: np.ndarray) -> Any:
    @within
    def error_norm(k, h, y, x, rtol, atol):
        """Return the norm of the estimates of order 5 and 3, combined as Hairer does."""
        total3, total5 = 0.0, 0.0
        for i in range(len(y)):
            error3, error5 = 0.0, 0.0
            for s in range(len(third)):
                error3 += third[s] * k[s, i]
                error5 += fifth[s] * k[s, i]
            scale = atol[i] + rtol * max(abs(y[i]), abs(x[i]))
            total3 += (error3 / scale) ** 2
            total5 += (error5 / scale) ** 2
        if total3 == 0.0 and total5 == 0.0:
            return 0.0
        return abs(h) * total5 / math.sqrt((total5 + 0.01 * total3) * len(y))

    return error_norm


_FIFTH, _THIRD = np.array(_integrate.DOP853.E5), np.array(_integrate.DOP853.E3)

rk23, rk23_step = _explicit(_integrate.RK23, _one_estimate(np.array(_integrate.RK23.E)))
rk45, rk45_step = _explicit(_integrate.RK45, _one_estimate(np.array(_integrate.RK45.E)))
dop853, dop853_step = _explicit(_integrate.DOP853, _two_estimates(_THIRD, _FIFTH))
