"""ADBench's LSTM: each gate acts on single units, so that the operations are on short vectors."""

import itertools

import numpy as np

from bench.peers.program import Program


def make_lstm(characters, layers=2, units=14):
    """Return weights, biases, input and output scales, the first state, and a text of `characters` + 1 rows."""
    rng = np.random.default_rng(0)
    weights, biases = 0.5 * rng.normal(size=(2, layers, 4, units))
    sequence = rng.uniform(size=(characters + 1, units))
    return weights, biases, rng.normal(size=(3, units)), rng.normal(size=(2, layers, units)), sequence


def lists(*inputs):
    """Convert all arrays to nested lists."""
    return tuple(x.tolist() for x in inputs)


def matrices(weights, biases, ends, state, sequence):
    """Reshape all parameters to matrices with a row for each vector, as CasADi has no other arrays."""
    units = sequence.shape[1]
    return *(x.reshape(-1, units) for x in (weights, biases, ends, state)), sequence


lstm = Program(
    "lstm",
    "LSTM (ADBench)",
    "The log-likelihood of a text under an LSTM of two layers of 14 units: its state runs from character to character.",
    make=make_lstm,
    argnums=(0, 1, 2, 3),
    size=20,
    unit="characters",
    quick=4,
    small=2,
)


@lstm.version("plain", "dualrev", "micrograd", inputs=lists)
def _(math):
    def sigmoid(x):
        """Logistic function of a number."""
        return 1.0 / (1.0 + math.exp(-x))

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in plain Python, a loop over characters, layers and units."""
        hidden, cell = ([list(units) for units in part] for part in state)
        units = range(len(sequence[0]))
        total = 0.0
        for now, following in itertools.pairwise(sequence):
            x = [now[i] * ends[0][i] for i in units]
            for w, b, h, c in zip(weights, biases, hidden, cell, strict=True):
                for i in units:
                    forget = sigmoid(x[i] * w[0][i] + b[0][i])
                    ingate = sigmoid(h[i] * w[1][i] + b[1][i])
                    outgate = sigmoid(x[i] * w[2][i] + b[2][i])
                    change = math.tanh(h[i] * w[3][i] + b[3][i])
                    c[i] = c[i] * forget + ingate * change
                    x[i] = h[i] = outgate * math.tanh(c[i])
            y = [x[i] * ends[1][i] + ends[2][i] for i in units]
            total = total + sum([following[i] * y[i] for i in units]) - math.log(sum([math.exp(a) for a in y]) + 2.0)
        return total / (len(sequence) - 1)

    return log_likelihood


@lstm.version("plain", "dualrev", form="numpy", arrays=True)
def _(np):
    def sigmoid(x):
        """Logistic function of an array."""
        return 1.0 / (1.0 + np.exp(-x))

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in NumPy: loops over characters and layers, vectors for the units."""
        layers = list(zip(weights, biases, strict=True))
        hidden, cell = list(state[0]), list(state[1])
        tops = []
        for x in sequence[:-1] * ends[0]:
            for k, (w, b) in enumerate(layers):
                gates = np.stack([x, hidden[k], x, hidden[k]]) * w + b
                forget, ingate, outgate = sigmoid(gates[:3])
                cell[k] = cell[k] * forget + ingate * np.tanh(gates[3])
                x = hidden[k] = outgate * np.tanh(cell[k])
            tops.append(x)
        y = np.stack(tops) * ends[1] + ends[2]
        return np.mean(np.sum(sequence[1:] * y, axis=1) - np.log(np.sum(np.exp(y), axis=1) + 2.0))

    return log_likelihood


