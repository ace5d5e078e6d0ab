"""Compile times of our passes, of numba's type inference and lowering, and of LLVM (DUALREV_TIMES=1)."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from numba.core import event

from dualrev.compiler.driver.passes import PASSES
from dualrev.compiler.ir.pass_manager import STOPWATCH

__all__ = ["install", "table"]

_NUMBA = {"nopython_type_inference": "numba: type inference", "native_lowering": "numba: lowering"}
_OTHER, _LLVM = "numba: other passes", "LLVM"


class _Listener(event.Listener):
    """Timer of numba's passes and of LLVM, driven by numba's events."""

    def on_start(self, event: Any) -> None:
        """Start the stopwatch for a pass, or for LLVM."""
        STOPWATCH.start(_LLVM if event.kind == "numba:llvm_lock" else _step(event))

    def on_end(self, event: Any) -> None:
        """Stop the stopwatch."""
        STOPWATCH.stop()


def _step(event: Any) -> str:
    name = event.data["name"].partition(" ")[0]
    return next((words for known, words in _NUMBA.items() if known in name), _OTHER)


_INSTALLED: list[_Listener] = []


def install() -> None:
    """Time all compilations from now on, and print the table when the process ends; once."""
    if not _INSTALLED:
        _INSTALLED.append(_Listener())
        for kind in ("numba:run_pass", "numba:llvm_lock"):
            event.register(kind, _INSTALLED[0])
        atexit.register(lambda: print(table(), file=sys.stderr))


def table() -> str:
    """Table of seconds by pass, then by part of numba, and their sum."""
    found = STOPWATCH.seconds
    names = [p.name for p in PASSES if p.name in found]
    ours = sum(found[x] for x in names)
    rows = [*((x, found[x]) for x in names), ("all passes of dualrev", ours)]
    rows += [(x, found[x]) for x in (*_NUMBA.values(), _OTHER, _LLVM) if x in found]
    rows.append(("in all", sum(found.values())))
    return "\n".join(["seconds", *(f"{value:8.3f}  {x}" for x, value in rows)])
