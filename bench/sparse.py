"""Time sparse derivatives, and derivatives of batches: `python -m bench.sparse` (`make sparse`).

The first table compares four sparse derivatives of each function (programs/sparse_programs.py): dualrev's compiled one,
dualrev's on the tape, SciPy's grouped differences of compiled code with the same sparsity pattern, and CasADi's. Two
more columns have the time of dualrev's first call, which finds the pattern, and of building CasADi's function. The
second table compares dualrev's `vmap` of compiled derivatives with JAX's, under `jax.jit`.

All answers but the differences have to agree to 1e-9 before they are timed. Times are medians of processor time, on one
thread. Memory is the growth of the peak during a call, in a new process.
"""

from __future__ import annotations

import argparse
import dataclasses
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
from scipy import sparse
from scipy.optimize._numdiff import approx_derivative, group_columns

import dualrev as dr
from bench.compiled import first_line, keep_pages, progress
from bench.measuring.machine import processor, versions
from bench.measuring.memory import AVAILABLE, elsewhere, memory
from bench.programs.sparse_programs import BATCHES, PROGRAMS, Batch, Program

__all__ = ["BATCH_WAYS", "WAYS", "Entry", "main", "peak", "prepared"]

Run = Callable[[], Any]

# ----------------------------------------------------------------------------------------------------------------------
# The ways


def by_dualrev(program: Program, f: Any, args: tuple[Any, ...]) -> Run:
    """Prepare the sparse Jacobian or Hessian of `f`; its first call finds the pattern."""
    made = dr.sparse_jacobian(f) if program.what == "Jacobian" else dr.sparse_hessian(f)
    return lambda: made(*args)


def compiled(program: Program, args: tuple[Any, ...]) -> Run:
    """Prepare dualrev's compiled derivative."""
    return by_dualrev(program, program.function, args)


def tape(program: Program, args: tuple[Any, ...]) -> Run:
    """Prepare the derivative on dualrev's tape."""
    return by_dualrev(program, program.tape, args)


def differences(program: Program, args: tuple[Any, ...]) -> Run:
    """Prepare SciPy's central differences of the function or of its compiled gradient, with dualrev's pattern."""
    f = program.function if program.what == "Jacobian" else dr.grad(program.function)
    pattern = sparse.csr_matrix(compiled(program, args)())
    given = pattern, group_columns(pattern)
    return lambda: approx_derivative(f, args[0], method="3-point", sparsity=given, args=args[1:])


def by_casadi(program: Program, args: tuple[Any, ...]) -> Run:
    """Prepare CasADi's sparse Jacobian or Hessian, as a `Function` of symbols."""
    import casadi as ca

    x = ca.SX.sym("x", len(args[0]))
    y = program.casadi(x, *args[1:])
    made = ca.jacobian(y, x) if program.what == "Jacobian" else ca.hessian(y, x)[0]
    function, numbers = ca.Function("derivative", [x], [made]), ca.DM(args[0])
    return lambda: function(numbers)


#: How to prepare each column, and the module that it needs.
WAYS = {
    "compiled": (compiled, "numba"),
    "tape": (tape, "dualrev"),
    "differences": (differences, "scipy"),
    "CasADi": (by_casadi, "casadi"),
}


def batch(program: Batch, args: tuple[Any, ...]) -> Run:
    """Prepare `dr.vmap` of a compiled Jacobian or gradient."""
    axes = (None,) * program.shared + (0,) * (len(args) - program.shared)
    of = dr.jacfwd(program.function) if program.what == "Jacobians" else dr.grad(program.function, (0, 1, 2))
    made = dr.vmap(of, in_axes=axes)
    return lambda: made(*args)


def batch_by_jax(program: Batch, args: tuple[Any, ...]) -> Run:
    """Prepare `jax.vmap` of JAX's Jacobian or gradient, under `jax.jit`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    axes = (None,) * program.shared + (0,) * (len(args) - program.shared)
    of = jax.jacfwd(program.jax) if program.what == "Jacobians" else jax.grad(program.jax, (0, 1, 2))
    made, given = jax.jit(jax.vmap(of, in_axes=axes)), [jax.numpy.asarray(x) for x in args]
    return lambda: jax.block_until_ready(made(*given))


BATCH_WAYS = {"compiled": (batch, "numba"), "JAX": (batch_by_jax, "jax")}

# ----------------------------------------------------------------------------------------------------------------------
# What is measured


@dataclasses.dataclass
class Entry:
    """A cell of the table: its times, or the reason why it has none; `first` is the time of the first call."""

    run: Run | None = None
    absent: str = ""
    first: float = 0.0
    seconds: list[float] = dataclasses.field(default_factory=list)
    peak: float = 0.0

    def __str__(self) -> str:
        if not self.seconds:
            return "-"
        milliseconds = 1e3 * statistics.median(self.seconds)
        text = f"{milliseconds:,.0f}" if milliseconds >= 100.0 else f"{milliseconds:.3g}"
        return f"{text} ms, {self.peak / 1e6:,.0f} MB"


def numbers(answer: Any) -> np.ndarray:
    """Convert any library's answer to an array: nonzero entries and indices of a sparse matrix, or all numbers."""
    if hasattr(answer, "sparsity"):
        answer = answer.sparse()
    if not sparse.issparse(answer):
        return np.concatenate([np.ravel(x) for x in (answer if isinstance(answer, tuple) else (answer,))])
    made = sparse.csr_array(answer)
    made.eliminate_zeros()
    made.sort_indices()
    return np.concatenate([made.data, made.indices, made.indptr])


