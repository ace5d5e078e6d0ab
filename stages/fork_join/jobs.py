"""Jobs: the parts of a program between its forks and joins, each with a tape of its own.

    Block = a list of jobs and forks (Block, Block), in program order

An id is a pair of a job's number and a number within the job, so that jobs draw ids independently.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dualrev.eager.numbers.overload import DualNumber, Run
from dualrev.errors import DualrevError

__all__ = ["Block", "ForkError", "Job", "Jobs", "beside", "laid_out"]


class ForkError(DualrevError):
    """The second function of a fork uses a number that the first one has computed."""

    def __init__(self) -> None:
        super().__init__(
            "fork(f, g): g uses a number that f has computed, so their reverse passes cannot run in parallel. "
            "Compute the number before the fork, or call f and g one after the other."
        )


class Job:
    """A part of a program without forks: its number, and its tape. `partials` may hold numbers of an outer run.

    `visible` says whether the current job may use its numbers: not while the other side of its fork runs.
    """

    __slots__ = ("ends", "ids", "jobs", "number", "partials", "visible")

    def __init__(self, number: int) -> None:
        self.number, self.visible = number, True
        self.partials: list[Any] = []
        self.ids, self.jobs, self.ends = array("q"), array("q"), array("q", [0])

    def write(self, args: Sequence[Any], partials: Sequence[Any]) -> tuple[int, int]:
        """Write a row of contributions, and return its id."""
        self.partials.extend(partials)
        for u in args:
            self.jobs.append(u.i[0])
            self.ids.append(u.i[1])
        self.ends.append(len(self.ids))
        return self.number, len(self.ends) - 2


Block = list[Any]


class Jobs(Run):
    """All jobs, in the order in which they began, and the current block, whose last job writes."""

    def __init__(self) -> None:
        super().__init__(jobs=[], block=[])

    def begin(self) -> Block:
        """Begin a new block with one job, and return it."""
        self.jobs.append(Job(len(self.jobs)))
        self.block = [self.jobs[-1]]
        return self.block

    def part(self, first: Block) -> Block:
        """Begin the second block of a fork; the first one becomes invisible to it."""
        self._show(first, self.jobs[-1].number, False)
        return self.begin()

    def join(self, outer: Block, first: Block, second: Block) -> None:
        """End a fork: the program goes on in a new job of the block around it."""
        self._show(first, second[0].number - 1, True)
        outer += [(first, second), *self.begin()]
        self.block = outer

    def _show(self, block: Block, last: int, visible: bool) -> None:
        for job in self.jobs[block[0].number : last + 1]:
            job.visible = visible

    def write(self, args: Sequence[Any], partials: Sequence[Any]) -> tuple[int, int]:
        """Write a row of contributions in the current job, and return its id. ForkError if it uses an invisible job."""
        if not all(self.jobs[u.i[0]].visible for u in args):
            raise ForkError
        return self.block[-1].write(args, partials)


def laid_out(jobs: Sequence[Job]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Concatenate the tapes of all jobs: where each job begins, where each row ends, partials, ids."""
    starts = np.cumsum([0] + [len(job.ends) - 1 for job in jobs])
    before = np.cumsum([0] + [len(job.ids) for job in jobs])
    ends = np.concatenate([[0], *(n + np.array(job.ends[1:]) for n, job in zip(before, jobs, strict=False))])
    partials = [p for job in jobs for p in job.partials]
    nested = any(isinstance(p, DualNumber) for p in partials)
    ids = np.concatenate([np.array(job.ids, np.int64) + starts[np.array(job.jobs, np.int64)] for job in jobs])
    return starts, ends.astype(np.int64), np.array(partials, object if nested else float), ids


def beside(first: Callable[[], None], second: Callable[[], None], free: threading.Semaphore) -> None:
    """Run both functions, the second one on a thread of its own if a processor is free."""
    if not free.acquire(blocking=False):
        first()
        second()
        return
    try:
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(second)
            first()
            done.result()
    finally:
        free.release()
