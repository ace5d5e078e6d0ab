"""A recursive network on the trees of sentences, compared with PyTorch and JAX: `python -m examples.sentiment`.

The network is the TreeLSTM of examples/lantern, on its generated sentences, in which the sentiment of a phrase follows
from its parts (`not very good`). Here the parameters are in dicts, and Adam (adam.py) updates them after each tree. The
network is differentiated by both engines: the tape over Python objects, the compiler over instances of a jitclass.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import dualrev as dr
from examples.adam import Adam
from examples.arguments import picture, positive
from examples.lantern.data import reviews
from examples.lantern.data.trees import Tree
from examples.lantern.models import treelstm
from examples.lantern.models.nodes import rooted
from examples.timing import timed

PARTS = ("leaf", "left", "right", "score")
Slope = Callable[[Any, Tree], tuple[float, Any]]  # of parameters and a tree: the loss and its gradient


def initial(hidden: int, embedding: int, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """Draw parameters in double precision, a matrix and a bias for each part."""
    return nested(w.astype(float) for w in treelstm.initial(seed, hidden, embedding))


def nested(weights: Any) -> dict[str, dict[str, Any]]:
    """Convert the weights of examples/lantern to dicts."""
    found = iter(weights)
    return {part: {"w": next(found), "b": next(found)} for part in PARTS}


def flat(params: Any) -> treelstm.Weights:
    """Convert dicts to the weights of examples/lantern."""
    return treelstm.Weights(*(params[part][kind] for part in PARTS for kind in "wb"))


class Data:
    """Sentences to learn from, unseen ones, and vectors for the words of both."""

    def __init__(self, count: int, embedding: int, seed: int = 0) -> None:
        trees = reviews.sentences(count + max(1, count // 4), seed)
        self.trees, self.unseen = trees[:count], trees[count:]
        self.numbers: Mapping[str, int] = reviews.vocabulary(trees)
        self.vectors = reviews.vectors(self.numbers, embedding, seed).astype(float)


def on_tape(data: Data) -> Slope:
    """Return value and gradient on the tape; the gradient has the dicts of the parameters."""

    def loss(params: Any, tree: Tree) -> Any:
        """The loss of a tree, on parameters in dicts."""
        return treelstm.loss(flat(params), tree, data.vectors, data.numbers)

    return dr.value_and_grad(loss)


def compiled(data: Data) -> Slope:
    """Return compiled value and gradient, with the weights as a named tuple and the tree as jitclass nodes."""
    slope, nodes = dr.value_and_grad(treelstm.compiled_loss), {}

    def value_and_gradient(params: Any, tree: Tree) -> tuple[float, Any]:
        """Return the loss and the gradient by compiled code; each tree is converted once."""
        if id(tree) not in nodes:
            nodes[id(tree)] = rooted(tree, data.numbers)
        value, gradient = slope(flat(params), nodes[id(tree)], data.vectors)
        return value, nested(gradient)

    return value_and_gradient


def by_torch(data: Data) -> Slope:
    """Return value and gradient by PyTorch, on one thread, for the program of examples/lantern."""
    import torch

    from examples.lantern import in_torch

    torch.set_num_threads(1)
    slope = in_torch.treelstm_slope(data.vectors, dict(data.numbers))

    def value_and_gradient(params: Any, tree: Tree) -> tuple[float, Any]:
        """Return the loss and the gradient by PyTorch, in the dicts of the parameters."""
        value, gradient = slope(
            {n: torch.from_numpy(x).requires_grad_() for n, x in flat(params)._asdict().items()}, tree
        )
        return value, nested(g.numpy() for g in gradient.values())

    return value_and_gradient


def by_jax(data: Data) -> Slope:
    """Return value and gradient by JAX without `jit`, which would compile again for each shape of a tree."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    known = jnp.asarray(data.vectors)

    def state(p: Any, tree: Tree, found: list[Any]) -> Any:
        """Return hidden state and memory of the root; append the hidden states and labels of all nodes to `found`."""
        if tree.left is None or tree.right is None:
            c, o = jnp.split(p["leaf"]["w"] @ known[data.numbers[str(tree.word)]] + p["leaf"]["b"], 2)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        else:
            (h_left, c_left), (h_right, c_right) = state(p, tree.left, found), state(p, tree.right, found)
            z = p["left"]["w"] @ h_left + p["left"]["b"] + p["right"]["w"] @ h_right + p["right"]["b"]
            i, f_left, f_right, o, u = jnp.split(z, 5)
            i, f_left, f_right, o = (jax.nn.sigmoid(gate) for gate in (i, f_left, f_right, o))
            c = i * jnp.tanh(u) + f_left * c_left + f_right * c_right
            h = o * jnp.tanh(c)
        found.append((h, tree.label))
        return h, c

    def loss(p: Any, tree: Tree) -> Any:
        """Sum of the cross-entropies of all nodes, in JAX."""
        found: list[Any] = []
        state(p, tree, found)
        hidden, labels = zip(*found, strict=True)
        scores = jax.nn.log_softmax(jnp.stack(hidden) @ p["score"]["w"].T + p["score"]["b"])
        return -jnp.sum(scores[jnp.arange(len(labels)), jnp.array(labels)])

    def value_and_gradient(params: Any, tree: Tree) -> tuple[float, Any]:
        """Return the loss and the gradient by JAX, in the dicts of the parameters."""
        value, gradient = jax.value_and_grad(lambda p: loss(p, tree))(params)
        return float(value), jax.tree.map(np.asarray, gradient)

    return value_and_gradient


