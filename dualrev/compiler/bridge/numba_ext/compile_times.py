"""Compile times of our passes, of numba's type inference and lowering, and of LLVM (DUALREV_TIMES=1)."""

from __future__ import annotations

import atexit
import functools
import sys

from dualrev.compiler.bridge.numba_ext.compile_log import LLVM, NUMBA, OTHER, watch_numba
from dualrev.compiler.driver.passes import PASSES
from dualrev.compiler.ir.pass_manager import STOPWATCH

__all__ = ["install", "table"]


@functools.cache
def install() -> None:
    """Time all compilations from now on, and print the table when the process ends."""
    watch_numba()
    atexit.register(lambda: print(table(), file=sys.stderr))


def table() -> str:
    """Table of seconds by pass, then by part of numba, and their sum."""
    found = STOPWATCH.seconds
    names = [p.name for p in PASSES if p.name in found]
    ours = sum(found[x] for x in names)
    rows = [*((x, found[x]) for x in names), ("all passes of dualrev", ours)]
    rows += [(x, found[x]) for x in (*NUMBA.values(), OTHER, LLVM) if x in found]
    rows.append(("in all", sum(found.values())))
    return "\n".join(["seconds", *(f"{value:8.3f}  {x}" for x, value in rows)])
