"""Time the start of programs whose derivatives are in the cache: `python -m bench.starts`.

Builds a folder as an image has it: dualrev, the programs of bench/programs/start_programs.py, and both caches, which
`python -m dualrev.warm` fills. Then starts each program in new processes, without network where Linux's `unshare -n` is
allowed, and prints processor seconds, the least of all runs for each part:

    import     Python, numpy and numba
    dualrev    import of dualrev and of the program, with dr.grad
    call       the first call: numba's own preparation, and loading the machine code
    more       what the start takes beyond the start of the same program without dualrev

`numba alone` is a cached numba function in a process that does not import dualrev.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("garch", "kalman", "hmc")
ALONE = "numba alone"

CHILD = """
import json, sys, time
begin = time.process_time()
import numba, numpy
numba_ = time.process_time()
if sys.argv[1] == "numba alone":
    import numba_alone
    ours = time.process_time()
    numba_alone.run()
else:
    from bench.programs import start_programs
    ours = time.process_time()
    getattr(start_programs, sys.argv[1])()
end = time.process_time()
print(json.dumps([numba_, ours - numba_, end - ours, end]))
"""

NUMBA_ALONE = """
import numpy as np
from numba import njit

@njit(cache=True)
def total(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k] * x[k]
    return s

def run():
    total(np.ones(3))
"""


def build(folder: Path) -> dict[str, str]:
    """Fill a folder with the sources and the caches; return the environment that programs need there."""
    for package in ("dualrev", "bench"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "numba_alone.py").write_text(NUMBA_ALONE, encoding="utf-8")
    (folder / "child.py").write_text(CHILD, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "DUALREV"))}
    environment |= {"DUALREV_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    warm = [sys.executable, "-m", "dualrev.warm", "bench.programs.start_programs:warm_up"]
    subprocess.run(warm, cwd=folder, env=environment, check=True)
    return environment


def offline() -> list[str]:
    """Words before a command that run it without network; none where that is not allowed."""
    unshare = shutil.which("unshare")
    words = [unshare, "-n"] if unshare else []
    allowed = words and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if allowed else []


def start(name: str, folder: Path, environment: dict[str, str], before: list[str]) -> list[float]:
    """Start a program in a new process; return the processor seconds of its parts, and of all."""
    command = [*before, sys.executable, "child.py", name]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Build the folder, start each program several times, and print the table."""
    parser = argparse.ArgumentParser("python -m bench.starts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7, help="starts of each program (default: 7)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        environment, before = build(folder), offline()
        print(f"network: {'off (unshare -n)' if before else 'not switched off: unshare -n is not allowed here'}")
        names = (ALONE, *PROGRAMS)
        for name in names:  # numba's own cache, and Python's bytecode
            start(name, folder, environment, before)
        found: dict[str, list[list[float]]] = {name: [] for name in names}
        for _ in range(runs):
            for name in names:
                found[name].append(start(name, folder, environment, before))
    best = {name: [min(part) for part in zip(*times, strict=True)] for name, times in found.items()}
    print(f"{'program':12} {'import':>8} {'dualrev':>8} {'call':>8} {'total':>8} {'more':>8}")
    for name, (imported, ours, call, total) in best.items():
        more = total - best[ALONE][-1]
        print(f"{name:12} {imported:8.2f} {ours:8.2f} {call:8.2f} {total:8.2f} {more:8.2f}")


if __name__ == "__main__":
    main()
