"""A recurrent network whose weight matrices are diagonal: the negative log likelihood of a sequence."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, reals

__all__ = ["FUNCTIONS"]


@njit
def logistic(x):
    """Logistic function."""
    return 1.0 / (1.0 + math.exp(-x))


@njit
def cell(y, state, weights, biases, layer):
    """Update the input y and the state of a layer in place. A row of weights has four gates side by side."""
    b = len(y)
    for i in range(b):
        hidden = state[2 * layer, i]
        forget = logistic(y[i] * weights[i] + biases[i])
        ingate = logistic(hidden * weights[b + i] + biases[b + i])
        outgate = logistic(y[i] * weights[2 * b + i] + biases[2 * b + i])
        change = math.tanh(hidden * weights[3 * b + i] + biases[3 * b + i])
        state[2 * layer + 1, i] = state[2 * layer + 1, i] * forget + ingate * change
        y[i] = outgate * math.tanh(state[2 * layer + 1, i])
        state[2 * layer, i] = y[i]


@njit
def objective(main, extra, start, sequence):
    """Negative mean log-likelihood of the sequence, for one character and bit."""
    layers, b, characters = main.shape[0] // 2, extra.shape[1], sequence.shape[0]
    state, y, total = start.copy(), np.empty(b), 0.0
    for t in range(characters - 1):
        for i in range(b):
            y[i] = sequence[t, i] * extra[0, i]
        for layer in range(layers):
            cell(y, state, main[2 * layer], main[2 * layer + 1], layer)
        norm = 2.0  # ADBench's program adds 2 to the sum of exponentials
        for i in range(b):
            y[i] = y[i] * extra[1, i] + extra[2, i]
            norm += math.exp(y[i])
        for i in range(b):
            total += sequence[t + 1, i] * (y[i] - math.log(norm))
    return -total / ((characters - 1) * b)


def prepare(given):
    """Read the parameters, the first state and the sequence."""
    sequence = reals(given, "sequence", None, None)
    b = sequence.shape[1]
    main = reals(given, "main_params", None, 4 * b)
    if len(sequence) < 2 or len(main) % 2:
        raise InputError("'sequence' has two characters at least, and 'main_params' two rows for each layer")
    return main, reals(given, "extra_params", 3, b), reals(given, "state", len(main), b), sequence


def finish(found):
    """Flatten both parts of the gradient to one list."""
    return [*found[0].ravel().tolist(), *found[1].ravel().tolist()]


EXAMPLE = {
    "main_params": [[0.1] * 4, [0.2] * 4],
    "extra_params": [[0.3]] * 3,
    "state": [[0.4]] * 2,
    "sequence": [[0.0], [1.0]],
}
FUNCTIONS = {
    "objective": Function(objective, prepare, EXAMPLE),
    "jacobian": Function(dr.grad(objective, (0, 1)), prepare, EXAMPLE, finish),
}
