"""Measure the table of docs/lantern.md: time and loss of the four models with dualrev, PyTorch and JAX.

    make lantern-table                    all models, with all libraries that are installed, on one thread
    make lantern-table ARGS="treelstm"    one model

All libraries start from the same parameters and take the same batches and steps, so their losses agree. The time is the
processor time of an epoch: as in the paper, the median over the epochs of three repeats (--repeats). Before each
repeat, each batch is computed once, which compiles and allocates; the time of compilation is the time of the first such
pass minus the median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from examples.lantern.data import reviews
from examples.lantern.tasks import TASKS
from examples.lantern.training import Run, Task, order, picture

#: The settings of each model, and the number of epochs.
SIZES: dict[str, tuple[dict[str, Any], int]] = {
    "treelstm": ({"samples": 10, "optimiser": "momentum", "rate": 0.003}, 5),  # JAX compiles for each shape of a tree
    "squeezenet": ({"samples": 64}, 5),
    "resnet50": ({"samples": 32}, 4),
    "deepspeech2": ({"samples": 16}, 4),
}


class Way(NamedTuple):
    """A library for the gradients: its name, a maker of the task, and a converter of parameters (not timed)."""

    by: str
    make: Callable[[], Task]
    handed: Callable[[Any], Any] = lambda x: x


def by_torch(task: Task) -> Task:
    """Replace the gradient of a task by PyTorch's. Tensors share the memory of the arrays."""
    import torch

    from examples.lantern import in_torch

    torch.set_num_threads(1)
    p = {name: torch.from_numpy(x).requires_grad_() for name, x in task.parameters.items()}
    known = {name: torch.from_numpy(x) for name, x in task.statistics.items()}
    if task.name == "treelstm":
        numbers = reviews.vocabulary(task.batches)
        vectors = reviews.vectors(numbers, task.settings["embedding"], task.settings["seed"])
        slope = in_torch.treelstm_slope(vectors, numbers)
        run = lambda batch: slope(p, batch)  # noqa: E731
    elif task.name == "deepspeech2":
        run = lambda batch: in_torch.speech_slope(p, *batch)  # noqa: E731
    else:
        forward = {
            "squeezenet": in_torch.squeezenet,
            "resnet50": lambda p, x: in_torch.resnet(p, known, x),
        }[task.name]
        of_images = in_torch.image_slope(forward)
        run = lambda batch: of_images(p, *batch)  # noqa: E731

    def step(parameters: object, statistics: object, batch: object) -> tuple[float, dict[str, object]]:
        """Return the loss and the gradient of a batch, as NumPy arrays."""
        loss, gradient = run(batch)
        return loss, {name: g.numpy() for name, g in gradient.items()}

    task.step = step  # type: ignore[assignment]
    return task


def by_jax(task: Task, compiled: bool = True) -> Task:
    """Replace the gradient of a task by JAX's."""
    import jax

    from examples.lantern import in_jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)  # on one core, waiting for a thread is all that it adds
    if task.name == "treelstm":
        numbers = reviews.vocabulary(task.batches)
        vectors = reviews.vectors(numbers, task.settings["embedding"], task.settings["seed"])
        run = in_jax.treelstm_slope(vectors, compiled)
        task.batches = [in_jax.tree_data(tree, numbers) for tree in task.batches]
        step = lambda p, _, tree: run(p, tree)  # noqa: E731
    elif task.name == "deepspeech2":
        heard = in_jax.speech_slope(max(len(text) for _, texts in task.batches for text in texts))
        step = lambda p, _, batch: heard(p, *batch)  # noqa: E731
    else:
        seen = in_jax.image_slope({"squeezenet": in_jax.squeezenet, "resnet50": in_jax.resnet}[task.name])

        def step(p: Any, statistics: Any, batch: Any) -> tuple[Any, Any]:
            """Return the loss and the gradient of a batch, and update the statistics."""
            (loss, found), gradient = seen(p, statistics, *batch)
            for name, x in found.items():
                statistics[name][...] = x
            return loss, gradient

    def as_numpy(p: Any, statistics: Any, batch: Any) -> tuple[float, dict[str, np.ndarray]]:
        """Wait for JAX's answer, and return the loss and the gradient as NumPy arrays."""
        loss, gradient = jax.block_until_ready(step(p, statistics, batch))
        return float(loss), {name: np.asarray(gradient[name]) for name in task.parameters}

    task.step = as_numpy
    return task


