"""The machine that ran a benchmark: processor, versions, threads, the garbage collector, and its speed.

The speed is measured by a calibration loop before and after each benchmark. Times of different machines, or of
different hours on one machine, are compared by their ratio to it. One loop is in Python, the other one compiled, as
a machine that is faster at one need not be faster at the other.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable

from numba import njit

from bench import THREADS
from dualrev.diagnostics import machine
from dualrev.diagnostics.machine import cores, processor

__all__ = ["CALIBRATION", "about", "calibrate", "processor", "versions"]

COLLECTOR = "collected before every benchmark, off while the clock runs"
PEERS = ("jax", "diffrax", "torch", "autograd", "casadi", "micrograd")
LIBRARIES = ("numpy", "numba", "scipy", *PEERS, "pytest-benchmark")


def versions() -> dict[str, str]:
    """Return the versions of Python, dualrev and the installed libraries."""
    return machine.versions(LIBRARIES)


def about() -> dict[str, str]:
    """Return all facts about the machine that a report lists."""
    return versions() | {
        "processor": processor(),
        "cores": str(cores()),
        "system": platform.platform(),
        "threads": ", ".join(f"{name}={os.environ.get(name, 'not set')}" for name in THREADS[:1]),
        "garbage collector": COLLECTOR,
    }


# ---- calibration -----------------------------------------------------------------------------------------------------


def _python_loop() -> float:
    """Typical interpreted code, about half a millisecond: floats, a branch, a list and a dict."""
    x, seen, found = 0.5, {}, []
    for k in range(2000):
        x = 3.7 * x * (1.0 - x)
        if x > 0.5:
            seen[k % 64] = x
            found.append(x)
    return x + len(seen) + len(found)


@njit
def _compiled_loop(n: int) -> float:
    """The same map and branch in compiled code; each step depends on the one before."""
    x, total = 0.5, 0.0
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
        if x > 0.5:
            total += x
    return total


def _run_compiled() -> float:
    return _compiled_loop(100_000)


CALIBRATION: dict[str, Callable[[], float]] = {"python": _python_loop, "compiled": _run_compiled}


def calibrate(loop: str, repeats: int = 5) -> float:
    """Return the shortest time of `repeats` runs of a calibration loop, in seconds."""
    run, times = CALIBRATION[loop], []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
