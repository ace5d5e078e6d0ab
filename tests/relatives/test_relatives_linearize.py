"""Linearize and transpose: each pass, that transposition is the transpose, and gradients against D4."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from programs.corpus import CASES
from support.oracle import assert_same, direction

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.math import exp, sin, sqrt
from stages import STAGES, LimitReached, count
from stages.programs import PROGRAMS
from stages.relatives import tagged_forward, vlad
from stages.relatives.linearize import passes, vjp
from stages.relatives.linearize.program import Add, Drop, Dup, Scale, Slope, Zero
from stages.relatives.linearize.transpose import transpose

#: Small functions of two numbers, with all kinds of partial derivatives.
FUNCTIONS = {
    "a product and a sum": lambda x, y: sin(x) * y + x,
    "quotients and powers": lambda x, y: (x / y, x**y, 2.0**x, y**3.0),
    "a result as its own residual": lambda x, y: exp(x * y) * exp(x),
    "an argument that is not used": lambda x, y: y * y,
    "results that are inputs, constants, and the same": lambda x, y: (x, x, 5.0, y),
    "an operation with the derivative 0": lambda x, y: np.floor(x * y) * x + np.sign(y),
    "differences and minus": lambda x, y: (x - y, -x, 3.0 - y, y - 3.0, +x),
    "an argument twice": lambda x, y: x * x + np.arctan2(x, x) + np.hypot(y, y),
}
every = pytest.mark.parametrize("what", FUNCTIONS)


def dot(us, ws):
    return math.fsum(u * w for u, w in zip(us, ws, strict=True))


def numbers(n, seed):
    rng = random.Random(seed)
    return [rng.uniform(-1.0, 1.0) for _ in range(n)]


def uses(program):
    """How often each linear variable is used, and how often defined."""
    used, defined = [*program.linear_outputs], [*program.linear_inputs]
    for u in program.equations:
        match u:
            case Zero(t):
                defined.append(t)
            case Scale(t, _, of):
                defined.append(t), used.append(of)
            case Add(t, left, right):
                defined.append(t), used.extend((left, right))
            case Dup(first, second, of):
                defined.extend((first, second)), used.append(of)
            case Drop(of):
                used.append(of)
    return used, defined


# ---- the passes ------------------------------------------------------------------------------------------------------


@every
def test_each_linear_variable_is_defined_once_and_used_once(what):
    made = passes(FUNCTIONS[what], 0.7, 1.3)
    for program in (made.jvp, made.linear, made.transposed):
        used, defined = uses(program)
        assert len(set(used)) == len(used)
        assert sorted(used) == sorted(defined)


@every
def test_the_jvp_is_that_of_forward_mode_and_so_are_both_halves_after_unzipping(what):
    f, xs = FUNCTIONS[what], [0.7, 1.3]
    made, us = passes(f, *xs), numbers(2, 1)
    y, dy = tagged_forward.jvp(f, tuple(xs), tuple(us))
    ys, dys = made.jvp(xs, us)
    assert tuple(ys) == (y if isinstance(y, tuple) else (y,))
    assert dys == pytest.approx(dy if isinstance(dy, tuple) else (dy,), rel=1e-14)
    values, nothing = made.nonlinear(xs, ())
    assert (values[: len(ys)], nothing) == (ys, [])
    assert made.linear(values[len(ys) :], us) == ([], dys)


@every
def test_transposition_is_the_transpose(what):
    """<L v, w> = <v, L^T w>, entry by entry and for random v and w."""
    made, xs = passes(FUNCTIONS[what], 0.7, 1.3), [0.7, 1.3]
    m = len(made.jvp.linear_outputs)
    residuals = made.nonlinear(xs, ())[0][m:]
    forward = lambda v: made.linear(residuals, v)[1]  # noqa: E731
    back = lambda w: made.transposed(residuals, w)[1]  # noqa: E731
    rows = [back([float(i == k) for i in range(m)]) for k in range(m)]
    columns = [forward([float(i == k) for i in range(2)]) for k in range(2)]
    assert np.array(rows) == pytest.approx(np.array(columns).T, rel=1e-15)
    for seed in range(5):
        v, w = numbers(2, seed), numbers(m, seed + 10)
        assert dot(forward(v), w) == pytest.approx(dot(v, back(w)), rel=1e-13, abs=1e-15)


@every
def test_the_transpose_of_the_transpose_is_the_linear_program(what):
    made = passes(FUNCTIONS[what], 0.7, 1.3)
    again = transpose(made.transposed)
    assert again.equations == made.linear.equations
    assert (again.linear_inputs, again.linear_outputs) == (made.linear.linear_inputs, made.linear.linear_outputs)


def test_only_the_non_linear_program_has_residuals_to_compute():
    made = passes(lambda x, y: sin(x * y) * exp(x), 0.7, 1.3)
    slopes = [u for u in made.nonlinear.equations if isinstance(u, Slope)]
    assert [u.line.name for u in slopes] == ["sin"]  # those of a product are its arguments, that of exp is its result
    assert "r3 = cos(x2)" in str(made.nonlinear)
    assert not any(isinstance(u, Slope) for u in (*made.linear.equations, *made.transposed.equations))
    assert "d1 pow(x0, 2.0)" in str(passes(lambda x: x**2.0, 3.0).jvp)


def test_what_the_result_does_not_need_is_left_out():
    def f(x, y):
        np.sqrt(x)  # infinite slope at 0, thrown away
        return y * y + np.floor(np.sqrt(x))

    made = passes(f, 0.0, 3.0)
    assert not any(u.result == "r2" for u in made.nonlinear.equations)
    assert vjp(f, 0.0, 3.0)[1](1.0) == (0.0, 6.0)


# ---- vjp -------------------------------------------------------------------------------------------------------------


@every
def test_gradients_are_those_of_differences(what):
    f, xs, h = FUNCTIONS[what], (0.7, 1.3), 1e-5
    y, pullback = vjp(f, *xs)
    ct = direction(y, seed=2)
    flat = lambda u: np.array(u if isinstance(u, tuple) else (u,))  # noqa: E731
    differences = []
    for k in range(2):
        ends = [f(*(x + s * h * (i == k) for i, x in enumerate(xs))) for s in (1, -1)]
        differences.append(float(np.dot((flat(ends[0]) - flat(ends[1])) / (2 * h), flat(ct))))
    assert pullback(ct) == pytest.approx(differences, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name)
def test_on_programs_value_and_gradient_are_those_of_d4(case):
    """All of the corpus is compared with `tape` in test_relatives.py."""
    try:
        y, pullback = STAGES["arrays"].vjp(case.function, *case.primals)
    except UnsupportedError:
        pytest.skip("the stages do not take it")
    same, again = vjp(case.function, *case.primals)
    ct = direction(y, seed=1)
    assert_same(same, y)
    assert_same(again(ct), pullback(ct), rtol=1e-11, floor=1e-12)


def test_the_pullback_can_be_called_again():
    _, pullback = vjp(lambda x, y: (x * y, x), 3.0, 2.0)
    assert [pullback((1.0, 0.0)), pullback((0.0, 1.0)), pullback((1.0, 0.0))] == [(2.0, 3.0), (1.0, 0.0), (2.0, 3.0)]


def test_second_derivatives_by_itself_and_by_stages_around_and_inside():
    x = 0.7

    def slope(inner):
        return lambda x: inner(lambda y: sin(y) * sqrt(y) * x, x)[1](1.0)[0]

    expected = dr.grad(lambda x: dr.grad(lambda y, z: sin(y) * sqrt(y) * z)(x, x))(x)
    tape = STAGES["tape"].vjp
    pairs = [(vjp, vjp), (tape, vjp), (vjp, tape), (vjp, tagged_forward.vjp), (vlad.vjp, tape), (vlad.vjp, vlad.vjp)]
    for outer, inner in pairs:  # vlad records as linearize does (recording.py)
        assert outer(slope(inner), x)[1](1.0)[0] == pytest.approx(expected, rel=1e-13)


def test_an_operation_of_a_user_is_known_by_its_partial_derivatives():
    cube = dr.primitive("cube_of_linearize", "x * x * x", "3.0 * x * x")
    assert vjp(lambda x: cube(x) * x, 2.0)[1](1.0) == (32.0,)


def test_a_chain_of_any_length():
    def f(x):
        for _ in range(10_000):
            x = x + 1e-9 * x
        return x

    y, pullback = vjp(f, 1.0)
    assert math.isclose(pullback(1.0)[0], y, rel_tol=1e-12)


def test_costs_are_a_constant_for_each_operation():
    program = PROGRAMS["doublings"]
    for n in (10, 100):
        counts = count("linearize", program.function, *program.make(n, 0))
        assert (counts.created, counts.calls) == (2 * n, 2 * n)  # a dup and an addition
    with pytest.raises(LimitReached):
        count("linearize", program.function, *program.make(100, 0), limit=50)
