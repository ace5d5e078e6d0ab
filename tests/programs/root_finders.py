"""A library of root finders, as its users write it: functions as arguments, and results that tell what happened."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

__all__ = ["roots"]

Result = namedtuple("Result", "root calls converged")
Bracket = namedtuple("Bracket", "low high")

# Functions of an unknown and a tuple of arguments


@njit
def cubic(x, args):
    a, b = args
    return x**3 - a * x - b


@njit
def cubic_slope(x, args):
    return 3.0 * x**2 - args[0]


@njit
def kepler(x, args):
    eccentricity, anomaly = args
    return x - eccentricity * math.sin(x) - anomaly


@njit
def kepler_slope(x, args):
    return 1.0 - args[0] * math.cos(x)


@njit
def kepler_curvature(x, args):
    return args[0] * math.sin(x)


@njit
def circle_and_line(x, args):
    """Two equations for two unknowns."""
    radius, slope = args
    return np.array([x[0] ** 2 + x[1] ** 2 - radius**2, x[1] - slope * x[0] - 0.1])


# Methods for one unknown


@njit
def bracketed(f, a, b, args, factor=1.6, rounds=30):
    """An interval with a change of sign, made longer at the better end."""
    fa, fb = f(a, args), f(b, args)
    for _ in range(rounds):
        if fa * fb <= 0.0:
            return Bracket(a, b)
        if abs(fa) < abs(fb):
            a += factor * (a - b)
            fa = f(a, args)
        else:
            b += factor * (b - a)
            fb = f(b, args)
    raise ValueError("no change of sign was found")


@njit
def bisected(f, bracket, args, rounds=8):
    """A shorter bracket."""
    low, high = bracket
    f_low = f(low, args)
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        value = f(middle, args)
        if value * f_low > 0.0:
            low, f_low = middle, value
        else:
            high = middle
    return Bracket(low, high)


@njit
def newton(f, slope, x, args, tolerance=1e-13, rounds=50):
    calls = 0
    for _ in range(rounds):
        step = f(x, args) / slope(x, args)
        x -= step
        calls += 2
        if abs(step) < tolerance:
            break
    else:
        return Result(x, calls, False)
    return Result(x, calls, True)


@njit
def halley(f, slope, curvature, x, args, tolerance=1e-13, rounds=50):
    calls = 0
    while calls < 3 * rounds:
        y, dy, ddy = f(x, args), slope(x, args), curvature(x, args)
        calls += 3
        step = 2.0 * y * dy / (2.0 * dy * dy - y * ddy)
        x -= step
        if abs(step) < tolerance:
            return Result(x, calls, True)
    return Result(x, calls, False)


@njit
def steffensen(f, x, args, rounds=50):
    """Newton's method with a difference in place of the slope."""
    for k in range(rounds):
        y = f(x, args)
        if abs(y) < 1e-14:
            return Result(x, 2 * k + 1, True)
        x -= y * y / (f(x + y, args) - y)
    return Result(x, 2 * rounds, False)


@njit
def secant(f, x0, args, tolerance=1e-13, rounds=60):
    x1 = x0 * 1.0001 + 1e-4
    f0, f1 = f(x0, args), f(x1, args)
    for k in range(rounds):
        if f1 == f0:
            return Result(x1, k + 2, abs(f1) < 1e-9)
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        if abs(x2 - x1) < tolerance:
            return Result(x2, k + 2, True)
        x0, f0 = x1, f1
        x1, f1 = x2, f(x2, args)
    return Result(x1, rounds + 2, False)


@njit
def brent(f, a, b, args, tolerance=1e-14, rounds=100):
    """Brent's method: inverse quadratic interpolation, the secant or bisection."""
    fa, fb = f(a, args), f(b, args)
    if fa * fb > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    c, fc = a, fa
    d = e = b - a
    calls = 2
    for _ in range(rounds):
        if fb * fc > 0.0:
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        bound = 2.0 * 2.2e-16 * abs(b) + 0.5 * tolerance
        m = 0.5 * (c - b)
        if abs(m) <= bound or fb == 0.0:
            return Result(b, calls, True)
        if abs(e) >= bound and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p, q = 2.0 * m * s, 1.0 - s
            else:
                q, r = fa / fc, fb / fc
                p = s * (2.0 * m * q * (q - r) - (b - a) * (r - 1.0))
                q = (q - 1.0) * (r - 1.0) * (s - 1.0)
            if p > 0.0:
                q = -q
            else:
                p = -p
            if 2.0 * p < min(3.0 * m * q - abs(bound * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = m
        else:
            d = e = m
        a, fa = b, fb
        b = b + d if abs(d) > bound else b + (bound if m > 0.0 else -bound)
        fb = f(b, args)
        calls += 1
    return Result(b, calls, False)


# Several unknowns


@njit
def numerical_jacobian(f, x, y, args, h=1e-7):
    made = np.empty((y.size, x.size))
    for k in range(x.size):
        moved = x.copy()
        moved[k] += h
        made[:, k] = (f(moved, args) - y) / h
    return made


@njit
def broyden(f, x, args, tolerance=1e-12, rounds=40):
    """The Jacobian by differences at the start, and then by what the steps tell."""
    y = f(x, args)
    inverse = np.linalg.inv(numerical_jacobian(f, x, y, args))
    for k in range(rounds):
        step = -inverse @ y
        x = x + step
        new = f(x, args)
        if np.max(np.abs(step)) < tolerance:
            return Result(x, k + 1, True)
        changed = inverse @ (new - y)
        inverse += np.outer(step - changed, step @ inverse) / np.dot(step, changed)
        y = new
    return Result(x, rounds, False)


# The whole


@njit
def of_one_unknown(x, y):
    """Roots of all methods for one equation, and how many calls they took."""
    args = x, y
    methods = (
        brent(cubic, 0.0, 3.0, args),
        newton(cubic, cubic_slope, 2.0, args),
        secant(kepler, 1.0, (0.3 * x, y)),
        steffensen(kepler, 1.2, (0.2 * y, x)),
        halley(kepler, kepler_slope, kepler_curvature, 1.0, (0.5, x * y)),
    )
    total, calls = 0.0, 0
    for k, method in enumerate(methods):
        if not method.converged:
            return 0.0, 0
        total += (k + 1) * method.root**2
        calls += method.calls
    short = bisected(cubic, bracketed(cubic, 0.0, 0.5, args), args)
    last = brent(kepler, -1.0, 4.0, (0.5, methods[2].root), tolerance=1e-12)
    return total + newton(cubic, cubic_slope, 0.5 * (short.low + short.high), args).root * last.root, calls


@njit
def roots(x, y):
    """Roots of all methods, and how hard they were to find."""
    total, calls = of_one_unknown(x, y)
    pair = broyden(circle_and_line, np.array([1.0, 0.5]), (x + 1.0, y))
    return total * pair.root[0] + pair.root[1] * (calls > 3)
