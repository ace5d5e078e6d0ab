"""bench/first_calls.py: derivatives of its programs against differences, and its table. No time is asserted."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import pytest
from support import oracle

import bench.first_calls
import dualrev as dr
from bench.measuring.memory import ChildError, text_elsewhere
from bench.programs.first_call_programs import EVERY, ORDINARY, SLOW

QUICK = ("implied_volatility", "worst_drawdown", "tuple_state", "gamma_cdf", "secant_root", "spring_chain")
ALL = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in EVERY]
ROOT = Path(__file__).parents[2]
RTOL = 1e-8  # of the largest term: what extrapolated differences of these programs have
# Shares of the arguments: longer differences cross kinks (of limiters and fluxes), or leave the function's domain.
SHORT = {"shallow_water": 1 / 2048, "roe_tube": 1 / 256, "garch": 1 / 256, "epidemic": 1 / 256}


def chosen(program, args):
    """The arguments to differentiate with respect to, and the function of those alone."""
    numbers = (program.argnums,) if isinstance(program.argnums, int) else program.argnums

    def function(f):
        def of_chosen(*xs):
            whole = list(args)
            for k, x in zip(numbers, xs, strict=True):
                whole[k] = x
            return f(*whole)

        return of_chosen

    return function, tuple(args[k] for k in numbers)


def slopes(gradient, value, xs, share):
    """Slopes of a value in three directions: by the gradient, and by differences. With the size of their terms."""
    for seed in range(3):
        whole = oracle.direction(xs, seed)
        v = oracle.rebuild(whole, [share * x for x in oracle.flat(whole)])
        terms = [a * b for a, b in zip(oracle.flat(gradient), oracle.flat(v), strict=True)]
        (expected,) = oracle.differences(value, xs, v)
        yield math.fsum(terms), float(expected), max(map(abs, terms))


@pytest.mark.parametrize("name", ALL)
def test_a_derivative_against_differences(name):
    program = EVERY[name]
    args = program.make()
    function, xs = chosen(program, args)
    value = program.function(*args)
    if program.transform == "value_and_grad":
        found, gradient = program.derivative()(*args)
        assert found == value
    else:
        gradient = dr.grad(program.function, program.argnums)(*args)
    for found, expected, size in slopes(gradient, function(program.function), xs, SHORT.get(name, 1.0)):
        oracle.assert_same(found, expected, rtol=RTOL, floor=RTOL * size)
    if program.transform != "value_and_grad":
        second, grad = program.derivative()(*args), function(dr.grad(program.function, program.argnums))
        oracle.assert_same(oracle.flat(second), oracle.jacobian(grad, xs).ravel().tolist(), rtol=RTOL, floor=RTOL)


@pytest.mark.parametrize("name", EVERY)
def test_programs_come_from_a_seed(name):
    oracle.assert_same(EVERY[name].make(), EVERY[name].make())


def test_there_are_programs_of_both_kinds():
    assert len(SLOW) >= 20
    assert len(ORDINARY) >= 30
    assert len(EVERY) == len(SLOW) + len(ORDINARY)  # no name twice


def test_the_page_and_the_makefile_count_the_programs():
    page, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/benchmarks.md", "Makefile"))
    assert f"first calls of {len(EVERY)} programs" in page
    assert f"for {len(EVERY)} numba functions" in page
    assert f"{len(SLOW)} whose first calls" in page
    assert f"{len(ORDINARY)} ordinary ones" in page
    assert f"of {len(EVERY)} programs" in makefile


def test_a_program_is_measured_in_a_new_process(tmp_path):
    found = json.loads(text_elsewhere("first_calls", "measured('rosenbrock')", DUALREV_CACHE_DIR=str(tmp_path)))
    row = found["row"]
    assert set(row) == set(bench.first_calls.COLUMNS)
    assert row["derivative"] == pytest.approx(sum(row[part] for part in bench.first_calls.PARTS))
    assert row["ratio"] == row["derivative"] / row["function"]
    assert row["lines"] > 20
    assert set(found["start"]) == {"import", "numba", "dualrev"}
    assert list(tmp_path.rglob("*.nbc"))  # it was compiled, not loaded


def pretended():
    """Measurements of a child that measures nothing."""
    row = dict.fromkeys(bench.first_calls.COLUMNS, 1.0) | {"derivative": 4.0, "ratio": 4.0}
    return json.dumps({"start": {"import": 0.25, "numba": 0.5}, "row": row})


def test_the_table_and_the_file(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bench.first_calls, "text_elsewhere", lambda *_, **__: pretended())
    file = tmp_path / "found.json"
    before = os.sched_getaffinity(0) if sys.platform == "linux" else None
    assert bench.first_calls.main(["--program", "garch", "--program", "mie", "--markdown", "--json", str(file)]) == 0
    assert before is None or os.sched_getaffinity(0) == before
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith("| program | function | derivative | ratio |")
    assert lines[2] == "| mie | 1.00 | 4.00 | 4.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1 | 1 |"
    assert "- All (2 programs): ratio, median 4.00, largest 4.00; at most 3 in 0 of 2." in out
    assert "Slow (1 program)" in out
    assert "Before each program, seconds: import 0.25, numba 0.50." in out
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert list(saved["programs"]) == ["mie", "garch"]
    assert saved["start"] == {"import": 0.25, "numba": 0.5}


def test_a_program_that_fails_is_named(monkeypatch, capsys):
    def child(_, expression, **variables):
        if "garch" in expression:
            raise ChildError("measured('garch'): UnsupportedError: no")
        return pretended()

    monkeypatch.setattr(bench.first_calls, "text_elsewhere", child)
    monkeypatch.setattr(bench.first_calls, "ORDINARY", {"rosenbrock": ORDINARY["rosenbrock"]})
    assert bench.first_calls.main(["--program", "garch", "--program", "rosenbrock"]) == 1
    out = capsys.readouterr().out
    assert "- garch: measured('garch'): UnsupportedError: no" in out
    assert "All (1 program):" in out


@pytest.mark.parametrize("wrong", [["--repeat", "0"], ["--json", "no/such/folder/file"], ["--program", "none"]])
def test_a_wrong_command_line(wrong, capsys):
    with pytest.raises(SystemExit):
        bench.first_calls.main(wrong)
    assert wrong[0] in capsys.readouterr().err
