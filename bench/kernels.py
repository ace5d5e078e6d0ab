"""Time CUDA kernels and their adjoints on a GPU, beside Warp and JAX: `python -m bench.kernels` (`make kernels`).

There is a table for each size of the arguments. Each line has a kernel (programs/kernel_programs.py), the median time
of the kernel and of its adjoint, each launch synchronised, and their ratio. Beside them stand the times of the same
kernel and its adjoint in NVIDIA Warp (programs/kernel_warp.py), how dualrev's adjoint compares with Warp's, and the
times of the same function and its `jax.vjp` in JAX, under `jax.jit` (programs/kernel_jax.py). Compilation is not timed.

Before, all adjoints are compared with differences of the kernels, at tiny sizes. At each size, those of the other
libraries are compared with dualrev's: one that disagrees gets no time. Libraries that are not installed are left out
(`make peers`). After nine minutes, no further line begins.

Without a GPU, it says so, and the exit status is 2. `--check` makes the comparison only, also in numba's simulator
(NUMBA_ENABLE_CUDASIM=1), with Warp and JAX on the processor.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

import dualrev as dr
from bench.programs.kernel_programs import PROGRAMS, Prepared, Problem, Program
from dualrev.diagnostics.machine import versions

__all__ = ["PEERS", "Row", "absent", "check", "main", "moved", "prepare", "reason", "row"]

DTYPES = {"float64": np.float64, "float32": np.float32}
#: How far an adjoint may be from central differences, which are computed in float64.
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
#: How far gradients of two libraries may be apart, relative to the largest entry: sums of millions, in any order.
CLOSE = {"float64": 1e-9, "float32": 3e-2}
LIBRARIES = ("numpy", "numba", "numba-cuda", "warp-lang", "jax")  # whose versions it prints
#: Threads of a block, for times and for comparisons with differences.
THREADS, FEW = 256, 4


class Peer(NamedTuple):
    """Library beside dualrev: the module that it needs, how pip calls it, and the module with its programs."""

    module: str
    package: str
    programs: str

    def load(self) -> Any:
        """Import the module with its programs."""
        return importlib.import_module(self.programs)


PEERS = {
    "Warp": Peer("warp", "warp-lang", "bench.programs.kernel_warp"),
    "JAX": Peer("jax", "'jax[cuda12]'", "bench.programs.kernel_jax"),
}


def reason(is_check: bool) -> str:
    """Return why nothing can be done here; "" if it can."""
    if not cuda.is_available():
        return "there is no GPU that numba finds; set NUMBA_ENABLE_CUDASIM=1, and use --check, to compare values only"
    if numba.config.ENABLE_CUDASIM and not is_check:
        return "this is numba's simulator, whose times say nothing about a GPU; use --check to compare values"
    return ""


def absent(name: str, is_check: bool) -> str:
    """Return why a peer is left out; "" if it is not."""
    peer = PEERS[name]
    if importlib.util.find_spec(peer.module) is None:
        return f"it is not installed (pip install {peer.package})"
    if not is_check and peer.load().device() != "gpu":
        return f"it finds no GPU (pip install {peer.package})"
    return ""


# ----------------------------------------------------------------------------------------------------------------------
# Answers


_adjoint = functools.cache(lambda kernel, tape: dr.cuda.adjoint(kernel, tape=tape))


def by_dualrev(problem: Problem) -> Prepared:
    """Launch a kernel and its adjoint by dualrev once, which compiles them."""
    program, args = problem.program, problem.args
    arrays = [k for k, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    given = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in args]
    cts = {k: problem.ct if k == program.result else np.zeros_like(args[k]) for k in arrays}
    shadows = {k: cuda.to_device(ct) for k, ct in cts.items()}
    ct = cuda.to_device(problem.ct)
    kernel = program.kernel(problem.dtype, problem.threads)
    launch_kernel, launch_adjoint = kernel[problem.grid], _adjoint(kernel, program.tape)[problem.grid]

    def primal() -> None:
        """Launch the kernel, and wait until the device is done."""
        launch_kernel(*given)
        cuda.synchronize()

    def adjoint() -> None:
        """Launch its adjoint, and wait until the device is done."""
        launch_adjoint(*given, *shadows.values())
        cuda.synchronize()

    def renew() -> None:
        """Set the cotangent of the result again: with zeros, threads may skip operations."""
        shadows[program.result].copy_to_device(ct)
        cuda.synchronize()

    adjoint()
    gradients = [shadows[k].copy_to_host() for k in program.inputs]
    primal()
    return Prepared(given[program.result].copy_to_host(), gradients, primal, adjoint, renew)


def prepare(name: str, problem: Problem) -> Prepared | str:
    """Return the answer of a library; its error as text, as times of other libraries are of use."""
    try:
        return by_dualrev(problem) if name == "dualrev" else PEERS[name].load().prepare(problem)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def moved(problem: Problem, along: dict[int, np.ndarray], h: float) -> np.ndarray:
    """Return the result of a kernel in float64, with inputs that are moved by `h` along a direction."""
    program, args = problem.program, list(problem.args)
    for k, x in enumerate(args):
        if x.dtype.kind == "f":
            args[k] = x.astype(np.float64) + h * along.get(k, 0.0)
        elif x.ndim:
            args[k] = x.copy()
    program.kernel(np.float64, problem.threads)[problem.grid](*args)
    return args[program.result]


def _distance(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference of two arrays, relative to the largest entry; inf if their shapes differ."""
    if found.shape != expected.shape:
        return math.inf
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.max(np.abs(found.astype(np.float64) - expected))
        return float(apart / max(np.max(np.abs(expected)), 1e-300))


