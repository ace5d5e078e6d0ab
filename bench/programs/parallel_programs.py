"""The programs of `bench/parallel.py`: Python functions with loops over prange, or with array expressions.

bench/parallel.py compiles each of them twice: with `njit`, and with `njit(parallel=True)`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

__all__ = ["PROGRAMS", "Program"]


@dataclasses.dataclass(frozen=True)
class Program:
    """A function, the arguments to differentiate with respect to, its inputs, and the sizes to time and to test."""

    function: Callable[..., float]
    argnums: tuple[int, ...]
    make: Callable[[int], tuple[Any, ...]]
    size: int
    small: int
    computes: bool = True  # rather than move memory


def heston(spot, variance, pull, level, volatility, correlation, rate, first, second, strike, maturity):
    """Price of a call option in Heston's model by Monte Carlo; its derivatives are seven Greeks."""
    paths, steps = first.shape
    dt = maturity / steps
    other = math.sqrt(1.0 - correlation * correlation)
    total = 0.0
    for i in prange(paths):
        s, v = math.log(spot), variance
        for k in range(steps):
            positive = max(v, 0.0)
            root = math.sqrt((positive + 1e-12) * dt)
            s += (rate - 0.5 * positive) * dt + root * first[i, k]
            v += pull * (level - positive) * dt
            v += volatility * root * (correlation * first[i, k] + other * second[i, k])
        total += max(math.exp(s) - strike, 0.0)
    return math.exp(-rate * maturity) * total / paths


def make_heston(size: int) -> tuple[Any, ...]:
    """Return the parameters of the model and the option, and normal numbers for `size` paths of 20 steps."""
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(2, size, 20))
    return 100.0, 0.04, 1.5, 0.04, 0.3, -0.7, 0.02, normals[0], normals[1], 100.0, 1.0


def asian(spot, strike, rate, volatility, maturity, normals):
    """Price of an Asian option, an option on the mean price, by Monte Carlo."""
    paths, steps = normals.shape
    dt = maturity / steps
    drift, scale = (rate - 0.5 * volatility**2) * dt, volatility * math.sqrt(dt)
    total = 0.0
    for i in prange(paths):
        price, mean = spot, 0.0
        for k in range(steps):
            price *= math.exp(drift + scale * normals[i, k])
            mean += price / steps
        total += max(mean - strike, 0.0)
    return math.exp(-rate * maturity) * total / paths


def make_asian(size: int) -> tuple[Any, ...]:
    """Return the parameters of the option, and normal numbers for `size` paths of 20 steps."""
    return 100.0, 95.0, 0.05, 0.2, 1.0, np.random.default_rng(0).normal(size=(size, 20))


def particles(x, charges, pairs):
    """Sum of squared forces between pairs of particles: each iteration gathers two positions and scatters a force."""
    force = np.zeros(x.shape)
    for p in prange(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        r2 = 0.01
        for k in range(3):
            r2 += (x[i, k] - x[j, k]) ** 2
        strength = charges[i] * charges[j] * math.exp(-r2) / (r2 * math.sqrt(r2))
        for k in range(3):
            force[i, k] += strength * (x[i, k] - x[j, k])
            force[j, k] -= strength * (x[i, k] - x[j, k])
    return np.sum(force * force)


def make_particles(size: int) -> tuple[Any, ...]:
    """Return positions and charges of `size` particles, and about 100 pairs for each of them."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, size, (100 * size, 2))
    return rng.random((size, 3)), rng.random(size), pairs[pairs[:, 0] != pairs[:, 1]]


def mixture(means, scales, weights, points):
    """Mean log-likelihood of points under a mixture of Gaussians with diagonal covariances."""
    n, d = points.shape
    m = len(means)
    total = 0.0
    for i in prange(n):
        terms = np.empty(m)
        most = -1e300
        for k in range(m):
            term = weights[k]
            for j in range(d):
                t = (points[i, j] - means[k, j]) * math.exp(-scales[k, j])
                term += -0.5 * t * t - scales[k, j]
            terms[k] = term
            if term > most:
                most = term
        s = 0.0
        for k in range(m):
            s += math.exp(terms[k] - most)
        total += most + math.log(s)
    return total / n


def make_mixture(size: int) -> tuple[Any, ...]:
    """Return ten components in five dimensions, and `size` points."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(10, 5)), 0.1 * rng.normal(size=(10, 5)), rng.normal(size=10), rng.normal(size=(size, 5))


def stencil(a, c):
    """Sum of squares after one step of a diffusion on a grid."""
    n, m = a.shape
    out = np.zeros((n, m))
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            near = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            out[i, j] = np.tanh(a[i, j] + c * (near - 4.0 * a[i, j]))
    total = 0.0
    for i in prange(n):
        for j in range(m):
            total += out[i, j] * out[i, j]
    return total


def make_stencil(size: int) -> tuple[Any, ...]:
    """Return a grid of `size` x `size` cells, and a rate."""
    return np.random.default_rng(0).random((size, size)), 0.1


def logistic(w, scale, x1, x2, y):
    """Negative log-likelihood of a logistic regression with a prior, in array expressions."""
    z = w[0] + w[1] * x1 + w[2] * x2 + w[3] * x1 * x2
    return np.mean(np.log(1.0 + np.exp(-y * z))) + scale * np.sum(w * w)


def make_logistic(size: int) -> tuple[Any, ...]:
    """Return four coefficients, the prior's scale, and `size` rows with labels of 1 and -1."""
    rng = np.random.default_rng(5)
    x1, x2 = rng.normal(size=(2, size))
    y = np.where(rng.random(size) < 1.0 / (1.0 + np.exp(-x1 + x2)), 1.0, -1.0)
    return np.array([0.1, 0.7, -0.8, 0.05]), 1e-3, x1, x2, y


def forwards(spot, strike, years, rate, volatility):
    """Mean price of many options, in array expressions, differentiated with respect to the data of each option, too."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    first, second = 1.0 / (1.0 + np.exp(-1.702 * d1)), 1.0 / (1.0 + np.exp(-1.702 * d2))
    return np.mean(spot * first - strike * np.exp(-rate * years) * second)


def make_forwards(size: int) -> tuple[Any, ...]:
    """Return spot, strike and years of `size` options, a rate, and a volatility."""
    rng = np.random.default_rng(6)
    spot, strike, years = rng.uniform(80.0, 120.0, size), rng.uniform(80.0, 120.0, size), rng.uniform(0.2, 2.0, size)
    return spot, strike, years, 0.02, 0.25


PROGRAMS = {
    "Heston, 7 Greeks": Program(heston, tuple(range(7)), make_heston, 100_000, 300),
    "Asian option": Program(asian, (0, 1, 2, 3, 4), make_asian, 100_000, 300),
    "particles": Program(particles, (0, 1), make_particles, 5_000, 20),
    "Gaussian mixture": Program(mixture, (0, 1, 2), make_mixture, 50_000, 100),
    "stencil": Program(stencil, (0, 1), make_stencil, 1500, 30, computes=False),
    "logistic regression, arrays": Program(logistic, (0, 1), make_logistic, 1_000_000, 5_000),
    "option prices, arrays": Program(forwards, (0, 1, 2, 3, 4), make_forwards, 200_000, 5_000, computes=False),
}
