"""`scipy.integrate`: differential equations and integrals with derivatives, in both modes and of any order.

`solve_ivp` of a numba function calls the compiled methods of `dualrev.ode`, which take SciPy's steps; the tape records
the call as one block with the compiled derivative. For any other function, SciPy chooses the steps, on plain numbers.
Then the same steps are taken with traced numbers, and are constants: the derivative is that of the returned numbers for
these steps. (The choice of steps depends on the parameters, too, and moves the result by as much as the tolerances
allow; that is no part of the derivative of the solution.) The value is SciPy's. Differentiated are y0, `args`, the ends
of t_span, t_eval, and all traced numbers that the function reads. Reverse mode is the adjoint method for these steps,
forward mode the variational equation; the tape keeps every step.

Methods are RK45, RK23 and DOP853, and Radau for stiff equations: its steps are solutions of equations, which get their
derivative from dualrev.implicit, and so do the times of events. BDF and LSODA raise UnsupportedError for traced
arguments.

`odeint` is LSODA, whose steps depend on earlier ones. Its value is SciPy's; its derivative is that of DOP853 for the
same tolerances, or of Radau where LSODA found the equation stiff. `solve_bvp` has SciPy's solution, with the derivative
of the collocation equations on SciPy's mesh.

`quad`, `quad_vec`, `fixed_quad`, `dblquad`, `tplquad` and `nquad` are differentiated under the integral sign, by the
limits, `args` and all traced numbers that the function reads. The derivative is an integral by the same method, with
the same tolerances. It is right where the function is continuous in these numbers: take a point where it jumps for a
limit. `trapezoid`, `simpson`, `romb`, `cumulative_trapezoid` and `cumulative_simpson` integrate samples, and are
differentiated by the samples and by their abscissas. Every other name is SciPy's own.

>>> import dualrev as dr
>>> def decayed(rate):
...     return solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), np.array([1.0]), rtol=1e-8, atol=1e-8).y[0, -1]
>>> dr.value_and_grad(decayed)(2.0)  # exp(-rate) and -exp(-rate), which begin with 0.1353352832
(0.1353352..., -0.1353352...)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate as _integrate

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.implicit.solution import applied, constant
from dualrev.scipy.boundary_value import solve_bvp
from dualrev.scipy.calls import like
from dualrev.scipy.compiled_ivp import is_compiled, is_nested, solve, with_time_first
from dualrev.scipy.ivp_events import Interpolant, as_sequence, event_times, plain_events, whole_steps, with_value
from dualrev.scipy.quadrature import dblquad, fixed_quad, nquad, quad, quad_vec, tplquad
from dualrev.scipy.runge_kutta_steps import Explicit, Radau, Steps
from dualrev.scipy.samples import cumulative_simpson, cumulative_trapezoid, romb, simpson, trapezoid
from dualrev.scipy.steppers import ode
from dualrev.scipy.watching import Watch

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "ode",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_bvp",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]

_METHODS = {name: getattr(_integrate, name) for name in ("RK23", "RK45", "DOP853", "Radau")}
_STIFF, _TOLERANCE = 2, 1.49012e-8  # what odeint reports of stiff equations; its tolerances, if none are given


def __getattr__(name: str) -> Any:
    return getattr(_integrate, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_integrate)})


@like(_integrate.solve_ivp)
def solve_ivp(*given: Any, **options: Any) -> Any:
    """Solution of y' = fun(t, y, *args), differentiated in y0, args, t_span, t_eval: see `dualrev.scipy.integrate`."""
    bound = signature(_integrate.solve_ivp).bind(*given, **options)
    bound.apply_defaults()
    of = {**{k: v for k, v in bound.arguments.items() if k != "options"}, **bound.arguments["options"]}
    if is_compiled(of) and not is_nested(of["t_span"], of["y0"], of["t_eval"], of["args"]):
        return solve(of)
    watch = Watch()
    others = {k: v for k, v in of.items() if k not in ("events", "method")}  # functions with attributes, a class
    known = {**watch.options(others), "method": of["method"], "events": plain_events(of["events"], watch)}
    made = _integrate.solve_ivp(**known)
    if not watch.seen or not len(made.t):
        return made
    method = _method(of)
    if not made.success:
        raise SolutionError(of["fun"], f"SciPy's solver says: {made.message.rstrip('.')}")
    ended = made.status == 1  # by a terminal event
    if ended:
        end = max((t[-1] for t in made.t_events if len(t)), key=lambda t: abs(t - known["t_span"][0]))
        steps = whole_steps(method, known, end)
    elif of["t_eval"] is None:
        steps = made.t
    else:
        steps = _integrate.solve_ivp(**known | {"t_eval": None, "events": None, "dense_output": False}).t
    watch.forget()
    first, last = of["t_span"]
    args = () if of["args"] is None else tuple(of["args"])
    times = real_array([first, *steps[1:-1], steps[-1] if ended else last])
    taken = _steps(method, _slope(of["fun"], of["vectorized"]), args, times, of["y0"])
    if of["events"] is not None:
        known_times = made.t_events
        made.t_events = event_times(as_sequence(of["events"]), known_times, taken, args)
        both = zip(made.t_events, made.y_events, strict=True)
        made.y_events = [with_value(y, taken.at(t).T) if len(t) else y for t, y in both]
    if ended:
        roots = zip(as_sequence(of["events"]), made.t_events, known_times, strict=True)
        last = next(t[-1] for event, t, found in roots if getattr(event, "terminal", None) and end in found[-1:])
    ends = real_array([*times[:-1], last])
    t = ends if of["t_eval"] is None else real_array(of["t_eval"])[: len(made.t)]
    y = taken.at(t if of["t_eval"] is not None or ended else None)
    made.t, made.y = with_value(made.t, t), with_value(made.y, y)
    if of["dense_output"]:
        made.sol = Interpolant(made.sol, taken, ends)
    return made


