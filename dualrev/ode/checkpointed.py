"""The explicit methods in little memory: reverse mode keeps the square root of the number of steps.

    rk23  rk45  dop853

First the solver finds the times of the steps, as a constant. Then these steps are taken again, as a loop with
checkpoints (`dualrev.checkpoint`): its derivative keeps some states and all times, and takes the steps again. Steps
end at the times of t_eval. A solution takes twice as long as without checkpoints, and its gradient about twice, too.

    states = rk45(fun, (t0, t1), y0, t_eval, args=(), rtol=1e-3, atol=1e-6, max_step=inf)

The result is y at t_eval, of shape (n, m), with NaN from the first time that the solver does not reach. The times are
constants.

>>> import numpy as np
>>> from numba import njit
>>> import dualrev as dr
>>> @njit
... def decay(t, y, rate):
...     return -rate * y
>>> @njit
... def remaining(rate):
...     return rk45(decay, (0.0, 1.0), np.ones(1), np.ones(1), (rate,), 1e-9, 1e-9)[0, 0]
>>> round(dr.grad(remaining)(2.0), 8)
-0.13533528
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dualrev as dr
from dualrev.ode import explicit
from dualrev.ode.compiling import solving, within

__all__ = ["dop853", "rk23", "rk45"]

_LEVELS = 2  # of blocks of steps


def _checkpointed(solver: Any, step: Any) -> Any:
    """Return the solver that takes its steps twice, the second time with checkpoints."""

    @within
    def known_step(k, y, fun, times, args):
        return step(fun, times[k], times[k + 1] - times[k], y, args)

    take = dr.checkpoint(known_step, loop=_LEVELS)

    @solving
    def solve(fun, t_span, y0, t_eval, args=(), rtol=1e-3, atol=1e-6, max_step=np.inf):
        t, _ = dr.stop_gradient(t_span)
        outputs, constants, y = dr.stop_gradient(t_eval), dr.stop_gradient(args), y0 + 0.0
        states = np.full((len(y), len(outputs)), np.nan)
        for j in range(len(outputs)):
            made = solver(fun, (t, outputs[j]), dr.stop_gradient(y), None, constants, rtol, atol, max_step)
            times = dr.stop_gradient(made.t)
            if made.status < 0:
                break
            y = take(len(times) - 1, y, fun, times, args)
            for i in range(len(y)):
                states[i, j] = y[i]
            t = outputs[j]
        return states

    return solve


rk23 = _checkpointed(explicit.rk23, explicit.rk23_step)
rk45 = _checkpointed(explicit.rk45, explicit.rk45_step)
dop853 = _checkpointed(explicit.dop853, explicit.dop853_step)
