"""`scipy.integrate`: `solve_ivp` with derivatives, in both modes and of any order, by explicit Runge-Kutta methods.

SciPy chooses the steps, on plain numbers. Then the same steps are taken with numbers under differentiation: so the
derivative is that of the numbers which are returned, for steps that are constants. (Their choice depends on the
parameters, too, and moves the result by what the tolerances allow; this is no part of the derivative of the solution.)
The value is SciPy's. The derivative is by y0, `args`, the ends of t_span, t_eval, and all that the function reads.
Reverse mode is the adjoint method for these steps, forward mode the variational equation; the tape keeps every step.

Methods are RK45, RK23 and DOP853. Refused under differentiation: implicit methods, events, dense_output. Everything
else in here is SciPy's own.

>>> import dualrev as dr
>>> def decayed(rate):
...     return solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), np.array([1.0]), rtol=1e-8, atol=1e-8).y[0, -1]
>>> dr.value_and_grad(decayed)(2.0)  # exp(-rate) and -exp(-rate), which begin with 0.1353352832
(0.1353352..., -0.1353352...)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import integrate as _integrate

from dualrev.eager.arrays.storage import plain, real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import applied
from dualrev.reading import signature
from dualrev.scipy.watching import Watch

__all__ = ["solve_ivp"]

_METHODS = {name: getattr(_integrate, name) for name in ("RK23", "RK45", "DOP853")}


def __getattr__(name: str) -> Any:
    return getattr(_integrate, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_integrate)})


@functools.wraps(_integrate.solve_ivp)
def solve_ivp(*given: Any, **options: Any) -> Any:
    """The solution of y' = fun(t, y, *args): see the module."""
    bound = signature(_integrate.solve_ivp).bind(*given, **options)
    bound.apply_defaults()
    of = {**{k: v for k, v in bound.arguments.items() if k != "options"}, **bound.arguments["options"]}
    watch = Watch()
    events, jac = of["events"], of.get("jac")  # lists of functions with attributes; SciPy's steps depend on jac alone
    known = watch.options({k: v for k, v in of.items() if k not in ("events", "method")})
    known |= {"events": events, "method": of["method"]} | ({} if jac is None else {"jac": known["jac"]})
    made = _integrate.solve_ivp(**known)
    if not watch.seen or not made.t.size:
        return made
    method = _method(of)
    if not made.success:
        raise SolutionError(of["fun"], f"SciPy's solver says: {made.message.rstrip('.')}")
    steps = made.t if of["t_eval"] is None else _integrate.solve_ivp(**known | {"t_eval": None}).t
    first, last = of["t_span"]
    y = _Replayed(of["fun"], of["args"] or (), method, [first, *steps[1:-1], last], of["y0"]).at(of["t_eval"])
    made.y = made.y + (y - plain(y))
    return made


def _method(of: dict[str, Any]) -> Any:
    """The Runge-Kutta method; UnsupportedError for what has no derivative."""
    method = of["method"]
    name = method if isinstance(method, str) else getattr(method, "__name__", repr(method))
    if method not in (*_METHODS, *_METHODS.values()):
        raise UnsupportedError.call(
            f"scipy.integrate.solve_ivp with method={name!r} of numbers that are being differentiated",
            "its steps are solutions of equations, or nothing is known of them",
            "method='RK45', 'RK23' or 'DOP853'",
        )
    for option, instead in [
        ("events", "the times of interest as t_eval; of an event, the equation that it solves, with dualrev.implicit"),
        ("dense_output", "the times of interest as t_eval"),
    ]:
        if of[option] not in (None, False):
            raise UnsupportedError.call(
                f"scipy.integrate.solve_ivp with {option} of numbers that are being differentiated",
                "what it returns is made of plain numbers",
                instead,
            )
    return _METHODS[name]


class _Replayed:
    """The steps of a Runge-Kutta method between known times."""

    def __init__(self, fun: Any, args: Any, method: Any, times: Sequence[Any], y0: Any) -> None:
        self._method, self._times = method, times
        f = applied(fun)
        self._f: Callable[[Any, Any], Any] = lambda t, y: real_array(f(t, y, *args))
        self.states, self.slopes = [real_array(y0)], []
        slope = self._f(times[0], self.states[0])
        for t, after in itertools.pairwise(times):
            stages = self._stages(t, after, self.states[-1], slope)
            self.slopes.append(stages)
            self.states.append(self.states[-1] + (after - t) * _combined(method.B, stages))
            slope = self._f(after, self.states[-1])
            stages.append(slope)

    def _stages(self, t: Any, after: Any, y: Any, slope: Any) -> list[Any]:
        stages, h = [slope], after - t
        for row, c in zip(self._method.A[1:], self._method.C[1:], strict=True):
            stages.append(self._f(t + c * h, y + h * _combined(row, stages)))
        return stages

    def at(self, t_eval: Any) -> Any:
        """A column for every time: those of the steps, or others between them."""
        if t_eval is None:
            return np.stack(self.states, axis=1)
        known, wanted = np.array([plain(t) for t in self._times]), list(real_array(t_eval))
        forward = 1.0 if known[-1] >= known[0] else -1.0
        places = np.searchsorted(forward * known, [forward * plain(t) for t in wanted]) - 1
        return np.stack([self._between(max(int(k), 0), t) for k, t in zip(places, wanted, strict=True)], axis=1)

    def _between(self, k: int, t: Any) -> Any:
        """The interpolant of a step, at a time."""
        y, stages, h = self.states[k], self.slopes[k], self._times[k + 1] - self._times[k]
        x = (t - self._times[k]) / h
        if not hasattr(self._method, "D"):
            columns = enumerate(self._method.P.T)
            return y + h * sum(x ** (j + 1) * _combined(column, stages) for j, column in columns)
        found = y * 0.0
        for j, part in enumerate(reversed(self._of_order_7(k, h))):
            found = (found + part) * (x if j % 2 == 0 else 1.0 - x)
        return y + found

    def _of_order_7(self, k: int, h: Any) -> list[Any]:
        """The coefficients of DOP853's interpolant, for which it takes more stages."""
        method, t, y = self._method, self._times[k], self.states[k]
        stages, moved = list(self.slopes[k]), self.states[k + 1] - self.states[k]
        for row, c in zip(method.A_EXTRA, method.C_EXTRA, strict=True):
            stages.append(self._f(t + c * h, y + h * _combined(row, stages)))
        first, last = stages[0], self.slopes[k][-1]
        bent = [moved, h * first - moved, 2.0 * moved - h * (last + first)]
        return [*bent, *(h * _combined(row, stages) for row in method.D)]


def _combined(weights: Any, stages: Sequence[Any]) -> Any:
    """The sum of the stages so far, each with its weight."""
    known = [(float(w), k) for w, k in zip(weights, stages, strict=False) if w != 0.0]
    return sum((w * k for w, k in known[1:]), known[0][0] * known[0][1])
