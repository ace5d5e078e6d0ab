"""Programs with long first calls, from statistics, finance and chemistry."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["MODELS"]


# ----------------------------------------------------------------------------------------------------------------------
# A price by the characteristic function of Bates's model: Heston's, with jumps


@njit
def bates_exponent(u, maturity, p):
    """Return the logarithm of the characteristic function of the log price."""
    v0, kappa, theta, sigma, rho, intensity, mean, spread = p
    b = kappa - rho * sigma * u * 1j
    d = cmath.sqrt(b * b + sigma * sigma * (u * u + u * 1j))
    g = (b - d) / (b + d)
    decay = cmath.exp(-d * maturity)
    large = kappa * theta / sigma**2 * ((b - d) * maturity - 2.0 * cmath.log((1.0 - g * decay) / (1.0 - g)))
    small = v0 / sigma**2 * (b - d) * (1.0 - decay) / (1.0 - g * decay)
    drift = math.exp(mean + 0.5 * spread**2) - 1.0
    jump = cmath.exp(mean * u * 1j - 0.5 * spread**2 * u * u) - 1.0
    return large + small + intensity * maturity * (jump - drift * u * 1j)


@njit
def bates(p, spot, strikes, maturity, rate, prices):
    """Return the mean square error of call prices, each by Lewis's integral."""
    parameters = (p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])
    total = 0.0
    for k in range(len(strikes)):
        x = math.log(spot / strikes[k]) + rate * maturity
        integral = 0.0
        for n in range(200):
            u = (n + 0.5) * 0.25
            phi = cmath.exp(bates_exponent(complex(u, -0.5), maturity, parameters))
            integral += (cmath.exp(1j * u * x) * phi).real / (u * u + 0.25) * 0.25
        price = spot - math.sqrt(spot * strikes[k]) * math.exp(-0.5 * rate * maturity) / math.pi * integral
        total += (price - prices[k]) ** 2
    return total / len(strikes)


def make_bates() -> tuple[Any, ...]:
    """Return the eight parameters, and a smile of nine strikes."""
    p = np.array([0.04, 1.5, 0.05, 0.4, -0.6, 0.3, -0.1, 0.15])
    strikes = np.linspace(80.0, 120.0, 9)
    return p, 100.0, strikes, 0.75, 0.02, np.maximum(100.0 - strikes, 0.0) + 5.0


# ----------------------------------------------------------------------------------------------------------------------
# An extended Kalman filter


@njit
def extended_kalman(logs, start, seen, stations, dt):
    """Return the negative log-likelihood of ranges and bearings from two stations to a turning target."""
    x, spread = start.copy(), np.diag(np.array([1.0, 1.0, 0.5, 0.2, 0.1]))
    noise = np.diag(np.exp(logs[:2]))
    drift = np.diag(np.array([1e-4, 1e-4, math.exp(logs[2]), 1e-3, math.exp(logs[3])]))
    total = 0.0
    for t in range(len(seen)):
        c, s = math.cos(x[3]), math.sin(x[3])
        move = np.eye(5)
        move[0, 2], move[0, 3] = dt * c, -dt * x[2] * s
        move[1, 2], move[1, 3] = dt * s, dt * x[2] * c
        move[3, 4] = dt
        x = x + dt * np.array([x[2] * c, x[2] * s, 0.0, x[4], 0.0])
        spread = move @ spread @ move.T + drift
        east, north = x[0] - stations[t % 2, 0], x[1] - stations[t % 2, 1]
        r2 = east * east + north * north
        r = math.sqrt(r2)
        look = np.zeros((2, 5))
        look[0, 0], look[0, 1] = east / r, north / r
        look[1, 0], look[1, 1] = -north / r2, east / r2
        error = seen[t] - np.array([r, math.atan2(north, east)])
        if error[1] > math.pi:
            error[1] -= 2.0 * math.pi
        elif error[1] < -math.pi:
            error[1] += 2.0 * math.pi
        inner = look @ spread @ look.T + noise
        inverse = np.linalg.inv(inner)
        gain = spread @ look.T @ inverse
        x = x + gain @ error
        rest = np.eye(5) - gain @ look
        spread = rest @ spread @ rest.T + gain @ noise @ gain.T
        total += 0.5 * (math.log(np.linalg.det(inner)) + error @ np.linalg.solve(inner, error))
    return total


