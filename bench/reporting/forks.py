"""The section of the report about programs that fork and join."""

from __future__ import annotations

from bench.measuring.runs import Run
from bench.programs.fork_programs import FORKS
from bench.reporting.parts import Section, Table, significant

__all__ = ["fork_join"]


def fork_join(run: Run) -> Section | None:
    """Return the section of the stage `parallel`: times of its passes on one thread and on two, work and span."""
    rows = []
    for name, program in FORKS.items():
        found = {(m.labels["step"], m.labels["threads"]): m.seconds for m in run.select("fork_join", program=name)}
        counts = next(run.recorded("fork_join", what="counts", program=name), None)
        for step in ("forward", "reverse"):
            one, two = found.get((step, 1)), found.get((step, 2))
            spent = run.recorded("fork_join", what="processor", program=name, step=step)
            joining = {record["threads"]: record["joining"] for record in spent}
            if one and two and counts and len(joining) == 2:
                size = f"{program.title}, {step} pass"
                milliseconds = [significant(seconds * 1e3) for seconds in (one, two)]
                gains = [f"{one / two:.2f}", f"{joining[1] / joining[2]:.2f}"]
                rows.append([size, f"{counts['work']:,}", f"{counts['span']:,}", *milliseconds, *gains])
    if not rows:
        return None
    text = [
        "The stage `parallel` on programs that fork into parts of equal size (`bench/programs/fork_programs.py`), on "
        "one thread and on two. Work is the number of ids that the reverse pass resolves, span the longest chain of "
        "them: their ratio bounds the speed-up on any number of threads.",
        "The reverse pass is compiled code, which does not need Python's lock (the GIL). The forward pass is Python "
        "code: in a Python with the lock, only one thread at a time runs it. This one "
        + ("has the lock." if run.select("fork_join")[0].labels["locked"] else "has no lock."),
        "The last column divides the processor times of the thread that forks and joins: without the lock, it is the "
        "speed-up on two idle cores.",
    ]
    heading = ["program", "work", "span", "1 thread ms", "2 threads ms", "speed-up", "by processor time"]
    return Section("fork_join", "Fork and join", text, tables=[Table(heading, rows)])
