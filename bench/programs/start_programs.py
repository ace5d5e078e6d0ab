"""Programs whose start bench/starts.py times: each has functions with cache=True, and `first` calls a derivative."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr

__all__ = ["garch", "hmc", "kalman", "warm_up"]


@njit(cache=True)
def garch_loss(p, returns):  # type: ignore[no-untyped-def]
    """Compute the negative log-likelihood of a GJR-GARCH model."""
    variance, total = 1.0, 0.0
    for t in range(len(returns)):
        e = returns[t] - p[0]
        total += 0.5 * (math.log(variance) + e * e / variance)
        variance = p[1] + (p[2] + p[3] if e < 0.0 else p[2]) * e * e + p[4] * variance
    return total


@njit(cache=True)
def kalman_loss(logs, y):  # type: ignore[no-untyped-def]
    """Compute the negative log-likelihood of a local linear trend, by a Kalman filter with matrices."""
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    noise = math.exp(logs[0])
    state, spread, total = np.zeros(2), 10.0 * np.eye(2), 0.0
    for t in range(len(y)):
        state, spread = move @ state, move @ spread @ move.T
        spread[0, 0] += math.exp(logs[1])
        spread[1, 1] += math.exp(logs[2])
        surprise, variance = y[t] - state[0], spread[0, 0] + noise
        total += 0.5 * (math.log(variance) + surprise * surprise / variance)
        gain = spread[:, 0] / variance
        state = state + gain * surprise
        spread = spread - np.outer(gain, spread[0])
    return total


@njit(cache=True)
def density(x, data):  # type: ignore[no-untyped-def]
    """Compute the log density of a logistic regression."""
    total = -0.5 * np.sum(x * x)
    for k in range(len(data)):
        s = 0.0
        for j in range(len(x)):
            s += x[j] * data[k, j]
        total -= math.log(1.0 + math.exp(-s))
    return total


slope = dr.value_and_grad(density)


@njit(cache=True)
def chain(x, data, draws, size):  # type: ignore[no-untyped-def]
    """Sample the density by Hamiltonian Monte Carlo, with ten leapfrog steps for each draw."""
    np.random.seed(0)
    value, g = slope(x, data)
    kept = np.empty((draws, len(x)))
    for k in range(draws):
        momentum = np.random.normal(0.0, 1.0, len(x))
        before = value - 0.5 * np.sum(momentum * momentum)
        z, gz, high = x, g, value
        for _ in range(10):
            momentum = momentum + 0.5 * size * gz
            z = z + size * momentum
            high, gz = slope(z, data)
            momentum = momentum + 0.5 * size * gz
        if math.log(np.random.random()) < high - 0.5 * np.sum(momentum * momentum) - before:
            x, value, g = z, high, gz
        kept[k] = x
    return kept


def garch() -> None:
    """Compute the gradient of a GARCH likelihood."""
    dr.grad(garch_loss)(np.array([0.05, 0.02, 0.02, 0.1, 0.9]), np.sin(np.arange(1000.0)))


def kalman() -> None:
    """Compute the gradient of a Kalman filter's likelihood."""
    dr.grad(kalman_loss)(np.zeros(3), np.sin(np.arange(200.0)))


def hmc() -> None:
    """Run a chain of compiled code that calls a gradient."""
    chain(np.zeros(3), np.cos(np.arange(150.0)).reshape(50, 3), 20, 0.1)


def warm_up() -> None:
    """Fill the caches."""
    for program in (garch, kalman, hmc):
        program()
