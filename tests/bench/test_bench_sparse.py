"""bench/sparse.py: all ways agree, and what does not is no time. No time is asserted."""

import importlib.util

import pytest

from bench import sparse
from bench.programs.sparse_programs import BATCHES, PROGRAMS


@pytest.mark.parametrize("name", ["bundle", "diffusion", "network"])
def test_all_that_is_installed_agrees(name):
    program = PROGRAMS.get(name) or BATCHES[name]
    ways = sparse.WAYS if name in PROGRAMS else sparse.BATCH_WAYS
    for key, entry in sparse.prepared(program, program.small).items():
        missing = importlib.util.find_spec(ways[key][1]) is None
        assert entry.absent == ("not installed" if missing else ""), key


def test_a_wrong_answer_has_no_time(monkeypatch, capsys):
    monkeypatch.setitem(sparse.WAYS, "tape", (lambda *given: lambda: 2.0 * sparse.compiled(*given)(), "dualrev"))
    monkeypatch.setitem(sparse.WAYS, "differences", (lambda *given: sparse.compiled(*given), "scipy"))
    monkeypatch.setattr(sparse, "AVAILABLE", False)
    for program in PROGRAMS.values():
        monkeypatch.setitem(vars(program), "size", program.small)
    assert sparse.main(["--program", "rosenbrock", "--budget", "0"]) == 1
    out = capsys.readouterr().out
    assert "rosenbrock, tape: does not agree with the compiled one" in out
    assert "| chained Rosenbrock, 1,000,000 | Hessian |" in out
