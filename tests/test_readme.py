"""What the README says is true: its examples run, and its tables hold the numbers that the code gives."""

import doctest
import math
import re
from pathlib import Path

import pytest

from dualrev.primitives import PRIMITIVES
from stages import STAGES, compare, count
from stages.programs import PROGRAMS

README = Path(__file__).parent.parent / "README.md"


def table(mark):
    """The rows of the table below a comment, as lists of cells."""
    text = README.read_text(encoding="utf-8")
    lines = text[text.index(f"<!-- {mark}") :].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows[2:]


def test_the_examples_run():
    found = doctest.testfile(str(README), module_relative=False)
    assert found.failed == 0
    assert found.attempted >= 6


def test_the_counts_are_those_of_ten_doublings():
    program = PROGRAMS["doublings"]
    rows = table("counts")
    assert [row[0] for row in rows] == ["naive", "staged", "tape"]
    for stage, *cells in rows:
        c = count(stage, program.function, *program.make(10, 0))
        numbers = [c.created, c.calls, c.scalars, c.pairs, c.map_steps, c.array_writes]
        assert cells == [f"{n:,}" if n else "-" for n in numbers]


def test_the_laws_are_those_of_the_fit():
    rows = table("growth")
    assert [row[0] for row in rows] == list(STAGES)
    for column, family in enumerate(compare.FAMILIES, start=1):
        found = {growth.stage: growth.law for growth in compare.grow(family, list(STAGES), limit=500_000)}
        said = {row[0]: row[column] for row in rows}
        assert said == {stage: law or said[stage] for stage, law in found.items()}  # None: cut off too early here


def test_the_stages_are_all_there():
    text = README.read_text(encoding="utf-8")
    for name, module in STAGES.items():
        assert f"| `{name}`" in text
        assert f"`stages/{module.__name__.rpartition('.')[2]}.py`" in text


#: How the README writes a partial derivative.
SAID = {"1.0": "1 (as JAX)", "0.0": "0", "0.5": "one half each", "inf": "inf", "nan": "NaN"}


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("abs", (0.0,), (1.0,)),
        ("sign", (0.0,), (0.0,)),
        ("maximum", (2.0, 2.0), (0.5, 0.5)),
        ("minimum", (2.0, 2.0), (0.5, 0.5)),
        ("sqrt", (0.0,), (math.inf,)),
        ("cbrt", (0.0,), (math.inf,)),
        ("atan2", (0.0, 0.0), (math.nan, math.nan)),
        ("hypot", (0.0, 0.0), (math.nan, math.nan)),
        ("floor", (2.0,), (0.0,)),
        ("round", (0.5,), (0.0,)),
        ("acosh", (1.0,), (math.inf,)),
    ],
)
def test_the_conventions_at_kinks_are_edges_of_the_table(name, point, expected):
    assert str(PRIMITIVES[name].edges[point]) == str(expected)
    (row,) = [row for row in table("kinks") if name in re.findall(r"\w+", row[0])]
    assert row[2].startswith(SAID[str(expected[0])])
