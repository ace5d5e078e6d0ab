"""Pass manager, and the passes that it runs: each with a name, what it requires and what it ensures.

driver/passes.py lists all passes in order. A pass changes the unit that it is given: a function that is read, its
tangents, its two sweeps, or a module of text. Passes over a loop return the statements that stand in its place. Who
makes a unit has the manager run a list over it.

    DUALREV_PASSES=-split-loop,-sink-stores   leave optional passes out
    DUALREV_PRINT_AFTER=split-loop            print the program after a pass, on stderr
    DUALREV_VERIFY=1                          verify after each pass what it requires, and what it leaves
    DUALREV_TIMES=1                           print seconds for each pass, and for numba, when the process ends
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from dualrev.compiler.ir.core.nodes import Block, Function, Statement
from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["STOPWATCH", "LoopUnit", "Pass", "PassManager", "Settings", "Stopwatch", "Unit"]


@dataclass(frozen=True)
class Pass:
    """A compiler pass.

    name        what it is called on the command line and in messages
    title       what it does, in a line
    file        where it stands, below dualrev/compiler
    run         takes the unit, and changes it; of a loop: takes the loop's context and the loop, and returns statements
    requires    what has to hold before: properties that passes before it ensure
    ensures     what holds afterwards
    optional    whether derivatives are the same without it, only slower
    """

    name: str
    title: str
    file: str
    run: Callable[..., Any]
    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()
    optional: bool = False


class Unit(Protocol):
    """The unit of compilation that passes change."""

    holds: set[str]  # the properties that passes have ensured

    def shown(self) -> str:
        """Print the current program."""

    def verify(self) -> None:
        """Verify the current program; AssertionError if it is ill-formed for its stage."""


class _FunctionFacts(Protocol):
    """Facts about the function that a loop belongs to."""

    f: Function


class LoopFacts(Protocol):
    """Facts about a loop, for the passes over it (analysis/memory/loop_context.py)."""

    @property
    def facts(self) -> _FunctionFacts:
        """Facts about the function."""

    def is_loop(self, s: Statement) -> bool:
        """Whether a statement is a loop that passes over loops take."""

    def shown(self, made: Block) -> str:
        """Print the statements that replace the loop."""

    def verify(self, made: Block) -> None:
        """Verify the statements that replace the loop; AssertionError if they are ill-formed."""


@dataclass(frozen=True)
class Settings:
    """Settings of the pass manager, for all compilations."""

    left_out: frozenset[str] = frozenset()  # optional passes that are not run
    print_after: frozenset[str] = frozenset()
    verify: bool = False
    times: bool = False

    @staticmethod
    def of(environment: Mapping[str, str]) -> Settings:
        """Read the settings from environment variables."""

        def flag(name: str) -> bool:
            """Whether a variable is set, and not to 0."""
            return environment.get(name, "0") not in ("", "0")

        def words(name: str) -> list[str]:
            """Split a comma-separated variable."""
            return [word.strip() for word in environment.get(name, "").split(",") if word.strip()]

        chosen = words("DUALREV_PASSES")
        for word in chosen:
            if not word.startswith("-"):
                raise ValueError(f"DUALREV_PASSES has the names of passes to leave out, as -{word}, and not {word!r}")
        left_out = frozenset(word[1:] for word in chosen)
        print_after = frozenset(words("DUALREV_PRINT_AFTER"))
        return Settings(left_out, print_after, flag("DUALREV_VERIFY"), flag("DUALREV_TIMES"))

    @property
    def watches(self) -> bool:
        """Whether passes are watched, so that derivatives are compiled afresh, bypassing the cache."""
        return self != Settings()


class PassManager:
    """Runner of lists of passes over units; prints, verifies and times them as the settings say.

    `watch` is called after each pass, with it and the unit, or the statements that stand in place of a loop.
    """

    def __init__(
        self,
        lists: Mapping[str, Sequence[Pass]],
        settings: Settings | None = None,
        watch: Callable[[Pass, Unit | LoopUnit], None] | None = None,
    ) -> None:
        self.lists = lists
        self.settings = Settings.of(os.environ) if settings is None else settings
        self.watch = watch
        every = {p.name: p for some in lists.values() for p in some}
        for name in sorted(self.settings.left_out | self.settings.print_after):
            if name not in every:
                raise ValueError(f"there is no pass {name!r}; the passes are {', '.join(every)}")
            if name in self.settings.left_out and not every[name].optional:
                optional = ", ".join(f"-{p.name}" for p in every.values() if p.optional)
                raise ValueError(f"the pass {name!r} cannot be left out; DUALREV_PASSES takes {optional}")

    def includes(self, p: Pass) -> bool:
        """Whether the settings include a pass."""
        return p.name not in self.settings.left_out

    def run(self, name: str, unit: Unit) -> None:
        """Run a list of passes over a unit."""
        for p in filter(self.includes, self.lists[name]):
            if self.settings.verify and not unit.holds.issuperset(p.requires):
                raise AssertionError(f"{p.name} requires {', '.join(sorted({*p.requires} - unit.holds))}")
            with STOPWATCH.step(p.name):
                p.run(unit)
            unit.holds.update(p.ensures)
            if self.settings.verify:
                _verified(p, unit.verify)
            if p.name in self.settings.print_after:
                print(f"# after {p.name}\n{unit.shown()}", file=sys.stderr)
            if self.watch is not None:
                self.watch(p, unit)

    def run_on_loop(self, name: str, context: LoopFacts, loop: Statement) -> Block:
        """Run a list of passes over a loop and its replacements; return the statements that replace it."""
        made: Block = (loop,)
        for p in filter(self.includes, self.lists[name]):
            with STOPWATCH.step(p.name):
                made = tuple(t for s in made for t in (p.run(context, s) if context.is_loop(s) else (s,)))
            if self.settings.verify:
                _verified(p, lambda made=made: context.verify(made))  # type: ignore[misc]
            if p.name in self.settings.print_after:
                print(f"# after {p.name}\n{context.shown(made)}", file=sys.stderr)
            if self.watch is not None:
                self.watch(p, LoopUnit(context, made))
        return made


@dataclass(frozen=True)
class LoopUnit:
    """Statements that replace a loop, as a printable unit."""

    context: LoopFacts
    made: Block

    @property
    def dispatcher(self) -> Dispatcher:
        """User's numba function that the loop is from."""
        return self.context.facts.f.origin.dispatcher

    def shown(self) -> str:
        """Print these statements."""
        return self.context.shown(self.made)


def _verified(p: Pass, verify: Callable[[], None]) -> None:
    try:
        verify()
    except AssertionError as error:
        raise AssertionError(f"after {p.name}: {error}") from error


# Seconds


class Stopwatch(threading.local):
    """Exclusive seconds of nested steps, by name; each thread has open steps of its own."""

    seconds: ClassVar[dict[str, float]] = {}

    def __init__(self) -> None:
        self._open: list[tuple[str, float, float]] = []  # a step, when it began, and the seconds within it

    def start(self, name: str) -> None:
        """Start a step, nested in the open one."""
        self._open.append((name, time.perf_counter(), 0.0))

    def stop(self) -> None:
        """Stop the innermost open step; one that began before anybody looked is not known."""
        if not self._open:
            return
        name, start, within = self._open.pop()
        whole = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + whole - within
        if self._open:
            outer, start, within = self._open.pop()
            self._open.append((outer, start, within + whole))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block of a `with` statement as a step."""
        self.start(name)
        try:
            yield
        finally:
            self.stop()


#: The seconds of all passes in this process; of numba's steps, too, if they are asked for (compile_times.py).
STOPWATCH = Stopwatch()
