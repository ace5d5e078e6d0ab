"""Compare the gradients of parallel loops and of serial loops: `python -m bench.parallel`.

Each program (programs/parallel_programs.py) is compiled with `njit` and with `njit(parallel=True)`. The table has the
times of the function, and of its value and gradient. Before that, the serial and the parallel gradient are compared,
and the parallel gradient has to be the same to the last bit when it runs on one thread.

Times are wall times, the best of several calls in one process, on all of numba's threads (NUMBA_NUM_THREADS). They need
an idle machine. If other processes use the cores, take --processor: it runs on one thread and measures processor time,
which shows the overhead of the parallel code, but not the gain from more threads.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import dualrev as dr
from bench.measuring.machine import processor, versions
from bench.programs.parallel_programs import PROGRAMS, Program

__all__ = ["COLUMNS", "main", "measured"]

COLUMNS = (
    *("serial", "parallel", "gradient, serial", "gradient, parallel"),
    *("gradient / primal, serial", "gradient / primal, parallel", "speed-up"),
)
RATIO, SPEED = 1.2, 1.7  # the goals: ratios in parallel over those in one thread; the speed-up of two cores


def measured(program: Program, size: int, turns: int, clock: Callable[[], float]) -> dict[str, float]:
    """Measure a program: seconds and ratios by column. AssertionError if gradients disagree."""
    args = program.make(size)
    both = [numba.njit(program.function), numba.njit(parallel=True)(program.function)]
    gradients = [dr.value_and_grad(f, argnums=program.argnums) for f in both]
    _compare(*gradients, args)
    times = [_best(f, args, turns, clock) for f in (*both, *gradients)]
    ratios = times[2] / times[0], times[3] / times[1], times[2] / times[3]
    return dict(zip(COLUMNS, [*times, *ratios], strict=True))


def _compare(serial: Any, parallel: Any, args: tuple[Any, ...]) -> None:
    one, other = serial(*args), parallel(*args)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        again = parallel(*args)
    finally:
        numba.set_num_threads(before)
    for x, y, z in zip((one[0], *one[1]), (other[0], *other[1]), (again[0], *again[1]), strict=True):
        assert np.max(np.abs(np.asarray(x) - y)) <= 1e-9 * np.max(np.abs(x)), "the parallel gradient is another one"
        assert np.array_equal(y, z), "the parallel gradient depends on the number of threads"


def _best(f: Callable[..., Any], args: tuple[Any, ...], turns: int, clock: Callable[[], float]) -> float:
    f(*args)
    found = []
    gc.disable()
    for _ in range(turns):
        start = clock()
        f(*args)
        found.append(clock() - start)
    gc.enable()
    return min(found)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.parallel", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small inputs, to check that everything runs")
    parser.add_argument("--processor", action="store_true", help="use one thread, and measure processor time")
    parser.add_argument("--only", metavar="WORDS", default="", help="only programs with these words in their names")
    chosen = parser.parse_args(arguments)
    if chosen.processor:
        numba.set_num_threads(1)
    clock = time.process_time if chosen.processor else time.perf_counter
    table = Table("program", *COLUMNS)
    for name, program in PROGRAMS.items():
        if chosen.only in name:
            found = measured(program, program.small if chosen.quick else program.size, 2 if chosen.quick else 7, clock)
            cells = [f"{1e3 * found[x]:.1f} ms" for x in COLUMNS[:4]] + [f"{found[x]:.2f}" for x in COLUMNS[4:]]
            table.add_row(name if program.computes else f"{name} (memory)", *cells)
    console = Console(width=200)
    console.print(table)
    console.print(f"goals: gradient / primal in parallel at most {RATIO} times that of one thread, speed-up {SPEED}")
    console.print(f"{numba.get_num_threads()} threads ({numba.threading_layer()}); {processor()}; {versions()}")


if __name__ == "__main__":
    main(sys.argv[1:])
