"""Value and gradient of the same Python under dualrev and other AD libraries, in one run: `python -m bench.peers`.

Every program (bench/peer_programs.py) is written once. A peer is a small adapter: how the parameters become its
numbers, and how it takes value and gradient. All peers' values and gradients are compared with dualrev's before
anything is timed.

A time is for everything from floats to floats: the parameters made into the peer's numbers, the program, the gradient
as plain numbers again. It is the best of many calls, taken in turns with the other peers, in one process and on one
thread. As in timeit, Python's garbage collector is off while the clock runs (--gc leaves it on), and runs between the
turns. Compare within one run only.

`pip install 'dualrev[peers]'` installs the peers; those that are not there are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import importlib.util
import itertools
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":  # one thread each; the libraries read this when they are imported
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    os.environ["NPROC"] = "1"  # XLA's
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import dualrev
from bench.peer_programs import PROGRAMS, Program, convert, count_operations

AGREES = 1e-9  # of an entry ...
ROUNDING = 1e-12  # ... or of the gradient's largest entry: what is left where larger numbers cancel
TURN = 0.1  # seconds

# ----------------------------------------------------------------------------------------------------------------------
# The peers

Run = Callable[[], tuple[float, Any]]  # value and gradient, the latter of the structure of the parameters


def with_dualrev(program: Program) -> Run:
    parameters, data = program.make(program.size)
    ops = np if program.arrays else dualrev.math
    value_and_grad = dualrev.value_and_grad(lambda p: program.function(ops, p, data))
    return lambda: value_and_grad(parameters)


def with_micrograd(program: Program) -> Run:
    from micrograd.engine import Value

    def function(f: Callable[[float], float], derivative: Callable[[float, float], float]) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            out = Value(f(x.data), (x,))

            def backward() -> None:
                x.grad += derivative(x.data, out.data) * out.grad

            out._backward = backward
            return out

        return of

    ops = SimpleNamespace(
        exp=function(math.exp, lambda x, y: y),
        log=function(math.log, lambda x, y: 1.0 / x),
    )
    # in the class itself: its operators make a Value of whatever subclass they are given
    Value.__lt__ = lambda x, y: x.data < (y.data if isinstance(y, Value) else y)
    Value.__gt__ = lambda x, y: x.data > (y.data if isinstance(y, Value) else y)
    parameters, data = program.make(program.size)

    def run() -> tuple[float, Any]:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(1_000_000)
        try:
            numbers = convert(Value, parameters)
            y = program.function(ops, numbers, data)
            y.backward()
        finally:
            sys.setrecursionlimit(limit)
        return y.data, convert(lambda x: x.grad, numbers)

    return run


def with_autograd(program: Program) -> Run:
    import autograd
    import autograd.numpy

    parameters, data = program.make(program.size)
    if program.arrays:
        of_lists = autograd.value_and_grad(lambda p: program.function(autograd.numpy, p, data))
        return lambda: of_lists(parameters)

    def function(flat: Any) -> Any:
        k = itertools.count()
        return program.function(autograd.numpy, convert(lambda _: flat[next(k)], parameters), data)

    of_flat = autograd.value_and_grad(function)

    def run() -> tuple[float, Any]:
        value, gradient = of_flat(np.array(flatten(parameters)))
        entries = iter(gradient.tolist())
        return value, convert(lambda _: next(entries), parameters)

    return run


def with_torch(program: Program) -> Run:
    import torch

    torch.set_num_threads(1)
    ops = SimpleNamespace(exp=torch.exp, log=torch.log, tanh=torch.tanh, sum=torch.sum, max=torch.amax)
    parameters, data = program.make(program.size)
    data = convert(torch.as_tensor, data) if program.arrays else data

    def run() -> tuple[float, Any]:
        numbers = convert(lambda x: torch.tensor(x, dtype=torch.float64, requires_grad=True), parameters)
        y = program.function(ops, numbers, data)
        y.backward()
        return y.item(), convert(lambda x: x.grad.numpy() if x.ndim else x.grad.item(), numbers)

    return run


def with_jax(program: Program) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    parameters, data = program.make(program.size)
    data = convert(jax.numpy.asarray, data) if program.arrays else data
    value_and_grad = jax.value_and_grad(lambda p: program.function(jax.numpy, p, data))

    def run() -> tuple[float, Any]:
        value, gradient = value_and_grad(parameters)
        return float(value), convert(lambda x: np.asarray(x) if x.ndim else x.item(), gradient)

    return run


@dataclasses.dataclass(frozen=True)
class Peer:
    """`prepare(program)` imports the library and gives the function that is timed."""

    title: str
    module: str
    prepare: Callable[[Program], Run]
    note: str = ""
    arrays: bool = True  # whether it has them


REFERENCE = "dualrev"
PEERS = {
    "dualrev": Peer("dualrev", "dualrev", with_dualrev),
    "micrograd": Peer(
        "micrograd",
        "micrograd",
        with_micrograd,
        "comparisons, exp and log are not in it: this script adds them, in the way of its other operations, and "
        "raises the limit of recursion, because it walks its graph by recursion",
        arrays=False,
    ),
    "autograd": Peer("autograd", "autograd", with_autograd, "scalar parameters are the entries of one array"),
    "torch": Peer("PyTorch, eager", "torch", with_torch, "scalars are 0-d tensors; float64"),
    "jax": Peer(
        "JAX, without jit", "jax", with_jax, "scalars are 0-d arrays; float64; jit does not take branches on values"
    ),
}


# ----------------------------------------------------------------------------------------------------------------------
# Checking and timing


def flatten(x: Any) -> list[float]:
    """The numbers in nested lists of numbers and arrays."""
    return [z for y in x for z in flatten(y)] if isinstance(x, (list, tuple)) else np.ravel(x).tolist()


def disagreement(found: tuple[float, Any], expected: tuple[float, Any]) -> str | None:
    """Where a value and a gradient are not the expected ones, if anywhere."""
    for what, a, b in zip(("value", "gradient"), map(flatten, found), map(flatten, expected), strict=True):
        if len(a) != len(b):
            return f"the {what} has {len(a)} entries in place of {len(b)}"
        slack = ROUNDING * max(map(abs, b), default=0.0)
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if not abs(x - y) <= AGREES * abs(y) + slack:  # so that NaN disagrees
                return f"the {what} is {x!r} in place of {y!r}" + (f" at entry {k}" if len(a) > 1 else "")
    return None


@dataclasses.dataclass
class Cell:
    """The seconds of all calls that were timed, or why there are none."""

    absent: str = ""  # "not installed", "scalars only", "refuses: ..."
    seconds: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Result:
    """One program: the plain function on floats, and every peer."""

    program: Program
    plain: Cell
    peers: dict[str, Cell]
    operations: int | None

    def ratio(self, cell: Cell) -> float:
        return min(cell.seconds) / min(self.peers[REFERENCE].seconds)


class DisagreementError(Exception):
    """A peer's value or gradient is not dualrev's."""


def check(name: str, program: Program, peers: dict[str, Peer]) -> tuple[Result, list[tuple[str, Cell, Run]]]:
    """Call every peer once, compare with dualrev, and give what can be timed. DisagreementError if one is wrong."""
    parameters, data = program.make(program.size)
    ops = np if program.arrays else math
    plain, cells = Cell(), {}
    runs = [("plain Python", plain, lambda: program.function(ops, parameters, data))]
    expected = None
    for key, peer in peers.items():
        progress(f"checking {name}: {key}")
        cell = cells[key] = Cell()
        if importlib.util.find_spec(peer.module) is None:
            cell.absent = "not installed"
        elif program.arrays and not peer.arrays:
            cell.absent = "scalars only"
        else:
            try:
                run = peer.prepare(program)
                answer = run()
            except Exception as error:
                if key == REFERENCE:
                    raise
                message = str(error).strip().partition("\n")[0]
                cell.absent = f"refuses: {type(error).__name__}: {message}"
                continue
            whom, expected = (REFERENCE, expected) if expected else ("plain Python", (runs[0][2](), answer[1]))
            if wrong := disagreement(answer, expected):
                raise DisagreementError(f"{key} does not agree with {whom} on {name}: {wrong}")
            runs.append((key, cell, run))
    return Result(program, plain, cells, None if program.arrays else count_operations(program)), runs


def measure(name: str, runs: list[tuple[str, Cell, Run]], budget: float, collect: bool) -> None:
    """Time the calls, in turns, until each has had its budget; each at least once."""
    spent = dict.fromkeys([key for key, *_ in runs], 0.0)
    while any(spent[key] < budget or not cell.seconds for key, cell, _ in runs):
        for key, cell, run in runs:
            if cell.seconds and spent[key] >= budget:
                continue
            if not cell.seconds:
                progress(f"timing {name}: {key}")
            turn = 0.0
            gc.collect()
            gc.enable() if collect else gc.disable()
            try:
                while not turn or turn < min(TURN, budget):
                    start = time.perf_counter()
                    run()
                    cell.seconds.append(time.perf_counter() - start)
                    turn += cell.seconds[-1]
            finally:
                gc.enable()
            spent[key] += turn


def progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def compare(programs: dict[str, Program], peers: dict[str, Peer], budget: float, collect: bool) -> dict[str, Result]:
    """Check all, then time all."""
    checked = {name: check(name, program, peers) for name, program in programs.items()}
    gc.collect()
    gc.freeze()  # what the imports hold: some peers have much, and the collector would look at it in everyone's turn
    try:
        for name, (_, runs) in checked.items():
            measure(name, runs, budget, collect)
    finally:
        gc.unfreeze()
    return {name: result for name, (result, _) in checked.items()}


# ----------------------------------------------------------------------------------------------------------------------
# Output


def rows(results: dict[str, Result]) -> list[list[str]]:
    """The table: a heading, and a line for plain Python and every peer."""
    some = next(iter(results.values()))
    heading = ["value and gradient, ms", *(f"{n} ({r.program.size} {r.program.unit})" for n, r in results.items())]
    table = [heading, ["plain Python, value only", *(_cell(r, r.plain) for r in results.values())]]
    for key in some.peers:
        table.append([PEERS[key].title, *(_cell(r, r.peers[key]) for r in results.values())])
    counts = [f"{r.operations:,}" if r.operations else "-" for r in results.values()]
    table.append(["operations of scalars", *counts])
    reference = [(r.operations, min(r.peers[REFERENCE].seconds)) for r in results.values()]
    table.append(["dualrev, us per operation", *(f"{t / n * 1e6:.2f}" if n else "-" for n, t in reference)])
    return table


def _cell(result: Result, cell: Cell) -> str:
    if not cell.seconds:
        return cell.absent.partition(":")[0]
    ms = min(cell.seconds) * 1e3
    digits = 3 if ms < 0.1 else 2 if ms < 10 else 1 if ms < 100 else 0
    if cell is result.peers[REFERENCE]:
        return f"{ms:,.{digits}f}"
    ratio = result.ratio(cell)
    return f"{ms:,.{digits}f} (" + (f"{ratio:.1g}" if ratio < 0.1 else f"{ratio:,.{1 if ratio < 100 else 0}f}") + "x)"


def notes(results: dict[str, Result]) -> list[str]:
    """What to know besides: what is in brackets, what the adapters do, and who refuses what."""
    some = next(iter(results.values()))
    found = ["In brackets: the time over dualrev's. Best of many calls, from floats to floats."]
    found += [f"{PEERS[key].title}: {PEERS[key].note}." for key in some.peers if PEERS[key].note]
    for name, result in results.items():
        for key, cell in result.peers.items():
            found += [f"{PEERS[key].title} on {name} {cell.absent}"] if ":" in cell.absent else []
    return found


def versions(peers: dict[str, Peer]) -> dict[str, str]:
    """Of Python, the processor and all libraries that take part."""
    found = {"Python": platform.python_version(), "dualrev": dualrev.__version__}
    for name in ["numpy", *(peer.module for peer in peers.values() if peer.module != "dualrev")]:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found | {"processor": processor()}


def processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def markdown(results: dict[str, Result], about: dict[str, str]) -> str:
    """The table and its notes for GitHub."""
    heading, *lines = rows(results)
    rule = ["---", *["---:"] * len(results)]
    made = ["| " + " | ".join(line) + " |" for line in (heading, rule, *lines)]
    made += ["", *(f"- {note}" for note in notes(results)), "", ", ".join(f"{k} {v}" for k, v in about.items())]
    return "\n".join(made)


def terminal(results: dict[str, Result], about: dict[str, str], console: Console) -> None:
    heading, *lines = rows(results)
    table = Table(box=box.SIMPLE_HEAD, header_style="")
    for k, text in enumerate(heading):
        table.add_column(text, justify="right" if k else "left", style="" if k else "bold")
    for line in lines:
        table.add_row(*line)
    console.print(table)
    for note in [*notes(results), ", ".join(f"{k} {v}" for k, v in about.items())]:
        console.print(note, markup=False, highlight=False)


def data(results: dict[str, Result], about: dict[str, str], budget: float) -> dict[str, Any]:
    """The same for JSON: seconds in place of milliseconds."""

    def numbers(result: Result, cell: Cell) -> dict[str, Any]:
        if not cell.seconds:
            return {"absent": cell.absent}
        best, median = min(cell.seconds), statistics.median(cell.seconds)
        return {"best": best, "median": median, "calls": len(cell.seconds), "ratio": result.ratio(cell)}

    programs = {
        name: {
            "size": result.program.size,
            "operations": result.operations,
            "plain": numbers(result, result.plain),
            "peers": {key: numbers(result, cell) for key, cell in result.peers.items()},
        }
        for name, result in results.items()
    }
    return {"versions": about, "budget": budget, "programs": programs}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Time value and gradient of the same Python under dualrev and peers.")
    made.add_argument("--program", action="append", choices=PROGRAMS, help="only this program (may be repeated)")
    made.add_argument("--peer", action="append", choices=PEERS, help="dualrev and only this (may be repeated)")
    made.add_argument("--budget", type=float, default=3.0, metavar="SECONDS", help="of each cell of the table (3)")
    made.add_argument("--gc", action="store_true", help="leave the garbage collector on while the clock runs")
    made.add_argument("--markdown", action="store_true", help="print the table for GitHub")
    made.add_argument("--json", type=Path, metavar="FILE", help="save all numbers in this file, too")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a peer disagrees with dualrev."""
    options = (made := parser()).parse_args(argv)
    if options.json and not options.json.parent.is_dir():
        made.error(f"--json {options.json}: the folder is not there")
    programs = {name: program for name, program in PROGRAMS.items() if name in (options.program or PROGRAMS)}
    peers = {name: peer for name, peer in PEERS.items() if name in (REFERENCE, *(options.peer or PEERS))}
    try:
        results = compare(programs, peers, options.budget, options.gc)
    except DisagreementError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    about = versions(peers) | {"garbage collector": "on" if options.gc else "off while the clock runs"}
    if options.markdown:
        print(markdown(results, about))
    else:
        console = Console()
        terminal(results, about, console if console.is_terminal else Console(width=160))
    if options.json:
        options.json.write_text(json.dumps(data(results, about, options.budget), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
