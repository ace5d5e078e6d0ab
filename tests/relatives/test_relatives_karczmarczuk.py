"""Karczmarczuk's deferred perturbations, and his lazy towers."""

from __future__ import annotations

import itertools
import math

import pytest
from support.oracle import assert_same, check_order_2, check_vjp, direction

from stages import STAGES
from stages.calculus import Machine, parse_program
from stages.calculus.deltas.tower import Tower as ToCalculus
from stages.programs import PROGRAMS
from stages.relatives import vectorised
from stages.relatives.karczmarczuk import deferred, towers

# ---- R~ --------------------------------------------------------------------------------------------------------------

SIZES = dict.fromkeys(PROGRAMS, 4) | {"neural": 1, "particles": 1, "newton": 1, "loop": 10}


def small(program):
    primals = program.make(SIZES[program.name], 0)
    return (*primals[:-1], 2) if program.name == "particles" else primals


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_deferred_perturbations_give_the_gradient_of_the_tape(program):
    primals = small(program)
    y, pullback = deferred.vjp(program.function, *primals)
    expected_y, expected = STAGES["tape"].vjp(program.function, *primals)
    assert_same(y, expected_y, rtol=0.0, floor=0.0)
    ct = direction(y, seed=1)
    assert_same(pullback(ct), expected(ct), rtol=1e-11, floor=1e-12)


def test_differences_to_order_2():
    program = PROGRAMS["rotate"]
    check_vjp(deferred.vjp, program.function, *program.make(2, 0))
    check_order_2(deferred.vjp, program.function, *program.make(2, 0))


def test_the_operations_of_section_6():
    """p (x) u = \\z. u (p z), and u (+) v = \\z. u z + v z: nothing is multiplied before the application to 1."""
    u = deferred.plus(deferred.times(3.0, deferred.one), deferred.times(2.0, deferred.times(5.0, deferred.one)))
    assert u(1.0) == 13.0
    assert u(10.0) == 130.0
    assert deferred.times(7.0, deferred.zero)(2.0) == 0.0


def calls(n):
    """How often the input's perturbation is called for n doublings."""
    count = [0]

    def counted(z):
        count[0] += 1
        return z

    def f(x):
        x.d[0] = counted
        for _ in range(n):
            x = x + x
        return x

    _, pullback = deferred.vjp(f, 1.0)
    assert pullback(1.0) == (2.0**n,)
    return count[0]


def test_a_perturbation_that_is_used_twice_is_called_twice():
    """ "Fan-in of R~ values causes (+) to be used, resulting in the same R~ number being called repeatedly"."""
    assert [calls(n) for n in range(1, 11)] == [2**n for n in range(1, 11)]


def test_every_operation_makes_a_function_for_each_input():
    kept = []

    def f(*xs):
        kept.append(xs[0] * xs[1])
        return kept[0]

    for n in (2, 5):
        kept.clear()
        deferred.vjp(f, *[1.0] * n)
        assert len(kept[0].d) == n


def test_the_graph_is_that_of_vectorised_forward_mode():
    """The same numbers, and the same NaN where a partial derivative is infinite."""
    for f, xs in ((lambda x, y: x * y + x, (2.0, 3.0)), (lambda x, y: x**0.5 + y, (0.0, 1.0))):
        found, expected = (module.vjp(f, *xs)[1](1.0) for module in (deferred, vectorised))
        assert_same(found, expected)


# ---- lazy towers -----------------------------------------------------------------------------------------------------

F = towers.functions
FUNCTIONS = {
    "x**5": lambda x: x**5,
    "exp(sin(x))": lambda x: F["exp"](F["sin"](x)),
    "exp(x) / sqrt(x)": lambda x: F["exp"](x) / F["sqrt"](x),
    "tanh(x)": lambda x: F["tanh"](x),
    "log(x)**3 - 1 / x": lambda x: F["log"](x) ** 3.0 - 1.0 / x,
    "x**x": lambda x: x**x,
    "atan(2 / x)": lambda x: F["atan2"](2.0, x),
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_the_first_seven_derivatives_of_a_tower(text):
    mpmath = pytest.importorskip("mpmath")
    x = 0.7
    with mpmath.workdps(60):
        f = eval(f"lambda x: {text}", dict(vars(mpmath)))
        expected = [float(mpmath.diff(f, mpmath.mpf(x), k)) for k in range(8)]
    found = list(itertools.islice(towers.derivatives(FUNCTIONS[text], x), 8))
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_it_is_the_tower_of_the_calculus():
    machine = Machine(ToCalculus.wrap(parse_program(r"\(x : R, y : R). exp(x * y) / sqrt(y)")))
    in_calculus = machine.apply(machine.value(), ((0.5, 1.5), (2.0, -1.0)))
    found = towers.derivatives(lambda x, y: F["exp"](x * y) / F["sqrt"](y), 0.5, 1.5, direction=(2.0, -1.0))
    expected = [machine.apply(in_calculus, k) for k in range(5)]
    assert list(itertools.islice(found, 5)) == pytest.approx(expected, rel=1e-13)


def test_a_tower_is_lazy_and_kept():
    asked = []

    def noted(x):
        y = towers.apply("mul", x, x)
        later = y.later
        y.later = lambda: asked.append("rest") or later()
        return y

    y = noted(towers.Tower(3.0, lambda: towers.Tower(1.0)))
    assert not asked
    assert y.rest is y.rest
    assert asked == ["rest"]
    assert [y.value, y.rest.value, y.rest.rest.value, y.rest.rest.rest] == [9.0, 6.0, 2.0, None]


def test_exp_stands_in_its_own_derivative():
    x = towers.Tower(0.5, lambda: towers.Tower(1.0))
    y = F["exp"](x)
    assert y.rest.value == y.value == math.exp(0.5)
    k = 400  # one more tower for each order: x' is a constant, and y is y again
    assert next(itertools.islice(iter(y), k, None)) == math.exp(0.5)


def test_constants_and_branches():
    assert list(itertools.islice(towers.derivatives(lambda x: 2.0, 1.0), 3)) == [2.0, 0.0, 0.0]
    assert list(itertools.islice(towers.derivatives(lambda x: x if x > 0.5 else x * x, 0.25), 4)) == [
        0.0625,
        0.5,
        2.0,
        0.0,
    ]
    assert list(itertools.islice(towers.derivatives(lambda x: abs(x) + F["maximum"](x, 0.0), -2.0), 3)) == [
        2.0,
        -1.0,
        0.0,
    ]
    x = towers.Tower(2.0)
    assert x == 2.0
    assert x <= 2.0 <= x
    assert not x < 2.0
    assert x >= towers.Tower(1.0)
