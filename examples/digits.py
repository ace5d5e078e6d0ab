"""A small network that reads digits, with parameters in dicts: `python -m examples.digits`.

The data are 1,797 pictures of 8 x 8 pixels from scikit-learn: digits that 43 people wrote (E. Alpaydin and C. Kaynak,
1998). The network has one hidden layer and is differentiated on the tape; Adam (adam.py) updates the nested parameters.
PyTorch and JAX, if they are installed, compute the same gradient for comparison.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import dualrev as dr
from examples.adam import Adam
from examples.arguments import at_least, needs, picture, positive
from examples.timing import timed

CLASSES, PIXELS, BATCH = 10, 64, 64
Data = tuple[np.ndarray, np.ndarray]


def initial(hidden: int, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """Draw the parameters of both layers."""
    rng = np.random.default_rng([seed, 1])
    sizes = {"hidden": (PIXELS, hidden), "out": (hidden, CLASSES)}
    return {name: {"w": rng.normal(0.0, n**-0.5, (n, m)), "b": np.zeros(m)} for name, (n, m) in sizes.items()}


def scores(params: Any, images: Any) -> Any:
    """Compute the scores of the ten classes, with a row for each picture."""
    hidden = np.tanh(images @ params["hidden"]["w"] + params["hidden"]["b"])
    return hidden @ params["out"]["w"] + params["out"]["b"]


def loss(params: Any, images: np.ndarray, labels: np.ndarray) -> Any:
    """Compute the mean cross-entropy."""
    z = scores(params, images)
    return np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(labels)), labels])


def digits() -> Data:
    """Load scikit-learn's pictures, with pixels from 0 to 1, and their labels."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return found.data / 16.0, found.target


def generated(count: int, seed: int = 0) -> Data:
    """Generate pictures of ten random patterns with noise, for tests."""
    rng = np.random.default_rng([seed, 2])
    patterns, labels = rng.uniform(0.0, 1.0, (CLASSES, PIXELS)), rng.integers(0, CLASSES, count)
    return patterns[labels] + rng.normal(0.0, 0.3, (count, PIXELS)), labels


def split(data: Data, seed: int = 0) -> tuple[Data, Data]:
    """Split the data at random: four fifths to learn from, and the rest."""
    images, labels = data
    order = np.random.default_rng([seed, 3]).permutation(len(labels))
    cut = 4 * len(labels) // 5
    return (images[order[:cut]], labels[order[:cut]]), (images[order[cut:]], labels[order[cut:]])


def batches(data: Data, epoch: int, seed: int = 0) -> Iterator[Data]:
    """Yield all data in batches, in a random order that depends on the epoch."""
    images, labels = data
    order = np.random.default_rng([seed, 4, epoch]).permutation(len(labels))
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        yield images[some], labels[some]


def trained(params: Any, data: Data, epochs: int) -> tuple[Any, list[float]]:
    """Train; return the parameters, and the mean loss of each epoch."""
    slope, adam, losses = dr.value_and_grad(loss), Adam(0.003), []
    for epoch in range(epochs):
        found = []
        for images, labels in batches(data, epoch):
            value, gradient = slope(params, images, labels)
            params = adam.step(params, gradient)
            found.append(float(value))
        losses.append(float(np.mean(found)))
    return params, losses


def right(params: Any, data: Data) -> float:
    """Return the share of pictures whose label has the highest score."""
    return float(np.mean(np.argmax(scores(params, data[0]), axis=1) == data[1]))


