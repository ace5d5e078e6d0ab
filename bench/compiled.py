"""Compare compiled gradients of numba functions with handwritten ones, in one run: `python -m bench.compiled`.

The programs are in programs/compiled_programs.py (with --arrays: programs/array_programs.py). Three times are measured
for each: the numba function itself (the primal); its value and gradient with respect to all real inputs, compiled by
dualrev; and a gradient written by hand in numba (the adjoint), where we wrote one. Before that, the gradient is
compared with the tape on small inputs, and with the adjoint on the inputs that are timed. --second also measures the
Hessian-vector product.

Times are of a call from Python, on one thread, with Python's garbage collector off. The calls take turns in one
process, and ratios are of the best times; compare numbers of one run only. A gradient allocates new arrays in every
call. malloc (glibc's only) is told to keep freed memory, so that these pages are not returned to the system and fetched
again each time; in a program with a larger heap this is so anyway. --fresh-pages leaves malloc alone.

First calls are timed in new processes, from `value_and_grad(f, argnums)` to the answer on small inputs, including
numba's own set-up: one process starts with an empty DUALREV_CACHE_DIR, the next one uses the cache that the first one
wrote, and a third one times the first call of the numba function itself. Python's bytecode of dualrev is there
beforehand, as for any installed package. --first-calls measures nothing else.

The column "vectors" has the number of innermost loops that LLVM vectorised, over the number of all innermost loops: in
the source of the function, and in the forward and the reverse pass of the emitted gradient (bench/vectors.py).

Memory is measured on the pendulum. Its gradient is three numbers, so a call allocates little but the values that it
saves for the reverse pass. The measure is the growth of the peak resident memory during the call, in a new process, in
bytes per step. (The values are saved outside of numba's arrays, where tracemalloc does not see them.)
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import gc
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

import numba
import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dualrev
from bench.measuring.agreement import convert, disagreement
from bench.measuring.machine import processor, versions
from bench.measuring.memory import ChildError, elsewhere, memory, text_elsewhere
from bench.programs.array_programs import ARRAYS, EVERY
from bench.programs.compiled_programs import PROGRAMS, Program, plain
from bench.vectors import Counts
from dualrev.compiler.bridge.make_dispatcher import derivative

TURN = 0.004  # seconds
LONG = 10_000_000  # steps of the pendulum, so that what is saved is larger than what the compiler needed
GOALS = {"primal": (2.5, 6.0), "adjoint": (1.2, 2.0), "first call": (5.0, 0.5)}  # ratios; seconds, from the cache
FIRST = (2.0, 3.0)  # median and largest of first calls over the primal's own
PRODUCT = 3.0  # over the gradient
OVERHEAD = 1.0  # us: the goal of a call

Run = Callable[[], Any]

# ----------------------------------------------------------------------------------------------------------------------
# What is measured


@dataclasses.dataclass
class Cell:
    """The seconds of a call in every turn, or the reason why it was not timed."""

    absent: str = ""  # "-", "UnsupportedError: ..."
    seconds: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Result:
    """The measurements of one program. `first_calls` are the gradient's without and with a cache, and the primal's."""

    program: Program
    primal: Cell
    gradient: Cell
    adjoint: Cell
    product: Cell = dataclasses.field(default_factory=Cell)  # of the Hessian and a vector
    wrong: str = ""
    first_calls: list[float] = dataclasses.field(default_factory=list)
    vectors: Counts = dataclasses.field(default_factory=dict)

    @property
    def first_ratio(self) -> float | None:
        """The time of the gradient's first call over the time of the primal's first call."""
        return self.first_calls[0] / self.first_calls[2] if len(self.first_calls) > 2 else None

    def ratio(self, over: str, under: str) -> float | None:
        """The best time of one over the best time of the other; None if one of them has no times."""
        above, below = getattr(self, over), getattr(self, under)
        return min(above.seconds) / min(below.seconds) if above.seconds and below.seconds else None


@dataclasses.dataclass
class Extras:
    """Measurements of single functions: the pendulum's bytes per step, and calls of a function of one float."""

    gradient_bytes: float | None = None  # per step
    adjoint_bytes: float | None = None
    primal_call: float | None = None  # seconds
    gradient_call: float | None = None


def progress(message: str) -> None:
    """Print a message to stderr, at once."""
    print(message, file=sys.stderr, flush=True)


