"""Events and interpolants of `solve_ivp` on the tape, for functions that are not numba's.

SciPy finds the events, on plain numbers. The time of an event solves event(t, y(t)) = 0, where y is the interpolant of
its step; the implicit function theorem (dualrev.implicit) gives it the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.implicit.solution import applied, attach
from dualrev.scipy.runge_kutta_steps import Steps
from dualrev.scipy.watching import Watch

__all__ = ["Interpolant", "as_sequence", "event_times", "plain_events", "whole_steps", "with_value"]

_OPTIONS = ("rtol", "atol", "first_step", "max_step", "jac_sparsity")


def as_sequence(events: Any) -> Sequence[Any]:
    """Return events as SciPy takes them, one function or some, as a sequence."""
    return () if events is None else (events,) if callable(events) else tuple(events)


def plain_events(events: Any, watch: Watch) -> Any:
    """Return the events with plain values, and with SciPy's attributes."""
    if events is None:
        return None
    made = []
    for event in as_sequence(events):
        f = watch.plain(event)
        vars(f).update({name: getattr(event, name) for name in ("terminal", "direction") if hasattr(event, name)})
        made.append(f)
    return made


def whole_steps(method: Any, known: dict[str, Any], end: float) -> np.ndarray:
    """Return the ends of SciPy's steps up to the one in which a terminal event is, and not cut off there."""
    fun, jac, args = known["fun"], known.get("jac"), known["args"] or ()
    options = {name: known[name] for name in _OPTIONS if name in known}
    if jac is not None:
        options["jac"] = (lambda t, y: jac(t, y, *args)) if callable(jac) else jac
    first, last = known["t_span"]
    solver = method(lambda t, y: fun(t, y, *args), first, known["y0"], last, vectorized=known["vectorized"], **options)
    ends = [first]
    while (ends[-1] - end) * solver.direction < 0.0:
        solver.step()
        ends.append(solver.t)
    return np.array(ends)


def event_times(events: Sequence[Any], found: Sequence[np.ndarray], steps: Steps, args: tuple[Any, ...]) -> list[Any]:
    """Return the times of each event, with derivatives."""
    made = []
    for event, times in zip(events, found, strict=True):
        f = applied(event)

        def value(t: Any, f: Any = f) -> Any:
            """Return the value that is 0 at the event."""
            return f(t, steps.at([t])[:, 0], *args)

        made.append(with_value(times, real_array([attach(value, float(t)) for t in times])))
    return made


def with_value(value: np.ndarray, traced: Any) -> Any:
    """Return SciPy's value with the derivative of traced numbers, which differ from it by rounding."""
    return value + (traced - plain(traced))


class Interpolant:
    """SciPy's solution between its steps, with derivatives: `sol(t)` has shape (n,), or (n, m) for m times."""

    def __init__(self, sol: Any, steps: Steps, times: Any) -> None:
        self._sol, self._steps, self.ts = sol, steps, times
        self.t_min, self.t_max = min(times[0], times[-1]), max(times[0], times[-1])

    def __call__(self, t: Any) -> Any:
        """Evaluate the interpolants of the steps in which the times lie; the first and the last go on outside."""
        times = real_array(t)
        y = self._steps.at(np.reshape(times, (-1,)))
        return with_value(self._sol(plain(times)), y if plain(times).ndim else y[:, 0])
