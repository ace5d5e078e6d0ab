"""examples/notebooks/: each notebook is valid, has no outputs, and runs; what it computes is near the right answer."""

import importlib.util
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from tools import notebooks

pytest.importorskip("matplotlib", reason="the notebooks draw").use("Agg")

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
NAMES = [file.stem for file in FILES]


def garch(names):
    true, classic, robust = names["true"], names["classic"], names["robust"]
    assert np.max(np.abs(names["gradient"])) < 1e-2
    assert np.all(np.abs(names["p"] - true) < 4.0 * classic)
    np.testing.assert_allclose(robust, classic, rtol=0.25)  # the returns are normal


def greeks(names):
    np.testing.assert_allclose(names["slopes"], names["differences"], rtol=1e-3)
    assert math.isclose(names["change"], names["slopes"] @ names["direction"], rel_tol=1e-9)


def hmc(names):
    mu, tau = names["mu"], names["tau"]
    assert abs(mu.mean() - names["exact_mean"]) < 0.5
    assert abs(mu.std() - names["exact_deviation"]) < 0.5
    assert abs(tau.mean() - names["masses"] @ names["grid"]) < 0.5


def ode(names):
    from examples import hares

    expected = hares.fit(lambda p, logs: hares.by_loop(p, logs, 20), "2-point", names["logs"])
    np.testing.assert_allclose(names["values"], expected.values, rtol=1e-3)
    np.testing.assert_allclose(names["standard"], expected.errors, rtol=1e-2)
    np.testing.assert_allclose(names["slopes"][:, 2], names["difference"], atol=1e-4)


def stages(names):
    assert names["pullback"](1.0) == (8.0, 3.0)
    assert names["calls"]["naive"] == [2 ** (n + 1) - 1 for n in names["steps"]]
    assert names["calls"]["tape"] == [n + 1 for n in names["steps"]]


CHECKS = {check.__name__: check for check in (garch, greeks, hmc, ode, stages)}


def test_every_notebook_has_a_check():
    assert sorted(CHECKS) == NAMES


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_notebook_runs_and_is_right(file):
    ran = notebooks.run(file)
    CHECKS[file.stem](ran.names)
    page = notebooks.markdown(ran)
    assert page.startswith("# ")
    assert "data:image/png;base64," in page
    assert ("about:srcdoc" in page) == (file.stem == "stages")  # the frame of the stepper


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_notebook_is_valid_and_has_no_outputs(file):
    text = file.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"  # as Jupyter writes it
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    if importlib.util.find_spec("nbformat") is not None:
        importlib.import_module("nbformat").validate(notebook)


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_links_of_the_notebook_lead_somewhere(file):
    text = "\n".join(cell.text for cell in notebooks.read(file.read_text(encoding="utf-8")) if cell.kind == "markdown")
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    assert targets
    assert all((FOLDER / target).exists() for target in targets)


def write(folder, *cells):
    made = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    file = folder / "made.ipynb"
    file.write_text(json.dumps({"nbformat": 4, "cells": made}), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(1)\n2", ["1\n", "2"]),
        ("x = 3", []),
        ("4;", []),
        ("None", []),
        ("import inspect\ndef f():\n    return 5\ninspect.getsource(f)", ["'def f():\\n    return 5\\n'"]),
        ("import os\nos.path.exists('made.ipynb')", ["True"]),
    ],
)
def test_a_cell_displays_what_jupyter_displays(tmp_path, code, expected):
    (outputs,) = notebooks.run(write(tmp_path, ("code", code))).outputs
    assert outputs == [notebooks.Output("text", text) for text in expected]


def test_an_error_names_the_cell_and_leaves_the_folder(tmp_path):
    before = Path.cwd()
    with pytest.raises(ZeroDivisionError) as caught:
        notebooks.run(write(tmp_path, ("markdown", "# Title"), ("code", "1 / 0")))
    assert caught.value.__notes__ == [f"in cell 1 of {tmp_path / 'made.ipynb'}"]
    assert Path.cwd() == before
    with pytest.raises(ValueError, match="not a notebook of format 4"):
        notebooks.read("[]")


def test_the_command_prints_the_page(tmp_path, capsys):
    assert notebooks.main([str(write(tmp_path, ("markdown", "# Title"), ("code", "1 + 1")))]) == 0
    assert capsys.readouterr().out == "# Title\n\n```python\n1 + 1\n```\n\n````text\n2\n````\n\n"
