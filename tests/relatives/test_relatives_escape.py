"""ad-delcont: the type `forall s` of rad1 as mypy checks it, and the same programs when they run."""

import re
from pathlib import Path

import pytest

from dualrev.errors import LeakError
from stages.relatives.continuations import delcont
from stages.relatives.continuations.escape import rad1, rad2

ROOT = Path(__file__).parents[2]

#: What mypy has to refuse is marked; it has to accept all other lines.
PROGRAM = """
from __future__ import annotations
from typing import Any
from stages.relatives.continuations.escape import AD, S, rad1, rad2


def square(x: AD[S]) -> AD[S]:
    return 2.0 * x * x - 1.0


value, slope = rad1(square, 3.0)
total: float = value + slope
rad1(lambda x: -x * x / 2.0, 3.0)
rad2(lambda x, y: x * y + x**2.0, 3.0, 2.0)
kept: list[AD[int]] = []
unchecked: list[Any] = []


def keep(x: AD[S]) -> AD[S]:
    kept.append(x)  # refused
    unchecked.append(x)
    return x


def of_one_run(x: AD[int]) -> AD[int]:
    return x


def outer(x: AD[S]) -> AD[S]:
    def mixed(y: AD[S]) -> AD[S]:
        return x * y

    def returned(y: AD[int]) -> AD[S]:
        return x

    rad1(mixed, 2.0)  # refused
    rad1(returned, 2.0)  # refused
    rad1(lambda y: x, 2.0)  # refused
    rad1(lambda y: x * y, 2.0)
    return x


rad1(of_one_run, 3.0)  # refused
rad1(lambda x: kept[0], 3.0)  # refused
rad1(lambda x: "text", 3.0)  # refused
rad1(square, "text")  # refused
"""


def test_mypy_finds_numbers_that_escape(tmp_path):
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {ROOT}\n", encoding="utf-8")
    options = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    options += ["--follow-imports", "skip", "--explicit-package-bases", "--no-error-summary"]
    told, wrong, _ = api.run([*options, str(ROOT / "stages/relatives/continuations/escape.py"), str(file)])
    assert wrong == ""
    found = {int(line) for line in re.findall(r"program\.py:(\d+): error", told)}
    marked = {k for k, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")}
    assert found == marked, told


def test_when_it_runs_it_is_delcont():
    assert rad1(lambda x: x * x + 1.0, 3.0) == delcont.rad1(lambda x: x * x + 1.0, 3.0) == (10.0, 6.0)
    assert rad2(lambda x, y: x * (x + y), 3.0, 2.0) == (15.0, (8.0, 3.0))
    assert rad1(lambda x: x * rad1(lambda y: x * y * y, 2.0)[1], 3.0) == (36.0, 24.0)


def test_a_number_that_escapes_the_checker_raises_when_it_is_used():
    kept = []
    rad1(lambda x: kept.append(x) or x * x, 3.0)
    for use in (lambda: kept[0] + 1.0, lambda: rad1(lambda x: x * kept[0], 3.0), lambda: -kept[0]):
        with pytest.raises(LeakError, match=r"test_relatives_escape"):
            use()
