"""A particle filter for a stochastic volatility model with leverage, as its users write it.

The log of the variance h of the returns y is an autoregressive process whose noise is correlated with the returns:

    y_t = exp(h_t / 2) e_t        h_t+1 = mean + persistence (h_t - mean) + noise u_t        corr(e_t, u_t) = leverage

The estimate of the log-likelihood is differentiated with the random numbers and the ancestors as they were drawn. The
resampling scheme, the proposal and the share of particles below which it resamples are options.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

__all__ = ["filtered", "summary"]

Model = namedtuple("Model", "mean persistence noise leverage")
Options = namedtuple("Options", "particles scheme guided share")
Filtered = namedtuple("Filtered", "likelihood means sizes resamplings")

LOG_2_PI = math.log(2.0 * math.pi)


@njit
def model_of(theta):
    """The parameters, of numbers without bounds."""
    return Model(theta[0], math.tanh(theta[1]), math.exp(theta[2]), math.tanh(theta[3]))


@njit
def log_density(y, h):
    """Log-density of an observation, given the logarithm of its variance."""
    return -0.5 * (LOG_2_PI + h + y * y * math.exp(-h))


@njit
def log_normal(x, mean, deviation):
    z = (x - mean) / deviation
    return -0.5 * (LOG_2_PI + z * z) - math.log(deviation)


# Weights


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
def effective_size(weights):
    return 1.0 / np.sum(weights**2)


@njit
def mean_and_deviation(states, weights):
    mean = np.dot(states, weights)
    return mean, math.sqrt(np.dot((states - mean) ** 2, weights))


# Ancestors


@njit
def at_points(weights, points):
    """Where sorted points in [0, 1) fall among the cumulative weights."""
    n, k = len(weights), 0
    ancestors = np.empty(n, np.int64)
    cumulative = weights[0]
    for i in range(n):
        while k < n - 1 and cumulative < points[i]:
            k += 1
            cumulative += weights[k]
        ancestors[i] = k
    return ancestors


@njit
def residual(weights):
    """As many copies of each as the whole part of n times its weight; the rest by what is left."""
    n = len(weights)
    ancestors = np.empty(n, np.int64)
    left, filled = np.empty(n), 0
    for i in range(n):
        copies = int(n * weights[i])
        left[i] = n * weights[i] - copies
        for _ in range(copies):
            ancestors[filled] = i
            filled += 1
    if filled < n:
        bounds = np.cumsum(left / np.sum(left))
        for i in range(filled, n):
            ancestors[i] = min(np.searchsorted(bounds, np.random.random()), n - 1)
    return ancestors


@njit
def resampled(weights, scheme):
    """The ancestors by a scheme."""
    n = len(weights)
    if scheme == "residual":
        return residual(weights)
    if scheme == "systematic":
        points = (np.arange(n) + np.random.random()) / n
    elif scheme == "stratified":
        points = (np.arange(n) + np.random.rand(n)) / n
    elif scheme == "multinomial":
        points = np.sort(np.random.rand(n))
    else:
        raise ValueError("there is no such scheme")
    return at_points(weights, points)


# The filter


@njit
def moved(model, state, before, y, guided):
    """A particle after a step, and what that adds to the logarithm of its weight."""
    shock = before * math.exp(-0.5 * state)
    mean = model.mean + model.persistence * (state - model.mean) + model.leverage * model.noise * shock
    deviation = model.noise * math.sqrt(1.0 - model.leverage**2)
    if not guided:
        new = mean + deviation * np.random.standard_normal()
        return new, log_density(y, new)
    slope = 0.5 * (y * y * math.exp(-mean) - 1.0)  # of the density of y, by h: the proposal leans towards it
    shifted = mean + deviation**2 * min(max(slope, -2.0), 2.0)
    new = shifted + deviation * np.random.standard_normal()
    return new, log_density(y, new) + log_normal(new, mean, deviation) - log_normal(new, shifted, deviation)


@njit
def filtered(model, observations, options, seed):
    """The log-likelihood, the filtered means, and how many particles counted at each time."""
    np.random.seed(seed)
    n = options.particles
    spread = model.noise / math.sqrt(1.0 - model.persistence**2)
    states = model.mean + spread * np.random.standard_normal(n)
    log_weights, weights = np.zeros(n), np.full(n, 1.0 / n)
    means, sizes = np.empty(len(observations)), []
    likelihood, before, resamplings = 0.0, 0.0, 0
    for t, y in enumerate(observations):
        for i in range(n):
            states[i], more = moved(model, states[i], before, y, options.guided)
            log_weights[i] += more
        likelihood += normalised(log_weights, weights)
        means[t], _ = mean_and_deviation(states, weights)
        sizes.append(effective_size(weights))
        if sizes[-1] < options.share * n:
            states = states[resampled(weights, options.scheme)]
            log_weights[:] = 0.0
            resamplings += 1
        else:
            log_weights = np.log(weights) + math.log(n)
        before = y
    return Filtered(likelihood, means, np.array(sizes), resamplings)


@njit
def summary(theta, observations, particles, scheme, guided, seed):
    """The log-likelihood with a prior, and a little of the other results."""
    model = model_of(theta)
    found = filtered(model, observations, Options(particles, scheme, guided, 0.8), seed)
    prior = log_normal(model.mean, 0.0, 2.0) + log_normal(theta[1], 1.0, 0.5)
    roughness = np.sum(np.diff(found.means) ** 2)
    if found.resamplings == 0:
        return prior + found.likelihood
    return prior + found.likelihood - 0.1 * roughness + 0.01 * np.mean(found.sizes)
