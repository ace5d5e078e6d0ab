"""Initial value problems of numba functions: `solve_ivp` over the compiled methods of dualrev.ode.

The tape records a call as one block with the compiled derivative. For second derivatives on the tape, the same steps
are taken once more with traced numbers and the Python function (dualrev.scipy.runge_kutta_steps).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba.core.dispatcher import Dispatcher
from scipy import integrate as _integrate
from scipy.optimize import OptimizeResult
from scipy.sparse import coo_array

from dualrev import lift, ode
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, real_array, strip
from dualrev.errors import SolutionError
from dualrev.ode.driver import at_fixed_times
from dualrev.ode.events import together
from dualrev.scipy.ivp_events import as_sequence
from dualrev.tree import flatten_leaves

__all__ = ["is_compiled", "is_nested", "solve", "with_time_first"]


_METHODS = {
    method: (lift(solver), lift(at_fixed_times(solver)))
    for classes, solver in [
        (("RK23", _integrate.RK23), ode.rk23),
        (("RK45", _integrate.RK45), ode.rk45),
        (("DOP853", _integrate.DOP853), ode.dop853),
        (("Radau", _integrate.Radau), ode.radau),
    ]
    for method in classes
}
_OPTIONS = {"rtol", "atol", "first_step", "max_step", "jac", "jac_sparsity"}
_MESSAGES = {
    -1: "Required step size is less than spacing between numbers.",
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
}
_LEAST_RTOL = 100.0 * np.finfo(float).eps


def is_compiled(of: dict[str, Any]) -> bool:
    """Whether the compiled methods take these arguments of `solve_ivp`; if not, SciPy's do."""
    known = {"fun", "t_span", "y0", "method", "t_eval", "dense_output", "events", "vectorized", "args"} | _OPTIONS
    return (
        isinstance(of["fun"], Dispatcher)
        and all(isinstance(event, Dispatcher) for event in as_sequence(of["events"]))
        and of["method"] in _METHODS
        and not of["vectorized"]
        and set(of) <= known
        and np.ndim(of.get("rtol", 0.0)) == 0
        and np.ndim(of["y0"]) == 1
        and np.size(of["y0"]) > 0
        and not np.iscomplexobj(of["y0"])
        and plain(of["t_span"][0]) != plain(of["t_span"][1])
        and _has_known_types(of["fun"], of["args"], len(of["y0"]))
    )


def _has_known_types(fun: Dispatcher, args: Any, n: int) -> bool:
    """Whether args are numbers, arrays and tuples, and the right-hand side returns a vector or n equal numbers."""
    leaves, structure = flatten_leaves(tuple(args or ()))
    given = structure.rebuild_leaves([plain(x) if holds_duals(x) or isinstance(x, RealArray) else x for x in leaves])
    try:
        kinds = tuple(map(typeof, given))
    except ValueError:  # numba has no type
        return False
    if not all(map(_is_known, kinds)):
        return False
    _, _, folded, _ = fun.get_call_template((types.float64, types.float64[::1], *kinds), {})
    made = fun.overloads[tuple(folded)].signature.return_type
    if isinstance(made, types.Array):
        return made.ndim == 1 and isinstance(made.dtype, (types.Float, types.Integer))
    return isinstance(made, types.UniTuple) and made.count == n and isinstance(made.dtype, (types.Float, types.Integer))


def _is_known(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_known, kind.types))
    of = kind.dtype if isinstance(kind, types.Array) else kind
    return isinstance(of, (types.Number, types.Boolean))


@functools.lru_cache(maxsize=256)
def with_time_first(f: Any, is_first: bool) -> Any:
    """Return a numba function f(y, t, *args) as one of t and y; anything else as it is."""
    if is_first or not isinstance(f, Dispatcher):
        return f

    @njit
    def fun(t: Any, y: Any, *args: Any) -> Any:
        return f(y, t, *args)

    return fun


def is_nested(*given: Any) -> bool:
    """Whether numbers are traced by a derivative call and by another one around it."""
    leaves = flatten_leaves(given)[0]
    run = innermost(leaves)
    return run is not None and any(holds_duals(strip(x, run)) for x in leaves)


def solve(of: dict[str, Any]) -> Any:
    """Return what `solve_ivp` returns for these arguments; SolutionError if a traced solution failed."""
    t0, t1 = of["t_span"]
    y0, args, events = _vector(of["y0"]), tuple(of["args"] or ()), as_sequence(of["events"])
    if not np.all(np.isfinite(plain(y0))):
        raise ValueError("All components of the initial state `y0` must be finite.")
    t_eval = None if of["t_eval"] is None else _times(of["t_eval"], plain(t0), plain(t1))
    limits, directions = _attributes(events)
    whole, short = _METHODS[of["method"]]
    problem = of["fun"], (_float(t0), _float(t1)), y0, t_eval, args
    options = (
        *_tolerances(of.get("rtol", 1e-3), of.get("atol", 1e-6), len(y0)),
        *_step_sizes(of.get("max_step", np.inf), of.get("first_step"), abs(plain(t1) - plain(t0))),
    )
    band = _band(of.get("jac_sparsity"), len(y0))
    if events or of["dense_output"] or any(map(holds_duals, (t0, t1, t_eval))):
        more = together(events) if events else None, limits, directions, True if of["dense_output"] else None
        made = whole(*problem, *options, *more, band)
    else:
        t, y, status, *counts = short(*problem, *options, band)
        made = ode.Solution(t, y, status, None, None, None, None, None, None, *counts)
    if made.status < 0 and any(map(holds_duals, flatten_leaves((y0, args, t0, t1, t_eval))[0])):
        raise SolutionError(of["fun"], f"the solver says: {_MESSAGES[-1].rstrip('.')}")
    t_events = y_events = None
    if of["events"] is not None:
        chosen = [np.flatnonzero(made.event_index == k) for k in range(len(events))]
        t_events = [made.event_t[k] for k in chosen]
        y_events = [made.event_y.T[k] if len(k) else np.empty(0) for k in chosen]
    return OptimizeResult(
        t=made.t,
        y=made.y,
        sol=StepPolynomials(made, t1) if of["dense_output"] else None,
        t_events=t_events,
        y_events=y_events,
        nfev=made.nfev,
        njev=made.njev,
        nlu=made.nlu,
        status=made.status,
        message=_MESSAGES[made.status],
        success=made.status >= 0,
    )


