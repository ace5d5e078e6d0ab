"""Time CUDA kernels and their adjoints on a GPU: `python -m bench.kernels` (`make kernels`).

Each line of the table has a kernel (programs/kernel_programs.py), the size of its arguments, the median time
of the kernel and of its adjoint, each launch synchronised, and their ratio. Compilation is not timed. Before, all
adjoints are compared with differences of the kernels, at tiny sizes. A run takes a few minutes, ten at most.

Without a GPU, it says so, and the exit status is 2. `--check` makes the comparison only, also in numba's simulator
(NUMBA_ENABLE_CUDASIM=1).
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import cuda

import dualrev as dr
from bench.measuring.machine import versions
from bench.programs.kernel_programs import PROGRAMS, Program

__all__ = ["check", "main", "reason", "row"]

DTYPES = {"float64": np.float64, "float32": np.float32}
#: How far an adjoint may be from central differences, which are computed in float64.
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}


def reason(is_check: bool) -> str:
    """Return why nothing can be done here; "" if it can."""
    if not cuda.is_available():
        return "there is no GPU that numba finds; set NUMBA_ENABLE_CUDASIM=1, and use --check, to compare values only"
    if numba.config.ENABLE_CUDASIM and not is_check:
        return "this is numba's simulator, whose times say nothing about a GPU; use --check to compare values"
    return ""


def _floats(args: Sequence[Any]) -> list[int]:
    return [k for k, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def check(program: Program, dtype: str) -> float:
    """Compare an adjoint with central differences along a random direction; return the relative difference."""
    args, grid = program.make(program.tiny, DTYPES[dtype], 4)
    rng, arrays = np.random.default_rng(1), _floats(args)
    cts = {k: rng.standard_normal(args[k].shape).astype(dtype) for k in arrays}
    along = {k: rng.standard_normal(args[k].shape) for k in arrays}
    shadows = [ct.copy() for ct in cts.values()]
    dr.cuda.adjoint(program.kernel)[grid](*args, *shadows)
    actual = math.fsum(float(np.sum(along[k] * d)) for k, d in zip(arrays, shadows, strict=True))
    ends = []
    for h in (1e-6, -1e-6):
        moved = [
            x.astype(np.float64) + h * along[k] if k in along else x.copy() if isinstance(x, np.ndarray) else x
            for k, x in enumerate(args)
        ]
        program.kernel[grid](*moved)
        ends.append(math.fsum(float(np.sum(cts[k] * moved[k])) for k in arrays))
    expected = (ends[0] - ends[1]) / 2e-6
    return abs(actual - expected) / max(1.0, abs(expected))


def _median(launch: Callable[[], None], seconds: float) -> float:
    """Return the median seconds of synchronised launches, after two that are not counted."""
    times: list[float] = []
    end = math.inf
    for k in range(202):
        if k == 2:
            end = time.perf_counter() + seconds
        cuda.synchronize()
        begin = time.perf_counter()
        launch()
        cuda.synchronize()
        times.append(time.perf_counter() - begin)
        if time.perf_counter() > end and k > 6:
            break
    return statistics.median(times[2:])


def row(program: Program, dtype: str, size: int, seconds: float, threads: int = 256) -> str:
    """Return the line of the table for a program."""
    args, grid = program.make(size, DTYPES[dtype], threads)
    given = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in args]
    shadows = [cuda.to_device(np.ones_like(args[k])) for k in _floats(args)]
    kernel, adjoint = program.kernel[grid], dr.cuda.adjoint(program.kernel)[grid]
    primal = _median(lambda: kernel(*given), seconds)
    reverse = _median(lambda: adjoint(*given, *shadows), seconds)
    moved = sum(x.nbytes for x in args if isinstance(x, np.ndarray)) / 1e6
    cells = program.name, dtype, f"{moved:,.1f}", f"{1e6 * primal:,.1f}", f"{1e6 * reverse:,.1f}"
    return f"| {' | '.join(cells)} | {reverse / primal:.2f} |"


def _device() -> str:
    if numba.config.ENABLE_CUDASIM:
        return "numba's simulator"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the comparison and the table; 1 if an adjoint disagrees, 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare adjoints with differences, at tiny sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each time, 1 by default")
    options = parser.parse_args(argv)
    if why := reason(options.check):
        print(f"bench.kernels: {why}", file=sys.stderr)
        return 2
    print(f"{_device()};", ", ".join(f"{name} {version}" for name, version in versions().items()))
    wrong = 0
    for program in PROGRAMS:
        for dtype, tolerance in TOLERANCES.items():
            difference = check(program, dtype)
            wrong += not difference <= tolerance
            state = "agrees" if difference <= tolerance else "DISAGREES"
            print(f"{program.name}, {dtype}: {state} with differences ({difference:.0e})", flush=True)
    if wrong or options.check:
        return int(wrong > 0)
    print("\n| kernel | dtype | MB | kernel us | adjoint us | adjoint / kernel |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for program in PROGRAMS:
        for dtype in DTYPES:
            print(row(program, dtype, program.size, options.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