def prepared(program: Program | Batch, size: int) -> dict[str, Entry]:
    """Prepare every column: compile on little data, call once on all data, and compare the answers."""
    made: dict[str, Entry] = {}
    expected = None
    for key, (way, module) in (WAYS if isinstance(program, Program) else BATCH_WAYS).items():
        if importlib.util.find_spec(module) is None:
            made[key] = Entry(absent="not installed")
            continue
        try:
            way(program, program.make(program.small))()
            start = time.process_time()
            run = way(program, program.make(size))
            found = numbers(run())
            made[key] = Entry(run, first=time.process_time() - start)
        except Exception as error:
            made[key] = Entry(absent=first_line(error))
            continue
        expected = found if expected is None else expected
        exact = 1e-9 if key != "differences" else 1e-4
        if found.shape != expected.shape or not np.allclose(found, expected, exact, exact * np.abs(expected).max()):
            made[key] = Entry(absent="does not agree with the compiled one")
    return made


def measured(entry: Entry, budget: float) -> None:
    """Time three calls, or as many as fit into the budget."""
    while entry.run is not None and (len(entry.seconds) < 3 or sum(entry.seconds) < budget):
        start = time.process_time()
        entry.run()
        entry.seconds.append(time.process_time() - start)


def peak(name: str, key: str) -> int:
    """Return by how many bytes a call raises the peak memory. Right only in a process that did nothing else."""
    program: Any = PROGRAMS.get(name) or BATCHES[name]
    way = (WAYS if isinstance(program, Program) else BATCH_WAYS)[key][0]
    way(program, program.make(program.small))()
    args = program.make(program.size)
    if key in ("compiled", "tape") and name in PROGRAMS:  # what finds the pattern takes more
        small = dataclasses.replace(program)
        made = (dr.sparse_jacobian if program.what == "Jacobian" else dr.sparse_hessian)(
            program.function if key == "compiled" else program.tape, compiled(small, args)()
        )
        run: Run = lambda: made(*args)  # noqa: E731
    else:
        run = way(program, args)
    before = memory("VmRSS")
    run()
    return max(0, memory("VmHWM") - before)


# ----------------------------------------------------------------------------------------------------------------------
# Output


def markdown(results: dict[str, dict[str, Entry]]) -> list[str]:
    """Format both tables in Markdown."""
    lines = ["| | | compiled | tape | differences | CasADi | pattern | CasADi builds |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in [name for name in results if name in PROGRAMS]:
        entries, program = results[name], PROGRAMS[name]
        firsts = [f"{entries[k].first:.2g} s" if entries[k].seconds else "-" for k in ("compiled", "CasADi")]
        cells = [program.title, program.what, *(str(entries[key]) for key in WAYS), *firsts]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| | compiled | JAX |", "| --- | ---: | ---: |"]
    for name in [name for name in results if name in BATCHES]:
        lines.append(f"| {' | '.join([BATCHES[name].title, *(str(results[name][key]) for key in BATCH_WAYS)])} |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables in Markdown. Return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description="Time sparse derivatives, and derivatives of batches.")
    every: dict[str, Any] = {**PROGRAMS, **BATCHES}
    parser.add_argument("--program", action="append", choices=every, help="only this one (may be repeated)")
    parser.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each time in the table (1)")
    options = parser.parse_args(argv)
    keep_pages()
    results = {}
    for name in [name for name in every if name in (options.program or every)]:
        start = time.perf_counter()
        entries = results[name] = prepared(every[name], every[name].size)
        progress(f"{name}: compiled and checked in {time.perf_counter() - start:.0f} s")
        for key, entry in entries.items():
            measured(entry, options.budget)
            if entry.run is not None and AVAILABLE:
                entry.peak = elsewhere("sparse", f"peak({name!r}, {key!r})", OMP_NUM_THREADS="1")
    absent = [f"{name}, {key}: {e.absent}" for name, made in results.items() for key, e in made.items() if e.absent]
    known = versions()
    shown = [key for key in ("Python", "dualrev", "numpy", "numba", "scipy", "jax", "casadi") if key in known]
    about = ", ".join([*(f"{key} {known[key]}" for key in shown), processor()])
    print("\n".join([*markdown(results), "", *absent, about]))
    return 1 if any("agree" in e.absent for made in results.values() for e in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
