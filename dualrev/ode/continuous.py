"""Continuous adjoint: solvers whose derivative is the solution of the adjoint equations, in little memory.

    rk23  rk45  dop853    numba functions (fun, t_span, y0, t_eval, args, rtol, atol); they return y, of shape (n, m)

Reverse mode keeps y at the m times t_eval, and nothing of the steps between. From the last of these times to the first
it solves each interval again, and then the adjoint equations backwards, with the same method and tolerances:

    a' = -(df/dy)^T a        a is the cotangent of y; at each time of t_eval, that of the output is added
    g' = -(df/dargs)^T a     g at the beginning is the cotangent of args

The state in the adjoint equations is the interpolant of the steps. A long interval of N steps is divided, so that the
steps of one part and the first states of about sqrt(N) parts are in memory. The derivative is that of the exact
solution but for the tolerances, "optimise, then discretise", while the solvers in dualrev.ode have the exact derivative
of their steps. Times and tolerances are constants: to differentiate with respect to them raises UnsupportedError, and
so do forward mode and second derivatives. The solvers in dualrev.ode have all of these.

Source: L. Pontryagin et al., "The Mathematical Theory of Optimal Processes", 1962; R. Chen et al., "Neural Ordinary
Differential Equations", 2018.

>>> import numpy as np
>>> from numba import njit
>>> import dualrev as dr
>>> @njit
... def decay(t, y, rate):
...     return -rate * y
>>> @njit
... def remaining(rate):
...     return rk45(decay, (0.0, 1.0), np.ones(1), np.array([1.0]), (rate,), 1e-9, 1e-9)[0, 0]
>>> value, slope = dr.value_and_grad(remaining)(2.0)
>>> round(value, 6), round(slope, 6)  # exp(-rate) and -exp(-rate)
(0.135335, -0.135335)
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import dualrev as dr
from dualrev.ode import explicit
from dualrev.ode.compiling import solving, within
from dualrev.ode.control import set_row
from dualrev.ode.nested_args import cotangents, put, size
from dualrev.ode.solution import between

__all__ = ["dop853", "rk23", "rk45"]

_EVALUATIONS = 256  # of fun: an interval that takes no more is not divided


@within
def _state(t, steps, starts, coefficients):
    """Return the state at a time, on the interpolant of the step in which it lies."""
    direction = 1.0 if steps[0, 1] >= 0.0 else -1.0
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        if direction * (t - steps[middle, 0]) >= 0.0:
            low = middle
        else:
            high = middle
    order = len(coefficients) // len(steps)
    pieces = coefficients[low * order : (low + 1) * order]
    return between(pieces, (t - steps[low, 0]) / steps[low, 1], starts[low])


@within
def _right_hand_side(t, y, args, fun):
    """Return fun(t, y, *args) as a new vector, as `slope` does, which calls _adjoint: numba forbids the recursion."""
    f = np.empty((1, len(y)))
    set_row(f, 0, fun(t, y, *args))
    return f[0]


@within
def _adjoint(t, z, args, steps, starts, coefficients, fun):
    """Return the slopes of the adjoint equations; z has the n numbers of a, then those of g."""
    n = starts.shape[1]
    y = _state(t, steps, starts, coefficients)
    _, pull = dr.vjp(_right_hand_side, t, y, args, fun)
    _, of_y, of_args, _ = pull(z[:n])
    made = np.empty(len(z))
    for i in range(n):
        made[i] = of_y[i]
    put(of_args, made, n)
    for i in range(len(z)):
        made[i] = -made[i]
    return made


def _continuous(solver: Any) -> Any:
    """Return a solver with the continuous adjoint for its derivative."""
    solver = within(solver)

    @within
    def checked(fun, t_span, y0, t_eval, args, rtol, atol, dense=None):
        """Solve, and raise an error if the steps become too small."""
        made = solver(fun, t_span, y0, t_eval, args, rtol, atol, np.inf, 0.0, None, None, None, dense)
        if made.status < 0:
            raise ArithmeticError("the steps of the solver became too small: the solution may be infinite")
        return made

    @within
    def backwards(fun, t, last, y, a, args, rtol, atol, g):
        """Return the cotangent of the state at t, from that at the time last; add that of args to g."""
        n = len(y)
        scale = np.max(np.abs(a))
        if t == last or scale == 0.0:
            return a
        made = checked(fun, (t, last), y, np.array([last]), args, rtol, atol, True)
        # the equations are linear in a: a of the size 1 makes atol mean the same for every size
        z = np.zeros(n + len(g))
        for i in range(n):
            z[i] = a[i] / scale
        given = args, made.steps, made.starts, made.coefficients, fun  # numba warns where a tuple begins with fun
        found = checked(_adjoint, (last, t), z, np.array([t]), given, rtol, np.min(atol)).y
        for i in range(len(g)):
            g[i] += scale * found[n + i, 0]
        return scale * found[:n, 0]

    @within
    def through(fun, t, last, y, a, args, rtol, atol, g):
        """Do the same in parts, the last one first."""
        if t == last:
            return a
        count = checked(fun, (t, last), y, np.array([last]), args, rtol, atol).nfev
        parts = 1 + int(math.sqrt(count / _EVALUATIONS)) if count > _EVALUATIONS else 1
        times = np.linspace(t, last, parts + 1)
        states = np.empty((len(y), parts))
        if parts > 1:
            states[:, 1:] = checked(fun, (t, times[-2]), y, times[1:-1], args, rtol, atol).y
        states[:, 0] = y
        for k in range(parts - 1, -1, -1):
            a = backwards(fun, times[k], times[k + 1], states[:, k].copy(), a, args, rtol, atol, g)
        return a

    @partial(dr.custom_vjp, nondiff_argnums=(0, 1, 3, 5, 6))
    @solving
    def solve(fun, t_span, y0, t_eval, args, rtol, atol):
        return checked(fun, t_span, y0, t_eval, args, rtol, atol).y

    @within
    def forward(fun, t_span, y0, t_eval, args, rtol, atol):
        y = checked(fun, t_span, y0, t_eval, args, rtol, atol).y
        return y, (y0, args, y.copy())

    @within
    def backward(fun, t_span, t_eval, rtol, atol, residuals, ct):
        y0, args, y = residuals
        scales = np.zeros(len(y0)) + atol
        a, g = np.zeros(len(y0)), np.zeros(size(args))
        for k in range(len(t_eval) - 1, -1, -1):
            a = a + ct[:, k]
            if k > 0:
                a = through(fun, t_eval[k - 1], t_eval[k], y[:, k - 1].copy(), a, args, rtol, scales, g)
            else:
                a = through(fun, t_span[0], t_eval[k], y0.copy(), a, args, rtol, scales, g)
        return a, cotangents(args, g, 0)

    solve.defvjp(forward, backward)
    return solve


rk23, rk45, dop853 = _continuous(explicit.rk23), _continuous(explicit.rk45), _continuous(explicit.dop853)
