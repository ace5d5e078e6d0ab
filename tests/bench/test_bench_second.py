"""bench/second.py: all ways to the second derivatives agree, and what does not is no time. No time is asserted."""

import dataclasses
import importlib.util

import numpy as np
import pytest
from support.oracle import printed

from bench import second
from bench.programs.second_programs import PROGRAMS

SMALL = {name: dataclasses.replace(program, size=program.small) for name, program in PROGRAMS.items()}


@pytest.fixture(scope="module", params=PROGRAMS)
def small(request):
    """A program, with its columns prepared at a small size."""
    return PROGRAMS[request.param], second.prepared(PROGRAMS[request.param], PROGRAMS[request.param].small)


def test_all_that_is_installed_agrees(small):
    program, entries = small
    for key, module in second.COLUMNS.items():
        missing = importlib.util.find_spec(module) is None
        assert entries[key].absent == ("not installed" if missing else ""), (program.name, key)
    assert 0.0 < entries["differences"].error < 1e-7


def test_the_text_for_the_tape_is_the_same_function(small):
    program, _ = small
    args = program.make(program.small)
    assert program.tape(*args) == pytest.approx(program.function(*args), rel=1e-13)


def test_k_means_has_a_diagonal_hessian():
    """Twice the number of points of a centre: so its product with ones is the diagonal."""
    centres, points = PROGRAMS["k-means"].make(50)
    nearest = np.argmin(((points[:, None] - centres) ** 2).sum(axis=2), axis=1)
    diagonal = second.numbers(second.prepared(PROGRAMS["k-means"], 50)["compiled"].run())
    assert np.array_equal(diagonal, np.repeat(2.0 * np.bincount(nearest, minlength=10)[:, None], 16, axis=1))


def test_a_wrong_answer_has_no_time(monkeypatch, capsys):
    right = second.WAYS["compiled"]

    def wrong(*given):
        run = right(*given)
        return lambda: (1.0 + 1e-8) * run()

    monkeypatch.setitem(second.WAYS, "compiled", wrong)
    monkeypatch.setitem(second.WAYS, "differences", right)
    monkeypatch.setattr(second, "PROGRAMS", SMALL)
    assert second.main(["--program", "rosenbrock", "--budget", "0"]) == 1
    out = capsys.readouterr().out
    assert "rosenbrock, compiled: does not agree with the tape: the gradient is" in out
    (line,) = [line for line in out.splitlines() if line.startswith("| Rosenbrock")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["Rosenbrock chain of 1,000", "product", "-"]
    assert printed(cells[3]) > 0.0 < printed(cells[6])


def test_what_is_missing_or_fails_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(second.COLUMNS, "JAX", "no_such_module")
    monkeypatch.setattr(second, "PROGRAMS", SMALL)

    def fails(*_):
        raise ValueError("two\nlines")

    monkeypatch.setitem(second.WAYS, "compiled", fails)
    assert second.main(["--program", "rosenbrock", "--budget", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "rosenbrock, JAX: not installed" in lines
    assert "rosenbrock, compiled: ValueError: two" in lines
