"""The memory of a call, measured in a new process: the peak during the call minus the resident memory before it.

Compiled gradients save values for the reverse pass outside of Python's memory, where tracemalloc does not see them. So
this module reads /proc, on Linux only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
AVAILABLE = STATUS.exists()


class ChildError(RuntimeError):
    """Failure of the other process."""


def memory(field: str) -> int:
    """Return the bytes of this process: VmRSS is the resident memory now, VmHWM its peak."""
    return int(STATUS.read_text(encoding="ascii").partition(f"{field}:")[2].split()[0]) * 1024


def peak(program: str, library: str, size: int) -> int:
    """Return the peak bytes of value and gradient. Right only in a process that did nothing as large before."""
    from bench.peers import LIBRARIES, PROGRAMS

    version = next(v for v in PROGRAMS[program].versions if v.library == library)
    run, _ = LIBRARIES[library].prepare(version, PROGRAMS[program].small)
    run()  # compiles
    run, _ = LIBRARIES[library].prepare(version, size)
    before = memory("VmRSS")
    run()
    return memory("VmHWM") - before


def peak_elsewhere(program: str, library: str, size: int) -> float:
    """The peak memory of a program in a new process, in bytes. ChildError if that fails."""
    return elsewhere(__name__.removeprefix("bench."), f"peak({program!r}, {library!r}, {size})")


def elsewhere(module: str, expression: str, **environment: str) -> float:
    """Evaluate an expression of a module of bench/ in a new process, as a float. ChildError if that fails."""
    return float(text_elsewhere(module, expression, **environment))


def text_elsewhere(module: str, expression: str, **environment: str) -> str:
    """Evaluate an expression of a module of bench/ in a new process, as text. ChildError if that fails."""
    code = f"from importlib import import_module; print(import_module('bench.{module}').{expression})"
    variables = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | environment
    folder = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ChildError(f"{expression}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return done.stdout
