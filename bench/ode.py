"""Time gradients of the solutions of initial value problems: `python -m bench.ode` (`make ode`).

Each function (programs/ode_programs.py) is the sum of the squares of the state at the end, from a solver of
`dualrev.ode` in a numba function. The columns are

- the accepted steps, the milliseconds of the compiled solution, and the seconds of the gradient's first call, which
  compiles it;
- the time of value and gradient in reverse mode, and of the gradient in forward mode, with its goal: 1.5 + 0.6 p for p
  parameters;
- the time of forward differences: p + 1 solutions by SciPy's `solve_ivp` with the compiled right-hand side, and by the
  compiled solution; for SciPy, one solution is timed;
- the time of value and gradient by diffrax, under `jax.jit`, with a solver of the same order, the same tolerances, and
  as many steps as its controller takes.

Those times are divided by the time of the compiled solution. They are the best of several turns, of processor time, on
one thread. The last two columns have the relative errors of the gradients, in reverse mode and of diffrax, against
central differences of the compiled solution with tolerances of 1e-12, for at most ten of the parameters. An entry below
a thousandth of the largest counts as that large, where entries are multiplied by the sizes of their parameters.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
import time
from collections.abc import Sequence
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

import numpy as np
from numba import njit
from rich.console import Console
from scipy import integrate, sparse

import dualrev as dr
from bench.compiled import first_line, keep_pages, progress
from bench.measuring.machine import processor, versions
from bench.programs.ode_programs import PROGRAMS, Program
from bench.second import Entry, measured

__all__ = ["Row", "by_scipy", "differences", "main", "markdown", "prepared", "reference"]

TIGHT = 1e-12  # the relative tolerance of the reference
SAMPLE = 10  # parameters of the reference
FORWARD = 20  # parameters: with more, forward mode is not timed
CLOSE = {"SciPy": 1e-5, "diffrax": 1e-3}  # how far from the value of the compiled solution theirs may be

# ----------------------------------------------------------------------------------------------------------------------
# The ways


def by_scipy(program: Program, rtol: float, atol: float) -> np.ndarray:
    """Return the state at the end, by SciPy's solver of the same method with the compiled right-hand side."""
    y, p, data = program.start(program.p, program.data), program.p, program.data
    options: dict[str, Any] = {"method": {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau"}[program.method]}
    if program.band is not None:
        below, above = program.band
        diagonals = range(-below, above + 1)
        options["jac_sparsity"] = sparse.diags([1.0] * len(diagonals), list(diagonals), shape=(len(y), len(y)))
    for k, span in enumerate(zip(program.times[:-1], program.times[1:], strict=True)):
        y = y if k == 0 else y + program.dose
        solution = integrate.solve_ivp(program.fun, span, y, args=(p, data), rtol=rtol, atol=atol, **options)
        y = solution.y[:, -1]
    return y


def differences(program: Program) -> Any:
    """Return a numba function of the arguments of `program.function`: its value and gradient by forward differences."""
    function, step = program.function, float(np.sqrt(np.finfo(float).eps))

    @njit
    def quotients(p, data, rtol, atol):
        value, made, moved = function(p, data, rtol, atol), np.empty(len(p)), p.copy()
        for i in range(len(p)):
            moved[i] = p[i] + step * max(abs(p[i]), 1.0 if p[i] == 0.0 else 0.0)
            made[i] = (function(moved, data, rtol, atol) - value) / (moved[i] - p[i])
            moved[i] = p[i]
        return value, made

    return quotients


def reference(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of at most SAMPLE parameters, and the derivatives by them: central differences of order 4."""
    count = len(program.p)
    chosen = np.linspace(0, count - 1, min(count, SAMPLE)).astype(int)
    found, steps = np.empty(len(chosen)), program.step * program.scale
    for row, i in enumerate(chosen):
        found[row] = 0.0
        for many, weight in ((1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0)):
            for sign in (1.0, -1.0):
                p = program.p.copy()
                p[i] += sign * many * steps[i]
                value = program.function(p, program.data, TIGHT, TIGHT * program.atol / program.rtol)
                found[row] += sign * weight * value / steps[i]
    return chosen, found


def error(program: Program, gradient: np.ndarray, expected: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the largest relative error of a gradient."""
    chosen, by_differences = expected
    found, right = gradient[chosen] * program.scale[chosen], by_differences * program.scale[chosen]
    return float(np.max(np.abs(found - right) / np.maximum(np.abs(right), 1e-3 * np.abs(right).max())))


# ----------------------------------------------------------------------------------------------------------------------
# What is measured


@dataclasses.dataclass
class Row:
    """A row of the table: the entries that are timed, and the other cells."""

    program: Program
    entries: dict[str, Entry]
    states: int
    steps: int
    compilation: float  # seconds
    error: float
    peer_error: float | None = None

    def seconds(self, key: str) -> float | None:
        """Return the best time of an entry."""
        return min(self.entries[key].seconds, default=None)

    def ratio(self, key: str) -> float | None:
        """Return the best time of an entry, divided by the solution's."""
        own, other = self.seconds("solution"), self.seconds(key)
        if own is None or other is None:
            return None
        return other / own * (len(self.program.p) + 1 if key == "SciPy" else 1)


def prepared(program: Program, peers: bool = True) -> Row:
    """Compile and call everything that is timed, and compare the answers."""
    args, count = program.args, len(program.p)
    state, steps = program.end(*args)
    value = program.function(*args)
    reverse, forward, quotients = dr.value_and_grad(program.function), dr.jacfwd(program.function), differences(program)
    start = time.perf_counter()
    _, gradient = reverse(*args)
    compilation = time.perf_counter() - start
    progress(f"{program.name}: gradient compiled in {compilation:.0f} s")
    entries = {
        "solution": Entry(lambda: program.function(*args)),
        "reverse": Entry(lambda: reverse(*args)),
        "forward": Entry(lambda: forward(*args)),
        "SciPy": Entry(lambda: by_scipy(program, program.rtol, program.atol)),
        "differences": Entry(lambda: quotients(*args)),
    }
    if count > FORWARD:
        entries["forward"] = Entry(absent=f"{count} parameters: reverse mode is for them")
    elif not np.allclose(forward(*args), gradient, rtol=1e-6, atol=1e-9 * np.abs(gradient).max()):
        entries["forward"] = Entry(absent="does not agree with reverse mode", wrong=True)
    quotients(*args)
    if too_far(float(np.sum(by_scipy(program, program.rtol, program.atol) ** 2)), value, CLOSE["SciPy"]):
        entries["SciPy"] = Entry(absent="its value does not agree", wrong=True)
    expected = reference(program)
    row = Row(program, entries, len(state), steps, compilation, error(program, gradient, expected))
    entries["diffrax"] = by_diffrax(row, value, expected) if peers else Entry(absent="left out")
    return row


def by_diffrax(row: Row, value: float, expected: tuple[np.ndarray, np.ndarray]) -> Entry:
    """Prepare diffrax's value and gradient, and set the error of the latter."""
    if importlib.util.find_spec("diffrax") is None:
        return Entry(absent="not installed")
    from bench.programs.ode_diffrax import value_and_grad

    try:
        start = time.perf_counter()
        run = value_and_grad(row.program)
        (found, steps), gradient = run()
    except Exception as failure:
        return Entry(absent=first_line(failure))
    progress(f"{row.program.name}: diffrax took {int(steps)} steps, and {time.perf_counter() - start:.0f} s to compile")
    row.peer_error = error(row.program, np.asarray(gradient), expected)
    if too_far(float(found), value, CLOSE["diffrax"]):
        return Entry(absent=f"its value is {float(found)!r} in place of {value!r}", wrong=True)
    return Entry(run)


def too_far(found: float, value: float, tolerance: float) -> bool:
    """Whether a value differs from the compiled solution's by more than a relative tolerance."""
    return not abs(found - value) <= tolerance * abs(value)


# ----------------------------------------------------------------------------------------------------------------------
# Output


def markdown(rows: Sequence[Row]) -> list[str]:
    """Format the table in Markdown."""
    titles = (
        "problem", "method", "states", "parameters", "steps", "solution, ms", "compile, s", "reverse", "forward",
        "goal", "SciPy's differences", "differences", "diffrax", "error", "diffrax's error",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", f"| --- | --- |{' ---: |' * (len(titles) - 2)}"]
    for row in rows:
        program, seconds = row.program, row.seconds("solution")
        cells = [
            program.title,
            f"{program.method}, {program.rtol:.0e}",
            str(row.states),
            str(len(program.p)),
            f"{row.steps:,}",
            "-" if seconds is None else f"{1e3 * seconds:.3g}",
            f"{row.compilation:.0f}",
            times(row.ratio("reverse")),
            times(row.ratio("forward")),
            times(1.5 + 0.6 * len(program.p)) if len(program.p) <= FORWARD else "-",
            *(times(row.ratio(key)) for key in ("SciPy", "differences", "diffrax")),
            f"{row.error:.0e}",
            "-" if row.peer_error is None else f"{row.peer_error:.0e}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def times(ratio: float | None) -> str:
    """Format a ratio to three digits."""
    if ratio is None:
        return "-"
    return f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.3g}"


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser(description="Time gradients of the solutions of initial value problems.")
    made.add_argument("--program", action="append", choices=PROGRAMS, help="only this one (may be repeated)")
    made.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each time in the table (1)")
    made.add_argument("--no-peers", action="store_true", help="leave out diffrax")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table in Markdown. Return 1 if an answer is wrong."""
    options = parser().parse_args(argv)
    keep_pages()
    rows = []
    for name in [name for name in PROGRAMS if name in (options.program or PROGRAMS)]:
        start = time.perf_counter()
        rows.append(prepared(PROGRAMS[name], not options.no_peers))
        progress(f"{name}: compiled and checked in {time.perf_counter() - start:.0f} s")
        measured({key: entry for key, entry in rows[-1].entries.items() if entry.run}, options.budget)
        progress("\n".join(markdown(rows[-1:])[2:]))
    known = versions()
    shown = [key for key in ("Python", "dualrev", "numpy", "numba", "scipy", "jax", "diffrax") if key in known]
    about = ", ".join([*(f"{key} {known[key]}" for key in shown), processor()])
    absent = [(r.program.name, key, e) for r in rows for key, e in r.entries.items() if e.absent]
    console = Console(soft_wrap=True)
    for line in [*markdown(rows), "", *(f"{name}, {key}: {e.absent}" for name, key, e in absent), about]:
        console.print(line, markup=False, highlight=False)
    return 1 if any(e.wrong for _, _, e in absent) else 0


if __name__ == "__main__":
    sys.exit(main())
