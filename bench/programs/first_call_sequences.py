"""Programs with long first calls, for sequences: filters, a hidden Markov model, neural networks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["SEQUENCES"]


# ----------------------------------------------------------------------------------------------------------------------
# A Kalman filter of four states, with matrices


@njit
def kalman_four(logs, seen, dt):
    """Return the negative log-likelihood of a target of constant speed in the plane, with gaps in the data."""
    move = np.eye(4)
    move[0, 2], move[1, 3] = dt, dt
    look = np.zeros((2, 4))
    look[0, 0], look[1, 1] = 1.0, 1.0
    kick = np.array([[0.5 * dt * dt, 0.0], [0.0, 0.5 * dt * dt], [dt, 0.0], [0.0, dt]])
    drift = kick @ np.diag(np.exp(logs[:2])) @ kick.T
    noise = np.diag(np.exp(logs[2:4]))
    x, spread = np.zeros(4), 10.0 * np.eye(4)
    total = 0.0
    for t in range(len(seen)):
        x = move @ x
        spread = move @ spread @ move.T + drift
        if np.isnan(seen[t, 0]):
            continue
        error = seen[t] - look @ x
        inner = look @ spread @ look.T + noise
        gain = np.linalg.solve(inner, look @ spread).T
        _, logdet = np.linalg.slogdet(inner)
        total += 0.5 * (logdet + error @ np.linalg.solve(inner, error) + 2.0 * math.log(2.0 * math.pi))
        x = x + gain @ error
        spread = (np.eye(4) - gain @ look) @ spread
        spread = 0.5 * (spread + spread.T)
    return total


def make_kalman_four() -> tuple[Any, ...]:
    """Return four log variances, and 100 positions. Every seventh position is missing."""
    t = np.arange(100.0)
    seen = np.column_stack((0.3 * t + np.sin(t), 5.0 * np.cos(0.05 * t) + 0.3 * np.cos(2.0 * t)))
    seen[::7] = np.nan
    return np.array([-2.0, -2.5, -1.0, -1.2]), seen, 1.0


# ----------------------------------------------------------------------------------------------------------------------
# An unscented filter


@njit
def sigma_points(x, spread, scale):
    """Return the mean, and points on both sides of it along the columns of the Cholesky factor."""
    n = len(x)
    lower = np.linalg.cholesky(scale * spread)
    points = np.empty((2 * n + 1, n))
    points[0] = x
    for i in range(n):
        points[1 + i] = x + lower[:, i]
        points[1 + n + i] = x - lower[:, i]
    return points


@njit
def unscented(p, seen, dt):
    """Return the negative log-likelihood of distances to a pendulum with unknown length and damping."""
    n, kappa = 2, 1.0
    scale = n + kappa
    weights = np.full(2 * n + 1, 0.5 / scale)
    weights[0] = kappa / scale
    x, spread = np.array([p[2], 0.0]), np.diag(np.array([0.1, 0.1]))
    drift = math.exp(p[3]) * np.eye(2)
    noise = math.exp(p[4])
    total = 0.0
    for t in range(len(seen)):
        points = sigma_points(x, spread, scale)
        moved = np.empty_like(points)
        for k in range(len(points)):
            angle, speed = points[k]
            speed += dt * (-9.81 / p[0] * math.sin(angle) - p[1] * speed)
            moved[k, 0], moved[k, 1] = angle + dt * speed, speed
        x = weights @ moved
        spread = drift.copy()
        for k in range(len(points)):
            d = moved[k] - x
            spread += weights[k] * np.outer(d, d)
        points = sigma_points(x, spread, scale)
        z = np.empty(len(points))
        for k in range(len(points)):
            a = points[k, 0]
            z[k] = math.sqrt(1.0 + p[0] ** 2 + 2.0 * p[0] * math.sin(a))
        mean = weights @ z
        variance, cross = noise, np.zeros(n)
        for k in range(len(points)):
            variance += weights[k] * (z[k] - mean) ** 2
            cross += weights[k] * (z[k] - mean) * (points[k] - x)
        gain = cross / variance
        error = seen[t] - mean
        total += 0.5 * (math.log(variance) + error * error / variance)
        x = x + gain * error
        spread = spread - variance * np.outer(gain, gain)
    return total


def make_unscented() -> tuple[Any, ...]:
    """Return length, damping, first angle and two log variances, and 80 distances."""
    return np.array([1.2, 0.1, 0.6, -5.0, -4.0]), 1.6 + 0.4 * np.sin(0.15 * np.arange(80.0)), 0.05


# ----------------------------------------------------------------------------------------------------------------------
# A hidden Markov model


@njit
def hidden_markov(logits, first, means, logs, y):
    """Return the negative log-likelihood by the forward algorithm, with logarithms and Gaussian emissions."""
    states = len(means)
    transition = np.empty((states, states))
    for i in range(states):
        peak = np.max(logits[i])
        norm = peak + math.log(np.sum(np.exp(logits[i] - peak)))
        for j in range(states):
            transition[i, j] = logits[i, j] - norm
    peak = np.max(first)
    alpha = first - peak - math.log(np.sum(np.exp(first - peak)))
    for k in range(states):
        alpha[k] += -logs[k] - 0.5 * ((y[0] - means[k]) / math.exp(logs[k])) ** 2
    for t in range(1, len(y)):
        before = alpha.copy()
        for j in range(states):
            most = -np.inf
            for i in range(states):
                most = max(most, before[i] + transition[i, j])
            total = 0.0
            for i in range(states):
                total += math.exp(before[i] + transition[i, j] - most)
            z = (y[t] - means[j]) / math.exp(logs[j])
            alpha[j] = most + math.log(total) - logs[j] - 0.5 * z * z
    most = np.max(alpha)
    return -(most + math.log(np.sum(np.exp(alpha - most)))) + 0.5 * len(y) * math.log(2.0 * math.pi)


def make_hidden_markov() -> tuple[Any, ...]:
    """Return the parameters of four states, and 200 observations."""
    logits = 2.0 * np.eye(4) + 0.1 * np.cos(np.arange(16.0)).reshape(4, 4)
    y = np.repeat([0.1, 2.0, -1.0, 3.5], 50) + 0.4 * np.sin(5.0 * np.arange(200.0))
    return logits, np.array([0.1, 0.2, -0.1, 0.0]), np.array([0.0, 2.1, -1.2, 3.4]), np.full(4, -0.5), y


# ----------------------------------------------------------------------------------------------------------------------
# An LSTM


@njit
def sigmoid(x):
    """Return the logistic function, without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))