class StepPolynomials:
    """Solution between its steps: `sol(t)` has shape (n,) for a number, and (n, m) for m times."""

    def __init__(self, made: ode.Solution, last: Any) -> None:
        self._starts, self._begins, self._sizes = made.starts, made.steps[:, 0], made.steps[:, 1]
        end = made.event_t[-1] if made.status == 1 else last
        self.ts = np.concatenate([self._begins, np.reshape(real_array(end), (1,))])
        self._coefficients = made.coefficients.reshape((len(made.steps), -1, made.starts.shape[1]))
        self.t_min, self.t_max = min(self.ts[0], self.ts[-1]), max(self.ts[0], self.ts[-1])

    def __call__(self, t: Any) -> Any:
        """Evaluate the polynomials of the steps in which the times lie; the first and the last go on outside."""
        times = real_array(t)
        flat = np.reshape(times, (-1,))
        ends, wanted = plain(self.ts), plain(flat)
        sign = 1.0 if ends[-1] >= ends[0] else -1.0
        k = np.clip(np.searchsorted(sign * ends, sign * wanted) - 1, 0, len(ends) - 2)
        x = ((flat - self._begins[k]) / self._sizes[k])[:, None]
        y = 0.0
        for j in range(self._coefficients.shape[1] - 1, -1, -1):
            y = (y + self._coefficients[k, j]) * x
        y = (self._starts[k] + y).T
        return y if times.ndim else y[:, 0]


def _float(x: Any) -> Any:
    return x if holds_duals(x) else float(x)


def _vector(x: Any) -> Any:
    x = real_array(x)
    return x if isinstance(x, RealArray) and holds_duals(x) else np.array(plain(x), float)


def _times(t_eval: Any, t0: float, t1: float) -> Any:
    """Return the times as a vector; raise SciPy's errors for wrong ones."""
    times = _vector(t_eval) if np.ndim(t_eval) == 1 else None
    if times is None:
        raise ValueError("`t_eval` must be 1-dimensional.")
    known = np.asarray(plain(times))
    if np.any(known < min(t0, t1)) or np.any(known > max(t0, t1)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any(np.diff(known) * (1.0 if t1 > t0 else -1.0) <= 0.0):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return times


def _tolerances(rtol: Any, atol: Any, n: int) -> tuple[float, Any]:
    """Return both tolerances; raise SciPy's errors for wrong ones."""
    atol = np.asarray(atol, float)
    if np.any(np.asarray(rtol) < _LEAST_RTOL):
        warnings.warn(f"`rtol` is too low, setting to {_LEAST_RTOL}", stacklevel=4)
    if atol.ndim > 0 and atol.shape != (n,):
        raise ValueError("`atol` has wrong shape.")
    if np.any(atol < 0):
        raise ValueError("`atol` must be positive.")
    return float(max(rtol, _LEAST_RTOL)), atol[()]


def _step_sizes(max_step: float, first_step: float | None, interval: float) -> tuple[float, float]:
    """Return the largest and the first step, 0 for none; raise SciPy's errors for wrong ones."""
    if max_step <= 0:
        raise ValueError("`max_step` must be positive.")
    if first_step is not None and first_step <= 0:
        raise ValueError("`first_step` must be positive.")
    if first_step is not None and first_step > interval:
        raise ValueError("`first_step` exceeds bounds.")
    return float(max_step), float(first_step or 0.0)


def _attributes(events: Sequence[Any]) -> tuple[Any, Any]:
    """Return how often each event may occur before the solver stops, and its direction."""
    if not events:
        return None, None
    limits = [float(getattr(event, "terminal", 0) or np.inf) for event in events]
    if any(limit != np.inf and (limit != int(limit) or limit < 0) for limit in limits):
        raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
    return np.array(limits), np.array([float(getattr(event, "direction", 0)) for event in events])


def _band(sparsity: Any, n: int) -> tuple[int, int] | None:
    """Return the numbers of diagonals below and above the main one that a pattern of the Jacobian has."""
    if sparsity is None:
        return None
    pattern = coo_array(sparsity)
    if pattern.shape != (n, n):
        raise ValueError(f"`jac_sparsity` must have shape {(n, n)}, got {pattern.shape}.")
    away = pattern.coords[1][pattern.data != 0] - pattern.coords[0][pattern.data != 0]
    return int(max(0, *-away, 0)), int(max(0, *away, 0))
