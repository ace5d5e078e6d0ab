"""Events: roots of functions of the solution within a step, and the derivative of their times.

Without derivatives, Brent's method finds the time t* where g(t, y(t)) = 0 on the interpolant y. Its derivative is that
of steps of Newton's method, t - g(t, y(t)) / s with a constant slope s, from t*: each step adds one order of
derivatives, and moves the value by no more than rounding does.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import njit

import dualrev as dr
from dualrev.ode.compiling import within
from dualrev.ode.solution import between

__all__ = ["any_crosses", "event_times", "together"]

_ORDERS = 4  # of derivatives that event times have
_EPS = np.finfo(float).eps


@functools.lru_cache(maxsize=256)
def together(events: tuple[Any, ...]) -> Any:
    """Return the numba function of several events, whose value is a vector with the value of each."""
    first, *others = events

    @njit
    def one(t, y, *args):
        return np.array([float(first(t, y, *args))])

    if not others:
        return one
    rest = together(tuple(others))

    @njit
    def several(t, y, *args):
        return np.append(one(t, y, *args), rest(t, y, *args))

    return several


@within
def _crosses(before, after, direction):
    """Whether an event's value passes 0 within a step, in its direction (0 means both)."""
    up, down = before <= 0.0 <= after, before >= 0.0 >= after
    return (up and direction > 0.0) or (down and direction < 0.0) or ((up or down) and direction == 0.0)


@within
def any_crosses(before, after, directions):
    """Whether the value of any event passes 0 within a step."""
    found = False
    for i in range(len(before)):
        found = found or _crosses(before[i], after[i], directions[i])
    return found


@within
def event_times(events, before, after, directions, t, h, y, q, args):
    """Return the indices and the times of the events within a step, in the order of time."""
    indices, times, found = np.empty(len(before), np.int64), np.empty(len(before)), 0
    for i in range(len(before)):
        if _crosses(before[i], after[i], directions[i]):
            indices[found] = i
            times[found] = _event_time(events, i, t, h, y, q, args)
            found += 1
    order = np.argsort(times[:found] * (1.0 if h > 0.0 else -1.0))
    return indices[:found][order], times[:found][order]


@within
def _values_at(at, t, h, y, q, events, args):
    """Return the values of all events at a time within the step that begins at t."""
    return events(at, between(q, (at - t) / h, y), *args)


@within
def _event_time(events, index, t, h, y, q, args):
    """Return the time of an event within a step."""
    at = dr.stop_gradient(_brent(events, index, t, h, y, q, args))
    _, slopes = dr.jvp(_values_at, (at, t, h, y, q, events, args), (1.0, None, None, None, None, None, None))
    slope = dr.stop_gradient(slopes[index])
    for _ in range(_ORDERS):
        value = _values_at(at, t, h, y, q, events, args)[index]
        if slope != 0.0:
            at = at - value / slope
        else:  # no derivative: that of the root is infinite or NaN
            at = at + math.sqrt(value - dr.stop_gradient(value))
    return at


@within
def _brent(events, index, t, h, y, q, args):
    """Return a root between the ends of a step, by Brent's method (R. Brent, 1973, chapter 4)."""
    a, b = t, t + h
    fa, fb = _values_at(a, t, h, y, q, events, args)[index], _values_at(b, t, h, y, q, events, args)[index]
    if fa == 0.0 or abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc, d, bisected = a, fa, b - a, True
    for _ in range(100):
        if fb == 0.0 or abs(b - a) <= 4.0 * _EPS * (1.0 + abs(b)):
            break
        if fa != fc and fb != fc:
            s = a * fb * fc / ((fa - fb) * (fa - fc)) + b * fa * fc / ((fb - fa) * (fb - fc))
            s += c * fa * fb / ((fc - fa) * (fc - fb))
        else:
            s = b - fb * (b - a) / (fb - fa)
        last = b - c if bisected else c - d
        inside = min(0.25 * (3.0 * a + b), b) < s < max(0.25 * (3.0 * a + b), b)
        bisected = not inside or abs(s - b) >= 0.5 * abs(last)
        if bisected:
            s = 0.5 * (a + b)
        fs = _values_at(s, t, h, y, q, events, args)[index]
        d, c, fc = c, b, fb
        if (fa < 0.0) != (fs < 0.0):
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
    return b