def distance(found: Prepared, expected: Prepared) -> float:
    """Return how far the answers of two libraries are apart."""
    pairs = zip([found.result, *found.gradients], [expected.result, *expected.gradients], strict=True)
    return float(np.max([_distance(x, y) for x, y in pairs]))  # NaN stays NaN


def check(program: Program, dtype: str, names: Sequence[str] = ("dualrev",)) -> dict[str, float | str]:
    """Compare results with the kernel's in float64, and gradients with its central differences along a direction.

    Returns the largest relative difference for each library, or its error. Gradients are also compared with those of
    the first library.
    """
    problem = Problem.of(program, program.tiny, DTYPES[dtype], FEW)
    rng = np.random.default_rng(2)
    along = {k: rng.standard_normal(problem.args[k].shape) for k in program.inputs}
    plus, minus = (moved(problem, along, h) for h in (1e-6, -1e-6))
    expected = math.fsum(np.ravel(problem.ct * (plus - minus) / 2e-6))
    answers = {name: prepare(name, problem) for name in names}
    first = next((x for x in answers.values() if isinstance(x, Prepared)), None)
    found: dict[str, float | str] = {}
    for name, answer in answers.items():
        if isinstance(answer, str) or first is None:
            found[name] = str(answer)
            continue
        slope = math.fsum(float(np.sum(v * d)) for v, d in zip(along.values(), answer.gradients, strict=True))
        by_differences = abs(slope - expected) / max(1.0, abs(expected))
        value = _distance(answer.result, moved(problem, along, 0.0))
        found[name] = float(np.max([by_differences, value, distance(answer, first)]))
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Times


def _median(launch: Callable[[], Any], seconds: float, renew: Callable[[], Any] = lambda: None) -> float:
    """Return the median seconds of launches, after two that are not counted; `renew` comes before each of them."""
    times: list[float] = []
    end = math.inf
    for k in range(202):
        if k == 2:
            end = time.perf_counter() + seconds
        renew()
        begin = time.perf_counter()
        launch()
        times.append(time.perf_counter() - begin)
        if time.perf_counter() > end and k > 6:
            break
    return statistics.median(times[2:])


@dataclass
class Row:
    """Line of a table.

    megabytes   of the arguments
    seconds     of the program and of its adjoint, by library
    notes       why a library has no times
    wrong       whether an answer is wrong, or there is none
    """

    program: Program
    dtype: str
    megabytes: float
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    wrong: bool = False

    @property
    def line(self) -> str:
        """The line in Markdown."""
        times = {name: [f"{1e6 * x:,.1f}" for x in both] for name, both in self.seconds.items()}
        own, warp = (self.seconds.get(name) for name in ("dualrev", "Warp"))
        cells = [self.program.name, self.dtype, f"{self.megabytes:,.1f}", *times.get("dualrev", "--")]
        cells += [f"{own[1] / own[0]:.2f}" if own else "-", *times.get("Warp", "--")]
        cells += [f"{own[1] / warp[1]:.2f}" if own and warp else "-", *times.get("JAX", "--")]
        return f"| {' | '.join(cells)} |"


