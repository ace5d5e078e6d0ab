"""At the border of a domain all stages and related algorithms agree: values raise as Python does, partials do not."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from support.oracle import assert_same

from dualrev import math as dm
from stages import STAGES, __main__
from stages.comparison import measure
from stages.programs import Program
from stages.relatives import RELATIVES
from stages.relatives.continuations import lantern, shift_reset
from stages.relatives.staging.running import ieee_divide, ieee_power
from stages.relatives.staging.staged import REAL, stage

pytestmark = pytest.mark.usefixtures("timed_once")

inf, nan = math.inf, math.nan
TINY = sys.float_info.min * sys.float_info.epsilon
ALGORITHMS = {**STAGES, **{name: module for name, module in RELATIVES.items() if name != "cps"}}  # a style of its own

#: An operation, its arguments, and its partial derivatives there.
EDGES = {
    "sqrt": (dm.sqrt, (0.0,), (inf,)),
    "log": (dm.log, (TINY,), (inf,)),
    "asin": (dm.asin, (1.0,), (inf,)),
    "acosh": (dm.acosh, (1.0,), (inf,)),
    "reciprocal": (lambda x: 1.0 / x, (1e-200,), (-inf,)),
    "pow": (lambda x: x**0.5, (0.0,), (inf,)),
    "pow of a large number": (lambda x: x**301.0, (10.5,), (inf,)),
    "div": (lambda x, y: x / y, (0.0, TINY), (inf, -0.0)),
    "pow of two": (lambda x, y: x**y, (0.0, 0.5), (inf, 0.0)),
    "atan2": (dm.atan2, (0.0, 0.0), (nan, nan)),
}
#: Outside of the domain, where Python raises.
OUTSIDE = {
    "sqrt": (dm.sqrt, (-1.0,)),
    "log": (dm.log, (0.0,)),
    "div": (lambda x, y: x / y, (1.0, 0.0)),
    "pow": (lambda x: x**-0.5, (0.0,)),
    "exp": (dm.exp, (800.0,)),
}
#: What a program makes of the operation's result and its first argument, and of the infinite partial derivative.
USES = {
    "used": (lambda y, x: y, lambda p: p),
    "unused": (lambda y, x: x, lambda p: 1.0),
    "unused after an operation": (lambda y, x: (y * 2.0, x * 3.0)[1], lambda p: 3.0),
    "called with 0": (lambda y, x: y * 0.0 + x, lambda p: nan),
}
#: A whole tangent is carried there: 0 times infinity for the second argument, and for what is not used, too.
DENSE = "vectorised"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_partial_derivatives_are_the_limits(name, case, use):
    operation, primals, partials = EDGES[case]
    if name == DENSE and len(primals) > 1:
        pytest.skip("forward mode multiplies the zeros of a tangent vector with infinity")
    body, of = USES[use]
    _, pullback = ALGORITHMS[name].vjp(lambda *xs: body(operation(*xs), xs[0]), *primals)
    found = pullback(1.0)
    assert_same(np.float64(found[0]), np.float64(of(partials[0])))
    if len(primals) > 1 and use == "used":
        assert_same(np.float64(found[1]), np.float64(partials[1]))


@pytest.mark.parametrize("case", OUTSIDE)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_values_raise_what_python_raises(name, case):
    operation, primals = OUTSIDE[case]
    with pytest.raises((ArithmeticError, ValueError)) as plain:
        operation(*primals)
    for f in (operation, lambda *xs: (operation(*xs), xs[0])[1]):
        with pytest.raises(plain.type):
            ALGORITHMS[name].vjp(f, *primals)


@pytest.mark.parametrize(("operation", "x"), [(dm.sqrt, 0.0), (lambda x: x**1.5, 0.0), (lambda x: 1.0 / x, 1e-200)])
def test_generated_code_has_the_limits_in_all_its_forms(operation, x):
    """Python and numba; its derivative, which is generated, too: reverse over reverse."""
    y, pullback = shift_reset.vjp(operation, x)
    (dy,) = pullback(1.0)
    program = stage(operation, REAL)
    assert_same(program.in_python(x), (y, dy))
    assert_same(program(x), (y, dy))

    def second(algorithm):
        return algorithm.vjp(lambda x: algorithm.vjp(operation, x)[1](1.0)[0], x)[1](1.0)[0]

    assert second(lantern) == second(shift_reset)
    for run in (program.cotangent().in_python, program.cotangent()):
        assert run(x, 0.0, 1.0)[-1] == second(shift_reset)


def test_a_result_that_only_the_other_branch_uses_is_passed_over():
    """And what only that result needs; in all forms of the code, and in forward over reverse."""

    def f(x):
        y = dm.sqrt(2.0 * dm.sqrt(x)) * math.inf
        return lantern.IF(x > 1.0, lambda: y - dm.sqrt(x), lambda: x * x + x * 2.0)

    assert lantern.vjp(f, 0.0)[1](1.0) == (2.0,)
    program = stage(f, REAL)
    assert "if called(d1[0]):" in program.python
    assert "called" not in program.paper
    assert_same(program.in_python(0.0), (0.0, 2.0))
    assert_same(program(0.0), (0.0, 2.0))
    assert_same(program.in_python(4.0), (math.inf, math.inf))
    assert_same(program(4.0), (math.inf, math.inf))


def test_a_cell_that_a_taken_branch_adds_0_to_is_called():
    """0 times an infinite partial derivative is NaN, as in the stages, if the program has asked for it."""

    def f(x):
        y = dm.sqrt(x)
        return lantern.IF(x > -1.0, lambda: y * 0.0, lambda: x)

    program = stage(f, REAL)
    for found in (program.in_python(0.0), program(0.0), (0.0, *lantern.vjp(f, 0.0)[1](1.0))):
        assert_same(found, (0.0, math.nan))
    assert_same(program(4.0), (0.0, 0.0))


def test_a_loop_that_does_not_run_adds_to_nothing():
    def f(x):
        y = dm.sqrt(x)
        return lantern.WHILE(x, lambda z: z > 1.0, lambda z: z - y)

    program = stage(f, REAL)
    assert_same(program(0.0), (0.0, 1.0))
    assert_same(program(2.25), (0.75, 1.0 - 1.0 / 3.0))


def test_the_text_says_where_the_limits_are():
    assert "d0[0] += ieee_divide(0.5, abs(v0)) * d1[0]" in stage(dm.sqrt, REAL).python
    assert "d0 += (0.5 / abs(v0)) * ! d1" in stage(dm.sqrt, REAL).paper
    assert "v0 = x0 / 2.0" in stage(lambda x: x / 2.0, REAL).python


def test_division_and_power_are_ieee_s():
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, inf, -inf, nan, 1e200]
    with np.errstate(all="ignore"):
        for a in edges:
            for b in edges:
                assert_same(np.float64(ieee_divide(a, b)), np.float64(a) / np.float64(b))
    for a, b, y in [(0.0, -0.5, inf), (-0.0, -1.0, -inf), (-1.0, 0.5, nan), (1e200, 2.0, inf), (2.0, 3.0, 8.0)]:
        assert_same(np.float64(ieee_power(a, b)), np.float64(y))


# ---- the comparison --------------------------------------------------------------------------------------------------


def test_the_comparison_takes_an_unused_result_at_the_border(tmp_path, capsys):
    file = tmp_path / "border.py"
    file.write_text("from dualrev import math\n\n\ndef f(x):\n    return (math.sqrt(x), x)[1]\n")
    for options in ([], ["--relatives"]):
        assert __main__.main([*options, "--file", f"{file}:f", "--args", "0.0"]) == 0
        assert "gradient (1)" in capsys.readouterr().out


def test_an_error_of_an_algorithm_names_it(monkeypatch):
    def broken(f, *primals):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(shift_reset, "there_and_back", broken)
    program = Program("own", "", "", lambda x: x, lambda n, seed: (1.0,), 1, "")
    with pytest.raises(ZeroDivisionError) as error:
        measure.compare(program, (1.0,), stages=["tape", "shift_reset"])
    assert error.value.__notes__ == ["in the algorithm shift_reset"]
    program = Program("own", "", "", lambda x: x / 0.0, lambda n, seed: (1.0,), 1, "")
    with pytest.raises(ZeroDivisionError) as error:
        list(measure.grow(measure.Family("own", "", (2, 3, 4)), ["shift_reset"], program=program))
    assert error.value.__notes__ == ["in the algorithm shift_reset"]
