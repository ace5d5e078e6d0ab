"""The training loop: a progress bar, checkpoints from which a killed run continues, and a picture of the loss.

The order of the batches follows from the seed and the number of the epoch, so a run that continues from a checkpoint
computes the same numbers as a run that was never stopped.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Adagrad", "Momentum", "Run", "Task", "TrainingError", "order", "picture", "train"]

Arrays = dict[str, np.ndarray]


class TrainingError(RuntimeError):
    """A run that cannot continue; the message says where, why, and what to do."""


@dataclass
class Momentum:
    """Gradient descent with momentum: v = momentum v + g; x = x - rate v. `clip` bounds the norm of g."""

    rate: float = 0.01
    momentum: float = 0.9
    clip: float = 5.0

    def step(self, parameters: Arrays, velocities: Arrays, gradients: Arrays) -> None:
        """Update parameters and velocities in place."""
        norm = np.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
        scale = min(1.0, self.clip / norm) if norm > 0.0 else 1.0
        for name, x in parameters.items():
            v = velocities[name]
            v *= self.momentum
            v += scale * gradients[name]
            x -= self.rate * v


@dataclass
class Adagrad:
    """Adagrad (Duchi et al. 2011): s = s + g * g; x = x - rate g / sqrt(s), for each element."""

    rate: float = 0.05

    def step(self, parameters: Arrays, sums: Arrays, gradients: Arrays) -> None:
        """Update parameters and sums of squares in place."""
        for name, x in parameters.items():
            g, s = gradients[name], sums[name]
            s += g * g
            x -= self.rate * g / (np.sqrt(s) + 1e-8)  # an element whose gradient was always 0 stays


@dataclass
class Task:
    """A model with its data, its training step and its optimiser."""

    name: str
    settings: dict[str, Any]  # what the numbers depend on
    parameters: Arrays
    batches: Sequence[Any]
    step: Callable[[Arrays, Arrays, Any], tuple[float, Arrays]]  # parameters, statistics, batch: loss and gradients
    statistics: Arrays = field(default_factory=dict)  # what `step` changes in place, such as running means
    optimiser: Momentum | Adagrad = field(default_factory=Momentum)


@dataclass
class Run:
    """The progress of a run."""

    epoch: int = 0
    done: int = 0  # batches of this epoch
    total: float = 0.0  # of the loss in this epoch
    losses: list[float] = field(default_factory=list)  # the mean of each epoch
    seconds: list[float] = field(default_factory=list)


def order(seed: int, epoch: int, count: int) -> np.ndarray:
    """Return the order of the batches in an epoch."""
    return np.random.default_rng([seed, 3, epoch]).permutation(count)


def train(task: Task, epochs: int, to: Path, every: float = 30.0, quiet: bool = False) -> Run:
    """Train until `epochs` epochs are done, from the checkpoint in the folder `to` if it has one.

    A checkpoint is written after each epoch, and during an epoch every `every` seconds.
    """
    if not task.batches:
        raise TrainingError(f"{task.name}: there are no data. Take more --samples.")
    to.mkdir(parents=True, exist_ok=True)
    file = to / "checkpoint.npz"
    velocities = {name: np.zeros_like(x) for name, x in task.parameters.items()}
    run = _load(file, task, velocities) if file.exists() else Run()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, disable=quiet) as progress:
        bar = progress.add_task(task.name, total=epochs * len(task.batches))
        progress.update(bar, completed=run.epoch * len(task.batches) + run.done)
        saved = time.monotonic()
        while run.epoch < epochs:
            places = order(int(task.settings["seed"]), run.epoch, len(task.batches))
            started = time.perf_counter()
            while run.done < len(places):
                k = int(places[run.done])
                loss, gradients = task.step(task.parameters, task.statistics, task.batches[k])
                _check(task, run, k, loss, gradients)
                task.optimiser.step(task.parameters, velocities, gradients)
                run.done, run.total = run.done + 1, run.total + loss
                mean = run.total / run.done
                progress.update(bar, advance=1, description=f"{task.name}, epoch {run.epoch + 1}, loss {mean:.4f}")
                if time.monotonic() - saved > every:
                    _save(file, task, run, velocities)
                    saved = time.monotonic()
            run.losses.append(run.total / len(places))
            run.seconds.append(time.perf_counter() - started)
            run.epoch, run.done, run.total = run.epoch + 1, 0, 0.0
            _save(file, task, run, velocities)
    return run


def _check(task: Task, run: Run, k: int, loss: float, gradients: Arrays) -> None:
    wrong = [name for name, g in gradients.items() if not np.all(np.isfinite(g))]
    if not np.isfinite(loss) or wrong:
        what = f"the loss is {loss}" if not np.isfinite(loss) else f"the gradient by {wrong[0]} is not finite"
        place = f"epoch {run.epoch + 1}, step {run.done + 1} of {len(task.batches)}, batch {k}"
        raise TrainingError(f"{task.name}: {what} in {place}. Take a smaller --rate, or look at this batch.")


def _save(file: Path, task: Task, run: Run, velocities: Arrays) -> None:
    """Write a checkpoint atomically: a run that is killed here leaves the old one."""
    groups = {"p": task.parameters, "v": velocities, "s": task.statistics}
    arrays = {f"{group}/{name}": x for group, named in groups.items() for name, x in named.items()}
    told = {"settings": task.settings, "run": vars(run)}
    new = file.with_name("checkpoint.new.npz")
    np.savez(new, told=np.array(json.dumps(told)), **arrays)  # type: ignore[arg-type]
    os.replace(new, file)


def _load(file: Path, task: Task, velocities: Arrays) -> Run:
    try:
        found = np.load(file)
        told = json.loads(str(found["told"]))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as e:
        raise TrainingError(
            f"{file} is not a checkpoint of this program ({e}). Take another folder, or --fresh."
        ) from e
    with found:
        mine = json.loads(json.dumps(task.settings))
        other = [name for name in mine if told["settings"].get(name) != mine[name]]
        if other:
            name = other[0]
            raise TrainingError(
                f"{file} is of a run with {name} = {told['settings'].get(name)!r}, and this one has {mine[name]!r}."
                " Take the same settings, another folder (--to), or --fresh."
            )
        for group, named in {"p": task.parameters, "v": velocities, "s": task.statistics}.items():
            for name, x in named.items():
                x[...] = found[f"{group}/{name}"]
    return Run(**told["run"])


def picture(runs: dict[str, Run], file: Path) -> None:
    """Draw the loss of each epoch, a line for each run, with different dashes so that equal lines show."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    for (name, run), style in zip(runs.items(), itertools.cycle(["-", "--", ":", "-."]), strict=False):
        places = range(1, len(run.losses) + 1)
        axes.plot(places, run.losses, linestyle=style, marker="o", markersize=3, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel("mean loss")
    axes.legend()
    figure.savefig(file)
    plt.close(figure)
