"""The compile time of a long function is proportional to its length, measured in calls."""

import random
import sys
import threading
from pathlib import Path

import numba
import pytest
from fuzzing.running import load

import dualrev
from dualrev.compiler.driver.emit import emit

COMPILER = str(Path(dualrev.__file__).parent / "compiler")
FORMS = [
    "{a} * {b} + 0.1",
    "math.sin({a}) * 0.5 + {b} * 0.3",
    "{a} - {b} * {a}",
    "math.exp(-{a} * {a}) / (1.0 + {b} * {b})",
]


def long_function(lines, loop):
    """Straight-line code; one variable in seven is assigned again."""
    choices, names, depth = random.Random(lines), ["x", "y"], "        " if loop else "    "
    text = ["import math", "from numba import njit", "@njit", "def f(x, y):"]
    text += ["    for k in range(3):"] if loop else []
    for k in range(lines):
        a, b = choices.choice(names[-10:]), choices.choice(names[-10:])
        name = choices.choice(names) if k % 7 == 0 else f"v{k}"
        text.append(f"{depth}{name} = {choices.choice(FORMS).format(a=a, b=b)}")
        names += [] if name in names else [name]
    total = " + ".join(names[-5:])
    text += [f"{depth}x = 0.5 * x + 0.01 * ({total})", "    return x * y"]
    return "\n".join(text) + "\n"


def calls_of(f):
    """How many calls of functions in the compiler's files writing a derivative takes."""
    count = 0

    def count_one(frame, event, arg):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(COMPILER)

    before = sys.getprofile(), threading.gettrace()
    sys.setprofile(count_one)
    try:
        emit(f, "value_and_grad", (0, 1), (numba.float64, numba.float64))
    finally:
        sys.setprofile(before[0])
    return count


@pytest.mark.parametrize(
    "loop", [pytest.param(False, id="straight", marks=pytest.mark.slow), pytest.param(True, id="in a loop")]
)
def test_the_calls_that_it_takes_are_proportional_to_the_lines(loop, tmp_path):
    small, large = (calls_of(load(long_function(n, loop), tmp_path).f) for n in (40, 160))
    assert large < 4.6 * small
