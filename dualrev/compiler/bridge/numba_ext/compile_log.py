"""Log of compilations: a record for each derivative that is compiled or loaded, and a progress line.

`logging.getLogger("dualrev")` has the records, at the level INFO; DUALREV_LOG_COMPILES=1 prints them on stderr. The
seconds are exclusive: of dualrev's passes, of numba's type inference and lowering, and of LLVM.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from numba.core import event

from dualrev.compiler.bridge.numba_ext.tested_versions import warn_untested_numba
from dualrev.compiler.ir.pass_manager import STOPWATCH
from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes
from dualrev.diagnostics.progress import progress

__all__ = ["LLVM", "NUMBA", "OTHER", "Compilation", "compiling", "watch_numba"]

LOGGER = logging.getLogger("dualrev")

#: What the steps of numba are called that are timed, by a part of the name of its pass; the other passes; LLVM.
NUMBA = {"nopython_type_inference": "numba: type inference", "native_lowering": "numba: lowering"}
OTHER, LLVM = "numba: other passes", "LLVM"

_SHORT = 0.005  # seconds: shorter steps have no row of their own


@dataclass
class Compilation:
    """Record of the compilation of a derivative for argument types.

    function, transform, types   what is compiled: `hessian` of `f` for these types of arguments
    own                          functions of the emitted module, while they are compiled
    functions, lines             how many of them there are, and how many lines the module has
    cached                       whether the machine code came from the cache
    seconds                      in all; passes_seconds, numba_seconds and llvm_seconds are parts of it
    steps                        seconds of each pass of dualrev, of the steps of numba, and of LLVM, by name
    """

    function: str
    transform: str
    types: str
    own: list[Dispatcher] = field(default_factory=list, repr=False)
    functions: int = 0
    lines: int = 0
    cached: bool = False
    seconds: float = 0.0
    passes_seconds: float = 0.0
    numba_seconds: float = 0.0
    llvm_seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def what(self) -> str:
        """Text such as "grad of f(float64)"."""
        return f"{self.transform} of {self.function}({self.types})"

    def note(self) -> str:
        """How far it is."""
        if not self.own:
            return "writing its code"
        made = sum(bool(f.overloads) for f in self.own)
        return f"numba is compiling, {made} of {len(self.own)} functions done"

    def __str__(self) -> str:
        if self.cached:
            return f"loaded {self.what} from the cache in {self.seconds:.2f} s"
        return (
            f"compiled {self.what} in {self.seconds:.2f} s: {self.passes_seconds:.2f} s passes, "
            f"{self.numba_seconds:.2f} s numba, {self.llvm_seconds:.2f} s LLVM; "
            f"{self.lines} lines, {self.functions} functions"
        )

    def table(self) -> str:
        """Return the seconds of each step as a table: the line of `str`, then a row for each step, slowest first."""
        rows = [(s, step) for step, s in sorted(self.steps.items(), key=lambda row: -row[1]) if s >= _SHORT]
        if len(rows) < len(self.steps):
            short = [s for s in self.steps.values() if s < _SHORT]
            rows.append((sum(short), f"{len(short)} steps of less than {1000 * _SHORT:.0f} ms each"))
        return "\n".join([str(self), *(f"{seconds:8.3f} s  {step}" for seconds, step in rows)])


@contextmanager
def compiling(f: Dispatcher, transform: str, types: NumbaTypes) -> Iterator[Compilation]:
    """Log the compilation in a `with` statement, and show that it goes on; the block fills in the record."""
    warn_untested_numba()
    watch_numba()
    _print_if_asked()
    made = Compilation(getattr(f, "__name__", repr(f)), transform, ", ".join(map(str, types)))
    before, begin = dict(STOPWATCH.seconds), time.perf_counter()
    with progress(f"compiling {made.what}", made.note):
        yield made
    made.seconds = time.perf_counter() - begin
    made.steps = {
        step: spent for step, seconds in STOPWATCH.seconds.items() if (spent := seconds - before.get(step, 0.0)) > 0.0
    }
    for step, spent in made.steps.items():
        if step == LLVM:
            made.llvm_seconds += spent
        elif step in (OTHER, *NUMBA.values()):
            made.numba_seconds += spent
        else:
            made.passes_seconds += spent
    made.functions = len(made.own)
    made.own = []
    known = {name: value for name, value in vars(made).items() if name != "own"}
    LOGGER.info("%s", made, extra={"compilation": known})


def _print_if_asked() -> None:
    """Print the records on stderr, if DUALREV_LOG_COMPILES is set and nothing else prints them."""
    if os.environ.get("DUALREV_LOG_COMPILES", "0") in ("", "0") or LOGGER.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("dualrev: %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)


class _Listener(event.Listener):
    """Timer of numba's passes and of LLVM, driven by numba's events."""

    def on_start(self, event: Any) -> None:
        """Start the stopwatch for a pass, or for LLVM."""
        STOPWATCH.start(LLVM if event.kind == "numba:llvm_lock" else _step(event))

    def on_end(self, event: Any) -> None:
        """Stop the stopwatch."""
        STOPWATCH.stop()


def _step(event: Any) -> str:
    name = event.data["name"].partition(" ")[0]
    return next((words for known, words in NUMBA.items() if known in name), OTHER)


@functools.cache
def watch_numba() -> None:
    """Time numba's steps from now on."""
    listener = _Listener()
    for kind in ("numba:run_pass", "numba:llvm_lock"):
        event.register(kind, listener)