def first_line(error: BaseException) -> str:
    """Format an exception as its type and the first line of its text."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def prepare(program: Program, size: int) -> tuple[Result, dict[str, Run]]:
    """Compile all functions, compare the gradient with the tape and the adjoint, and return the calls to time."""
    args = program.make(size)
    result = Result(program, Cell(), Cell(), Cell())
    by_hand = program.adjoint
    runs: dict[str, Run] = {"primal": lambda: program.function(*args)}
    value, adjoint = runs["primal"](), None
    if by_hand is None:
        result.adjoint.absent = "-"
    else:
        runs["adjoint"] = lambda: by_hand(*args)
        adjoint = runs["adjoint"]()
    try:
        gradient = dualrev.value_and_grad(program.function, program.argnums)
        small = program.make(program.small)
        found = gradient(*small), gradient(*args)
    except Exception as error:
        result.gradient.absent = first_line(error)
        return result, runs
    expected = dualrev.value_and_grad(plain(program.function), program.argnums)(*small)
    checks = [("the tape", found[0], expected)]
    checks.append(("numba", (found[1][0], 0.0), (value, 0.0)))
    if adjoint is not None:
        checks.append(("the adjoint", found[1], (adjoint[0], adjoint[1:])))
    for whom, ours, theirs in checks:
        if wrong := disagreement(ours, theirs):
            result.gradient.absent = result.wrong = f"does not agree with {whom}: {wrong}"
            return result, runs
    runs["gradient"] = lambda: gradient(*args)
    return result, runs


def prepare_product(result: Result, runs: dict[str, Run], size: int) -> None:
    """Compile the Hessian-vector product, and compare it with the tape's."""
    program = result.program
    product, chosen = derivative(program.function, "product", program.argnums), program.argnums

    def vector(args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A direction with the shapes of the real arguments: their cosines."""
        return convert(
            lambda x: np.cos(x) if isinstance(x, np.ndarray) else math.cos(x), tuple(args[k] for k in chosen)
        )

    gradient = dualrev.grad(plain(program.function), chosen)

    def of_chosen(*xs: Any) -> Any:
        """The gradient on the tape, as a function of the real arguments only."""
        whole = list(small)
        for k, x in zip(chosen, xs, strict=True):
            whole[k] = x
        return gradient(*whole)

    small, args = program.make(program.small), program.make(size)
    v, direction = vector(small), vector(args)
    try:
        found = product(*small, *v)
        product(*args, *direction)
    except Exception as error:
        result.product.absent = first_line(error)
        return
    expected = dualrev.jvp(of_chosen, tuple(small[k] for k in chosen), v)[1]
    if wrong := disagreement((0.0, found), (0.0, expected)):
        result.product.absent = result.wrong = f"the product does not agree with the tape: {wrong}"
        return
    runs["product"] = lambda: product(*args, *direction)


def measure(result: Result, runs: dict[str, Run], budget: float) -> None:
    """Time the calls in turns, each at least once, until each has used its budget of seconds."""
    numbers = {key: repetitions(run) for key, run in runs.items()}
    spent = dict.fromkeys(runs, 0.0)
    gc.collect()
    gc.disable()
    try:
        while not min(spent.values()) or min(spent.values()) < budget:
            for key, run in runs.items():
                seconds = clock(run, numbers[key])
                getattr(result, key).seconds.append(seconds / numbers[key])
                spent[key] += seconds
    finally:
        gc.enable()


def clock(run: Run, number: int) -> float:
    """Return the seconds of `number` calls."""
    repeat = range(number)
    start = time.perf_counter()
    for _ in repeat:
        run()
    return time.perf_counter() - start


def repetitions(run: Run) -> int:
    """Return how many calls make a turn of about TURN seconds."""
    number = 1
    while clock(run, number) < TURN / 2:
        number *= 2
    return number


def keep_pages() -> bool:
    """Tell glibc's malloc to keep freed memory for the next call; False if malloc is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    trim, threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD; the latter's largest value is 32 MB
    return bool(mallopt(threshold, 32 << 20) and mallopt(trim, 1 << 30))


# ----------------------------------------------------------------------------------------------------------------------
# In processes of their own


def first_call(name: str) -> float:
    """Return the seconds of a first gradient with all that it compiles. Right only in a new process."""
    program = EVERY[name]
    args = program.make(program.small)
    start = time.perf_counter()
    dualrev.value_and_grad(program.function, program.argnums)(*args)
    return time.perf_counter() - start


def first_primal(name: str) -> float:
    """Return the seconds of the numba function's first call. Right only in a new process."""
    program = EVERY[name]
    args = program.make(program.small)
    start = time.perf_counter()
    program.function(*args)
    return time.perf_counter() - start


def resident(name: str, size: int, what: str = "gradient") -> float:
    """Return by how much a call raises this process's peak memory, in bytes per step. Linux only."""
    program = PROGRAMS[name]
    run = program.adjoint if what == "adjoint" else dualrev.value_and_grad(program.function, program.argnums)
    run(*program.make(program.small))
    args = program.make(size)
    before = memory("VmRSS")
    run(*args)
    return (memory("VmHWM") - before) / size


def attempt(expression: str, **environment: str) -> float | None:
    """Evaluate an expression of this module in a new process; None if that fails."""
    try:
        return elsewhere("compiled", expression, **environment)
    except ChildError as error:
        progress(str(error))
        return None


def first_calls(name: str, bytecode: str) -> list[float]:
    """Time first calls: the gradient's without a cache, then with the cache that it wrote, and the primal's.

    Failures are left out. `bytecode` is a folder for Python's own cache.
    """
    python = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    expressions = [f"first_call({name!r})"] * 2 + [f"first_primal({name!r})"]
    with tempfile.TemporaryDirectory() as folder:
        times = [attempt(expression, DUALREV_CACHE_DIR=folder, **python) for expression in expressions]
    return [seconds for seconds in times if seconds is not None]


def vector_loops(name: str) -> Counts:
    """Count the loops that LLVM vectorised, in a new process; empty if that fails."""
    try:
        counts = json.loads(text_elsewhere("vectors", f"counted({name!r})", NUMBA_DEBUGINFO="1", DUALREV_CACHE_DIR=""))
    except ChildError as error:
        progress(str(error))
        return {}
    return {key: (made, loops) for key, (made, loops) in counts.items()}


# ----------------------------------------------------------------------------------------------------------------------
# Single functions


@numba.njit
def cube(x):
    """A function of one float, whose gradient costs less than the call."""
    return x * x * x


def call_overhead(rounds: int = 200) -> tuple[float, float]:
    """Return the seconds of a call of `cube` from Python, and of a call of its gradient."""
    gradient = dualrev.grad(cube, 0)
    runs = [lambda: cube(2.0), lambda: gradient(2.0)]
    if disagreement((runs[0](), runs[1]()), (8.0, 12.0)):
        raise ArithmeticError(f"the gradient of a cube is {runs[1]()}")
    number = repetitions(runs[0])
    times = [[clock(run, number) / number for run in runs] for _ in range(rounds)]
    primal, of_gradient = map(min, zip(*times, strict=True))
    return primal, of_gradient


def extras(results: dict[str, Result], processes: bool) -> Extras:
    """Measure the pendulum's memory (Linux only, in new processes) and the cost of a call."""
    found = Extras()
    if processes and sys.platform == "linux" and "pendulum" in results and results["pendulum"].gradient.seconds:
        found.gradient_bytes = attempt(f"resident('pendulum', {LONG})")
        found.adjoint_bytes = attempt(f"resident('pendulum', {LONG}, 'adjoint')")
    try:
        found.primal_call, found.gradient_call = call_overhead()
    except Exception as error:
        progress(f"a function of one float: {first_line(error)}")
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Output

HEADING = [
    "program",
    "lines",
    "primal\nus",
    "gradient\n/ primal",
    "adjoint\n/ primal",
    "gradient\n/ adjoint",
    "product\n/ gradient",
    "Enzyme",
    "first call\ns",
    "from cache\ns",
    "first call\n/ primal's",
    "vectors",
]


def number(x: float | None, pattern: str = ",.2f") -> str:
    """Format a number, or "-" for None."""
    return "-" if x is None else format(x, pattern)


def row(result: Result) -> list[str]:
    """Return a line of the table; its last cell has the reason if the gradient failed."""
    program, calls = result.program, result.first_calls
    return [
        program.name,
        str(program.lines),
        number(min(result.primal.seconds) * 1e6 if result.primal.seconds else None, ",.1f"),
        number(result.ratio("gradient", "primal")),
        number(result.ratio("adjoint", "primal")),
        number(result.ratio("gradient", "adjoint")),
        number(result.ratio("product", "gradient")),
        number(program.enzyme, ".1f"),
        number(calls[0] if calls else None),
        number(calls[1] if len(calls) > 1 else None),
        number(result.first_ratio),
        ", ".join(f"{made}/{loops}" for made, loops in result.vectors.values()) or "-",
        result.gradient.absent.strip("-") or result.product.absent,
    ]


def worst(entries: Iterable[tuple[str, float | None]]) -> tuple[float, float, str] | None:
    """Return the median, the largest number, and the name of the largest; None without numbers."""
    known = [(x, name) for name, x in entries if x is not None]
    return (statistics.median(x for x, _ in known), *max(known)) if known else None


def summary(results: dict[str, Result], measured: Extras) -> list[str]:
    """Return the lines that compare the medians and the worst cases with the goals."""
    lines = []
    for under, name in (("primal", "the primal"), ("adjoint", "the adjoint by hand")):
        middle, most = GOALS[under]
        goal = f"(goals: median {middle}, largest {most:g})"
        found = worst((key, result.ratio("gradient", under)) for key, result in results.items())
        if found:
            text = f"median {found[0]:.2f}, largest {found[1]:.2f} of {found[2]}"
            lines.append(f"Gradient over {name}: {text} {goal}.")
    if found := worst((key, result.ratio("product", "gradient")) for key, result in results.items()):
        text = f"median {found[0]:.2f}, largest {found[1]:.2f} of {found[2]} (goal: median {PRODUCT:g})"
        lines.append(f"Hessian-vector product over the gradient: {text}.")
    for k, what in enumerate(("First call without a cache", "First call from the cache")):
        calls = ((key, r.first_calls[k] if len(r.first_calls) > k else None) for key, r in results.items())
        if found := worst(calls):
            goal = f"(goal: {GOALS['first call'][k]} s)"
            lines.append(f"{what}: median {found[0]:.2f} s, largest {found[1]:.2f} s of {found[2]} {goal}.")
    if found := worst((key, result.first_ratio) for key, result in results.items()):
        text = f"median {found[0]:.2f}, largest {found[1]:.2f} of {found[2]}"
        lines.append(f"First call over the primal's own: {text} (goals: median {FIRST[0]:g}, largest {FIRST[1]:g}).")
    if measured.gradient_bytes is not None:
        by_hand = number(measured.adjoint_bytes, ".1f")
        lines.append(
            f"Memory, in {LONG:,} steps of the pendulum: {measured.gradient_bytes:.1f} bytes per step, "
            f"by hand {by_hand}; 8 are one number."
        )
    if measured.primal_call is not None and measured.gradient_call is not None:
        primal, gradient = measured.primal_call * 1e6, measured.gradient_call * 1e6
        lines.append(
            f"A call from Python, of a function of one float: {primal:.3f} us, of its gradient {gradient:.3f} us, "
            f"{gradient - primal:.3f} us more (goal: {OVERHEAD:g} us)."
        )
    return lines


def terminal(results: dict[str, Result], lines: list[str], console: Console) -> None:
    """Print the table and the lines below it."""
    failed = any(row(result)[-1] for result in results.values())
    table = Table(box=box.SIMPLE_HEAD, header_style="")
    for k, text in enumerate(HEADING):
        table.add_column(text, justify="right" if k else "left", style="" if k else "bold", no_wrap=True)
    if failed:
        table.add_column("no gradient because", overflow="fold")
    for result in results.values():
        table.add_row(*map(escape, row(result)[: None if failed else -1]))
    console.print(table)
    for line in lines:
        console.print(line, markup=False, highlight=False)


def markdown(results: dict[str, Result], lines: list[str]) -> str:
    """Format the table without empty columns, and the lines below it, for GitHub."""
    heading = [text.replace("\n", " ") for text in HEADING] + ["no gradient because"]
    columns = [column for column in zip(heading, *map(row, results.values()), strict=True) if {*column[1:]} - {"-", ""}]
    first, *others = map(" | ".join, zip(*columns, strict=True))
    rule = " | ".join(["---", *["---:"] * (len(columns) - 1)])
    return "\n".join([*(f"| {line} |" for line in (first, rule, *others)), "", *(f"- {line}" for line in lines)])


def data(results: dict[str, Result], measured: Extras, about: dict[str, str], budget: float) -> dict[str, Any]:
    """Return all numbers for JSON, in seconds and bytes."""

    def numbers(cell: Cell) -> dict[str, Any]:
        """Format a cell for JSON: best and median seconds, or why there are none."""
        if not cell.seconds:
            return {"absent": cell.absent}
        best, median = min(cell.seconds), statistics.median(cell.seconds)
        return {"best": best, "median": median, "turns": len(cell.seconds)}

    programs = {
        name: {
            "size": result.program.size,
            "lines": result.program.lines,
            "primal": numbers(result.primal),
            "gradient": numbers(result.gradient),
            "adjoint": numbers(result.adjoint),
            "gradient/primal": result.ratio("gradient", "primal"),
            "adjoint/primal": result.ratio("adjoint", "primal"),
            "gradient/adjoint": result.ratio("gradient", "adjoint"),
            "product": numbers(result.product),
            "product/gradient": result.ratio("product", "gradient"),
            "enzyme": result.program.enzyme,
            "first calls": result.first_calls,
            "first call/primal": result.first_ratio,
            "vectors": result.vectors,
        }
        for name, result in results.items()
    }
    return {"versions": about, "budget": budget, "programs": programs, "extras": dataclasses.asdict(measured)}


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser(description="Compare compiled gradients of numba functions with handwritten ones.")
    made.add_argument("--program", action="append", choices=EVERY, help="only this program (may be repeated)")
    made.add_argument(
        "--arrays", action="store_true", help="the programs in array style (bench/programs/array_programs.py)"
    )
    made.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each time in the table (1)")
    made.add_argument("--second", action="store_true", help="also time Hessian-vector products")
    made.add_argument("--first-calls", action="store_true", help="measure first calls only")
    made.add_argument("--times-only", action="store_true", help="skip first calls and memory, which need new processes")
    made.add_argument("--fresh-pages", action="store_true", help="let malloc return freed memory to the system")
    made.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    made.add_argument("--json", type=Path, metavar="FILE", help="also save all numbers to this file")
    return made


def result_of(name: str, options: argparse.Namespace, bytecode: str) -> Result:
    """Measure one program."""
    program = EVERY[name]
    if options.first_calls:
        progress(f"{name}: first calls, in new processes")
        return Result(program, Cell("-"), Cell("-"), Cell("-"), first_calls=first_calls(name, bytecode))
    progress(f"{name}: compiling and checking")
    result, runs = prepare(program, program.size)
    if options.second and "gradient" in runs:
        progress(f"{name}: compiling and checking the product with the Hessian")
        prepare_product(result, runs, program.size)
    progress(f"{name}: timing")
    measure(result, runs, options.budget)
    if result.gradient.seconds and not options.times_only:
        progress(f"{name}: first calls, in new processes")
        result.first_calls = first_calls(name, bytecode)
        result.vectors = vector_loops(name)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table. Return 1 if a gradient is wrong."""
    options = (made := parser()).parse_args(argv)
    if options.json and not options.json.parent.is_dir():
        made.error(f"--json {options.json}: the folder does not exist")
    kept = not options.fresh_pages and keep_pages()
    names = [name for name in EVERY if name in (options.program or (ARRAYS if options.arrays else PROGRAMS))]
    with tempfile.TemporaryDirectory() as bytecode:
        if not options.times_only:
            first_calls(names[0], bytecode)  # Python writes its bytecode
        results = {name: result_of(name, options, bytecode) for name in names}
    measured = Extras() if options.first_calls else extras(results, processes=not options.times_only)
    known = versions()
    about = {name: known[name] for name in ("Python", "dualrev", "numpy", "numba")} | {"processor": processor()}
    about |= {"malloc": "keeps freed memory" if kept else "default"}
    lines = [*summary(results, measured), ", ".join(f"{key} {value}" for key, value in about.items())]
    if options.markdown:
        print(markdown(results, lines))
    else:
        console = Console()
        terminal(results, lines, console if console.is_terminal else Console(width=180))
    if options.json:
        saved = data(results, measured, about, options.budget)
        options.json.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    return 1 if any(result.wrong for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