def right(params: Any, trees: Sequence[Tree], data: Data) -> float:
    """Return the share of nodes whose label has the highest score."""
    w = flat(params)
    found: list[Any] = []
    for tree in trees:
        treelstm.states(w, tree, data.vectors, data.numbers, found)
    hidden, labels = zip(*found, strict=True)
    return float(np.mean(np.argmax(np.stack(hidden) @ w.score.T + w.score_bias, axis=1) == labels))


def trained(slope: Slope, params: Any, data: Data, epochs: int, seed: int = 0) -> tuple[Any, list[float], list[float]]:
    """Train; return the parameters, the mean loss of each epoch, and the share of unseen nodes that are right."""
    adam, losses, shares = Adam(0.001), [], []
    for epoch in range(epochs):
        total = 0.0
        for k in np.random.default_rng([seed, 3, epoch]).permutation(len(data.trees)):
            value, gradient = slope(params, data.trees[k])
            params = adam.step(params, gradient)
            total += float(value)
        losses.append(total / len(data.trees))
        shares.append(right(params, data.unseen, data))
    return params, losses, shares


def draw(losses: list[float], shares: list[float], file: str) -> None:
    """Draw the loss of each epoch, and the share of unseen nodes that are right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    epochs = range(1, len(losses) + 1)
    figure, (left, beside) = plt.subplots(1, 2, figsize=(8.0, 2.8), layout="constrained")
    left.semilogy(epochs, losses)
    left.set_ylabel("mean loss of a sentence")
    beside.plot(epochs, shares)
    beside.set_ylabel("unseen nodes that are right")
    for axes in (left, beside):
        axes.set_xlabel("epoch")
    figure.savefig(file, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the time of a gradient, train, and print losses and shares of right answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sentences", type=positive, default=200, help="sentences to train on (200), with a quarter more to test"
    )
    parser.add_argument("--hidden", type=positive, default=150, help="size of a hidden state (150)")
    parser.add_argument("--embedding", type=positive, default=300, help="size of a word's vector (300)")
    parser.add_argument("--epochs", type=positive, default=10, help="passes over the data (10)")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw losses, and shares of right answers")
    options = parser.parse_args(argv)
    data, params = Data(options.sentences, options.embedding), initial(options.hidden, options.embedding)
    ways: dict[str, Slope] = {"dualrev, compiled": compiled(data), "dualrev, tape": on_tape(data)}
    ways |= {"PyTorch": by_torch(data)} if find_spec("torch") else {}
    ways |= {"JAX, without jit": by_jax(data)} if find_spec("jax") else {}
    some = data.trees[:20]
    exact = [dr.tree.ravel(ways["dualrev, tape"](params, tree)[1])[0] for tree in some]
    print("| way | first s | a tree, ms | differs by |\n| --- | ---: | ---: | ---: |")
    for name, way in ways.items():
        gradient, first, _ = timed(lambda way=way: way(params, some[0])[1])  # type: ignore[misc]
        seconds = timed(lambda way=way: [way(params, tree) for tree in some])[2]  # type: ignore[misc]
        error = np.max(np.abs(dr.tree.ravel(gradient)[0] - exact[0])) / np.max(np.abs(exact[0]))
        print(f"| {name} | {first:.2f} | {1e3 * seconds / len(some):.2f} | {error:.0e} |")
    before = time.process_time()
    _, losses, shares = trained(ways["dualrev, compiled"], params, data, options.epochs)
    print(f"{len(data.trees)} sentences, {sum(x.size for x in dr.tree.leaves(params))} parameters,", end=" ")
    print(f"{options.epochs} epochs in {time.process_time() - before:.1f} s")
    print(f"loss of a sentence: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last")
    print(f"right, of the nodes of {len(data.unseen)} unseen sentences: {shares[0]:.3f}, {shares[-1]:.3f}")
    if options.picture:
        draw(losses, shares, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
