r"""TreeLSTM by staged shift and reset: `lossFun` of Wang et al. 2019, section 5.1, on staged tensors.

    lossFun node = (TREE (0, 0, 0) node (\l r. let (hidden, cell) = IF (isLeaf node) (leaf (Embedding node)) (inner l r)
                                               let loss = softmaxCrossEntropyLoss (Linear hidden) (score node)
                                               in (l.loss + r.loss + loss, hidden, cell))).loss

    leaf:   c, o = W x + b                                            h = sigma(o) tanh(c)
    inner:  i, f_l, f_r, o, u = U_l h_l + b_l + U_r h_r + b_r         h = sigma(o) tanh(c)
            c = sigma(i) tanh(u) + sigma(f_l) c_l + sigma(f_r) c_r

The paper does not print BiLSTM; the cell is that of Tai, Socher and Manning 2015, its source for the task. In the
paper's text the loss of a node is the node's own. Here it includes the losses below, because training takes "true
sentiment labels of each node". The code is generated once; the tree is data of the generated code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stages.relatives.continuations.lantern import IF, TREE, Node
from stages.relatives.staging.number import Condition, Index, here
from stages.relatives.staging.tensors import (
    StagedTensors,
    TensorR,
    cross_entropy,
    row,
    sigmoid,
    stage_tensors,
    tanh,
    zeros,
)

__all__ = ["ARRAYS", "arrays_of", "shapes", "tree_lstm"]

#: The arguments of the generated code besides the weights: for each node its children (-1: none), sentiment and word
#: (-1: none), and a vector for each word.
ARRAYS = ("left", "right", "score", "word", "vectors")


class Phrase(Node):
    """A node of a sentence; its value, for TREE, is the node."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The node itself, with `is_leaf`, `score` and `embedding`."""
        return self

    @property
    def is_leaf(self) -> Condition:
        """Whether the node has no children."""
        return Condition(Index.of(self.arrays[0], self.t), "<", Index(self.t.run, 0))

    @property
    def score(self) -> Index:
        """The sentiment of the phrase."""
        return Index.of(self.arrays[2], self.t)

    def embedding(self, length: int) -> TensorR:
        """The vector of the node's word."""
        return row("vectors", Index.of("word", self.t), length)


def shapes(hidden: int, embedding: int, classes: int) -> list[tuple[int, ...]]:
    """The shapes of the weights: leaf, left, right, and score, each with its bias."""
    d = hidden
    rows = [(2 * d, embedding), (5 * d, d), (5 * d, d), (classes, d)]
    return [shape for rows, columns in rows for shape in ((rows, columns), (rows,))]


def leaf_cell(z: TensorR, d: int) -> tuple[TensorR, TensorR]:
    """Hidden state and memory of a leaf."""
    return sigmoid(z[d:]) * tanh(z[:d]), z[:d]


def inner_cell(z: TensorR, c_left: TensorR, c_right: TensorR, d: int) -> tuple[TensorR, TensorR]:
    """Hidden state and memory of a node from its gates and its children's memories."""
    i, f_left, f_right, o = (sigmoid(z[k * d : (k + 1) * d]) for k in range(4))
    c = f_left * c_left + f_right * c_right + i * tanh(z[4 * d :])
    return o * tanh(c), c


def tree_lstm(hidden: int, embedding: int, classes: int = 5) -> StagedTensors:
    """The staged loss of a tree, with its gradient by the weights, for any tree."""
    nothing = lambda: (zeros(()), zeros((hidden,)), zeros((hidden,)))  # noqa: E731

    def loss(*w: TensorR) -> TensorR:
        """lossFun"""
        leaf, leaf_bias, left, left_bias, right, right_bias, linear, linear_bias = w

        def at(l: Any, r: Any, node: Any) -> Any:  # noqa: E741 - the paper's lState
            """Loss, hidden state and memory of a node, from those of its children."""
            h, c = IF(
                node.is_leaf,
                lambda: leaf_cell(leaf @ node.embedding(embedding) + leaf_bias, hidden),
                lambda: inner_cell(left @ l[1] + left_bias + right @ r[1] + right_bias, l[2], r[2], hidden),
                like=nothing()[1:],
            )
            return l[0] + r[0] + cross_entropy(linear @ h + linear_bias, node.score), h, c

        return TREE(nothing(), Phrase(Index(here(), 0), ARRAYS[:3]), at)[0]

    return stage_tensors(loss, shapes(hidden, embedding, classes), ARRAYS)


def arrays_of(tree: Any, numbers: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree of nodes with label, word, left and right; `numbers` has the row of each word's vector."""
    columns: dict[str, list[int]] = {name: [] for name in ARRAYS[:4]}

    def add(node: Any) -> int:
        """Append a node and all nodes below it, and return its index."""
        here = len(columns["left"])
        for name, x in zip(ARRAYS, (-1, -1, node.label, -1 if node.word is None else numbers[node.word]), strict=False):
            columns[name].append(x)
        if node.word is None:
            columns["left"][here], columns["right"][here] = add(node.left), add(node.right)
        return here

    add(tree)
    return {name: np.array(column, np.int64) for name, column in columns.items()}
