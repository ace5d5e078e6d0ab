"""The comparison's finite differences: right at every scale and at the border of the domain, silent at kinks."""

import math

import numpy as np
import pytest

from stages import STAGES
from stages.__main__ import main
from stages.comparison import measure
from stages.comparison.differences import RESOLVED, distance, slopes

pytestmark = pytest.mark.usefixtures("timed_once")

ROOT = lambda x: x**0.5  # noqa: E731
MINUTE = lambda x, y: math.sqrt(x) + math.exp(y)  # noqa: E731

#: Functions, arguments and gradients of the sum of the value.
SMOOTH = {
    **{f"x**0.5 at {x}": (ROOT, (x,), [0.5 / x**0.5]) for x in (1e-300, 1e-30, 1e-12, 1e-4, 5e-4, 1.0, 1e10, 1e300)},
    **{f"log at {x}": (math.log, (x,), [1.0 / x]) for x in (1e-300, 1e-5, 3.0, 1e300)},
    "1/x at 1e-100": (lambda x: 1.0 / x, (1e-100,), [-1e200]),
    "1/x at -3": (lambda x: 1.0 / x, (-3.0,), [-1.0 / 9.0]),
    "exp at 0": (math.exp, (0.0,), [1.0]),
    "exp at 1e-200": (math.exp, (1e-200,), [1.0]),
    "exp at 700": (math.exp, (700.0,), [math.exp(700.0)]),
    "x*x at 0": (lambda x: x * x, (0.0,), [0.0]),
    "x**3 at 0": (lambda x: x**3, (0.0,), [0.0]),
    "a constant": (lambda x: 5.0 + 0.0 * x, (3.0,), [0.0]),
    "log(1-x) near 1": (lambda x: math.log(1.0 - x), (1.0 - 2.0**-12,), [-(2.0**12)]),
    "asin near 1": (math.asin, (0.9999,), [1.0 / math.sqrt(1.0 - 0.9999**2)]),
    "tan near pi/2": (math.tan, (1.57,), [1.0 / math.cos(1.57) ** 2]),
    "a fast sine": (lambda x: math.sin(1e6 * x), (0.0,), [1e6]),
    "near a kink": (abs, (-1e-10,), [-1.0]),
    "on one side of the domain": (lambda x: math.sqrt(x) ** 4, (0.0,), [0.0]),
    "several scales": (MINUTE, (1e-200, 1.0), [0.5e100, math.e]),
    "several outputs": (lambda x, ys: (x * ys[0], [x + ys[1]]), (3.0, [1e-9, -7.0]), [1.0 + 1e-9, 3.0, 1.0]),
}

UNRESOLVED = {
    "a kink": (abs, (0.0,)),
    "half a kink": (lambda x: max(x, 0.0), (0.0,)),
    "a step": (lambda x: float(math.floor(x)), (1.0,)),
    "an infinite slope": (math.sqrt, (0.0,)),
    "no number": (lambda x: x * math.nan, (1.0,)),
    "a gradient that overflows": (lambda x: 1.0 / x, (1e-200,)),
    "rounding": (lambda x: 1e15 + x, (1.0,)),
}


@pytest.mark.parametrize(("f", "primals", "gradient"), SMOOTH.values(), ids=SMOOTH)
def test_the_slopes_of_a_smooth_function(f, primals, gradient):
    found = slopes(f, primals)
    right = np.array(gradient)
    assert distance(right, found) < 1e-6
    wrong = right + np.where(right == 0.0, 1.0, right) * 1e-3
    assert distance(wrong, found) > RESOLVED
    assert math.isnan(distance(right * math.nan, found))


@pytest.mark.parametrize(("f", "primals"), UNRESOLVED.values(), ids=UNRESOLVED)
def test_there_is_no_slope(f, primals):
    assert slopes(f, primals) == []


def test_all_steps_that_leave_the_domain_are_passed_over():
    def island(x):
        if x != 1.0:
            raise RuntimeError
        return x

    assert slopes(island, (1.0,)) == []
    assert slopes(lambda x: [x] * (3 if x == 1.0 else 2), (1.0,)) == []  # the size of the output changes


def test_a_slope_within_the_error_is_no_disagreement():
    rough = slopes(lambda x: 1e5 + math.sin(x), (1.0,))
    assert rough[0].error > 1e-8
    assert distance(np.array([math.cos(1.0) + rough[0].error]), rough) <= RESOLVED


@pytest.mark.parametrize("x", ["0.0001", "0.0005", "1e-300", "1e300"])
def test_a_root_near_zero_agrees_in_every_stage(x, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def g(x):\n    return x**0.5\n")
    assert main(["--file", f"{file}:g", "--args", x]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.split()[:1] and line.split()[0] in STAGES]
    rows = [row for row in rows if row[1].isdigit()]
    assert [row[0] for row in rows] == list(STAGES)
    assert all(float(row[-1].replace("exact", "0")) < 1e-9 for row in rows)


def test_every_program_of_the_comparison_is_resolved():
    for name, program in measure.PROGRAMS.items():
        assert slopes(program.function, program.make(program.size, 0)), name
