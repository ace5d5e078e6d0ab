"""The table of docs/lantern.md: seconds and losses of the four models, by dualrev and by PyTorch, in one process.

    make lantern-table                    both, where PyTorch is installed; one thread each
    make lantern-table ARGS="treelstm"    one model

Both start from the same parameters, take the batches in the same order, and make the same steps: so their losses agree.
What is measured is the processor time of an epoch, after one step that compiles and allocates.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from examples.lantern import reviews
from examples.lantern.tasks import TASKS
from examples.lantern.training import Run, Task, order, picture

#: Settings of each model, and of how many epochs the losses are shown.
SIZES: dict[str, tuple[dict[str, Any], int]] = {
    "treelstm": ({"samples": 100}, 5),
    "squeezenet": ({"samples": 64}, 5),
    "resnet50": ({"samples": 32}, 4),
    "deepspeech2": ({"samples": 16}, 4),
}


def by_torch(task: Task) -> Task:
    """The same task, with PyTorch's gradient. Tensors and arrays are one memory."""
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
        loss, gradient = run(batch)
        return loss, {name: g.numpy() for name, g in gradient.items()}

    task.step = step  # type: ignore[assignment]
    return task


def ways(name: str) -> Iterator[tuple[str, Callable[[], Task]]]:
    """Who computes the gradients: a name, and what makes the task."""
    settings = SIZES[name][0]
    if name == "treelstm":
        yield "dualrev, compiled", lambda: TASKS[name](engine="compiled", **settings)
        yield "dualrev, tape", lambda: TASKS[name](engine="tape", **settings)
    else:
        yield "dualrev, tape", lambda: TASKS[name](**settings)
    if find_spec("torch"):
        made = {"engine": "tape"} if name == "treelstm" else {}
        yield "PyTorch", lambda: by_torch(TASKS[name](**made, **settings))


def measured(task: Task, epochs: int, label: str) -> Run:
    """The losses of epochs, and the processor time that each took, without that of the optimiser."""
    velocities = {name: np.zeros_like(x) for name, x in task.parameters.items()}
    kept = {name: x.copy() for name, x in task.statistics.items()}
    task.step(task.parameters, task.statistics, task.batches[0])
    for name, x in kept.items():
        task.statistics[name][...] = x
    run = Run()
    for epoch in track(range(epochs), label, transient=True):
        total, seconds = 0.0, 0.0
        for k in order(task.settings["seed"], epoch, len(task.batches)):
            started = time.process_time()
            loss, gradient = task.step(task.parameters, task.statistics, task.batches[int(k)])
            seconds += time.process_time() - started
            task.optimiser.step(task.parameters, velocities, gradient)
            total += loss
        run.losses.append(total / len(task.batches))
        run.seconds.append(seconds)
    return run


def main(argv: list[str] | None = None) -> None:
    """Measure, print the table in Markdown, and draw the losses."""
    parser = argparse.ArgumentParser(prog="python -m examples.lantern.beside", description=__doc__)
    parser.add_argument("models", nargs="*", help="which of " + ", ".join(SIZES))
    parser.add_argument("--to", type=Path, default=Path("lantern_runs"), help="the folder of the pictures")
    given = parser.parse_args(argv)
    unknown = set(given.models) - set(SIZES)
    if unknown:
        parser.error(f"there is no model {sorted(unknown)[0]}: take {', '.join(SIZES)}")
    rows = ["| model | by | ms a batch | seconds an epoch | of PyTorch's | losses of the epochs |"]
    rows.append("| --- | --- | ---: | ---: | ---: | --- |")
    given.to.mkdir(parents=True, exist_ok=True)
    for name in given.models or SIZES:
        epochs, runs, count = SIZES[name][1], {}, 0
        for by, make in ways(name):
            task = make()
            runs[by], count = measured(task, epochs, f"{name}, {by}"), len(task.batches)
        reference = min(runs["PyTorch"].seconds) if "PyTorch" in runs else None
        for by, run in runs.items():
            best = min(run.seconds)
            share = f"{best / reference:.2f}" if reference else "-"
            losses = ", ".join(f"{x:.3f}" for x in run.losses)
            rows.append(f"| {name} | {by} | {1000 * best / count:.2f} | {best:.2f} | {share} | {losses} |")
        picture(runs, given.to / f"{name}.svg")
    Console().print("\n".join(rows), soft_wrap=True, markup=False, highlight=False)


if __name__ == "__main__":
    main()