@njit
def lstm_cell(x, h, c, inward, back, bias):
    """Return the new hidden and cell states; the gates are blocks of rows: input, forget, output, candidate."""
    width = len(h)
    gates = inward @ x + back @ h + bias
    new_h, new_c = np.empty(width), np.empty(width)
    for k in range(width):
        i, f = sigmoid(gates[k]), sigmoid(gates[width + k])
        o, g = sigmoid(gates[2 * width + k]), math.tanh(gates[3 * width + k])
        new_c[k] = f * c[k] + i * g
        new_h[k] = o * math.tanh(new_c[k])
    return new_h, new_c


@njit
def lstm(first, second, readout, sequence):
    """Return the mean cross entropy of the next symbol, by two layers; a layer is (inward, back, bias)."""
    width = len(first[2]) // 4
    h1, c1, h2, c2 = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
    symbols = readout.shape[0]
    total = 0.0
    for t in range(len(sequence) - 1):
        x = np.zeros(symbols)
        x[sequence[t]] = 1.0
        h1, c1 = lstm_cell(x, h1, c1, first[0], first[1], first[2])
        h2, c2 = lstm_cell(h1, h2, c2, second[0], second[1], second[2])
        scores = readout @ h2
        peak = scores.max()
        total += peak + math.log(np.exp(scores - peak).sum()) - scores[sequence[t + 1]]
    return total / (len(sequence) - 1)


def make_lstm() -> tuple[Any, ...]:
    """Return two layers of width 8 and the readout to six symbols, and 40 symbols."""
    rng = np.random.default_rng(5)

    def layer(inputs: int, width: int) -> tuple[np.ndarray, ...]:
        """Return random weights of a layer."""
        shapes = ((4 * width, inputs), (4 * width, width), (4 * width,))
        return tuple(0.4 * rng.normal(size=shape) for shape in shapes)

    return layer(6, 8), layer(8, 8), 0.4 * rng.normal(size=(6, 8)), np.arange(40) * np.arange(40) % 6


# ----------------------------------------------------------------------------------------------------------------------
# A network of three layers, in array style


@njit
def dense_network(w1, b1, w2, b2, w3, b3, x, y):
    """Return the loss of a classifier of images: three layers, normalised in the middle, with weight decay."""
    h = np.maximum(x @ w1 + b1, 0.0)
    mean = h.sum(axis=1).reshape(-1, 1) / h.shape[1]
    centred = h - mean
    h = centred / np.sqrt((centred * centred).sum(axis=1).reshape(-1, 1) / h.shape[1] + 1e-5)
    h = np.tanh(h @ w2 + b2)
    scores = h @ w3 + b3
    total = 0.0
    for i in range(len(y)):
        row = scores[i] - scores[i].max()
        total -= row[y[i]] - np.log(np.sum(np.exp(row)))
    decay = np.sum(w1**2) + np.sum(w2**2) + np.sum(w3**2)
    return total / len(y) + 1e-3 * decay


def make_dense_network() -> tuple[Any, ...]:
    """Return the weights of 20, 16, 12 and 5 units, and 64 examples."""
    rng = np.random.default_rng(6)
    sizes = (20, 16, 12, 5)
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [0.3 * rng.normal(size=(inputs, outputs)), 0.1 * rng.normal(size=outputs)]
    return *layers, rng.normal(size=(64, 20)), np.arange(64) % 5


SEQUENCES = table(
    Program(kalman_four, make_kalman_four),
    Program(unscented, make_unscented),
    Program(hidden_markov, make_hidden_markov, (0, 1, 2, 3)),
    Program(lstm, make_lstm, (0, 1, 2)),
    Program(dense_network, make_dense_network, (0, 1, 2, 3, 4, 5)),
)
