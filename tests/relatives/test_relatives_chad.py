"""CHAD and Efficient CHAD on Python functions; tests/calculus/test_calculus_chad.py has them as transformations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.oracle import assert_same, direction

from stages import STAGES, count
from stages.comparison.space import kept
from stages.programs import PROGRAMS
from stages.relatives.chad import chad, efficient_chad

both = pytest.mark.parametrize("algorithm", [chad, efficient_chad], ids=["chad", "efficient_chad"])


def powers(n):
    """n lets, each of which uses the input."""

    def f(x):
        y = x
        for _ in range(n):
            y = y * x
        return y

    return f


@both
@pytest.mark.parametrize("name", ["fig1", "doublings", "dot", "rotate", "wide", "deep"])
def test_value_and_gradient_are_those_of_d4(algorithm, name):
    program = PROGRAMS[name]
    primals = program.make(4, 1)
    y, pullback = algorithm.vjp(program.function, *primals)
    expected, back = STAGES["arrays"].vjp(program.function, *primals)
    ct = direction(y, seed=1)
    assert_same(y, expected)
    assert_same(pullback(ct), back(ct), rtol=1e-12, floor=1e-13)


@both
def test_the_pullback_can_be_called_again(algorithm):
    _, pullback = algorithm.vjp(lambda x, y: (x * y, x), 3.0, 2.0)
    assert [pullback((1.0, 0.0)), pullback((0.0, 1.0)), pullback((1.0, 0.0))] == [(2.0, 3.0), (1.0, 0.0), (2.0, 3.0)]


@both
def test_results_that_are_inputs_or_constants_or_the_same(algorithm):
    y, pullback = algorithm.vjp(lambda x, y: (x, x, 5.0), 3.0, 2.0)
    assert (y, pullback((1.0, 10.0, 100.0))) == ((3.0, 3.0, 5.0), (11.0, 0.0))


@both
def test_an_infinite_partial_of_what_is_not_used_is_no_nan(algorithm):
    def f(x, y):
        np.sqrt(x)
        return y * y

    assert algorithm.vjp(f, 0.0, 3.0)[1](1.0) == (0.0, 6.0)


@both
def test_second_derivatives(algorithm):
    def slope(x):
        return algorithm.vjp(lambda y: np.sin(y) * y * x, x)[1](1.0)[0]

    x = 0.7  # (sin y + y cos y) x at y = x
    assert slope(x) == pytest.approx((math.sin(x) + x * math.cos(x)) * x, rel=1e-15)
    expected = math.sin(x) + 3 * x * math.cos(x) - x * x * math.sin(x)
    for outer in (algorithm, STAGES["tape"]):
        assert outer.vjp(slope, x)[1](1.0)[0] == pytest.approx(expected, rel=1e-14)


def test_a_chain_of_any_length():
    def f(x):
        for _ in range(20_000):
            x = x + 1e-9 * x
        return x

    y, pullback = efficient_chad.vjp(f, 1.0)
    assert math.isclose(pullback(1.0)[0], y, rel_tol=1e-12)


def test_the_numbers_of_the_environment_are_counted():
    """With i variables in scope: the operation's two one-hots, their sum, and the sum with the rest: 4 i numbers."""
    for n in (1, 10, 50):
        counts = count("chad", powers(n), 1.1)
        assert counts.scalars == 4 * (n * (n + 1) // 2) + (n + 1)  # and the result's one-hot
        assert counts.calls == n
        assert count("efficient_chad", powers(n), 1.1).scalars == 0
        assert count("efficient_chad", powers(n), 1.1).array_writes == 2 * n + 1


def test_lets_that_the_result_does_not_need_are_not_called():
    def f(x):
        for _ in range(50):
            x * x  # thrown away
        return x + x

    assert count("chad", f, 3.0).calls == count("efficient_chad", f, 3.0).calls == 1


@pytest.mark.parametrize("name", ["chad", "efficient_chad"])
def test_space_is_in_proportion_to_the_program(name):
    small, twice, large = (kept(name, powers(n), 1.0) for n in (50, 100, 200))
    assert (large - twice) == 2 * (twice - small) > 0
