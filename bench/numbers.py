"""Run all measurements that the documentation shows, one after another: `python -m bench.numbers` (`make numbers`).

Writes what each of them prints to a file, FOLDER/NAME.txt, and then FOLDER/README.md: the machine, the date, the
versions, and how long each measurement took. Measurements of other libraries leave out those that are not installed
(`make peers`). One that fails does not stop the others; then the exit status is 1.

Run it on a machine that does nothing else: it takes hours. The tables are copied into the pages from these files; `make
bench-publish` does that for `make bench`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.measuring import machine

__all__ = ["MEASUREMENTS", "Measurement", "Outcome", "main", "measure", "report"]

ROOT = Path(__file__).parents[1]
DEFAULT = ROOT / "bench" / "runs" / "numbers"


@dataclass(frozen=True)
class Measurement:
    """A command, and the page that shows its table; `how` is what the command is in the documentation."""

    name: str
    how: str
    page: str
    arguments: tuple[str, ...]  # of Python

    @property
    def command(self) -> list[str]:
        """The command as it is run, by this Python."""
        return [sys.executable, *self.arguments]


def _module(name: str, how: str, page: str, *arguments: str) -> Measurement:
    return Measurement(name, how, page, ("-m", *arguments))


MEASUREMENTS = (
    _module("compiled", "make compiled", "docs/benchmarks.md", "bench.compiled", "--second", "--markdown"),
    _module("arrays", "make compiled ARGS=--arrays", "docs/benchmarks.md", "bench.compiled", "--arrays", "--markdown"),
    _module("first-calls", "make first-calls", "docs/benchmarks.md", "bench.first_calls", "--markdown"),
    Measurement("bench", "make bench", "docs/benchmarks.md", ("-c", "import os; os.execvp('make', ['make', 'bench'])")),
    _module("second", "make second", "docs/second_order.md", "bench.second"),
    _module("sparse", "make sparse", "docs/sparse.md", "bench.sparse"),
    _module("ode", "make ode", "docs/ode.md", "bench.ode"),
    _module("styles", "make styles", "docs/engines.md", "bench.styles"),
    _module("words", "python -m bench.words", "docs/benchmarks.md", "bench.words"),
    _module("parallel", "make parallel", "docs/benchmarks.md", "bench.parallel"),
    _module("machines", "make machines", "docs/many_machines.md", "bench.many_machines"),
    _module("eager", "make eager", "docs/benchmarks.md", "bench.eager"),
    _module("gradbench", "make gradbench", "bench/gradbench/README.md", "bench.gradbench.table"),
    _module("lantern", "make lantern-table", "docs/lantern.md", "examples.lantern.beside"),
    _module("calls", "python -m bench.calls", "docs/benchmarks.md", "bench.calls"),
    _module("debug-nans", "python -m bench.debug_nans", "docs/nan.md", "bench.debug_nans"),
    _module("starts", "python -m bench.starts", "docs/numba/shipping.md", "bench.starts"),
    _module("compare", "make compare", "docs/comparison.md", "stages"),
)
#: Of these, several threads are the point.
_THREADED = ("parallel", "machines")


@dataclass(frozen=True)
class Outcome:
    """A measurement that was run: its exit status and its seconds."""

    measurement: Measurement
    status: int
    seconds: float


def measure(measurement: Measurement, folder: Path) -> Outcome:
    """Run a measurement in a process of its own; what it prints goes to `folder`/NAME.txt."""
    threads = {} if measurement.name in _THREADED else {"OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    with (folder / f"{measurement.name}.txt").open("w", encoding="utf-8") as file:
        done = subprocess.run(
            measurement.command, cwd=ROOT, env=os.environ | threads, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    return Outcome(measurement, done.returncode, time.perf_counter() - start)


def report(outcomes: Sequence[Outcome], date: datetime, facts: dict[str, str]) -> str:
    """Format the machine, and a table of the measurements that were run, as Markdown."""
    lines = [f"# Measurements of {date:%d %B %Y, %H:%M} UTC", ""]
    lines += ["Made by `make numbers`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in facts.items()]
    lines += ["", "| measurement | command | page | minutes | result |", "| --- | --- | --- | ---: | --- |"]
    for one in outcomes:
        file = f"[{one.measurement.name}]({one.measurement.name}.txt)"
        state = "written" if one.status == 0 else f"failed, exit status {one.status}"
        how, page = one.measurement.how, one.measurement.page
        lines.append(f"| {file} | `{how}` | {page} | {one.seconds / 60:.1f} | {state} |")
    lines.append(f"| all | `make numbers` | | {sum(one.seconds for one in outcomes) / 60:.1f} | |")
    return "\n".join([*lines, ""])


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurements; 1 if one failed."""
    names = [m.name for m in MEASUREMENTS]
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.numbers")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(names)}")
    parser.add_argument("--to", type=Path, default=DEFAULT, metavar="FOLDER", help="(default: bench/runs/numbers)")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in names]:
        parser.error(f"no measurement {unknown[0]!r}: choose from {', '.join(names)}")
    options.to.mkdir(parents=True, exist_ok=True)
    date, facts, outcomes = datetime.now(UTC), machine.about() | {"commit": _commit()}, []
    for measurement in MEASUREMENTS:
        if options.names and measurement.name not in options.names:
            continue
        print(f"{measurement.name}: {measurement.how} ...", end=" ", flush=True)
        outcomes.append(measure(measurement, options.to))
        print(f"{outcomes[-1].seconds / 60:.1f} minutes" + ", failed" * bool(outcomes[-1].status), flush=True)
        (options.to / "README.md").write_text(report(outcomes, date, facts), encoding="utf-8")
    print(f"the tables: {options.to}")
    return int(any(one.status for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
