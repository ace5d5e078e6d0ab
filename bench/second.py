"""Compare Hessians and Hessian-vector products with other libraries: `python -m bench.second` (`make second`).

The table has five times for every function (programs/second_programs.py): dualrev's compiled Hessian or Hessian-vector
product; the same on the tape; JAX's, under `jax.jit`; CasADi's; and central differences of dualrev's compiled gradient,
in compiled code. All but the differences have to agree to 1e-9 before they are timed. The last column is the error of
the differences, relative to the largest entry.

Times are medians of processor time, so that other processes matter little; they are of calls from Python, which take
turns. Compiling and building are done before. Libraries that are not installed are left out (`make peers` installs
them).
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

import numpy as np
from numba import njit
from rich.console import Console

import dualrev as dr
from bench.compiled import TURN, first_line, keep_pages, progress
from bench.measuring.agreement import disagreement
from bench.measuring.machine import processor, versions
from bench.programs.second_programs import PROGRAMS, Program

__all__ = ["COLUMNS", "Entry", "main", "markdown", "measured", "prepared"]

Run = Callable[[], Any]

#: The columns, and the module that each of them needs.
COLUMNS = {"compiled": "numba", "tape": "dualrev", "JAX": "jax", "CasADi": "casadi", "differences": "numba"}

# ----------------------------------------------------------------------------------------------------------------------
# The ways


def compiled(program: Program, x: np.ndarray, v: np.ndarray, data: tuple[Any, ...]) -> Run:
    """Prepare dualrev's compiled Hessian, or its compiled Hessian-vector product."""
    if program.what == "Hessian":
        hessian = dr.hessian(program.function)
        return lambda: hessian(x, *data)
    product = dr.hvp(program.function)
    return lambda: product(x, v, *data)


def tape(program: Program, x: np.ndarray, v: np.ndarray, data: tuple[Any, ...]) -> Run:
    """Prepare the same on dualrev's tape."""
    if program.what == "Hessian":
        hessian = dr.hessian(program.tape)
        return lambda: hessian(x, *data)
    product = dr.hvp(program.tape)
    return lambda: product(x, v, *data)


def by_jax(program: Program, x: np.ndarray, v: np.ndarray, data: tuple[Any, ...]) -> Run:
    """Prepare `jax.hessian`, or `jvp` of `grad`, under `jax.jit`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    f = program.jax(*map(jax.numpy.asarray, data))
    at, along = jax.numpy.asarray(x), jax.numpy.asarray(v)
    if program.what == "Hessian":
        hessian = jax.jit(jax.hessian(f))
        return lambda: jax.block_until_ready(hessian(at))
    product = jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1])
    return lambda: jax.block_until_ready(product(at, along))


def by_casadi(program: Program, x: np.ndarray, v: np.ndarray, data: tuple[Any, ...]) -> Run:
    """Prepare CasADi's Hessian, or its gradient's directional derivative, as a `Function`."""
    import casadi as ca

    symbol = getattr(ca, program.symbols).sym
    at, along = symbol("x", *x.shape), symbol("v", *x.shape)
    y = program.casadi(*data)(at)
    numbers = ca.DM(x), ca.DM(v)
    if program.what == "Hessian":
        hessian = ca.Function("hessian", [at], [ca.hessian(y, at)[0]])
        return lambda: hessian(numbers[0])
    made = ca.Function("product", [at, along], [ca.jtimes(ca.gradient(y, at), at, along)])
    return lambda: made(*numbers)


def differences(program: Program, x: np.ndarray, v: np.ndarray, data: tuple[Any, ...]) -> Run:
    """Prepare central differences, with the step at which rounding and truncation errors balance."""
    gradient, step = dr.grad(program.function), np.finfo(float).eps ** (1.0 / 3.0)

    @njit
    def along(x, v, *data):
        """Difference quotient of the gradient in the direction v."""
        return (gradient(x + step * v, *data) - gradient(x - step * v, *data)) / (2.0 * step)

    @njit
    def matrix(x, *data):
        """Hessian by differences, a row for each coordinate."""
        made, unit = np.empty((len(x), len(x))), np.zeros(len(x))
        for k in range(len(x)):
            unit[k] = 1.0
            made[k] = along(x, unit, *data)
            unit[k] = 0.0
        return made

    if program.what == "Hessian":
        return lambda: matrix(x, *data)
    return lambda: along(x, v, *data)


WAYS = {"compiled": compiled, "tape": tape, "JAX": by_jax, "CasADi": by_casadi, "differences": differences}

# ----------------------------------------------------------------------------------------------------------------------
# What is measured


@dataclasses.dataclass
class Entry:
    """A cell of the table: its times, or the reason why it has none. `error` is set for differences only."""

    run: Run | None = None
    absent: str = ""
    wrong: bool = False
    error: float = 0.0
    seconds: list[float] = dataclasses.field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the measured seconds."""
        return statistics.median(self.seconds)