def make_extended_kalman() -> tuple[Any, ...]:
    """Return log variances, the first state, and 60 measurements from two stations."""
    t = np.arange(60)
    stations = np.array([[-5.0, 0.0], [8.0, -6.0]])
    x, y = 10.0 * np.sin(0.05 * t), 10.0 - 10.0 * np.cos(0.05 * t)
    east, north = x - stations[t % 2, 0], y - stations[t % 2, 1]
    seen = np.column_stack((np.hypot(east, north), np.arctan2(north, east))) + 0.02 * np.sin(7.0 * t)[:, None]
    return np.array([-4.0, -5.0, -4.0, -5.0]), np.array([0.1, 0.1, 0.9, 0.05, 0.1]), seen, stations, 0.5


# ----------------------------------------------------------------------------------------------------------------------
# A mixture of Gaussians with full covariances


@njit
def mixture(weights, means, factors, data):
    """Return the negative log-likelihood. Row k of `factors` packs a Cholesky factor with a logarithmic diagonal."""
    groups, d = means.shape
    n = len(data)
    peak = np.max(weights)
    norm = peak + math.log(np.sum(np.exp(weights - peak)))
    total = 0.0
    lower = np.zeros((groups, d, d))
    heads = np.empty(groups)
    for k in range(groups):
        at = 0
        heads[k] = weights[k] - norm - 0.5 * d * math.log(2.0 * math.pi)
        for i in range(d):
            for j in range(i):
                lower[k, i, j] = factors[k, at]
                at += 1
            lower[k, i, i] = math.exp(factors[k, at])
            heads[k] += factors[k, at]
            at += 1
    logs = np.empty(groups)
    for t in range(n):
        for k in range(groups):
            square = 0.0
            for i in range(d):
                z = 0.0
                for j in range(i + 1):
                    z += lower[k, i, j] * (data[t, j] - means[k, j])
                square += z * z
            logs[k] = heads[k] - 0.5 * square
        most = np.max(logs)
        total -= most + math.log(np.sum(np.exp(logs - most)))
    prior = 0.0
    for k in range(groups):
        prior += np.sum(factors[k] ** 2)
    return total + 0.01 * prior


def make_mixture() -> tuple[Any, ...]:
    """Return the parameters of four groups in three dimensions, and 300 points."""
    rng = np.random.default_rng(3)
    means = rng.normal(size=(4, 3))
    return 0.1 * rng.normal(size=4), means, 0.2 * rng.normal(size=(4, 6)), rng.normal(size=(300, 3)) + means[0]


# ----------------------------------------------------------------------------------------------------------------------
# Options


