"""Tests of bench.words and bench.vectors: words on the tape as docs/benchmarks.md lists them, and vectorised loops."""

import json
import re
from pathlib import Path

import pytest

from bench.measuring.memory import text_elsewhere
from bench.programs.array_programs import ARRAYS
from bench.programs.compiled_programs import PROGRAMS
from bench.words import most

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
EVERY = PROGRAMS | ARRAYS


def rows():
    """Size, words and arrays of each program, from the page's table."""
    table = PAGE.read_text(encoding="utf-8").partition("<!-- words -->")[2].partition("\n\n")[0]
    found = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|", table, re.M)
    return {name: tuple(map(int, numbers)) for name, *numbers in found}


ROWS = rows()


def test_the_table_has_all_programs():
    assert list(ROWS) == list(EVERY)


SLOW = ("kalman_matrices", "tree_network", "gravity", "attention")  # numba infers types for seconds
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ROWS]


@pytest.mark.parametrize("name", ALL)
def test_what_is_on_the_tape_is_what_the_page_says(name):
    """A change of these numbers is a change of the compiler: write them to the page (`python -m bench.words`)."""
    size, *expected = ROWS[name]
    assert most(EVERY[name], size) == tuple(expected)


def vectors(name):
    return json.loads(text_elsewhere("vectors", f"counted({name!r})", NUMBA_DEBUGINFO="1", DUALREV_CACHE_DIR=""))


def test_which_loops_are_vectors():
    """A step of garch needs the one before, in both directions; those of the stencil's inner loop are independent."""
    assert vectors("garch") == {"primal": [0, 1], "forward": [0, 1], "reverse": [0, 1]}
    found = vectors("stencil")
    assert list(found) == ["primal", "forward", "reverse"]
    assert all(0 < made <= loops for made, loops in found.values())
    assert found["primal"] == [1, 2]  # the other one is a sum, whose order is fixed
