"""Measure first calls of compiled derivatives: `python -m bench.first_calls` (`make first-calls`).

The programs (bench/programs/first_call_programs.py) are numba functions from several fields: those whose first calls
take long, and ordinary ones. Each is measured in a new process with an empty cache. The processes run one after
another, on one processor where the system allows it. A process first calls a trivial numba function and its derivative,
so that no program pays for the preparation of numba and dualrev. Then it calls the program's function, and then the
derivative:

    function     processor seconds of the function's own first call
    derivative   processor seconds of the derivative's first call, with the run of the derivative itself
    ratio        derivative / function
    passes, numba, LLVM, rest
                 the parts of `derivative`: dualrev's passes, numba's type inference and lowering, LLVM, and all else.
                 `dr.compile_info` has their elapsed seconds; they are scaled by processor seconds over elapsed seconds
    lines        lines of the emitted module
    MiB          growth of the resident memory by the derivative's first call (Linux only)

With --repeat, each program runs in so many processes, and the one with the least seconds of the derivative counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

from bench.measuring.machine import processor, versions
from bench.measuring.memory import AVAILABLE, ChildError, memory, text_elsewhere
from bench.programs.first_call_programs import EVERY, ORDINARY, SLOW

__all__ = ["main", "markdown", "measured", "summary"]

GOAL = 3.0  # derivative / function
PARTS = ("passes", "numba", "LLVM", "rest")
SECONDS = ("function", "derivative", *PARTS)
COLUMNS = (*SECONDS[:2], "ratio", *PARTS, "lines", "MiB")

Row = dict[str, float]

# ----------------------------------------------------------------------------------------------------------------------
# In a process of its own


def measured(name: str) -> str:
    """Return the measurements of a program as JSON. Right only in a new process, with an empty cache."""
    import numba

    import dualrev as dr

    imported = time.process_time()
    square = numba.njit(_square)
    square(1.5)
    prepared = time.process_time()
    dr.value_and_grad(square)(1.5)
    start = {"import": imported, "numba": prepared - imported, "dualrev": time.process_time() - prepared}
    program = EVERY[name]
    args = program.make()
    begin = time.process_time()
    program.function(*args)
    own = time.process_time() - begin
    args, before = program.make(), memory("VmRSS") if AVAILABLE else 0
    begin, elapsed = time.process_time(), time.perf_counter()
    derivative = program.derivative()
    derivative(*args)
    seconds, elapsed = time.process_time() - begin, time.perf_counter() - elapsed
    grown = memory("VmRSS") - before if AVAILABLE else 0
    records = dr.compile_info(derivative)
    scale = seconds / elapsed
    parts = {
        "passes": scale * sum(r.passes_seconds for r in records),
        "numba": scale * sum(r.numba_seconds for r in records),
        "LLVM": scale * sum(r.llvm_seconds for r in records),
    }
    row = {"function": own, "derivative": seconds, "ratio": seconds / own, **parts}
    row |= {"rest": seconds - sum(parts.values()), "lines": sum(r.lines for r in records), "MiB": grown / 2**20}
    return json.dumps({"start": start, "row": row})


def _square(x):
    """Return the square: the trivial function that prepares numba."""
    return x * x


# ----------------------------------------------------------------------------------------------------------------------
# The measurement


def least(name: str, repeat: int, bytecode: str) -> dict[str, Any]:
    """Measure a program in new processes; return the measurement with the least seconds of the derivative."""
    python = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            text = text_elsewhere("first_calls", f"measured({name!r})", DUALREV_CACHE_DIR=folder, **python)
        found.append(json.loads(text))
    return min(found, key=lambda one: one["row"]["derivative"])


@contextmanager
def one_processor() -> Iterator[str]:
    """Keep this process and its children on one processor during a `with` statement, if the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield "any"
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield str(max(allowed))
    finally:
        os.sched_setaffinity(0, allowed)


def measure(names: Sequence[str], repeat: int) -> tuple[dict[str, Row], Row, list[str]]:
    """Measure programs one after another; return their rows, the seconds before a program, and failures."""
    rows: dict[str, Row] = {}
    starts: list[Row] = []
    failures = []
    with tempfile.TemporaryDirectory() as bytecode:
        least(min(ORDINARY), 1, bytecode)  # Python writes its bytecode
        for name in names:
            try:
                found = least(name, repeat, bytecode)
            except ChildError as error:
                failures.append(f"{name}: {error}")
                print(failures[-1], file=sys.stderr, flush=True)
                continue
            rows[name] = found["row"]
            starts.append(found["start"])
            print(f"{name}: {line(found['row'])}", file=sys.stderr, flush=True)
    start = {key: min(one[key] for one in starts) for key in starts[0]} if starts else {}
    return rows, start, failures


