"""Errors name the user's line, wherever this library was imported from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import dualrev as dr
from numba import njit

@njit
def double(x):
    return 2.0 * x

try:
    dr.grad(lambda x: double(x))(1.0)  # the line
except dr.UnsupportedError as error:
    print(error)
"""


@pytest.mark.parametrize("way", ["dots", "link"])
def test_the_line_is_the_users_by_a_path_with_dots_or_a_link(tmp_path, way):
    folder = tmp_path / "clone"
    if way == "link":
        try:
            folder.symlink_to(ROOT, target_is_directory=True)
        except OSError:
            pytest.skip("this user may not make links")
    else:
        folder = ROOT / "tests" / ".."
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "program.py", str(folder)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "program.py:12" in done.stdout
    assert "errors.py" not in done.stdout