TITLES = (
    *("kernel", "dtype", "MB", "kernel us", "adjoint us", "adjoint / kernel"),
    *("Warp us", "its adjoint us", "adjoint / Warp's", "JAX us", "its vjp us"),
)


def row(
    program: Program, dtype: str, size: int, seconds: float, names: Sequence[str] = ("dualrev",), threads: int = THREADS
) -> Row:
    """Time a program at a size, by each library whose answer agrees with that of the first one."""
    problem = Problem.of(program, size, DTYPES[dtype], threads)
    made = Row(program, dtype, sum(x.nbytes for x in problem.args) / 1e6)
    first: Prepared | None = None
    for name in names:
        answer = prepare(name, problem)
        first = answer if first is None and isinstance(answer, Prepared) else first
        apart = distance(answer, first) if isinstance(answer, Prepared) and first is not None else math.nan
        if isinstance(answer, Prepared) and apart <= CLOSE[dtype]:
            reverse = _median(answer.adjoint, seconds, answer.renew)
            made.seconds[name] = _median(answer.primal, seconds), reverse
            continue
        why = answer if isinstance(answer, str) else f"its answer differs from that of {names[0]} by {apart:.0e}"
        made.notes.append(f"{program.name}, {dtype}, {name}: {why}")
        made.wrong = True
    return made


# ----------------------------------------------------------------------------------------------------------------------
# Output


def _device() -> str:
    if numba.config.ENABLE_CUDASIM:
        return "numba's simulator"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def _compare(names: Sequence[str]) -> tuple[dict[tuple[str, str], list[str]], bool]:
    """Print how far the libraries are from differences; return those that agree for each kernel, and whether all do."""
    right: dict[tuple[str, str], list[str]] = {}
    for program in PROGRAMS:
        for dtype, tolerance in TOLERANCES.items():
            right[program.name, dtype] = []
            for name, found in check(program, dtype, names).items():
                agrees = not isinstance(found, str) and found <= tolerance
                right[program.name, dtype] += [name] * agrees
                state = "agrees" if agrees else "DISAGREES"
                said = found if isinstance(found, str) else f"{found:.0e}"
                print(f"{program.name}, {dtype}: {name} {state} with differences ({said})", flush=True)
    return right, all(len(some) == len(names) for some in right.values())


def _table(size: str, seconds: float, right: dict[tuple[str, str], list[str]], deadline: float) -> bool:
    """Print the table for a size; return whether all answers are right."""
    print(f"\nSize: {size}\n\n| {' | '.join(TITLES)} |\n| --- | --- |{' ---: |' * (len(TITLES) - 2)}", flush=True)
    good, notes = True, list[str]()
    for program in PROGRAMS:
        for dtype in DTYPES:
            if time.perf_counter() > deadline:
                notes.append(f"{program.name}, {dtype}: left out, as the time is over (--minutes)")
                continue
            made = row(program, dtype, program.sizes[size], seconds, right[program.name, dtype])
            print(made.line, flush=True)
            good, notes = good and not made.wrong, notes + made.notes
    print("\n".join(["", *notes]) if notes else "", flush=True)
    return good


def main(argv: Sequence[str] | None = None) -> int:
    """Print the comparison and the tables; 1 if an answer is wrong or missing, 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare adjoints with differences, at tiny sizes")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each time, 0.5 by default")
    parser.add_argument("--minutes", type=float, default=9.0, help="after which no line begins, 9 by default")
    parser.add_argument("--no-peers", action="store_true", help="leave out Warp and JAX")
    options = parser.parse_args(argv)
    deadline = time.perf_counter() + 60.0 * options.minutes
    if why := reason(options.check):
        print(f"bench.kernels: {why}", file=sys.stderr)
        return 2
    print(f"{_device()};", ", ".join(f"{name} {version}" for name, version in versions(LIBRARIES).items()))
    left_out = {name: "--no-peers" if options.no_peers else absent(name, options.check) for name in PEERS}
    for name, why in left_out.items():
        if why:
            print(f"{name} is left out: {why}")
    right, good = _compare(["dualrev", *(name for name, why in left_out.items() if not why)])
    if not options.check:
        good = all([good, *(_table(size, options.seconds, right, deadline) for size in PROGRAMS[0].sizes)])
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