def by_torch(params: Any, images: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """Return a function without arguments that computes PyTorch's gradient, on one thread."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    known, wanted = torch.from_numpy(images), torch.from_numpy(labels)
    p = dr.tree.map(lambda x: torch.tensor(x, requires_grad=True), params)
    leaves = [x for layer in p.values() for x in layer.values()]

    def gradient() -> Any:
        """Compute the gradient, as NumPy arrays in the dicts of the parameters."""
        hidden = torch.tanh(known @ p["hidden"]["w"] + p["hidden"]["b"])
        value = functional.cross_entropy(hidden @ p["out"]["w"] + p["out"]["b"], wanted)
        found = iter(torch.autograd.grad(value, leaves))
        return {name: {part: next(found).numpy() for part in layer} for name, layer in p.items()}

    return gradient


def by_jax(params: Any, images: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """Return a function without arguments that computes JAX's gradient."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def value(p: Any, images: Any, labels: Any) -> Any:
        """Mean cross-entropy of the batch, in JAX."""
        z = jnp.tanh(images @ p["hidden"]["w"] + p["hidden"]["b"]) @ p["out"]["w"] + p["out"]["b"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], axis=1))

    slope = jax.jit(jax.grad(value))
    return lambda: jax.tree.map(np.asarray, slope(params, images, labels))


def main(argv: Sequence[str] | None = None) -> int:
    """Train, and print the loss, the share of right answers, and the time of a gradient."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=at_least(100), metavar="N", help="use N generated pictures, without data")
    parser.add_argument("--hidden", type=positive, default=64, help="units in the hidden layer (64)")
    parser.add_argument("--epochs", type=positive, default=30, help="passes over the data (30)")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the loss of each epoch, and some digits")
    options = parser.parse_args(argv)
    if options.generated is None:
        needs(parser, "sklearn", "--generated 1000")
    data, unseen = split(generated(options.generated) if options.generated else digits())
    params = initial(options.hidden)
    before = time.process_time()
    learned, losses = trained(params, data, options.epochs)
    seconds = time.process_time() - before
    print(
        f"{len(data[1])} pictures, {sum(x.size for x in dr.tree.leaves(params))} parameters, {options.epochs} epochs:"
    )
    print(f"loss {losses[0]:.4f} in the first, {losses[-1]:.4f} in the last, {seconds:.2f} s")
    print(f"right: {right(learned, data):.4f}; of {len(unseen[1])} unseen pictures: {right(learned, unseen):.4f}")
    print("| way | first s | a gradient, ms | differs by |\n| --- | ---: | ---: | ---: |")
    for count in (BATCH, len(data[1])):
        batch = data[0][:count], data[1][:count]
        ways: dict[str, Callable[[], Any]] = {"dualrev, tape": partial(dr.grad(loss), params, *batch)}
        ways |= {"PyTorch": by_torch(params, *batch)} if find_spec("torch") else {}
        ways |= {"JAX": by_jax(params, *batch)} if find_spec("jax") else {}
        exact = dr.tree.ravel(ways["dualrev, tape"]())[0]
        for name, way in ways.items():
            gradient, first, _ = timed(way)
            each = timed(lambda way=way: [way() for _ in range(50)])[2] / 50  # type: ignore[misc]
            error = np.max(np.abs(dr.tree.ravel(gradient)[0] - exact)) / np.max(np.abs(exact))
            print(f"| {name}, {count} pictures | {first:.2f} | {1e3 * each:.3f} | {error:.0e} |")
    if options.picture:
        draw(learned, losses, unseen, options.picture)
    return 0


def draw(params: Any, losses: list[float], data: Data, file: str) -> None:
    """Draw the loss of each epoch, and the pictures with the least certain answers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(8.0, 2.8), layout="constrained")
    left, beside = figure.subfigures(1, 2, width_ratios=[1.0, 1.3], squeeze=False)[0]
    axes = left.subplots()
    axes.semilogy(range(1, len(losses) + 1), losses)
    axes.set_xlabel("epoch")
    axes.set_ylabel("mean loss")
    z = scores(params, data[0])
    certain = np.max(z, axis=1) - np.logaddexp.reduce(z, axis=1)
    for axis, k in zip(beside.subplots(2, 6).flat, np.argsort(certain), strict=False):
        axis.imshow(data[0][k].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{np.argmax(z[k])}, is {data[1][k]}", fontsize="small")
        axis.set_axis_off()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
