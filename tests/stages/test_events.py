"""Growth by the interpreter's instructions: the exponents that docs/comparison.md prints and the paper claims."""

import re
import sys
from pathlib import Path

import pytest
from support.pages import table

from stages import STAGES
from stages.comparison import events
from stages.programs import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
#: The paper's law, and the exponents (for 2^n the bases) that are taken for it: a law has its slope at these sizes.
LAWS = {"2^n": (1.99, 2.01), "n": (0.995, 1.005), "n log n": (1.1, 1.3), "n^2": (1.4, 2.0)}
SAID = {
    "naive": ("2^n", "n", "n^2", "n^2"),
    "staged": ("n", "n", "n^2", "n^2"),
    "cayley": ("n", "n", "n log n", "n^2"),
    "sparse": ("n", "n", "n log n", "n log n"),
}


@pytest.fixture(scope="module")
def found():
    return events.table()


@pytest.mark.parametrize("stage", STAGES)
def test_instructions_grow_as_the_paper_says(stage, found):
    for law, exponent in zip(SAID.get(stage, ("n",) * 4), found[stage].values(), strict=True):
        low, high = LAWS[law]
        assert low <= exponent.number <= high
        assert exponent.exponential is (law == "2^n")


def test_the_page_has_the_exponents(found):
    rows = {row[0]: row[1:] for row in table(PAGE, "events")}
    assert list(rows) == list(found)
    for stage, cells in rows.items():
        for cell, exponent in zip(cells, found[stage].values(), strict=True):
            (number,) = re.findall(r"\d\.\d\d", cell)
            assert float(number) == pytest.approx(
                exponent.number, abs=0.06
            )  # versions of Python have other instructions
            assert cell.endswith("^n") is exponent.exponential


def test_a_trace_of_another_tool_is_restored():
    def other(*args):
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        with pytest.raises(ZeroDivisionError):
            events.events("tape", lambda x: x / 0, 1.0)
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)


def test_every_stage_runs_more_instructions_for_more_work():
    for stage in STAGES:
        few, many = (events.events(stage, PROGRAMS["doublings"].function, 1.0, n) for n in (2, 4))
        assert few < many
