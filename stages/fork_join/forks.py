"""Fork and join: two parts of a program that need nothing of each other.

`fork` calls both. The stage `parallel`, which has to know, asks to be told by `joining`.

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
    """A run that wants to know of forks. `block` is the part of the program that it is in."""

    block: Any

    def begin(self) -> Any:
        """A part begins, and is given back."""

    def part(self, first: Any) -> Any:
        """The second part begins."""

    def join(self, outer: Any, first: Any, second: Any) -> None:
        """Both parts have ended, and the program goes on in the one around them."""


_RUNS: ContextVar[tuple[Forking, ...]] = ContextVar("runs", default=())


def fork(f: Callable[[], A], g: Callable[[], B]) -> tuple[A, B]:
    """(f(), g()): each a job of its own, of which the stage `parallel` runs the reverse passes beside each other.

    The forward pass calls f and then g, in the thread that it is in. g may use no number that f has computed: in the
    stage `parallel` that is a ForkError. What both need is computed before.
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
    """The run is told of the forks inside of `with`."""
    token = _RUNS.set((*_RUNS.get(), run))
    try:
        yield
    finally:
        _RUNS.reset(token)
