"""Hamiltonian Monte Carlo in compiled code that calls the compiled gradient. examples/investment.py samples with it.

The warm-up finds the step size by dual averaging (Hoffman and Gelman, "The No-U-Turn Sampler", 2014, section 3.2), and
the scale of each unknown from the variances in two windows. Paths have random lengths, since paths of one length can
return to their start in a periodic orbit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr

__all__ = ["chain"]

WANTED = 0.8  # the share of proposals that is taken


@njit
def moved(f, x, momentum, slope, size, scales, steps, data):
    """Take `steps` leapfrog steps; return the last point, its momentum, the value of f and its gradient."""
    value = 0.0
    for _ in range(steps):
        momentum = momentum + 0.5 * size * scales * slope
        x = x + size * scales * momentum
        value, slope = dr.value_and_grad(f)(x, data)
        momentum = momentum + 0.5 * size * scales * slope
    return x, momentum, value, slope


@njit
def chain(f, x, data, warmup, draws, length, seed):
    """Sample the density exp(f(x, data)): return draws (draws, unknowns), and the gradients after the warm-up.

    f is a numba function of an array and of data. `length` is the mean length of a path, in standard deviations.
    """
    np.random.seed(seed)
    n = len(x)
    kept, gradients = np.empty((draws, n)), 0
    scales, mean, squares, seen = np.ones(n), np.zeros(n), np.zeros(n), 0
    windows = (warmup // 4, warmup // 2, (3 * warmup) // 4)
    drift, log_size, log_mean, tried = 0.0, math.log(0.1), 0.0, 0
    value, slope = dr.value_and_grad(f)(x, data)
    for k in range(warmup + draws):
        size = math.exp(log_size if k < warmup else log_mean)
        steps = min(1 + int(2.0 * length * np.random.random() / size), 1000)
        momentum = np.random.normal(0.0, 1.0, n)
        found, later, high, found_slope = moved(f, x, momentum, slope, size, scales, steps, data)
        gain = high - value + 0.5 * (np.sum(momentum**2) - np.sum(later**2))
        chance = 0.0 if math.isnan(gain) else math.exp(min(gain, 0.0))
        if np.random.random() < chance:
            x, value, slope = found, high, found_slope
        if k >= warmup:
            kept[k - warmup] = x
            gradients += steps
            continue
        tried += 1
        drift += (WANTED - chance - drift) / (tried + 10.0)
        log_size = -math.sqrt(tried) / 0.05 * drift
        share = tried**-0.75
        log_mean = share * log_size + (1.0 - share) * log_mean
        if k >= windows[0]:  # Welford's variances
            seen += 1
            change = x - mean
            mean = mean + change / seen
            squares = squares + change * (x - mean)
        if k in windows:
            scales = np.sqrt((squares + 5e-3) / (seen + 5.0))  # never 0, as in Stan
            mean, squares, seen = np.zeros(n), np.zeros(n), 0
            drift, tried = 0.0, 0
    return kept, gradients