# ----------------------------------------------------------------------------------------------------------------------
# Output


def line(row: Row) -> str:
    """Format a row for the progress on stderr."""
    return ", ".join(f"{column} {row[column]:.2f}" for column in COLUMNS[:3])


def summary(rows: dict[str, Row]) -> list[str]:
    """Return lines on all programs, and on each of the two kinds: ratios, seconds, memory, parts."""
    lines = []
    for kind, table in (("All", EVERY), ("Slow", SLOW), ("Ordinary", ORDINARY)):
        chosen = {name: rows[name] for name in table if name in rows}
        if not chosen:
            continue
        ratios = [row["ratio"] for row in chosen.values()]
        reached = sum(ratio <= GOAL for ratio in ratios)
        most = max(chosen, key=lambda name: chosen[name]["derivative"])
        sums = {column: sum(row[column] for row in chosen.values()) for column in SECONDS}
        parts = ", ".join(f"{part} {sums[part]:.1f}" for part in PARTS)
        lines.append(
            f"{kind} ({len(chosen)} program{'s' * (len(chosen) > 1)}): ratio, median {statistics.median(ratios):.2f}, "
            f"largest {max(ratios):.2f}; at most {GOAL:g} in {reached} of {len(chosen)}. "
            f"Derivatives: {sums['derivative']:.1f} s in all ({parts}), functions {sums['function']:.1f} s. "
            f"Longest: {most}, {chosen[most]['derivative']:.1f} s. "
            f"Memory: median {statistics.median(row['MiB'] for row in chosen.values()):.0f} MiB, "
            f"largest {max(row['MiB'] for row in chosen.values()):.0f} MiB."
        )
    return lines


def markdown(rows: dict[str, Row]) -> str:
    """Format the table for GitHub; terminals can read it, too."""
    entries = [["program", *COLUMNS], ["---", *["---:"] * len(COLUMNS)]]
    for name, row in rows.items():
        whole = {"lines", "MiB"}
        entries.append([name, *(format(row[c], ",.0f" if c in whole else ",.2f") for c in COLUMNS)])
    return "\n".join(f"| {' | '.join(entry)} |" for entry in entries)


def terminal(rows: dict[str, Row]) -> str:
    """Format the table for a terminal."""
    wide = max(map(len, rows), default=0)
    entries = [f"{'program':{wide}} " + " ".join(f"{column:>10}" for column in COLUMNS)]
    for name, row in rows.items():
        entries.append(f"{name:{wide}} " + " ".join(f"{row[column]:10.2f}" for column in COLUMNS))
    return "\n".join(entries)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser("python -m bench.first_calls", description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--program", action="append", choices=EVERY, help="only this program (may be repeated)")
    made.add_argument("--kind", choices=("slow", "ordinary"), help="only the programs of this kind")
    made.add_argument("--repeat", type=int, default=1, help="processes for each program; the least counts (default: 1)")
    made.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    made.add_argument("--json", type=Path, metavar="FILE", help="also save all numbers to this file")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs and print the table. Return 1 if a program fails."""
    options = (made := parser()).parse_args(argv)
    if options.repeat < 1:
        made.error(f"--repeat must be at least 1, got {options.repeat}")
    if options.json and not options.json.parent.is_dir():
        made.error(f"--json {options.json}: the folder does not exist")
    table = {"slow": SLOW, "ordinary": ORDINARY, None: EVERY}[options.kind]
    names = [name for name in EVERY if name in (options.program or table)]
    with one_processor() as where:
        rows, start, failures = measure(names, options.repeat)
    print(markdown(rows) if options.markdown else terminal(rows))
    known = versions()
    about = {name: known[name] for name in ("Python", "dualrev", "numpy", "numba")} | {"processor": processor()}
    before = ", ".join(f"{what} {seconds:.2f}" for what, seconds in start.items())
    lines = [*summary(rows), f"Before each program, seconds: {before}.", f"On processor {where}. {about}", *failures]
    print("\n" + "\n".join(f"- {text}" for text in lines))
    if options.json:
        saved = {"versions": about, "start": start, "programs": rows, "failures": failures}
        options.json.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
