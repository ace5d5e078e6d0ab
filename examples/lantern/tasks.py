"""The tasks by name: the data, the parameters and the training step of each model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualrev as dr
from examples.lantern.data import images, reviews, speech
from examples.lantern.data.trees import Tree, check_tree, read
from examples.lantern.errors import check_finite
from examples.lantern.models import deepspeech, resnet, squeezenet, treelstm
from examples.lantern.training import Adagrad, Momentum, Task

__all__ = ["GENERATED", "TASKS", "deepspeech_task", "resnet_task", "squeezenet_task", "treelstm_step", "treelstm_task"]


def treelstm_task(
    engine: str = "compiled",
    seed: int = 0,
    samples: int = 200,
    hidden: int = 150,
    embedding: int = 300,
    rate: float = 0.05,
    optimiser: str = "adagrad",
    data: str | None = None,
) -> Task:
    """Make the TreeLSTM's task: one tree a step, as Python objects on the tape or as instances of a jitclass.

    Optimiser and rate are those of Tai et al. (2015): Adagrad. "momentum" takes a lower rate, such as 0.003.
    """
    trees = read(data) if data else reviews.sentences(samples, seed)
    numbers = reviews.vocabulary(trees)
    step, batches = treelstm_step(engine, trees, numbers, reviews.vectors(numbers, embedding, seed))
    weights = treelstm.initial(seed, hidden, embedding)._asdict()
    settings = {"engine": engine, "seed": seed, "samples": len(trees), "hidden": hidden, "embedding": embedding}
    settings |= {"rate": rate, "optimiser": optimiser, "data": data}
    known: dict[str, Adagrad | Momentum] = {"adagrad": Adagrad(rate), "momentum": Momentum(rate, clip=50.0)}
    return Task("treelstm", settings, weights, batches, step, optimiser=known[optimiser])


def treelstm_step(
    engine: str, trees: list[Tree], numbers: dict[str, int], vectors: np.ndarray
) -> tuple[Callable[..., Any], list[Any]]:
    """Return the training step for one tree, and the trees in the form that it takes."""
    for k, tree in enumerate(trees):
        check_tree(tree, f"tree {k}: root")
    for word, k in numbers.items():
        check_finite(vectors[k], f"the vector of {word!r}")
    if engine == "tape":
        on_tape = dr.value_and_grad(treelstm.loss)
        slope, batches = lambda w, tree: on_tape(w, tree, vectors, numbers), list(trees)
    else:
        from examples.lantern.models.nodes import rooted  # a class that numba compiles

        compiled = dr.value_and_grad(treelstm.compiled_loss)
        slope, batches = lambda w, root: compiled(w, root, vectors), [rooted(tree, numbers) for tree in trees]

    def step(parameters: Any, statistics: Any, batch: Any) -> tuple[float, dict[str, np.ndarray]]:
        """Return the loss and the gradient of a tree."""
        value, gradient = slope(treelstm.Weights(**parameters), batch)
        return float(value), gradient._asdict()

    return step, batches


def squeezenet_task(seed: int = 0, samples: int = 128, batch: int = 8, size: int = 32, rate: float = 0.01) -> Task:
    """Make SqueezeNet's task, with 10 classes, on pictures of size x size."""
    batches = images.batches(*images.pictures(samples, seed, size), batch)
    parameters = images.initial(squeezenet.shapes(images.CLASSES), seed)
    settings = {"seed": seed, "samples": samples, "batch": batch, "size": size, "rate": rate}
    optimiser = Momentum(rate, clip=1.0)
    return Task("squeezenet", settings, parameters, batches, images.step_of(squeezenet.forward), optimiser=optimiser)


def resnet_task(
    seed: int = 0, samples: int = 64, batch: int = 8, size: int = 32, rate: float = 0.01, width: int = 64
) -> Task:
    """Make ResNet50's task, with 10 classes, on pictures of size x size; a `width` below 64 narrows all layers."""
    batches = images.batches(*images.pictures(samples, seed, size), batch)
    parameters = images.initial(resnet.shapes(images.CLASSES, width=width), seed)
    settings = {"seed": seed, "samples": samples, "batch": batch, "size": size, "rate": rate, "width": width}
    step, known = images.step_of(resnet.forward), resnet.statistics(width=width)
    return Task("resnet50", settings, parameters, batches, step, known, Momentum(rate, clip=1.0))


def deepspeech_task(
    seed: int = 0,
    samples: int = 32,
    batch: int = 4,
    hidden: int = 64,
    layers: int = 2,
    channels: int = 32,
    frames: int = 80,
    rate: float = 0.01,
) -> Task:
    """Make DeepSpeech2's task, with `layers` recurrent layers, on utterances of `frames` frames."""
    batches = speech.batches(*speech.utterances(samples, seed, frames=frames), batch)
    parameters = images.initial(deepspeech.shapes(hidden=hidden, layers=layers, channels=channels), seed)
    settings: dict[str, Any] = {"seed": seed, "samples": samples, "batch": batch, "hidden": hidden, "layers": layers}
    settings |= {"channels": channels, "frames": frames, "rate": rate}
    return Task("deepspeech2", settings, parameters, batches, deepspeech.step_of(), optimiser=Momentum(rate, clip=5.0))


#: A function for each model that makes its task from the settings.
TASKS: dict[str, Callable[..., Task]] = {
    "treelstm": treelstm_task,
    "squeezenet": squeezenet_task,
    "resnet50": resnet_task,
    "deepspeech2": deepspeech_task,
}

#: The data of each model.
GENERATED = {
    "treelstm": "random sentences as trees (--data FILE reads a treebank instead)",
    "squeezenet": "random pictures of gratings",
    "resnet50": "random pictures of gratings",
    "deepspeech2": "random spectra of spoken letters",
}
