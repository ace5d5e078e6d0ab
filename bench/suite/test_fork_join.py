"""Time both passes of the stage `parallel` on one thread and on two, beside the work and span that it counts.

Two threads need two idle cores. What they would take there is seen in processor time: that of the thread that joins.
"""

from __future__ import annotations

import functools
import time

import pytest

from bench.measuring.agreement import check
from bench.programs.fork_programs import FORKS
from dualrev import tree
from stages import STAGES, count
from stages.fork_join.threads import locked, threads

THREADS = (1, 2)


@pytest.mark.parametrize("program", FORKS)
def test_counts(record, quick, program):
    """Record the work and the span of a program: the ids that the reverse pass resolves, and their longest chain."""
    size = FORKS[program].sizes[not quick]
    counts = count("parallel", FORKS[program].function, *FORKS[program].make(size))
    record("fork_join", what="counts", program=program, n=size, work=counts.calls, span=counts.span)
    assert counts.span < counts.calls


@pytest.mark.parametrize("n", THREADS)
@pytest.mark.parametrize("step", ["forward", "reverse"])
@pytest.mark.parametrize("program", FORKS)
def test_pass(timed, record, quick, program, step, n):
    """Time one pass on n threads, after a check that value and gradient are those of the stage `tape`."""
    f, primals = FORKS[program].function, FORKS[program].make(FORKS[program].sizes[not quick])
    forward = functools.partial(STAGES["parallel"].vjp, f, *primals)
    with threads(n):
        y, pullback = forward()
        expected, reference = STAGES["tape"].vjp(f, *primals)
        read = tree.inputs(primals)[1].read
        check((y, read(pullback(1.0))), (expected, read(reference(1.0))), f"parallel on {program}")
        run = forward if step == "forward" else functools.partial(pullback, 1.0)
        timed(run, "fork_join", program=program, step=step, threads=n, locked=locked())
        joining, together = processor_time(run)
        record("fork_join", what="processor", program=program, step=step, threads=n, joining=joining, together=together)


def processor_time(run, turns=5):
    """Return the least processor time that this thread takes for `run()`, and the least that all threads take."""
    found = []
    for _ in range(turns):
        mine, all_of_them = time.thread_time(), time.process_time()
        run()
        found.append((time.thread_time() - mine, time.process_time() - all_of_them))
    return tuple(map(min, zip(*found, strict=True)))
