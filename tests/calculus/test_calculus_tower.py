"""Lazy towers in the calculus: Krawiec et al. 2022, section 8.6; the derivatives of all orders."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from test_calculus_deltas import EXPONENTIAL, Twice, few, programs
from test_calculus_properties import scalars

from stages.calculus import Machine, check, parse_program, show_type
from stages.calculus.deltas.table import DELTAS
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import StepLimit
from stages.calculus.language.terms import Var
from stages.calculus.language.values import Made


@few
@given(programs)
def test_a_tower_begins_with_the_triple(of):
    """The derivatives of order 0, 1 and 2 are those of triple numbers, up to rounding errors."""
    run = Twice(of)
    machine = Machine(DELTAS["tower"].wrap(of.program), EXPONENTIAL)
    try:
        derivative = machine.apply(machine.value(), (run.x, run.dx))
        zeroth, first, second = (scalars(machine.apply(derivative, k)) for k in range(3))
    except StepLimit:
        assume(False)
    assert zeroth == scalars(run.value)
    for found, expected in ((first, run.first), (second, run.second)):
        scale = max(1.0, *map(abs, scalars(expected)), *run.magnitude)
        assert found == pytest.approx(scalars(expected), rel=1e-9, abs=1e-9 * scale)


TOWERS = {  # f, f in mpmath, x
    r"\(x : R). let y = x * x in y * y * x": ("x**5", 2.0),
    r"\(x : R). exp(x) / sqrt(x)": ("exp(x) / sqrt(x)", 2.0),
    r"\(x : R). x * sin(x)": ("x * sin(x)", 0.7),
    r"\(x : R). tanh(x)": ("tanh(x)", 0.3),
    r"\(x : R). atan2(x, 2.0)": ("atan(x / 2)", 0.4),
    r"letrec p : (Int, R) -> R = \(n : Int, z : R). if n <# 1 then 1.0 else z * p (n -# 1, z)"
    r" in \(x : R). p (3, log(x))": (
        "log(x)**3",
        1.7,
    ),
}


@pytest.mark.parametrize("text", TOWERS)
def test_the_first_four_derivatives_of_a_tower(text):
    """Section 8.6: one rule serves quadruples, quintuples and so on; mpmath differentiates numerically."""
    mpmath = pytest.importorskip("mpmath")
    formula, x = TOWERS[text]
    program = DELTAS["tower"].wrap(parse_program(text))
    assert show_type(check(program, "source"), ascii=True) == "(R, R) -> Int -> R"
    machine = Machine(program)
    derivative = machine.apply(machine.value(), (x, 1.0))
    with mpmath.workdps(40):
        f = eval(f"lambda x: {formula}", {**vars(mpmath)})
        expected = [float(mpmath.diff(f, x, k)) for k in range(5)]
    assert [machine.apply(derivative, k) for k in range(5)] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_tower_along_a_direction_of_several_inputs():
    """d^k/dt^k of f(x + t dx, y + t dy) for f = x^2 y: a cubic in t."""
    program = parse_program(r"\(x : R, (n : Int, y : R)). (x * x * y, (n, inl[R + ()](y)))")
    machine = Machine(DELTAS["tower"].wrap(program))
    derivative = machine.apply(machine.value(), ((2.0, (7, 3.0)), (1.0, (0, -2.0))))
    found = [machine.apply(derivative, k) for k in range(5)]
    assert [y for y, _ in found] == [12.0, 4.0, -10.0, -12.0, 0.0]
    assert [rest for _, rest in found[:3]] == [(7, Made("inl", (x,))) for x in (3.0, -2.0, 0.0)]


def test_a_tower_can_be_transformed_again():
    """The gradient of a third derivative: d/dx of d^3/dt^3 (x + t)^5 = 60 x^2 is 120 x."""
    tower = DELTAS["tower"].wrap(parse_program(r"\(x : R). let y = x * x in y * y * x"))
    third = Program(
        t.Lambda("x", ty.REAL, t.Apply(t.Apply(tower.term, t.Tuple(Var("x"), t.Literal(1.0))), t.Integer(3))),
        tower.declarations,
        tower.definitions,
    )
    machine = Machine(DELTAS["delta-array"].wrap(third))
    y, pullback = machine.apply(machine.value(), 2.0)
    assert (y, machine.apply(pullback, 1.0)) == (240.0, 240.0)
