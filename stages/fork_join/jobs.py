"""Jobs: the parts of a program between its forks and joins, each with a tape of its own.

    Block = a list of jobs and forks (Block, Block), in program order

An id is a pair of a job's number and a number within the job, so that jobs draw ids independently. A job is written by
one thread only, the thread that runs this part of the program. Threads share the list of jobs, which they extend under
a lock, at forks and joins alone.

The path of a job has a number for every fork around it: 2k for the first side of the fork k, 2k + 1 for the second.
Two jobs are on two sides of one fork if their paths first differ in 2k and 2k + 1. Then neither may use the other's
numbers.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.numbers.overload import DualNumber, Run
from dualrev.errors import DualrevError
from stages.fork_join.threads import locked, spare

__all__ = ["Block", "Fork", "ForkError", "Job", "Jobs", "laid_out"]


class ForkError(DualrevError):
    """A side of a fork uses a number that the other side has computed, or a thread a number of another one."""


_OTHER_SIDE = (
    "fork(f, g): g uses a number that f has computed, or f one of g, so their reverse passes cannot run in parallel. "
    "Compute the number before the fork, or call f and g one after the other."
)
_NO_JOB = (
    "a number of the stage `parallel` is used in a thread that fork has not started. Start threads by "
    "stages.fork(f, g), or use the number in the thread that calls the function."
)


class Job:
    """A part of a program without forks: its number, its path, and its tape.

    `partials` may hold numbers of an outer run. `visible` has the jobs, by number, whose numbers it has used so far.
    """

    __slots__ = ("ends", "ids", "jobs", "number", "partials", "path", "visible")

    def __init__(self, number: int, path: tuple[int, ...] = ()) -> None:
        self.number, self.path, self.visible = number, path, {number}
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


class Fork(NamedTuple):
    """Both sides of a fork, and how many ids they have."""

    first: Block
    second: Block
    rows: int


class Jobs(Run):
    """All jobs, in the order in which they began, and the current block of each thread, whose last job writes."""

    forks: int  #: how many there were

    def __init__(self) -> None:
        free = spare(1 if locked() else os.cpu_count() or 1)
        super().__init__(jobs=[], forks=0, drawing=threading.Lock(), here=threading.local(), free=free)

    @property
    def block(self) -> Block:
        """The current block of this thread. ForkError if the thread has none."""
        try:
            return self.here.block
        except AttributeError:
            raise ForkError(_NO_JOB) from None

    def enter(self, block: Block, path: tuple[int, ...] = ()) -> Job:
        """Go on in a new job at the end of the block, in this thread, and return it."""
        with self.drawing:
            job = Job(len(self.jobs), path)
            self.jobs.append(job)
        block.append(job)
        self.here.block = block
        return job

    def split(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The paths of both sides of a new fork."""
        path = self.block[-1].path
        with self.drawing:
            self.forks += 1
            k = self.forks
        return (*path, 2 * k), (*path, 2 * k + 1)

    def join(self, outer: Block, first: Block, second: Block) -> None:
        """End a fork: the program goes on in a new job of the block around it."""
        rows = sum(part.rows if isinstance(part, Fork) else len(part.ends) - 1 for part in (*first, *second))
        path = outer[-1].path
        outer.append(Fork(first, second, rows))
        self.enter(outer, path)

    def write(self, args: Sequence[Any], partials: Sequence[Any]) -> tuple[int, int]:
        """Write a row of contributions in the current job, and return its id. ForkError if it may not use a number."""
        job = self.block[-1]
        for u in args:
            if u.i[0] not in job.visible:
                self._see(job, u.i[0])
        return job.write(args, partials)

    def _see(self, job: Job, number: int) -> None:
        """Note that the job may use the numbers of another one. ForkError if they are on two sides of a fork."""
        for a, b in zip(job.path, self.jobs[number].path, strict=False):
            if a != b:
                if a ^ b == 1:
                    raise ForkError(_OTHER_SIDE)
                break
        job.visible.add(number)


def laid_out(jobs: Sequence[Job]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Concatenate the tapes of all jobs: where each job begins, where each row ends, partials, ids."""
    starts = np.cumsum([0] + [len(job.ends) - 1 for job in jobs])
    before = np.cumsum([0] + [len(job.ids) for job in jobs])
    ends = np.concatenate([[0], *(n + np.array(job.ends[1:]) for n, job in zip(before, jobs, strict=False))])
    partials = [p for job in jobs for p in job.partials]
    nested = any(isinstance(p, DualNumber) for p in partials)
    ids = np.concatenate([np.array(job.ids, np.int64) + starts[np.array(job.jobs, np.int64)] for job in jobs])
    return starts, ends.astype(np.int64), np.array(partials, object if nested else float), ids
