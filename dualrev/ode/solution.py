"""What a solver returns, and the polynomials between its steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualrev.ode.compiling import within

__all__ = ["Solution", "between"]


class Solution(NamedTuple):
    """Solution of an initial value problem.

    t, of shape (m,), are the times, and y, of shape (n, m), the states there. status is 0 at the end of t_span, 1 after
    a terminal event, and -1 if the steps became too small. The events in the order of time have their index, time and
    state in event_index (e,), event_t (e,) and event_y (n, e). nfev counts evaluations of fun, njev of its
    Jacobian, nlu factorisations, for control of the steps only. With dense=True, step k begins at steps[k, 0] and has
    the size steps[k, 1]; the solution there is starts[k] + the sum of coefficients[k * order + j] x**(j + 1), where x
    is the part of the step.
    """

    t: Any
    y: Any
    status: int
    event_index: Any
    event_t: Any
    event_y: Any
    steps: Any
    starts: Any
    coefficients: Any
    nfev: int
    njev: int
    nlu: int


@within
def between(q, x, y):
    """Return y + q[0] x + q[1] x**2 + ..., a vector."""
    made = np.zeros(len(y))
    for j in range(len(q) - 1, -1, -1):
        for i in range(len(y)):
            made[i] = (made[i] + q[j, i]) * x
    for i in range(len(y)):
        made[i] += y[i]
    return made