def on_device(parameters: dict[str, np.ndarray]) -> dict[str, Any]:
    """Copy the parameters to JAX's own memory, so that steps are timed without the copy."""
    import jax

    return {name: jax.numpy.array(x) for name, x in parameters.items()}


def ways(name: str) -> Iterator[Way]:
    """Yield the ways to compute the gradients of a model."""
    make, settings = TASKS[name], SIZES[name][0]
    trees: dict[str, Any] = {"engine": "tape"} if name == "treelstm" else {}  # the others take trees as the tape does
    if trees:
        yield Way("dualrev, compiled", lambda: make(engine="compiled", **settings))
    yield Way("dualrev, tape", lambda: make(**trees, **settings))
    if find_spec("torch"):
        yield Way("PyTorch", lambda: by_torch(make(**trees, **settings)))
    if find_spec("jax"):
        yield Way("JAX, jit", lambda: by_jax(make(**trees, **settings)), on_device)
        if trees:
            yield Way("JAX, eager", lambda: by_jax(make(**trees, **settings), compiled=False), on_device)


def measured(task: Task, epochs: int, label: str, handed: Callable[[Any], Any]) -> tuple[Run, float]:
    """Measure the loss and the processor time of each epoch, without the optimiser, and the time of the first pass."""
    velocities = {name: np.zeros_like(x) for name, x in task.parameters.items()}
    kept = {name: x.copy() for name, x in task.statistics.items()}
    given, first = handed(task.parameters), time.process_time()
    for batch in track(task.batches, f"{label}, first", transient=True):
        task.step(given, task.statistics, batch)
    before = time.process_time() - first
    for name, x in kept.items():
        task.statistics[name][...] = x
    run = Run()
    for epoch in track(range(epochs), label, transient=True):
        total, seconds = 0.0, 0.0
        for k in order(task.settings["seed"], epoch, len(task.batches)):
            given, started = handed(task.parameters), time.process_time()
            loss, gradient = task.step(given, task.statistics, task.batches[int(k)])
            seconds += time.process_time() - started
            task.optimiser.step(task.parameters, velocities, gradient)
            total += loss
        run.losses.append(total / len(task.batches))
        run.seconds.append(seconds)
    return run, before


def repeated(way: Way, epochs: int, label: str, repeats: int) -> tuple[Run, float, int]:
    """Measure a way several times, each from the start: losses, the times of all epochs, of compilation; batches."""
    task = way.make()
    run, before = measured(task, epochs, label, way.handed)
    for _ in range(repeats - 1):
        run.seconds += measured(way.make(), epochs, label, way.handed)[0].seconds
    return run, max(0.0, before - statistics.median(run.seconds)), len(task.batches)


def main(argv: list[str] | None = None) -> None:
    """Measure, print the table in Markdown, and draw the losses."""
    parser = argparse.ArgumentParser(prog="python -m examples.lantern.beside", description=__doc__)
    parser.add_argument("models", nargs="*", help="only these, of " + ", ".join(SIZES))
    parser.add_argument("--to", type=Path, default=Path("lantern_runs"), help="folder for the pictures")
    parser.add_argument("--repeats", type=int, default=3, choices=range(1, 101), metavar="N", help="runs (default: 3)")
    given = parser.parse_args(argv)
    unknown = set(given.models) - set(SIZES)
    if unknown:
        parser.error(f"there is no model {sorted(unknown)[0]}: take {', '.join(SIZES)}")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    rows = [
        "| model | library | ms per batch | seconds per epoch | time / PyTorch | compiles, s | losses of the epochs |"
    ]
    rows.append("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    given.to.mkdir(parents=True, exist_ok=True)
    for name in given.models or SIZES:
        epochs, runs, compiling, count = SIZES[name][1], {}, {}, 0
        for way in ways(name):
            runs[way.by], compiling[way.by], count = repeated(way, epochs, f"{name}, {way.by}", given.repeats)
        reference = statistics.median(runs["PyTorch"].seconds) if "PyTorch" in runs else None
        for by, run in runs.items():
            median = statistics.median(run.seconds)
            share = f"{median / reference:.2f}" if reference else "-"
            losses = ", ".join(f"{x:.3f}" for x in run.losses)
            times = f"{1000 * median / count:.2f} | {median:.2f} | {share} | {compiling[by]:.1f}"
            rows.append(f"| {name} | {by} | {times} | {losses} |")
        picture(runs, given.to / f"{name}.svg")
    Console().print("\n".join(rows), soft_wrap=True, markup=False, highlight=False)


if __name__ == "__main__":
    main()
