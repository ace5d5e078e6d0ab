"""What is trained: for each model its data, its parameters and its step, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualrev as dr
from examples.lantern import reviews, treelstm
from examples.lantern.errors import check_finite
from examples.lantern.training import Momentum, Task
from examples.lantern.trees import Tree, check_tree, read

__all__ = ["GENERATED", "TASKS", "treelstm_step", "treelstm_task"]


def treelstm_task(
    engine: str = "compiled",
    seed: int = 0,
    samples: int = 200,
    hidden: int = 150,
    embedding: int = 300,
    rate: float = 0.01,
    data: str | None = None,
) -> Task:
    """Trees one by one, as Python objects on the tape or as instances of a jitclass."""
    trees = read(data) if data else reviews.sentences(samples, seed)
    numbers = reviews.vocabulary(trees)
    step, batches = treelstm_step(engine, trees, numbers, reviews.vectors(numbers, embedding, seed))
    weights = treelstm.initial(seed, hidden, embedding)._asdict()
    settings = {"engine": engine, "seed": seed, "samples": len(trees), "hidden": hidden, "embedding": embedding}
    settings |= {"rate": rate, "data": data}
    return Task("treelstm", settings, weights, batches, step, optimiser=Momentum(rate, clip=50.0))


def treelstm_step(
    engine: str, trees: list[Tree], numbers: dict[str, int], vectors: np.ndarray
) -> tuple[Callable[..., Any], list[Any]]:
    """The step of a tree, and what the trees are for it."""
    for k, tree in enumerate(trees):
        check_tree(tree, f"tree {k}: root")
    for word, k in numbers.items():
        check_finite(vectors[k], f"the vector of {word!r}")
    if engine == "tape":
        on_tape = dr.value_and_grad(treelstm.loss)
        slope, batches = lambda w, tree: on_tape(w, tree, vectors, numbers), list(trees)
    else:
        from examples.lantern.nodes import rooted  # a class that numba compiles

        compiled = dr.value_and_grad(treelstm.compiled_loss)
        slope, batches = lambda w, root: compiled(w, root, vectors), [rooted(tree, numbers) for tree in trees]

    def step(parameters: Any, statistics: Any, batch: Any) -> tuple[float, dict[str, np.ndarray]]:
        value, gradient = slope(treelstm.Weights(**parameters), batch)
        return float(value), gradient._asdict()

    return step, batches


#: Name -> what makes the task of its settings.
TASKS: dict[str, Callable[..., Task]] = {"treelstm": treelstm_task}

#: What the data of each are.
GENERATED = {"treelstm": "sentences as trees are made from the seed (--data FILE reads a treebank in place of them)"}
