"""Fork and join: two parts of a program that do not depend on each other.

>>> fork(lambda: 1 + 1, lambda: "two")
(2, 'two')
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dualrev.eager.numbers.overload import RUNNING
from stages.fork_join.jobs import Block, Jobs
from stages.fork_join.threads import beside

__all__ = ["fork"]

A = TypeVar("A")
B = TypeVar("B")


def fork(f: Callable[[], A], g: Callable[[], B]) -> tuple[A, B]:
    """Return (f(), g()); the stage `parallel` makes each a job, and runs their reverse passes in parallel.

    g may not use numbers that f has computed, nor f those of g: in the stage `parallel` that is a ForkError. Compute
    what both need before the fork. In a free-threaded Python, `parallel` calls f and g at the same time, if no other
    stage differentiates the program, too. Elsewhere f is called first.
    """
    running = RUNNING.get()
    runs = [run for run in running if isinstance(run, Jobs)]
    if not runs:
        return f(), g()
    outer: list[Block] = [run.block for run in runs]
    firsts: list[Block] = [[] for _ in runs]
    seconds: list[Block] = [[] for _ in runs]
    paths = [run.split() for run in runs]
    first = partial(_side, f, runs, firsts, [path for path, _ in paths])
    second = partial(_side, g, runs, seconds, [path for _, path in paths])
    safe = len(runs) == len(running)  # other runs have one tape, or one counter of ids, for all threads
    try:
        return beside(first, second, runs[0].free if safe else threading.Semaphore(0))
    finally:
        for run, *blocks in zip(runs, outer, firsts, seconds, strict=True):
            run.join(*blocks)


def _side(
    function: Callable[[], A], runs: Sequence[Jobs], blocks: Sequence[Block], paths: Sequence[tuple[int, ...]]
) -> A:
    """Call one side of a fork, in a new job of each run."""
    for run, block, path in zip(runs, blocks, paths, strict=True):
        run.enter(block, path)
    return function()