def numbers(answer: Any) -> np.ndarray:
    """Convert any library's answer to an array."""
    return np.asarray(answer.full() if hasattr(answer, "full") else answer, dtype=float)


def prepared(program: Program, size: int) -> dict[str, Entry]:
    """Prepare every column: compile, call once, and compare the answers with the tape's."""
    x, *data = program.make(size)
    v = program.vector(x)
    made, answers = {}, {}
    for key, module in COLUMNS.items():
        if importlib.util.find_spec(module) is None:
            made[key] = Entry(absent="not installed")
            continue
        try:
            run = WAYS[key](program, x, v, tuple(data))
            answers[key] = numbers(run())
            made[key] = Entry(run)
        except Exception as error:
            made[key] = Entry(absent=first_line(error))
    expected = answers["tape"]
    for key, found in answers.items():
        if key == "differences":
            made[key].error = float(np.abs(found - expected).max() / np.abs(expected).max())
        elif wrong := disagreement((0.0, found.reshape(expected.shape)), (0.0, expected)):
            made[key] = Entry(absent=f"does not agree with the tape: {wrong}", wrong=True)
    return made


def clock(run: Run, number: int) -> float:
    """Return the seconds of processor time of `number` calls."""
    repeat = range(number)
    start = time.process_time()
    for _ in repeat:
        run()
    return time.process_time() - start


def repetitions(run: Run) -> int:
    """Return how many calls make a turn of about TURN seconds."""
    number = 1
    while clock(run, number) < TURN / 2:
        number *= 2
    return number


def measured(entries: dict[str, Entry], budget: float) -> None:
    """Time the calls in turns, each three times or more, until each has used its budget of seconds.

    The order is reversed after each turn: large arrays are faster after a call that leaves huge pages than after one
    that breaks them up.
    """
    runs = {key: entry.run for key, entry in entries.items() if entry.run is not None}
    counts = {key: repetitions(run) for key, run in runs.items()}
    spent = dict.fromkeys(runs, 0.0)
    gc.collect()
    gc.disable()
    try:
        order = [*runs]
        while any(spent[key] < budget or len(entries[key].seconds) < 3 for key in order):
            for key in order:
                if spent[key] < budget or len(entries[key].seconds) < 3:
                    seconds = clock(runs[key], counts[key])
                    entries[key].seconds.append(seconds / counts[key])
                    spent[key] += seconds
            order.reverse()
    finally:
        gc.enable()


# ----------------------------------------------------------------------------------------------------------------------
# Output


def cell(entry: Entry) -> str:
    """Format the median in milliseconds, to three digits."""
    if not entry.seconds:
        return "-"
    milliseconds = 1e3 * entry.median
    return f"{milliseconds:,.0f}" if milliseconds >= 100.0 else f"{milliseconds:.3g}"


def markdown(results: dict[str, dict[str, Entry]]) -> list[str]:
    """Format the table in Markdown."""
    lines = [
        f"| milliseconds | | {' | '.join(COLUMNS)} | their error |",
        f"| --- | --- | {' | '.join('---:' for _ in COLUMNS)} | ---: |",
    ]
    for name, entries in results.items():
        program = PROGRAMS[name]
        cells = [program.title, program.what, *(cell(entries[key]) for key in COLUMNS)]
        lines.append(f"| {' | '.join(cells)} | {entries['differences'].error:.0e} |")
    return lines


def reasons(results: dict[str, dict[str, Entry]]) -> list[str]:
    """List why entries have no time."""
    return [f"{name}, {key}: {e.absent}" for name, made in results.items() for key, e in made.items() if e.absent]


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser(description="Compare Hessians and Hessian-vector products with JAX and CasADi.")
    made.add_argument("--program", action="append", choices=PROGRAMS, help="only this one (may be repeated)")
    made.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each time in the table (1)")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table in Markdown. Return 1 if an answer is wrong."""
    options = parser().parse_args(argv)
    keep_pages()
    results = {}
    for name in [name for name in PROGRAMS if name in (options.program or PROGRAMS)]:
        start = time.perf_counter()
        entries = results[name] = prepared(PROGRAMS[name], PROGRAMS[name].size)
        progress(f"{name}: compiled and checked in {time.perf_counter() - start:.0f} s")
        measured(entries, options.budget)
    known = versions()
    shown = [key for key in ("Python", "dualrev", "numpy", "numba", "jax", "casadi") if key in known]
    console = Console(soft_wrap=True)
    about = ", ".join([*(f"{key} {known[key]}" for key in shown), processor()])
    for line in [*markdown(results), "", *reasons(results), about]:
        console.print(line, markup=False, highlight=False)
    return 1 if any(e.wrong for made in results.values() for e in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
