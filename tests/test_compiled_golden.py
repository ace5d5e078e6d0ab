"""The emitted source of six programs stands in tests/golden: a change of the compiler shows there.

To write the files anew: python tests/test_compiled_golden.py
"""

import re
import sys
from pathlib import Path

import numba
import pytest

FOLDER = Path(__file__).parent / "golden"
NAMES = ["dot", "pendulum", "newton", "quaternions", "cholesky", "time_warping"]

sys.path.insert(0, str(FOLDER.parent.parent))  # for the run as a script

from bench.compiled_programs import PROGRAMS  # noqa: E402
from dualrev.compiler.pipeline import emit  # noqa: E402


def source(name):
    program = PROGRAMS[name]
    types = tuple(map(numba.typeof, program.make(program.small)))
    return emit(program.function, "value_and_grad", program.argnums, types).source


@pytest.mark.parametrize("name", NAMES)
def test_the_emitted_source_is_the_one_that_was_read(name):
    assert source(name) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "made"), [("mixture", ["log_sum_exp_forward", "log_sum_exp_reverse"]), ("minors", ["minor_reverse"])]
)
def test_two_calls_whose_derivatives_say_the_same_share_them(name, made):
    """One of them has a cotangent that is known, or the recursion's own arguments: other facts, and the same text."""
    text = source(name)
    assert re.findall(rf"def ({made[0].rsplit('_', 1)[0]}_\w+)\(", text) == made
    assert all(text.count(f"{f}(") > 2 for f in made)


@pytest.mark.parametrize("name", NAMES)
def test_the_source_is_the_same_again(name):
    """Nothing in it depends on the order of sets."""
    assert source(name) == source(name)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.txt").write_text(source(name))
