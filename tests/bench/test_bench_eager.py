"""bench/eager.py: what is installed agrees, and what does not is no time. No time is asserted."""

import importlib.util

import numpy as np
import pytest
from support.oracle import printed

import dualrev as dr
from bench import eager
from bench.programs.eager_models import MODELS
from bench.programs.eager_products import PRODUCTS, direction
from bench.programs.eager_programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_gradients_are_those_of_differences(program):
    x, c = program.make(9)
    dr.check_grads(lambda x: program.run(np, x, c), (x,), order=1)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_gradients_of_the_models_are_those_of_differences(model):
    (n,) = model.sizes(None)
    x, c = model.make(n)
    gradient = dr.grad(lambda x: model.run(np, x, c))(x)
    v = [np.cos(np.arange(u.size)).reshape(u.shape) for u in x]
    up, down = (model.run(np, [u + h * t for u, t in zip(x, v, strict=True)], c) for h in (1e-6, -1e-6))
    found = sum(np.sum(g * t) for g, t in zip(gradient, v, strict=True))
    assert found == pytest.approx((up - down) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("program", [PROGRAMS["x * y"], MODELS["Kalman filter"]], ids=lambda program: program.name)
def test_all_that_is_installed_agrees(program):
    entries = eager.prepared(program, 5)
    for key, module in eager.LIBRARIES.items():
        missing = importlib.util.find_spec(module) is None
        assert entries[key].absent == ("not installed" if missing else ""), key


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_products_of_the_models_are_differences_of_gradients(model):
    x, c = model.make(0)
    _, found = PRODUCTS["dualrev"](model, x, c)()
    gradient = dr.grad(lambda x: model.run(np, x, c))
    up, down = (gradient([u + h * t for u, t in zip(x, direction(x), strict=True)]) for h in (1e-6, -1e-6))
    for product, above, below in zip(found, up, down, strict=True):
        expected = (above - below) / 2e-6
        np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


def test_the_table_of_products(capsys):
    assert eager.main(["--products", "--program", "hidden Markov model", "--budget", "0"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| hidden")]
    assert printed(line.split("|")[3]) > 0.0


def test_the_table(capsys):
    arguments = ["--program", "x * y", "--program", "slice assignment", "--size", "4", "--budget", "0"]
    assert eager.main(arguments) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| x * y") or "slice" in line]
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1] == "4"
        assert printed(cells[2]) > 0.0
        assert printed(cells[6]) > 0.0


def test_a_wrong_answer_has_no_time(monkeypatch, capsys):
    monkeypatch.setitem(eager.LIBRARIES, "autograd", "numpy")  # as if it were installed
    monkeypatch.setitem(eager.WAYS, "autograd", lambda program, x, c: lambda: (0.0, x))
    assert eager.main(["--program", "x + y", "--size", "3", "--budget", "0"]) == 1
    assert "x + y, autograd: does not agree with the tape: the value is 0.0" in capsys.readouterr().out
