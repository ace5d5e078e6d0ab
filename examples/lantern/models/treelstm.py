"""The constituency TreeLSTM of Tai, Socher and Manning (2015) for the sentiment of each node of a tree.

    leaf:   c, o = W x + b                                            h = sigma(o) tanh(c)
    node:   i, f_l, f_r, o, u = U_l h_l + b_l + U_r h_r + b_r         h = sigma(o) tanh(c)
            c = sigma(i) tanh(u) + sigma(f_l) c_l + sigma(f_r) c_r
    loss:   the sum over all nodes of -log softmax(V h + v)[label]

The recursion is written twice: for the tape, with NumPy, over Python objects (`states`), and for the compiler, with
loops, over instances of a jitclass (`compiled_state`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import expit

from examples.lantern.data.trees import CLASSES, Tree

__all__ = ["Weights", "compiled_loss", "count", "initial", "loss"]


class Weights(NamedTuple):
    """The parameters. As in the publication, each matrix has its own bias."""

    leaf: Any  # 2 d, e
    leaf_bias: Any
    left: Any  # 5 d, d
    left_bias: Any
    right: Any
    right_bias: Any
    score: Any  # classes, d
    score_bias: Any


def initial(seed: int, hidden: int = 150, embedding: int = 300) -> Weights:
    """Draw the parameters: for a matrix of n columns and its bias, uniform between -1 / sqrt(n) and 1 / sqrt(n)."""
    rng = np.random.default_rng([seed, 2])
    made: list[np.ndarray] = []
    for rows, columns in ((2 * hidden, embedding), (5 * hidden, hidden), (5 * hidden, hidden), (CLASSES, hidden)):
        bound = 1.0 / math.sqrt(columns)
        made += [rng.uniform(-bound, bound, shape).astype(np.float32) for shape in ((rows, columns), (rows,))]
    return Weights(*made)


def count(weights: Weights) -> int:
    """Count the parameters except the weights and biases of the scores, as the publication does."""
    return sum(w.size for w in weights[:6])


@njit
def sigmoid(x: Any) -> Any:
    """Compute 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * math.tanh(0.5 * x) + 0.5


@njit
def leaf_cell(z: Any) -> Any:
    """Compute hidden state and memory of a leaf."""
    d = len(z) // 2
    h, c = np.empty(d, z.dtype), np.empty(d, z.dtype)
    for k in range(d):
        c[k] = z[k]
        h[k] = sigmoid(z[d + k]) * math.tanh(z[k])
    return h, c


@njit
def inner_cell(z: Any, c_left: Any, c_right: Any) -> Any:
    """Compute hidden state and memory of a node from its gates `z` and its children's memories."""
    d = len(c_left)
    h, c = np.empty(d, z.dtype), np.empty(d, z.dtype)
    for k in range(d):
        kept = sigmoid(z[d + k]) * c_left[k] + sigmoid(z[2 * d + k]) * c_right[k]
        c[k] = kept + sigmoid(z[k]) * math.tanh(z[4 * d + k])
        h[k] = sigmoid(z[3 * d + k]) * math.tanh(c[k])
    return h, c


@njit
def surprise(scores: Any, label: int) -> Any:
    """Compute -log softmax(scores)[label]."""
    highest = scores.max()
    total = 0.0
    for s in scores:
        total += math.exp(s - highest)
    return math.log(total) + highest - scores[label]


def states(w: Weights, tree: Tree, vectors: np.ndarray, numbers: Mapping[str, int], found: list[Any]) -> Any:
    """Compute hidden state and memory of the root, on the tape; append all hidden states and labels to `found`."""
    if tree.left is None or tree.right is None:
        z = w.leaf @ vectors[numbers[str(tree.word)]] + w.leaf_bias
        d = len(z) // 2
        c = z[:d]
        h = expit(z[d:]) * np.tanh(c)
    else:
        h_left, c_left = states(w, tree.left, vectors, numbers, found)
        h_right, c_right = states(w, tree.right, vectors, numbers, found)
        z = w.left @ h_left + w.left_bias + w.right @ h_right + w.right_bias
        d = len(c_left)
        gates = expit(z[: 4 * d])
        kept = gates[d : 2 * d] * c_left + gates[2 * d : 3 * d] * c_right
        c = kept + gates[:d] * np.tanh(z[4 * d :])
        h = gates[3 * d :] * np.tanh(c)
    found.append((h, tree.label))
    return h, c


def loss(w: Weights, tree: Tree, vectors: np.ndarray, numbers: Mapping[str, int]) -> Any:
    """Compute the loss of a tree of Python objects."""
    found: list[Any] = []
    states(w, tree, vectors, numbers, found)
    hidden, labels = zip(*found, strict=True)
    scores = np.stack(hidden) @ w.score.T + w.score_bias
    return np.sum(np.logaddexp.reduce(scores, axis=1)) - np.sum(scores[np.arange(len(labels)), labels])


@njit
def compiled_state(w: Any, node: Any, vectors: Any) -> Any:
    """Compute the loss of a node and all nodes below it, and its hidden state and memory."""
    left, right = node.left, node.right
    if left is None or right is None:
        below = 0.0
        h, c = leaf_cell(w.leaf @ vectors[node.word] + w.leaf_bias)
    else:
        below_left, h_left, c_left = compiled_state(w, left, vectors)
        below_right, h_right, c_right = compiled_state(w, right, vectors)
        below = below_left + below_right
        h, c = inner_cell(w.left @ h_left + w.left_bias + w.right @ h_right + w.right_bias, c_left, c_right)
    return below + surprise(w.score @ h + w.score_bias, node.label), h, c


@njit
def compiled_loss(w: Any, root: Any, vectors: Any) -> Any:
    """Compute the loss of the tree that is the left child of `root`."""
    return compiled_state(w, root.left, vectors)[0]
