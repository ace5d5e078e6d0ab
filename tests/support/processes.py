"""Other processes that run programs with dualrev, without the time that each takes to import it.

A server imports numba and dualrev, and forks for each program: a process of its own, in which nothing is compiled. All
have one order of sets, and one layout of memory: a test of text or code without addresses takes `subprocess`. So does
a test of what is read at import, as numba's settings are.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

__all__ = ["run_program"]

TESTS = Path(__file__).resolve().parents[1]


def run_program(file: str, *args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python file in a new process, in which warnings are errors; return its exit status and what it wrote."""
    if not hasattr(os, "fork"):
        paths = {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
        command = [sys.executable, "-W", "error", file, *args]
        every = {**os.environ, **paths, **environment}
        return subprocess.run(command, cwd=cwd, env=every, capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory() as folder:
        job = {"args": [file, *args], "cwd": str(cwd), "environment": environment, "folder": folder}
        server = _server()
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        out, error = ((Path(folder) / name).read_text(encoding="utf-8") for name in ("out", "error"))
    return subprocess.CompletedProcess(job["args"], status, out, error)


@functools.cache
def _server() -> Any:
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    command = [sys.executable, "-W", "error", "-m", "support.processes"]
    environment = {**os.environ, "PYTHONPATH": paths}
    server = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Fork for each job on stdin; the fork runs its program and ends as Python ends, the server says how it ended."""
    import runpy

    import numba  # noqa: F401 - for the forks

    import dualrev.compiler.bridge.api  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, beside threads: those of BLAS sleep
            child = os.fork()
        if not child:
            os.chdir(job["cwd"])
            os.environ.update(job["environment"])
            for stream, name in ((1, "out"), (2, "error")):
                os.dup2(os.open(os.path.join(job["folder"], name), os.O_WRONLY | os.O_CREAT), stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv, sys.path[0] = job["args"], job["cwd"]
            runpy.run_path(job["args"][0], run_name="__main__")
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
