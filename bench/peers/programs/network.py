"""A small neural network: few operations, on matrices that take most of the time."""

import numpy as np

from bench.peers.program import Program


def make_network(batch, inputs=32, hidden=64, outputs=10):
    """Return the weights and biases of two layers, a batch of inputs, and their labels."""
    rng = np.random.default_rng(0)
    shapes = [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]
    parameters = [rng.normal(0, 0.3, shape) for shape in shapes]
    return *parameters, rng.normal(0, 1, (batch, inputs)), rng.integers(0, outputs, batch)


network = Program(
    "network",
    "Two-layer network",
    "The mean cross-entropy of a batch under a network of 32, 64 and 10 units with tanh: products of matrices.",
    make=make_network,
    argnums=(0, 1, 2, 3),
    size=64,
    unit="rows",
    quick=6,
    in_quick=True,
    small=3,
)


@network.version("plain", "dualrev", arrays=True)
def _(np):
    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in NumPy, on whole matrices."""
        scores = np.tanh(inputs @ w1 + b1) @ w2 + b2
        scores = scores - np.max(scores, axis=1, keepdims=True)
        log_totals = np.log(np.sum(np.exp(scores), axis=1))
        return np.mean(log_totals - scores[np.arange(len(labels)), labels])

    return cross_entropy


@network.version("njit", "compiled")
def _():
    import math

    import numpy as np
    from numba import njit

    @njit
    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in numba: matrix products, then loops over rows and scores."""
        scores = np.tanh(inputs @ w1 + b1) @ w2 + b2
        total = 0.0
        for i in range(len(labels)):
            largest = scores[i].max()
            exps = 0.0
            for j in range(scores.shape[1]):
                exps += math.exp(scores[i, j] - largest)
            total += largest + math.log(exps) - scores[i, labels[i]]
        return total / len(labels)

    return cross_entropy


@network.version("jax")
def _():
    import jax
    import jax.numpy as jnp

    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in JAX, by `jax.nn.log_softmax`."""
        scores = jnp.tanh(inputs @ w1 + b1) @ w2 + b2
        log_probabilities = jax.nn.log_softmax(scores)
        return -jnp.mean(log_probabilities[jnp.arange(len(labels)), labels])

    return cross_entropy


@network.version("torch")
def _():
    import torch
    from torch.nn import functional

    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in PyTorch, by `addmm` and `functional.cross_entropy`."""
        hidden = torch.tanh(torch.addmm(b1, inputs, w1))
        return functional.cross_entropy(torch.addmm(b2, hidden, w2), labels)

    return cross_entropy


@network.version("autograd")
def _():
    import autograd.numpy as np
    from autograd.scipy.special import logsumexp

    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in autograd, by `logsumexp`."""
        scores = np.dot(np.tanh(np.dot(inputs, w1) + b1), w2) + b2
        return np.mean(logsumexp(scores, axis=1) - scores[np.arange(len(labels)), labels])

    return cross_entropy


@network.version("casadi", form="MX", note="operations of matrices", symbols="MX")
def _():
    import functools

    import casadi as ca

    def cross_entropy(w1, b1, w2, b2, inputs, labels):
        """Cross-entropy in CasADi, on whole matrices with a column for each row of the batch."""
        batch, units = len(labels), b2.numel()
        hidden = ca.tanh(w1.T @ ca.DM(inputs).T + ca.repmat(b1, 1, batch))  # a row of the batch is a column here
        scores = w2.T @ hidden + ca.repmat(b2, 1, batch)
        scores -= ca.repmat(functools.reduce(ca.fmax, ca.vertsplit(scores)), units, 1)
        log_totals = ca.log(ca.sum1(ca.exp(scores)))
        return (ca.sum2(log_totals) - ca.sum1(scores[units * np.arange(batch) + labels])) / batch

    return cross_entropy
