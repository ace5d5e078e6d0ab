"""Programs as their users write them: a particle filter, a finite-volume method, a library of root finders.

Each is a numba function of some arguments; test_compiled_programs.py compares their derivatives with differences.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

__all__ = ["euler", "filtered", "roots"]

# A particle filter for a stochastic volatility model, with systematic resampling


@njit
def log_weight(y, h):
    """The logarithm of the density of an observation, given the logarithm of its variance."""
    return -0.5 * (math.log(2.0 * math.pi) + h + y * y * math.exp(-h))


@njit
def normalised(log_weights, weights):
    """Writes the weights; returns the logarithm of their mean before that."""
    top = np.max(log_weights)
    total = 0.0
    for i in range(len(log_weights)):
        weights[i] = math.exp(log_weights[i] - top)
        total += weights[i]
    for i in range(len(weights)):
        weights[i] /= total
    return top + math.log(total / len(weights))


@njit
def resampled(weights):
    """The ancestors, by one uniform number: where equally spaced points fall among the cumulative weights."""
    n = len(weights)
    ancestors = np.empty(n, np.int64)
    start, k = np.random.random(), 0
    cumulative = weights[0]
    for i in range(n):
        while k < n - 1 and cumulative < (i + start) / n:
            k += 1
            cumulative += weights[k]
        ancestors[i] = k
    return ancestors


@njit
def filtered(theta, observations, n, seed):
    """The estimate of the log-likelihood; resamples where few particles carry the weight."""
    np.random.seed(seed)
    mean, persistence, noise = theta[0], math.tanh(theta[1]), math.exp(theta[2])
    states = mean + noise / math.sqrt(1.0 - persistence**2) * np.random.standard_normal(n)
    log_weights, weights = np.zeros(n), np.empty(n)
    likelihood = 0.0
    for y in observations:
        for i in range(n):
            states[i] = np.random.normal(mean + persistence * (states[i] - mean), noise)
            log_weights[i] += log_weight(y, states[i])
        likelihood += normalised(log_weights, weights)
        if 1.0 / np.sum(weights**2) < 0.6 * n:
            states = states[resampled(weights)]
            log_weights[:] = 0.0
        else:
            log_weights = np.log(weights) + math.log(n)
    return likelihood


# The Euler equations in one dimension: a second-order finite-volume method with HLLC fluxes

GAMMA = 1.4
State = namedtuple("State", "density speed pressure")


@njit
def primitive(u):
    """Density, speed and pressure of the conserved quantities."""
    speed = u[1] / u[0]
    return State(u[0], speed, (GAMMA - 1.0) * (u[2] - 0.5 * u[0] * speed**2))


@njit
def energy(s):
    return s.pressure / (GAMMA - 1.0) + 0.5 * s.density * s.speed**2


@njit
def flux_of(s):
    return s.density * s.speed, s.density * s.speed**2 + s.pressure, s.speed * (energy(s) + s.pressure)


@njit
def behind(s, wave, middle):
    """The conserved quantities between a wave and the contact."""
    factor = s.density * (wave - s.speed) / (wave - middle)
    inner = energy(s) / s.density + (middle - s.speed) * (middle + s.pressure / (s.density * (wave - s.speed)))
    return factor, factor * middle, factor * inner


@njit
def hllc(left, right):
    """The flux between two states."""
    sound_left = math.sqrt(GAMMA * left.pressure / left.density)
    sound_right = math.sqrt(GAMMA * right.pressure / right.density)
    first = min(left.speed - sound_left, right.speed - sound_right)
    last = max(left.speed + sound_left, right.speed + sound_right)
    if first >= 0.0:
        return flux_of(left)
    if last <= 0.0:
        return flux_of(right)
    mass_left, mass_right = left.density * (first - left.speed), right.density * (last - right.speed)
    push = right.pressure - left.pressure + left.speed * mass_left - right.speed * mass_right
    middle = push / (mass_left - mass_right)
    if middle >= 0.0:
        s, wave = left, first
    else:
        s, wave = right, last
    f, u = flux_of(s), behind(s, wave, middle)
    return (
        f[0] + wave * (u[0] - s.density),
        f[1] + wave * (u[1] - s.density * s.speed),
        f[2] + wave * (u[2] - energy(s)),
    )


@njit
def minmod(a, b):
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b


@njit
def slopes(w, out):
    """Limited slopes of the primitive variables."""
    for i in range(1, w.shape[0] - 1):
        for k in range(3):
            out[i, k] = 0.5 * minmod(w[i, k] - w[i - 1, k], w[i + 1, k] - w[i, k])


@njit
def euler(u, steps, courant):
    """The pressure at the end, weighted by the place; u changes, and is changed by what is returned."""
    n = u.shape[0]
    w, s, flux = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    for _ in range(steps):
        fastest = 0.0
        for i in range(n):
            state = primitive(u[i])
            w[i, 0], w[i, 1], w[i, 2] = state
            fastest = max(fastest, abs(state.speed) + math.sqrt(GAMMA * state.pressure / state.density))
        slopes(w, s)
        for i in range(1, n):
            l, r = w[i - 1] + s[i - 1], w[i] - s[i]  # noqa: E741
            flux[i, 0], flux[i, 1], flux[i, 2] = hllc(State(l[0], l[1], l[2]), State(r[0], r[1], r[2]))
        ratio = courant / fastest
        u[1:-1] -= ratio * (flux[2:] - flux[1:-1])
    total = 0.0
    for i, row in enumerate(u):
        total += (i + 1) * primitive(row).pressure
    return total


# Root finders, with functions as arguments and results that tell what happened

Result = namedtuple("Result", "root calls converged")


@njit
def cubic(x, args):
    a, b = args
    return x**3 - a * x - b


@njit
def kepler(x, args):
    eccentricity, anomaly = args
    return x - eccentricity * math.sin(x) - anomaly


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


@njit
def roots(x, y):
    """Three roots, and how hard they were to find."""
    first = brent(cubic, 0.0, 3.0, (x, y))
    second = secant(kepler, 1.0, (0.3 * x, y))
    third = brent(kepler, -1.0, 4.0, (0.5, second.root), tolerance=1e-12)
    if not (first.converged and second.converged):
        return 0.0
    return first.root * third.root + second.root * (first.calls > 3)
