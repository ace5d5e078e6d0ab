"""docs/numba/options.md and shipping.md: the examples run; a copy of the program with its caches compiles nothing.

The other pages of docs/numba are run by test_site.py.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualrev as dr
from dualrev import warm

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "numba" / "options.md"
SHIPPING = ROOT / "docs" / "numba" / "shipping.md"
HITS = "print(sum(newton.stats.cache_hits.values()), sum(newton.stats.cache_misses.values()), len(gradient.signatures))"


@pytest.mark.parametrize(("page", "count"), [(PAGE, 19), (SHIPPING, 6)])
def test_the_examples_run(page, count):
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= count


def run(folder):
    """What the program prints, as it is in this folder with the caches beside it."""
    where = {"DUALREV_CACHE_DIR": str(folder / "cache"), "NUMBA_CPU_NAME": "generic", "PYTHONPATH": str(ROOT)}
    env = {**{k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}, **where}
    command = [sys.executable, "simulation.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_copy_of_the_program_and_its_caches_compiles_nothing(tmp_path):
    """The second process calls neither dualrev's compiler nor numba's: the caller is loaded whole."""
    pytest.importorskip("scipy", reason="numba needs it for np.linalg")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (program,) = re.findall(r"```python\n(import.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (here / "simulation.py").write_text(f"{program}{HITS}\n", encoding="utf-8")
    *value, counts = run(here)
    assert counts == "0 1 1"
    shutil.copytree(here, there)
    assert run(there) == [*value, "1 0 0"]
    assert [file.suffix for file in sorted((there / "cache").iterdir())] == [".nbc", ".py", ".nbc", ".py", ""]


def test_the_commands_of_the_page_on_shipping_run(tmp_path, monkeypatch, capsys):
    """`python -m dualrev.warm` of the page, on the model of the page, and the import of the file that it writes."""
    text = SHIPPING.read_text(encoding="utf-8")
    model, imported = re.findall(r"```python\n((?:#|from package).*?)```", text, re.DOTALL)
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "model.py").write_text(model, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path / "cache"))
    commands = re.findall(r"^python -m dualrev\.warm (.*)$", text, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert warm.main(shlex.split(command)) == 0, capsys.readouterr().err
    lines = capsys.readouterr().out.splitlines()
    made = [" ".join(line.split()[:2]) for line in lines if not line.startswith("cache: ")]
    assert made == ["compiled value_and_grad", "compiled grad", "compiled hessian", "wrote package/slope.py:"]
    namespace = {}
    exec(imported, namespace)
    from package.model import loss

    y = np.arange(3.0)
    assert namespace["grad_loss"](np.ones(2), y) == pytest.approx(dr.grad(loss.py_func)(np.ones(2), y))
    for name in ("package", "package.model", "package.slope"):
        del sys.modules[name]
