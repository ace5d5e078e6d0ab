"""The loop over steps that all methods share: outputs, events, and the end."""

from __future__ import annotations

from typing import Any

import numpy as np

import dualrev as dr
from dualrev.ode.compiling import solving, within
from dualrev.ode.control import set_row, slope
from dualrev.ode.events import any_crosses, event_times
from dualrev.ode.solution import Solution, between

__all__ = ["at_fixed_times", "solver"]


@within
def _resized(a, n):
    """Copy a vector, cut or extended to n elements; new elements are undefined."""
    made = np.empty(n, a.dtype)
    for i in range(min(n, len(a))):
        made[i] = a[i]
    return made


@within
def _with_rows(a, n):
    """Copy a matrix, cut or extended to n rows; new rows are undefined."""
    made = np.empty((n, a.shape[1]))
    for i in range(min(n, len(a))):
        for j in range(a.shape[1]):
            made[i, j] = a[i, j]
    return made


@within
def _transposed(a, n):
    """Return the transpose of the first n rows of a matrix."""
    made = np.empty((a.shape[1], n))
    for i in range(n):
        for j in range(a.shape[1]):
            made[j, i] = a[i, j]
    return made


@within
def _check_times(t_eval, t, last):
    """Raise an error unless the times are in the order of the integration and within its ends."""
    direction, before = (1.0 if last >= t else -1.0), t
    for i in range(len(t_eval)):
        if (
            direction * (t_eval[i] - before) < 0.0
            or direction * (last - t_eval[i]) < 0.0
            or (i and t_eval[i] == before)
        ):
            raise ValueError("t_eval must be sorted and lie within t_span: write np.linspace(t_span[0], t_span[1], m)")
        before = t_eval[i]


def solver(begin: Any, advance: Any, interpolant: Any, order: int) -> Any:
    """Return the numba function that solves initial value problems with a method.

    begin(...) returns the size of the first step and the method's memory. advance(...) takes one step, with smaller
    sizes until the error is small enough. interpolant(...) returns the coefficients of the polynomial of a step.
    """

    @solving
    def solve(
        fun,
        t_span,
        y0,
        t_eval=None,
        args=(),
        rtol=1e-3,
        atol=1e-6,
        max_step=np.inf,
        first_step=0.0,
        events=None,
        max_events=None,
        directions=None,
        dense=None,
        band=None,
    ):
        t, last = t_span
        n = len(y0)
        if np.isnan(t) or np.isnan(last):
            raise ValueError("t_span must hold two numbers, and one of them is NaN")
        y = _resized(y0, n)
        rtol, max_step, first_step = dr.stop_gradient(rtol), dr.stop_gradient(max_step), dr.stop_gradient(first_step)
        scales = np.zeros(n) + dr.stop_gradient(atol)
        f = slope(t, y, fun, args)
        counts = np.zeros(3, np.int64)
        size, memory = begin(
            fun,
            dr.stop_gradient(t),
            dr.stop_gradient(y),
            dr.stop_gradient(f),
            dr.stop_gradient(last),
            dr.stop_gradient(args),
            rtol,
            scales,
            max_step,
            first_step,
            band,
            counts,
        )
        status, count, passed, found = 0, 0, 0, 0
        if t_eval is None:
            times, states = np.empty(16), np.empty((16, n))
            times[0] = t
            set_row(states, 0, y)
            count = 1
        else:
            _check_times(dr.stop_gradient(t_eval), dr.stop_gradient(t), dr.stop_gradient(last))
            times, states = _resized(t_eval, len(t_eval)), np.empty((len(t_eval), n))
        steps, starts, pieces = np.empty((0, 2)), np.empty((0, n)), np.empty((0, n))
        if dense is not None:
            steps, starts, pieces = np.empty((16, 2)), np.empty((16, n)), np.empty((16 * order, n))
        which, event_t, event_y = np.empty(0, np.int64), np.empty(0), np.empty((0, n))
        if events is not None:
            values = dr.stop_gradient(events(t, y, *args))
            seen = np.zeros(len(values), np.int64)
            limits, signs = np.full(len(values), np.inf), np.zeros(len(values))
            if max_events is not None:
                limits = _resized(max_events, len(values))
            if directions is not None:
                signs = _resized(directions, len(values))
            which, event_t, event_y = np.empty(4, np.int64), np.empty(4), np.empty((4, n))
        if t == last:
            while count < len(times) and count < (2 if t_eval is None else len(times)):
                times[count] = last
                set_row(states, count, y)
                count += 1
        while t != last and status == 0:
            after, x, f_after, k, size = advance(
                fun, t, last, y, f, args, size, rtol, scales, max_step, band, memory, counts
            )
            if size < 0.0:
                status = -1
                break
            h = after - t
            end = after
            if dense is not None:
                if passed == len(steps):
                    steps, starts = _with_rows(steps, 2 * passed), _with_rows(starts, 2 * passed)
                    pieces = _with_rows(pieces, 2 * passed * order)
                steps[passed, 0], steps[passed, 1] = t, h
                set_row(starts, passed, y)
                q = interpolant(fun, t, h, y, x, k, args, counts)
                for j in range(order):
                    set_row(pieces, passed * order + j, q[j])
                passed += 1
            if events is not None:
                before, values = values, dr.stop_gradient(events(after, x, *args))
                if any_crosses(before, values, signs):
                    q = interpolant(fun, t, h, y, x, k, args, counts)
                    crossed, roots = event_times(events, before, values, signs, t, h, y, q, args)
                    for e in range(len(crossed)):
                        if found == len(which):
                            which, event_t = _resized(which, 2 * found), _resized(event_t, 2 * found)
                            event_y = _with_rows(event_y, 2 * found)
                        at = between(q, (roots[e] - t) / h, y)
                        which[found] = crossed[e]
                        event_t[found] = roots[e]
                        set_row(event_y, found, at)
                        found += 1
                        seen[crossed[e]] += 1
                        if seen[crossed[e]] >= limits[crossed[e]]:
                            status, end, x = 1, roots[e], at
                            break
            if t_eval is None:
                if count == len(times):
                    times, states = _resized(times, 2 * count), _with_rows(states, 2 * count)
                times[count] = end
                set_row(states, count, x)
                count += 1
            elif count < len(times) and (end - times[count]) * h >= 0.0:
                q = interpolant(fun, t, h, y, x, k, args, counts)
                while count < len(times) and (end - times[count]) * h >= 0.0:
                    set_row(states, count, between(q, (times[count] - t) / h, y))
                    count += 1
            t, y, f = end, x, f_after
        return Solution(
            _resized(times, count),
            _transposed(states, count),
            status,
            _resized(which, found),
            _resized(event_t, found),
            _transposed(event_y, found),
            _with_rows(steps, passed),
            _with_rows(starts, passed),
            _with_rows(pieces, passed * order),
            counts[0],
            counts[1],
            counts[2],
        )

    return solve


def at_fixed_times(solver: Any) -> Any:
    """Return a solver for constant times, without events, with fewer results: its derivative takes less time."""
    solver = within(solver)

    @solving
    def solve(fun, t_span, y0, t_eval, args, rtol, atol, max_step, first_step, band):
        span = dr.stop_gradient(t_span)
        made = solver(fun, span, y0, t_eval, args, rtol, atol, max_step, first_step, None, None, None, None, band)
        return made.t, made.y, made.status, made.nfev, made.njev, made.nlu

    return solve
