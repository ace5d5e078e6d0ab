"""Models for bench/eager.py, run without a compiler: programs of many operations, as users write them with numpy.

A model is a function of three arguments with one number as its result: numpy (or a library's own version of it), the
parameters (a list of arrays, with respect to which it is differentiated), and the data (a list of constant arrays).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["MODELS", "Model"]

Arrays = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Model:
    """A model: `loss(np, parameters, data)`, and the shapes of its parameters and data, which are normal numbers."""

    name: str
    loss: Callable[[Any, Any, Any], Any]
    parameters: tuple[tuple[int, ...], ...]
    data: tuple[tuple[int, ...], ...]
    scale: float = 0.3  # of the parameters
    libraries: tuple[str, ...] = ("dualrev", "autograd", "JAX", "PyTorch")
    times: int = 1

    def sizes(self, asked: Sequence[int] | None) -> list[int]:
        """Return the number of parameters, as the only size; no size if the user asks for sizes of operations."""
        return [] if asked else [sum(math.prod(shape) for shape in self.parameters)]

    def run(self, np: Any, x: Any, c: Any) -> Any:
        """Compute the loss."""
        return self.loss(np, x, c)

    def make(self, size: int) -> tuple[Arrays, Arrays]:
        """Return parameters and data. They do not depend on `size`."""
        rng = np.random.default_rng(0)
        parameters = [self.scale * rng.standard_normal(shape) for shape in self.parameters]
        return parameters, [rng.standard_normal(shape) for shape in self.data]


def _sigmoid(np: Any, z: Any) -> Any:
    return 0.5 * np.tanh(0.5 * z) + 0.5


def _log_sum_exp(np: Any, a: Any) -> Any:
    """Logarithm of the sum of exponentials along the last axis."""
    return np.log(np.sum(np.exp(a), axis=-1))


def _lstm(np: Any, x: Any, c: Any) -> Any:
    """LSTM with 64 hidden units, over 30 steps."""
    (w, u, bias), (sequence, h, memory) = x, c
    d, total = len(h), 0.0
    for seen in sequence:
        z = w @ seen + u @ h + bias
        gates = _sigmoid(np, z[: 3 * d])
        memory = gates[:d] * memory + gates[d : 2 * d] * np.tanh(z[3 * d :])
        h = gates[2 * d :] * np.tanh(memory)
        total = total + np.sum(h * h)
    return total


def _tree_lstm(np: Any, x: Any, c: Any) -> Any:
    """TreeLSTM of Tai, Socher and Manning (2015) on a tree with 16 leaves."""
    (leaf, leaf_bias, left, right, bias), (words,) = x, c
    d, found = len(leaf_bias) // 2, []

    def state(first: int, last: int) -> Any:
        """Return hidden vector and memory of the subtree over the words from `first` to before `last`."""
        if last - first == 1:
            z = leaf @ words[first] + leaf_bias
            memory = z[:d]
            h = _sigmoid(np, z[d:]) * np.tanh(memory)
        else:
            middle = (first + last) // 2
            (h_left, c_left), (h_right, c_right) = state(first, middle), state(middle, last)
            z = left @ h_left + right @ h_right + bias
            gates = _sigmoid(np, z[: 4 * d])
            kept = gates[d : 2 * d] * c_left + gates[2 * d : 3 * d] * c_right
            memory = kept + gates[:d] * np.tanh(z[4 * d :])
            h = gates[3 * d :] * np.tanh(memory)
        found.append(np.sum(h * h))
        return h, memory

    state(0, len(words))
    return sum(found[1:], found[0])


def _network(np: Any, x: Any, c: Any) -> Any:
    """Cross-entropy of a network with two layers and ten classes, on 256 examples."""
    (w, b, v, e), (examples, wanted) = x, c
    scores = np.tanh(examples @ w + b) @ v + e
    return np.sum(_log_sum_exp(np, scores) - np.sum(scores * wanted, axis=1)) / len(examples)


def _mixture(np: Any, x: Any, c: Any) -> Any:
    """Log-likelihood of 1,000 points under a mixture of ten Gaussians in five dimensions."""
    (weights, means, logs), (points,) = x, c
    away = (points[:, None, :] - means) * np.exp(logs)
    terms = weights + np.sum(logs, axis=1) - 0.5 * np.sum(away * away, axis=2)
    return np.sum(_log_sum_exp(np, terms)) - len(points) * _log_sum_exp(np, weights)


def _markov(np: Any, x: Any, c: Any) -> Any:
    """Log-likelihood under a hidden Markov model of ten states and five symbols: forward algorithm, 100 steps."""
    (moves, shows), (start,) = x, c
    p, total = np.exp(start), 0.0
    step, shown = np.exp(moves), np.exp(shows)
    for k in range(100):
        p = (p @ step) * shown[k * k % 5]
        size = np.sum(p)
        p, total = p / size, total + np.log(size)
    return total


def _kalman(np: Any, x: Any, c: Any) -> Any:
    """Log-likelihood by a Kalman filter of three states, all observed, over 50 steps."""
    (move, noise), (seen, m, root) = x, c
    r = root @ root.T  # of what is seen
    q, p, total = noise @ noise.T + r, r, 0.0
    for y in seen:
        m, p = move @ m, move @ p @ move.T + q
        inverse, away = np.linalg.inv(p + r), y - m
        gain = p @ inverse
        total = total + away @ inverse @ away - np.linalg.slogdet(inverse)[1]
        m, p = m + gain @ away, p - gain @ p
    return total


def _ode(np: Any, x: Any, c: Any) -> Any:
    """Neural ODE: 20 steps of RK4 with 50 points in the plane."""
    (w, b, v), (y,) = x, c

    def slope(y: Any) -> Any:
        """Velocity of the points: a network with one hidden layer."""
        return np.tanh(y @ w + b) @ v

    h = 0.05
    for _ in range(20):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(y + h * k3))
    return np.sum(y * y)


MODELS = {
    model.name: model
    for model in [
        Model("LSTM", _lstm, ((256, 32), (256, 64), (256,)), ((30, 32), (64,), (64,)), scale=0.1),
        Model("TreeLSTM", _tree_lstm, ((300, 300), (300,), (750, 150), (750, 150), (750,)), ((16, 300),), scale=0.05),
        Model("two layers", _network, ((64, 128), (128,), (128, 10), (10,)), ((256, 64), (256, 10)), scale=0.1),
        Model("Gaussian mixture", _mixture, ((10,), (10, 5), (10, 5)), ((1000, 5),)),
        Model("hidden Markov model", _markov, ((10, 10), (5, 10)), ((10,),)),
        Model("Kalman filter", _kalman, ((3, 3), (3, 3)), ((50, 3), (3,), (3, 3))),
        Model("neural ODE", _ode, ((2, 32), (32,), (32, 2)), ((50, 2),)),
    ]
}