@njit
def barrier_option(p, strike, barrier, rebate, maturity, normals, uniforms):
    """Return the price of a down-and-out call by Monte Carlo: a path ends at the barrier, or between two steps.

    p has spot, volatility, rate, dividend, and the slope of the volatility in the spot.
    """
    paths, steps = normals.shape
    dt = maturity / steps
    total = 0.0
    for i in range(paths):
        s, alive = p[0], 1.0
        mean = 0.0
        ended = False
        for t in range(steps):
            sigma = p[1] * (1.0 + p[4] * math.log(p[0] / s))
            if sigma < 0.01:
                sigma = 0.01
            before = s
            s = s * math.exp((p[2] - p[3] - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * normals[i, t])
            if s <= barrier:
                total += rebate * math.exp(-p[2] * (t + 1) * dt) * alive
                ended = True
                break
            crossed = math.exp(-2.0 * math.log(before / barrier) * math.log(s / barrier) / (sigma * sigma * dt))
            total += rebate * math.exp(-p[2] * (t + 0.5) * dt) * alive * crossed
            alive *= 1.0 - crossed
            if alive < 1e-12 * uniforms[i]:
                ended = True
                break
            mean += s
        if ended:
            continue
        settled = 0.5 * s + 0.5 * mean / steps
        if settled > strike:
            total += math.exp(-p[2] * maturity) * alive * (settled - strike)
    return total / paths


def make_barrier_option() -> tuple[Any, ...]:
    """Return the parameters, and random numbers of 1,000 paths of 50 steps."""
    rng = np.random.default_rng(7)
    p = np.array([100.0, 0.25, 0.03, 0.01, 0.4])
    return p, 101.0, 85.0, 1.5, 1.0, rng.normal(size=(1000, 50)), rng.random(1000)


@njit
def crank_nicolson(p, strike, maturity, points, steps):
    """Return the value of an American-style put with a soft exercise, by Crank and Nicolson's scheme.

    p has spot, volatility, rate and dividend.
    """
    top = 4.0 * strike
    h, dt = top / (points - 1), maturity / steps
    v, payoff = np.empty(points), np.empty(points)
    for i in range(points):
        gap = strike - i * h
        payoff[i] = 0.5 * (gap + math.sqrt(gap * gap + 0.25))
        v[i] = payoff[i]
    low, mid, high = np.zeros(points), np.zeros(points), np.zeros(points)
    for i in range(1, points - 1):
        square, first = (p[1] * i) ** 2, (p[2] - p[3]) * i
        low[i] = 0.25 * dt * (square - first)
        mid[i] = -0.5 * dt * (square + p[2])
        high[i] = 0.25 * dt * (square + first)
    c, d = np.zeros(points), np.zeros(points)
    for t in range(steps):
        share = 1.0 if t < 2 else 0.5  # two implicit steps first
        edge = strike * math.exp(-p[2] * (t + 1) * dt)
        c[0], d[0] = 0.0, edge
        for i in range(1, points - 1):
            explicit = 2.0 * (1.0 - share)
            right = v[i] + explicit * (low[i] * v[i - 1] + mid[i] * v[i] + high[i] * v[i + 1])
            a, b, e = -2.0 * share * low[i], 1.0 - 2.0 * share * mid[i], -2.0 * share * high[i]
            pivot = b - a * c[i - 1]
            c[i] = e / pivot
            d[i] = (right - a * d[i - 1]) / pivot
        v[points - 1] = 0.0
        for i in range(points - 2, -1, -1):
            v[i] = d[i] - c[i] * v[i + 1]
        for i in range(points):
            v[i] = max(v[i], payoff[i])
    k = int(p[0] / h)
    x = p[0] / h - k
    left = v[k] + 0.5 * x * (v[k + 1] - v[k - 1]) + 0.5 * x * x * (v[k + 1] - 2.0 * v[k] + v[k - 1])
    right = v[k + 1] + 0.5 * (x - 1.0) * (v[k + 2] - v[k])
    right += 0.5 * (x - 1.0) ** 2 * (v[k + 2] - 2.0 * v[k + 1] + v[k])
    return (1.0 - x) * left + x * right


# ----------------------------------------------------------------------------------------------------------------------
# Second order


@njit
def stretched(x, y):
    """Return the logarithm of the determinant of a metric that depends on a stretch."""
    metric = np.array([[1.0 + x * x, x * y], [x * y, 2.0 + math.sin(x) * y]])
    return math.log(np.linalg.det(metric)) * math.exp(-0.1 * x)


@njit
def small_mixture(theta, data):
    """Return the negative log-likelihood of a mixture in one dimension; theta has logits, means, log deviations."""
    k = len(theta) // 3
    peak = np.max(theta[:k])
    norm = peak + math.log(np.sum(np.exp(theta[:k] - peak)))
    total = 0.0
    for x in data:
        most, logs = -np.inf, np.empty(k)
        for j in range(k):
            z = (x - theta[k + j]) * math.exp(-theta[2 * k + j])
            logs[j] = theta[j] - norm - theta[2 * k + j] - 0.5 * z * z
            most = max(most, logs[j])
        total -= most + math.log(np.sum(np.exp(logs - most)))
    return total + 0.5 * len(data) * math.log(2.0 * math.pi)


def make_small_mixture() -> tuple[Any, ...]:
    """Return the parameters of three groups, and 200 numbers."""
    theta = np.array([0.1, -0.2, 0.3, -1.0, 0.2, 1.5, -0.3, -0.1, 0.2])
    return theta, np.random.default_rng(8).normal(size=200)


MODELS = table(
    Program(bates, make_bates),
    Program(extended_kalman, make_extended_kalman, (0, 1)),
    Program(mixture, make_mixture, (0, 1, 2)),
    Program(barrier_option, make_barrier_option),
    Program(crank_nicolson, lambda: (np.array([101.3, 0.25, 0.04, 0.01]), 100.0, 1.0, 201, 50)),
    Program(stretched, lambda: (0.7, 1.3), 0, "grad of grad"),
    Program(small_mixture, make_small_mixture, 0, "hessian"),
)