@like(_integrate.odeint)
def odeint(*given: Any, **options: Any) -> Any:
    """Solution of y' = func(y, t, *args), differentiated in y0, t and args: see `dualrev.scipy.integrate`."""
    bound = signature(_integrate.odeint).bind(*given, **options)
    bound.apply_defaults()
    of, watch = bound.arguments, Watch()
    known = watch.options(of)
    made = _integrate.odeint(**known)
    if not watch.seen:
        return made
    value, report = made if of["full_output"] else _integrate.odeint(**known | {"full_output": True})
    if not report["message"].startswith(("Integration successful", "Nothing was done; the integration time was 0")):
        raise SolutionError(of["func"], f"SciPy's solver says: {report['message'].rstrip('.')}")
    if of["tcrit"] is not None:
        raise UnsupportedError.call(
            "scipy.integrate.odeint with tcrit of numbers that are being differentiated",
            "its derivative is that of another method, which steps over these times",
            "a call for each piece between them",
        )

    f = applied(of["func"])

    def fun(t: Any, y: Any, *args: Any) -> Any:
        """Return the slope, with the time first."""
        return f(t, y, *args) if of["tfirst"] else f(y, t, *args)

    method = _METHODS["Radau" if _STIFF in report["mused"] else "DOP853"]
    t, args = of["t"], of["args"]
    problem = {
        **dict.fromkeys(("t_eval", "events", "dense_output", "vectorized")),
        "fun": with_time_first(of["func"], of["tfirst"]),
        "t_span": (t[0], t[-1]),
        "y0": of["y0"],
        "t_eval": t,
        "method": method,
        "args": args,
        "max_step": of["hmax"] or np.inf,
        **{name: _TOLERANCE if known[name] is None else known[name] for name in ("rtol", "atol")},
    }
    in_order = np.all(np.diff(known["t"]) > 0.0) or np.all(np.diff(known["t"]) < 0.0)
    if in_order and is_compiled(problem) and not is_nested(of["y0"], t, args):
        watch.forget()
        y = solve(problem).y.T
        value = value + (y - plain(y))
        return (value, report) if of["full_output"] else value
    steps = _integrate.solve_ivp(
        watch.plain(fun),
        (known["t"][0], known["t"][-1]),
        value[0],
        method,
        args=constant(args),
        max_step=of["hmax"] or np.inf,
        **{name: _TOLERANCE if known[name] is None else known[name] for name in ("rtol", "atol")},
    )
    watch.forget()
    times = real_array([t[0], *steps.t[1:-1], t[-1]])
    y = _steps(method, _slope(fun, False), args, times, np.ravel(real_array(of["y0"]))).at(t).T
    value = value + (y - plain(y))
    return (value, report) if of["full_output"] else value


def _steps(method: Any, f: Any, args: tuple[Any, ...], times: Any, y0: Any) -> Steps:
    kind: Any = Radau if method is _integrate.Radau else Explicit
    made: Steps = kind(method, f, args, list(times), y0)
    return made


def _slope(fun: Any, vectorized: bool) -> Any:
    """Return fun as a function of t, of y, a vector, and of args."""
    f = applied(fun)

    def slope(t: Any, y: Any, args: Any) -> Any:
        """Return the slope as a new vector of the shape of y."""
        # a copy, for functions that write what they return into the same array each time
        return np.reshape(real_array(f(t, y[:, None] if vectorized else y, *args)), y.shape).copy()

    return slope


def _method(of: dict[str, Any]) -> Any:
    """Return the Runge-Kutta method; UnsupportedError if the options have no derivative."""
    method = of["method"]
    name = method if isinstance(method, str) else getattr(method, "__name__", repr(method))
    if method not in (*_METHODS, *_METHODS.values()):
        raise UnsupportedError.call(
            f"scipy.integrate.solve_ivp with method={name!r} of numbers that are being differentiated",
            "its steps depend on those before, or nothing is known of them",
            "method='Radau', if the equation is stiff, or 'RK45', 'RK23' or 'DOP853'",
        )
    return _METHODS[name]
