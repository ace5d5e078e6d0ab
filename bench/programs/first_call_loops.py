"""Ordinary programs: a loop or two over data, as in statistics, physics and finance."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["LOOPS"]

WAVE = np.sin(0.1 * np.arange(500.0))


@njit
def garch(p, returns):
    """Return the negative log-likelihood of a GARCH(1, 1) model."""
    variance = p[0] / (1.0 - p[1] - p[2])
    total = 0.0
    for r in returns:
        total += 0.5 * (math.log(variance) + r * r / variance)
        variance = p[0] + p[1] * r * r + p[2] * variance
    return total


@njit
def autoregression(p, y):
    """Return the negative log-likelihood of an autoregression of order three with a Gaussian error."""
    order = len(p) - 2
    sigma = math.exp(p[-1])
    total = 0.0
    for t in range(order, len(y)):
        mean = p[0]
        for k in range(order):
            mean += p[k + 1] * y[t - k - 1]
        total += 0.5 * ((y[t] - mean) / sigma) ** 2 + math.log(sigma)
    return total


@njit
def logistic(w, x, y):
    """Return the mean loss of a logistic regression, with a ridge."""
    total = 0.0
    for i in range(len(y)):
        z = 0.0
        for j in range(len(w)):
            z += w[j] * x[i, j]
        total += math.log1p(math.exp(-z)) if y[i] == 1 else math.log1p(math.exp(z))
    return total / len(y) + 0.01 * np.sum(w * w)


@njit
def soft_ising(fields, coupling):
    """Return the mean-field free energy of spins on a periodic grid."""
    n, m = fields.shape
    energy = 0.0
    for i in range(n):
        for j in range(m):
            spin = math.tanh(fields[i, j])
            right, down = math.tanh(fields[i, (j + 1) % m]), math.tanh(fields[(i + 1) % n, j])
            p = 0.5 * (1.0 + spin)
            energy -= coupling * spin * (right + down)
            energy += p * math.log(p) + (1.0 - p) * math.log(1.0 - p)
    return energy


@njit
def rosenbrock(x):
    """Return Rosenbrock's function in many dimensions."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@njit
def simpson(a, b, scale, n):
    """Return an integral by Simpson's rule."""
    h = (b - a) / n
    total = 0.0
    for k in range(n + 1):
        x = a + k * h
        weight = 1.0 if k in (0, n) else (4.0 if k % 2 == 1 else 2.0)
        total += weight * math.exp(-scale * x * x) * math.cos(x)
    return total * h / 3.0


@njit
def implied_volatility(price, spot, strike, maturity):
    """Return the implied volatility of a call: bisection, then Newton's iteration."""
    low, high = 0.01, 2.0
    sigma = 0.5
    for step in range(40):
        width = sigma * math.sqrt(maturity)
        d = math.log(spot / strike) / width + 0.5 * width
        value = spot * 0.5 * math.erfc(-d / math.sqrt(2.0)) - strike * 0.5 * math.erfc(-(d - width) / math.sqrt(2.0))
        if step < 8:
            if value > price:
                high = sigma
            else:
                low = sigma
            sigma = 0.5 * (low + high)
        else:
            vega = spot * math.sqrt(maturity) * math.exp(-0.5 * d * d) / math.sqrt(2.0 * math.pi)
            sigma -= (value - price) / vega
    return sigma


@njit
def moving_average(x, weights):
    """Return the sum of squared differences from a weighted moving average."""
    width = len(weights)
    total = 0.0
    for t in range(width, len(x)):
        mean = 0.0
        for k in range(width):
            mean += weights[k] * x[t - k]
        total += (x[t] - mean) ** 2
    return total


@njit
def distances(points):
    """Return the sum of all distances between points."""
    n, d = points.shape
    total = 0.0
    for i in range(n):
        for j in range(i):
            square = 0.0
            for k in range(d):
                square += (points[i, k] - points[j, k]) ** 2
            total += math.sqrt(square)
    return total


@njit
def compound(rates, payments):
    """Return the present value of payments under a path of rates."""
    discount, total = 1.0, 0.0
    for t in range(len(rates)):
        discount *= 1.0 / (1.0 + rates[t])
        total += payments[t] * discount
    return total


