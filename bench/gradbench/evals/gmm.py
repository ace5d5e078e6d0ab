"""The log posterior of a mixture of Gaussians with a Wishart prior on its inverse covariances.

The triangular factor of component k has exp(q[k]) on its diagonal and l[k] below it, column by column.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.evals.lse import log_sum_exp
from bench.gradbench.function import Function, InputError, listed, real, reals, whole

__all__ = ["FUNCTIONS"]


@njit
def distance(scales, lower, centred):
    """Squared length of the triangular factor times `centred`."""
    d, total = len(scales), 0.0
    for row in range(d):
        entry = scales[row] * centred[row]
        for column in range(row):
            entry += lower[column * (2 * d - column - 1) // 2 + row - column - 1] * centred[column]
        total += entry * entry
    return total


@njit
def log_prior(scales, sums, lower, gamma, m):
    """Logarithm of the Wishart prior, without its constant."""
    total = 0.0
    for k in range(scales.shape[0]):
        square = 0.0
        for i in range(scales.shape[1]):
            square += scales[k, i] * scales[k, i]
        for p in range(lower.shape[1]):
            square += lower[k, p] * lower[k, p]
        total += m * sums[k] - 0.5 * gamma * gamma * square
    return total


@njit
def constant(n, d, k, gamma, m):
    """Terms that depend on the sizes and the prior's parameters only."""
    freedom = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        log_gamma += math.lgamma(0.5 * (freedom - j))
    wishart = freedom * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma
    return k * wishart - 0.5 * n * d * math.log(2.0 * math.pi)


@njit
def objective(alpha, mu, q, lower, x, gamma, m):
    """Log posterior: a loop over points and components."""
    n, d, k = x.shape[0], x.shape[1], len(alpha)
    scales, sums = np.exp(q), np.zeros(k)
    for c in range(k):
        for i in range(d):
            sums[c] += q[c, i]
    centred, terms, total = np.empty(d), np.empty(k), 0.0
    for row in range(n):
        for c in range(k):
            for i in range(d):
                centred[i] = x[row, i] - mu[c, i]
            terms[c] = alpha[c] + sums[c] - 0.5 * distance(scales[c], lower[c], centred)
        total += log_sum_exp(terms)
    return constant(n, d, k, gamma, m) + total - n * log_sum_exp(alpha) + log_prior(scales, sums, lower, gamma, m)


def prepare(given):
    """Read the sizes, the parameters, the points, and the prior's gamma and m."""
    d, k, n = (whole(given, name, 1) for name in "dkn")
    gamma = real(given, "gamma")
    if gamma <= 0.0:
        raise InputError(f"'gamma' is a scale, above 0, not {gamma}")
    mu, q, lower = reals(given, "mu", k, d), reals(given, "q", k, d), reals(given, "l", k, d * (d - 1) // 2)
    return reals(given, "alpha", k), mu, q, lower, reals(given, "x", n, d), gamma, whole(given, "m", 0)


def finish(found):
    """Name the four parts of the gradient."""
    return {name: listed(part) for name, part in zip(("alpha", "mu", "q", "l"), found, strict=True)}


EXAMPLE = {
    "d": 2, "k": 1, "n": 1, "m": 0, "gamma": 1.0,
    "alpha": [0.1], "mu": [[0.2, 0.3]], "q": [[0.4, 0.5]], "l": [[0.6]], "x": [[0.7, 0.8]],
}  # fmt: skip
FUNCTIONS = {
    "objective": Function(objective, prepare, EXAMPLE),
    "jacobian": Function(dr.grad(objective, (0, 1, 2, 3)), prepare, EXAMPLE, finish),
}
