"""bench/eager.py: what is installed agrees, and what does not is no time. No time is asserted."""

import importlib.util

import numpy as np
import pytest

import dualrev as dr
from bench import eager
from bench.eager_programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_gradients_are_those_of_differences(program):
    x, c = program.make(9)
    dr.check_grads(lambda x: program.run(np, x, c), (x,), order=1)


def test_all_that_is_installed_agrees():
    entries = eager.prepared(PROGRAMS["x * y"], 5)
    for key, module in eager.LIBRARIES.items():
        missing = importlib.util.find_spec(module) is None
        assert entries[key].absent == ("not installed" if missing else ""), key


def test_the_table(capsys):
    arguments = ["--program", "x * y", "--program", "slice assignment", "--size", "4", "--budget", "0"]
    assert eager.main(arguments) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| x * y") or "slice" in line]
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1] == "4"
        assert float(cells[2]) > 0.0
        assert float(cells[6]) > 0.0


def test_a_wrong_answer_has_no_time(monkeypatch, capsys):
    monkeypatch.setitem(eager.LIBRARIES, "autograd", "numpy")  # as if it were installed
    monkeypatch.setitem(eager.WAYS, "autograd", lambda program, x, c: lambda: (0.0, x))
    assert eager.main(["--program", "x + y", "--size", "3", "--budget", "0"]) == 1
    assert "x + y, autograd: does not agree with the tape: the value is 0.0" in capsys.readouterr().out
