"""Time all evals at given sizes: `python -m bench.gradbench.table` (`make gradbench`).

This starts the tool as a process and sends it messages, as an eval does. Each time is the median processor time of the
runs. Primal and derivative are measured one right after the other, so that their ratio depends little on other load.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.gradbench.messages import EVALS
from bench.gradbench.workloads import SIZES, WORKLOADS
from bench.measuring.machine import processor, versions

__all__ = ["main"]

SMALL = {"hello": (1.0,), "llsq": (16,), "lse": (100,), "det": (3,), "ode": (10, 2), "gmm": (2, 2), "lstm": (2, 8)}
SMALL |= {"kmeans": (2, 50), "ba": (2, 3, 10), "ht": (30, 5, 1), "particle": (0.0,), "saddle": (1.0,)}


class Conversation:
    """A conversation with the tool: its process, and the number of the next message."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "bench.gradbench", "--processor"]
        self.tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def ask(self, **message: Any) -> dict[str, Any]:
        """Send a message, and return the answer."""
        assert self.tool.stdin is not None
        assert self.tool.stdout is not None
        self.tool.stdin.write(json.dumps({"id": self.number} | message) + "\n")
        self.tool.stdin.flush()
        self.number += 1
        return json.loads(self.tool.stdout.readline())

    def end(self) -> None:
        """Send the last message, and wait until the tool exits."""
        self.tool.communicate(json.dumps({"id": self.number, "kind": "end"}) + "\n")


def seconds(answer: dict[str, Any]) -> float:
    """Median seconds of the runs that an answer lists."""
    return statistics.median(t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate") / 1e9


def text(time: float | None) -> str:
    """Format seconds as us or ms; "-" for None."""
    if time is None:
        return "-"
    return f"{1e6 * time:.3g} us" if time < 1e-3 else f"{1e3 * time:.3g} ms"


def rows(tool: Conversation, name: str, sizes: Sequence[tuple[float, ...]], budget: float) -> list[list[str]]:
    """Return the rows of one eval: size, function, times and their ratio. RuntimeError if an answer is an error."""
    primal, derivatives, _ = SIZES[name]
    start = time.perf_counter()
    checked(tool.ask(kind="define", module=name), f"{name}")
    compiled, made = time.perf_counter() - start, []
    for size in sizes:
        given = WORKLOADS[name](*size)
        if isinstance(given, dict):
            given |= {"min_runs": 3, "min_seconds": budget}
        took: dict[str, float] = {}
        for function in (primal, *derivatives) if primal else derivatives:
            answer = tool.ask(kind="evaluate", module=name, function=function, input=given)
            took[function] = seconds(checked(answer, f"{name}::{function}"))
        whole = took.get(primal) if primal else None
        for function in derivatives:
            ratio = f"{took[function] / whole:.1f}" if whole else "-"
            row = [name, ", ".join(f"{x:,g}" for x in size), text(whole), function, text(took[function]), ratio]
            made.append([*row, "" if made else f"{compiled:.1f} s"])
    return made


def checked(answer: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the answer; RuntimeError if it is an error."""
    if not answer["success"]:
        raise RuntimeError(f"{what}: {answer['error']}")
    return answer


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if an eval failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evals", nargs="*", metavar="EVAL", help=f"only these evals, of {', '.join(EVALS)}")
    parser.add_argument("--seconds", type=float, default=0.5, help="least seconds to run each function for (0.5)")
    parser.add_argument("--small", action="store_true", help="one small size of each, to check that it works")
    given = parser.parse_args(argv)
    if wrong := [name for name in given.evals if name not in EVALS]:
        parser.error(f"there is no eval {wrong[0]!r}; the evals are {', '.join(EVALS)}")
    console, failed = Console(width=120), 0
    table = Table("eval", "size")
    for header in ("numba primal", "derivative", "its time", "ratio", "compiled in"):
        table.add_column(header, justify="left" if header == "derivative" else "right")
    tool = Conversation()
    try:
        for name in given.evals or SIZES:
            try:
                for row in rows(tool, name, [SMALL[name]] if given.small else SIZES[name][2], given.seconds):
                    table.add_row(*row)
            except RuntimeError as error:
                failed = 1
                console.print(f"[red]{error}", highlight=False)
    finally:
        tool.end()
    console.print(table)
    console.print(
        ", ".join(f"{name} {version}" for name, version in versions().items()) + f"; {processor()}; one thread"
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
