"""Compare gradients of array operations, without a compiler, with other libraries: `python -m bench.eager`.

The operations are in programs/eager_programs.py, the models in programs/eager_models.py. The table has, for every
operation (per repetition) and size, and for every model:

- the time of value and gradient by dualrev's tape, by autograd, and by JAX and PyTorch in their eager modes,
- the peak of allocated memory per element, as far as tracemalloc sees it.

All gradients are compared before they are timed. The calls take turns; a time is the shortest of many, in processor
time. Libraries that are not installed are left out (`make peers` installs them). With --products, the table has
Hessian-vector products of the models instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

import numpy as np
from rich.console import Console

import dualrev as dr
from bench.compiled import first_line, keep_pages
from bench.measuring.agreement import convert, disagreement
from bench.measuring.machine import processor, versions
from bench.programs.eager_models import MODELS, Model
from bench.programs.eager_products import PRODUCTS
from bench.programs.eager_programs import PROGRAMS, Program
from bench.second import Entry, measured

__all__ = ["LIBRARIES", "main", "prepared"]

#: A library, and its module.
LIBRARIES = {"dualrev": "dualrev", "autograd": "autograd", "JAX": "jax", "PyTorch": "torch"}
ALL: dict[str, Program | Model] = {**PROGRAMS, **MODELS}
TRACED = ("dualrev", "autograd")  # whose memory is numpy's

Run = Callable[[], Any]


def by_dualrev(program: Program | Model, x: Any, c: Any) -> Run:
    """Prepare value and gradient by dualrev's tape."""
    f = dr.value_and_grad(lambda x: program.run(np, x, c))
    return lambda: f(x)


def by_autograd(program: Program | Model, x: Any, c: Any) -> Run:
    """Prepare value and gradient by autograd."""
    import autograd

    f = autograd.value_and_grad(lambda x: program.run(autograd.numpy, x, c))
    return lambda: f(x)


def by_jax(program: Program | Model, x: Any, c: Any) -> Run:
    """Prepare value and gradient by JAX in float64, without `jax.jit`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    at, constant = convert(jax.numpy.asarray, x), convert(jax.numpy.asarray, c)
    f = jax.value_and_grad(lambda x: program.run(jax.numpy, x, constant))
    return lambda: jax.block_until_ready(f(at))


def by_torch(program: Program | Model, x: Any, c: Any) -> Run:
    """Prepare value and gradient by PyTorch in float64, in eager mode."""
    import torch

    at, constant = convert(lambda x: torch.tensor(x, requires_grad=True), x), convert(torch.tensor, c)

    def run() -> Any:
        """Run the program and its reverse pass."""
        y = program.run(torch, at, constant)
        return y.item(), [gradient.numpy() for gradient in torch.autograd.grad(y, at)]

    return run


WAYS = {"dualrev": by_dualrev, "autograd": by_autograd, "JAX": by_jax, "PyTorch": by_torch}


def prepared(program: Program | Model, size: int, ways: Mapping[str, Callable[..., Run]] = WAYS) -> dict[str, Entry]:
    """Prepare the call of every library, and compare its answer with the tape's."""
    x, c = program.make(size)
    made: dict[str, Entry] = {}
    expected: Any = None
    for key in program.libraries:
        if importlib.util.find_spec(LIBRARIES[key]) is None:
            made[key] = Entry(absent="not installed")
            continue
        try:
            run = ways[key](program, x, c)
            found = run()
        except Exception as error:
            made[key] = Entry(absent=first_line(error))
            continue
        expected = found if expected is None else expected
        wrong = disagreement(found, expected)
        made[key] = Entry(absent=f"does not agree with the tape: {wrong}", wrong=True) if wrong else Entry(run)
    return made


def peak(run: Run) -> int:
    """Return the peak of the bytes that a call allocates."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def row(
    program: Program | Model, size: int, budget: float, ways: Mapping[str, Callable[..., Run]]
) -> tuple[list[str], list[str], bool]:
    """Return the cells of one line, a remark, and whether an answer is wrong."""
    entries = prepared(program, size, ways)
    measured(entries, budget)
    x, _ = program.make(size)
    elements = sum(map(np.size, x if isinstance(x, list) else [x]))
    times: list[str] = []
    bytes_: list[str] = []
    for key in LIBRARIES:
        entry = entries.get(key)
        times.append(f"{1e6 * min(entry.seconds) / program.times:.3g}" if entry and entry.seconds else "-")
        if key in TRACED:
            run = entry.run if entry else None
            bytes_.append(f"{peak(run) / program.times / elements:.3g}" if run else "-")
    notes = [f"{program.name}, {key}: {e.absent}" for key, e in entries.items() if e.absent]
    return [*times, *bytes_], notes, any(e.wrong for e in entries.values())


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser(description="Compare gradients of array operations with other libraries.")
    made.add_argument("--program", action="append", choices=ALL, help="only this one (may be repeated)")
    made.add_argument("--size", action="append", type=int, help="only this many elements (may be repeated)")
    made.add_argument("--budget", type=float, default=0.3, metavar="SECONDS", help="for each time in the table (0.3)")
    made.add_argument("--products", action="store_true", help="time Hessian-vector products of the models instead")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table in Markdown. Return 1 if an answer is wrong."""
    options = parser().parse_args(argv)
    keep_pages()
    console = Console(soft_wrap=True)
    header = [*(f"{key}, us" for key in LIBRARIES), *(f"{key}, bytes" for key in TRACED)]
    lines = [f"| an operation | elements | {' | '.join(header)} |", "| --- |" + " ---: |" * (len(header) + 1)]
    said: dict[str, None] = {}
    failed = False
    programs, ways = (MODELS, PRODUCTS) if options.products else (ALL, WAYS)
    for name in [name for name in programs if name in (options.program or ALL)]:
        for size in programs[name].sizes(options.size):
            cells, notes, wrong = row(programs[name], size, options.budget, ways)
            lines.append(f"| {name} | {size:,} | {' | '.join(cells)} |")
            said |= dict.fromkeys(notes)
            failed = failed or wrong
            while lines:  # row by row: the whole table takes minutes
                console.print(lines.pop(0), markup=False, highlight=False)
    known = versions()
    shown = [key for key in ("Python", "dualrev", "numpy", "autograd", "jax", "torch") if key in known]
    for line in [*lines, "", *said, ", ".join([*(f"{key} {known[key]}" for key in shown), processor()])]:
        console.print(line, markup=False, highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
