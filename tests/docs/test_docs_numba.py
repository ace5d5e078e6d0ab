"""docs/numba/options.md: the examples run, and a copy of the program with its caches compiles nothing.

The other pages of docs/numba are run by test_site.py.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "numba" / "options.md"
HITS = "print(sum(newton.stats.cache_hits.values()), sum(newton.stats.cache_misses.values()), len(gradient.signatures))"


def test_the_examples_run():
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 10


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