@lstm.version("njit", "compiled")
def _():
    import math

    from numba import njit

    @njit
    def sigmoid(x):
        """Logistic function of a number."""
        return 1.0 / (1.0 + math.exp(-x))

    @njit
    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in numba, a loop over characters, units and layers."""
        layers, _, units = weights.shape
        hidden, cell = state[0].copy(), state[1].copy()
        total = 0.0
        for t in range(len(sequence) - 1):
            exps = 0.0
            gold = 0.0
            for i in range(units):
                x = sequence[t, i] * ends[0, i]
                for k in range(layers):
                    forget = sigmoid(x * weights[k, 0, i] + biases[k, 0, i])
                    ingate = sigmoid(hidden[k, i] * weights[k, 1, i] + biases[k, 1, i])
                    outgate = sigmoid(x * weights[k, 2, i] + biases[k, 2, i])
                    change = math.tanh(hidden[k, i] * weights[k, 3, i] + biases[k, 3, i])
                    cell[k, i] = cell[k, i] * forget + ingate * change
                    x = hidden[k, i] = outgate * math.tanh(cell[k, i])
                y = x * ends[1, i] + ends[2, i]
                exps += math.exp(y)
                gold += sequence[t + 1, i] * y
            total += gold - math.log(exps + 2.0)
        return total / (len(sequence) - 1)

    return log_likelihood


@lstm.version("jax", form="scan", note="the characters as lax.scan, the two layers unrolled")
def _():
    import jax.numpy as jnp
    from jax import lax
    from jax.nn import sigmoid

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in JAX: `lax.scan` over the characters, both layers unrolled."""

        def step(state, x):
            """Advance hidden state and cell by one character; the output is the top layer's hidden vector."""
            hidden, cell = list(state[0]), list(state[1])
            for k in range(len(weights)):
                gates = jnp.stack([x, hidden[k], x, hidden[k]]) * weights[k] + biases[k]
                forget, ingate, outgate = sigmoid(gates[:3])
                cell[k] = cell[k] * forget + ingate * jnp.tanh(gates[3])
                x = hidden[k] = outgate * jnp.tanh(cell[k])
            return (hidden, cell), x

        _, tops = lax.scan(step, (list(state[0]), list(state[1])), sequence[:-1] * ends[0])
        y = tops * ends[1] + ends[2]
        return jnp.mean(jnp.sum(sequence[1:] * y, axis=1) - jnp.log(jnp.sum(jnp.exp(y), axis=1) + 2.0))

    return log_likelihood


@lstm.version("torch")
def _():
    import torch

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in PyTorch: loops over characters and layers, vectors for the units."""
        layers = list(zip(weights, biases, strict=True))
        hidden, cell = list(state[0]), list(state[1])
        tops = []
        for x in (sequence[:-1] * ends[0]).unbind():
            for k, (w, b) in enumerate(layers):
                gates = torch.addcmul(b, torch.stack([x, hidden[k], x, hidden[k]]), w)
                forget, ingate, outgate = torch.sigmoid(gates[:3]).unbind()
                cell[k] = cell[k] * forget + ingate * torch.tanh(gates[3])
                x = hidden[k] = outgate * torch.tanh(cell[k])
            tops.append(x)
        y = torch.stack(tops) * ends[1] + ends[2]
        return ((sequence[1:] * y).sum(dim=1) - torch.log(torch.exp(y).sum(dim=1) + 2.0)).mean()

    return log_likelihood


@lstm.version("autograd")
def _():
    import autograd.numpy as np
    from autograd.scipy.special import expit

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in autograd: loops over characters and layers, a vector for each gate."""
        layers = [(list(w), list(b)) for w, b in zip(weights, biases, strict=True)]
        hidden, cell = list(state[0]), list(state[1])
        tops = []
        for x in sequence[:-1] * ends[0]:
            for k, (w, b) in enumerate(layers):
                forget = expit(x * w[0] + b[0])
                ingate = expit(hidden[k] * w[1] + b[1])
                outgate = expit(x * w[2] + b[2])
                change = np.tanh(hidden[k] * w[3] + b[3])
                cell[k] = cell[k] * forget + ingate * change
                x = hidden[k] = outgate * np.tanh(cell[k])
            tops.append(x)
        y = np.stack(tops) * ends[1] + ends[2]
        return np.mean(np.sum(sequence[1:] * y, axis=1) - np.log(np.sum(np.exp(y), axis=1) + 2.0))

    return log_likelihood


@lstm.version("casadi", form="MX", inputs=matrices, note="unrolled, into operations of vectors", symbols="MX")
def _():
    import casadi as ca

    def sigmoid(x):
        """Logistic function of a matrix expression."""
        return 1.0 / (1.0 + ca.exp(-x))

    def log_likelihood(weights, biases, ends, state, sequence):
        """Log-likelihood in CasADi: both loops are unrolled into vector operations."""
        scale, slope, shift = ca.vertsplit(ends)
        w, b, state = ca.vertsplit(weights), ca.vertsplit(biases), ca.vertsplit(state)
        layers = len(state) // 2
        hidden, cell = state[:layers], state[layers:]
        total = 0.0
        for now, following in itertools.pairwise(sequence):
            x = ca.DM(now).T * scale
            for k in range(layers):
                forget = sigmoid(x * w[4 * k] + b[4 * k])
                ingate = sigmoid(hidden[k] * w[4 * k + 1] + b[4 * k + 1])
                outgate = sigmoid(x * w[4 * k + 2] + b[4 * k + 2])
                change = ca.tanh(hidden[k] * w[4 * k + 3] + b[4 * k + 3])
                cell[k] = cell[k] * forget + ingate * change
                x = hidden[k] = outgate * ca.tanh(cell[k])
            y = x * slope + shift
            total += ca.dot(ca.DM(following).T, y) - ca.log(ca.sum2(ca.exp(y)) + 2.0)
        return total / (len(sequence) - 1)

    return log_likelihood
