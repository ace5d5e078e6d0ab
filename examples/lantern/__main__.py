"""Train a model: `python -m examples.lantern treelstm`, or `make lantern ARGS="treelstm"`.

Nothing is downloaded: the data are generated from the seed (reviews.py, images.py, speech.py). The checkpoint and the
picture of the loss go to a folder. Repeat the command to continue from the checkpoint.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from pathlib import Path
from typing import Any

from examples.lantern.errors import DataError
from examples.lantern.tasks import GENERATED, TASKS
from examples.lantern.training import TrainingError, picture, train


def positive(text: str, least: int = 1) -> int:
    """Argparse type for ints of 1 (or `least`) or more."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is not an integer of {least} or more")
    return int(text)


def from_zero(text: str) -> int:
    """Argparse type for ints of 0 or more."""
    return positive(text, 0)


def rate(text: str) -> float:
    """Argparse type for finite numbers above 0."""
    if not 0.0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return float(text)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line. The settings of a model are the arguments of its task."""
    parser = argparse.ArgumentParser(prog="python -m examples.lantern", description=__doc__)
    models = parser.add_subparsers(dest="model", required=True)
    for name, make in TASKS.items():
        model = models.add_parser(name, help=GENERATED[name], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        for p in inspect.signature(make).parameters.values():
            kind: Any = from_zero if p.name in ("seed", "samples") else _KINDS[type(p.default)]
            choices = _CHOICES.get(p.name)
            model.add_argument(f"--{p.name}", type=kind, default=p.default, choices=choices, help="setting")
        model.add_argument("--epochs", type=positive, default=5, help="passes over all samples")
        model.add_argument("--to", type=Path, default=Path("lantern_runs") / name, help="folder of the run")
        model.add_argument("--fresh", action="store_true", help="delete the checkpoint and start again")
        model.add_argument("--every", type=float, default=30.0, help="seconds between two checkpoints")
    return parser.parse_args(argv)


_CHOICES = {"engine": ["compiled", "tape"], "optimiser": ["adagrad", "momentum"]}
_KINDS = {int: positive, float: rate, str: str, type(None): str}


def main(argv: list[str] | None = None) -> int:
    """Train, and print the losses. Return 2 and print the error for bad data or settings."""
    given: dict[str, Any] = vars(arguments(argv))
    name, epochs, to, fresh, every = (given.pop(x) for x in ("model", "epochs", "to", "fresh", "every"))
    if fresh:
        (to / "checkpoint.npz").unlink(missing_ok=True)
    try:
        made = f"generated data, no download: {GENERATED[name]}"
        print(f"{name}: {given['data'] if given.get('data') else made}")
        task = TASKS[name](**given)
        size = sum(x.size for x in task.parameters.values())
        print(f"{size:,} parameters; {len(task.batches)} batches; the run is saved in {to}")
        run = train(task, epochs, to, every)
    except (DataError, TrainingError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    for k, (loss, seconds) in enumerate(zip(run.losses, run.seconds, strict=True), 1):
        print(f"epoch {k}: loss {loss:.4f}, {seconds:.1f} s")
    picture({name: run}, to / "loss.png")
    print(f"the curve: {to / 'loss.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
