"""Long work says on a terminal that it goes on, and nothing elsewhere; each compilation has a record in the log."""

import importlib.util
import logging
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import pytest

import dualrev as dr
from dualrev.sparse import patterns

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
ROOT = Path(__file__).parents[2]
SLOW = """
import time
from dualrev.diagnostics import progress
progress.DELAY = progress.PERIOD = 0.05
with progress.progress("compiling grad of f(float64)", lambda: "half done"):
    time.sleep(0.4)
    with progress.progress("something inside", lambda: "3 of 4"):
        time.sleep(0.4)
print("end")
"""
PROGRAM = """
import numba, numpy, dualrev as dr

@numba.njit(cache=True)
def f(x):
    return numpy.sum(x * x)

print(dr.grad(f)(numpy.ones(2)))
"""


LONG = """
import threading, time
import numpy as np
import dualrev as dr
from dualrev.diagnostics import progress
progress.DELAY = progress.PERIOD = 0.05

def slow(x):
    time.sleep(0.02)
    return x[0] * x[1]

@dr.custom_vjp
def cube(x):
    return x**3

def slowly(x, ct):
    time.sleep(0.002)
    return (3.0 * x**2 * ct,)

cube.defvjp(lambda x: (x**3, x), slowly)

def residual(x, a):
    return cube(x) - a

def jacobi(matvec, b):
    x = b
    for _ in range(20):
        time.sleep(0.01)
        x = x + (b - matvec(x)) / 3.0
    return x

dr.vmap(dr.grad(slow))(np.ones((20, 2)))
dr.check_grads(slow, (np.ones(2),))
a = np.ones(100)
dr.grad(lambda a: dr.implicit.attach(residual, np.ones(100), a).sum())(a)
dr.grad(lambda a: dr.implicit.attach(residual, np.ones(100), a, solve=jacobi).sum())(a)
try:
    import dualrev.dask as dd
    from dask import delayed
except ImportError:
    pass
else:
    dd.grad(lambda a, x: slow(np.array([1.0, 2.0])) * a * x, [delayed(1.0)] * 20)(2.0)
"""


def run(code, tmp_path, terminal=False, **environment):
    """Output on stderr of a program, whose stderr is a pseudo-terminal or a pipe."""
    file = tmp_path / "program.py"
    file.write_text(code, encoding="utf-8")
    command = [sys.executable, str(file)]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    every = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", "TERM": "dumb", **environment}
    if not terminal:
        return subprocess.run(command, env=every, capture_output=True, text=True, check=True).stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=every, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                part = os.read(ours, 1024)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            found += part
    os.close(ours)
    assert process.returncode == 0
    return found.decode()


def test_a_terminal_has_one_line_that_is_overwritten_and_erased(tmp_path):
    told = run(SLOW, tmp_path, terminal=True)
    *lines, last = re.sub(r"\d+ s\b", "N s", told).split("\r")[1:]
    first = "dualrev: compiling grad of f(float64): half done"
    assert lines[0] == f"{first}, N s"
    assert {line.strip() for line in lines} == {"", lines[0], f"{first}; something inside: 3 of 4, N s"}
    assert (lines[-1].strip(), last) == ("", "")


def test_rich_writes_the_line_where_it_knows_the_terminal(tmp_path):
    pytest.importorskip("rich")
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run(SLOW, tmp_path, terminal=True, TERM="xterm"))
    assert re.search(r"dualrev: compiling grad of f\(float64\): half done, \d+ s", told)
    assert re.search(r"half done; something inside: 3 of 4, \d+ s", told)


def test_other_long_work_says_how_far_it_is(tmp_path):
    told = run(LONG, tmp_path, terminal=True)
    for what in (
        r"mapping <dualrev.grad of slow> over 20 samples: \d+ done",
        r"checking the derivatives of slow: order 2 of 2",
        r"making the Jacobian of residual: \d+ of 100 rows done",
        r"solving for the derivative of residual: \d+ products with the Jacobian",
    ):
        assert re.search(rf"\rdualrev: {what}, \d+ s", told), what
    if importlib.util.find_spec("dask") is not None:
        assert re.search(r"\rdualrev: adding up the grad of <lambda> over 20 partitions: \d+ done, \d+ s", told)
    assert run(LONG, tmp_path) == ""


@pytest.mark.parametrize(("terminal", "environment"), [(False, {}), (True, {"DUALREV_PROGRESS": "0"})])
def test_nothing_is_shown_in_a_pipe_or_if_it_is_switched_off(tmp_path, terminal, environment):
    assert run(SLOW, tmp_path, terminal, **environment) == ""


def test_each_compilation_has_a_record(caplog):
    @numba.njit
    def cubes(x):
        return np.sum(x**3)

    with caplog.at_level(logging.INFO, logger="dualrev"):
        slope = dr.grad(cubes)
        slope(np.ones(2))
        slope(np.ones(3))  # the same types: nothing is compiled
        slope(np.ones((2, 2)))
    first, second = [record.compilation for record in caplog.records]
    assert (first["function"], first["transform"]) == ("cubes", "grad")
    assert [first["types"], second["types"]] == ["array(float64, 1d, C)", "array(float64, 2d, C)"]
    parts = first["passes_seconds"] + first["numba_seconds"] + first["llvm_seconds"]
    assert 0.0 < parts <= first["seconds"]
    assert first["lines"] == dr.derivative_source(cubes, np.ones(2)).count("\n")
    assert first["functions"] >= 1
    assert not first["cached"]
    assert caplog.records[0].getMessage().startswith("compiled grad of cubes(array(float64, 1d, C)) in ")


def test_the_log_is_printed_on_request_and_tells_what_came_from_the_cache(tmp_path):
    asked = {
        "DUALREV_LOG_COMPILES": "1",
        "DUALREV_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    first = run(PROGRAM, tmp_path, **asked)
    assert first.startswith("dualrev: compiled grad of f(array(float64, 1d, C)) in "), first
    assert run(PROGRAM, tmp_path, **asked).startswith("dualrev: loaded grad of f(array(float64, 1d, C)) from the cache")
    assert run(PROGRAM, tmp_path, **{**asked, "DUALREV_LOG_COMPILES": "0"}) == ""


def test_checking_a_numba_function_compiles_first_derivatives_only(caplog):
    """Second ones can take a minute: `order=2` asks for them."""

    @numba.njit
    def squares(x):
        return np.sum(x * x)

    with caplog.at_level(logging.INFO, logger="dualrev"):
        dr.check_grads(squares, (np.array([0.5, 2.0]),))
    assert caplog.records
    assert {record.compilation["transform"] for record in caplog.records} <= {"jvp", "vjp", "keep", "value_and_grad"}
    assert all(record.compilation["function"] == "squares" for record in caplog.records)


def test_the_search_for_a_pattern_notes_its_directions(monkeypatch):
    """The search is too short for a line here: the note is read where the line would be written."""
    notes = []

    @contextmanager
    def shown(what, note):
        yield
        notes.append(f"{what}: {note()}")

    monkeypatch.setattr(patterns, "progress", shown)
    pytest.importorskip("scipy")
    assert dr.sparse_jacobian(lambda x: x * x)(np.arange(64.0)).nnz == 64
    assert notes
    assert all(re.fullmatch(r"searching the sparsity pattern: \d+ of \d+ directions done", note) for note in notes)