@njit
def worst_drawdown(returns):
    """Return the largest fall of wealth from its running maximum."""
    wealth, peak, worst = 1.0, 1.0, 0.0
    for r in returns:
        wealth *= 1.0 + r
        peak = max(peak, wealth)
        fall = 1.0 - wealth / peak
        if fall > worst:
            worst = fall
    return worst


@njit
def polynomial_fit(c, x, y):
    """Return the residual sum of squares of a polynomial, by Horner's scheme."""
    total = 0.0
    for i in range(len(x)):
        value = 0.0
        for k in range(len(c) - 1, -1, -1):
            value = value * x[i] + c[k]
        total += (value - y[i]) ** 2
    return total


@njit
def soft_histogram(values, edges, width, target):
    """Return the misfit of a histogram whose bins have soft edges."""
    bins = np.zeros(len(edges) - 1)
    for v in values:
        for b in range(len(bins)):
            left = 1.0 / (1.0 + math.exp(-(v - edges[b]) / width))
            right = 1.0 / (1.0 + math.exp(-(v - edges[b + 1]) / width))
            bins[b] += left - right
    return np.sum((bins / len(values) - target) ** 2)


@njit
def smoothing(p, y, period):
    """Return the squared error of Holt and Winters's forecasts with an additive season."""
    level, trend = y[0], 0.0
    season = np.zeros(period)
    total = 0.0
    for t in range(1, len(y)):
        k = t % period
        error = y[t] - (level + trend + season[k])
        total += error * error
        before = level
        level = level + trend + p[0] * error
        trend = trend + p[1] * (level - before - trend)
        season[k] += p[2] * error
    return total


@njit
def epidemic(rates, start, days, observed):
    """Return the misfit of an SIR model's cases, by Euler steps."""
    beta, gamma = rates
    s, i = 1.0 - start, start
    total = 0.0
    for day in range(days):
        new = 0.0
        for _ in range(10):
            infected = 0.1 * beta * s * i
            s -= infected
            i += infected - 0.1 * gamma * i
            new += infected
        total += (new - observed[day]) ** 2
    return total


def _regression(rows, columns):
    """Return coefficients, data of this shape, and labels."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, columns))
    return 0.1 * rng.normal(size=columns), x, (x[:, 0] + rng.normal(size=rows) > 0.0).astype(np.int64)


LOOPS = table(
    Program(garch, lambda: (np.array([0.05, 0.1, 0.85]), WAVE)),
    Program(autoregression, lambda: (np.array([0.1, 0.5, 0.2, -0.1, -0.5]), WAVE)),
    Program(logistic, lambda: _regression(300, 8)),
    Program(soft_ising, lambda: (0.5 * np.cos(np.arange(256.0)).reshape(16, 16), 0.4), (0, 1)),
    Program(rosenbrock, lambda: (0.5 + 0.1 * WAVE[:100],)),
    Program(simpson, lambda: (0.0, 2.0, 0.7, 200), (0, 1, 2)),
    Program(implied_volatility, lambda: (9.0, 100.0, 102.0, 0.8), (0, 1, 2, 3)),
    Program(moving_average, lambda: (WAVE.copy(), np.array([0.4, 0.3, 0.2, 0.1])), (0, 1)),
    Program(distances, lambda: (np.random.default_rng(2).normal(size=(60, 3)),)),
    Program(compound, lambda: (0.03 + 0.01 * WAVE[:120], np.full(120, 2.5)), (0, 1)),
    Program(worst_drawdown, lambda: (0.02 * np.cos(1.7 * np.arange(250.0)) - 0.01 * WAVE[:250],)),
    Program(polynomial_fit, lambda: (np.array([0.1, -0.4, 0.3, 0.2]), np.linspace(-1.0, 1.0, 80), WAVE[:80])),
    Program(soft_histogram, lambda: (WAVE[:200], np.linspace(-1.0, 1.0, 9), 0.1, np.full(8, 0.125))),
    Program(smoothing, lambda: (np.array([0.3, 0.1, 0.2]), WAVE + 2.0, 12)),
    Program(epidemic, lambda: ((0.4, 0.1), 1e-3, 60, 0.01 * np.exp(-0.1 * np.abs(np.arange(60.0) - 30.0))), (0, 1)),
)
