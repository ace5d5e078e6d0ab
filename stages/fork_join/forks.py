"""Fork and join: two parts of a program that do not depend on each other.

`fork` calls both. The stage `parallel` has to know of forks: it registers its run with `joining`.

>>> fork(lambda: 1 + 1, lambda: "two")
(2, 'two')
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

__all__ = ["Forking", "fork", "joining"]

A = TypeVar("A")
B = TypeVar("B")


class Forking(Protocol):
    """A run that is told of forks. `block` is the part of the program that runs now."""

    block: Any

    def begin(self) -> Any:
        """Begin a part, and return its block."""

    def part(self, first: Any) -> Any:
        """Begin the second part of a fork."""

    def join(self, outer: Any, first: Any, second: Any) -> None:
        """End both parts; the program goes on in the block around them."""


_RUNS: ContextVar[tuple[Forking, ...]] = ContextVar("runs", default=())


def fork(f: Callable[[], A], g: Callable[[], B]) -> tuple[A, B]:
    """Return (f(), g()); the stage `parallel` makes each a job, and runs their reverse passes in parallel.

    The forward pass calls f and then g, in the current thread. g may not use numbers that f has computed: in the stage
    `parallel` that is a ForkError. Compute what both need before the fork.
    """
    runs = _RUNS.get()
    outer = [run.block for run in runs]
    firsts = [run.begin() for run in runs]
    seconds: list[Any] = []
    try:
        first = f()
        seconds = [run.part(block) for run, block in zip(runs, firsts, strict=True)]
        return first, g()
    finally:
        seconds = seconds or [run.part(block) for run, block in zip(runs, firsts, strict=True)]
        for run, *blocks in zip(runs, outer, firsts, seconds, strict=True):
            run.join(*blocks)


@contextlib.contextmanager
def joining(run: Forking) -> Iterator[None]:
    """Tell the run of the forks inside of `with`."""
    token = _RUNS.set((*_RUNS.get(), run))
    try:
        yield
    finally:
        _RUNS.reset(token)
