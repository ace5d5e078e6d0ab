"""Linear factoring in any order: one result, a linear number of steps; without it, 2^n."""

from __future__ import annotations

import pytest

from dualrev.math import exp, sin
from stages import STAGES, LimitReached
from stages.programs import PROGRAMS
from stages.relatives import tagged_forward
from stages.relatives.factored import vjp as factored
from stages.relatives.linear_negation import (
    STRATEGIES,
    at_random,
    expression,
    reduce,
    without_factoring,
)
from stages.relatives.recording import record

ORDERS = {**STRATEGIES, **{f"random {seed}": at_random(seed) for seed in range(5)}}
order = pytest.mark.parametrize("strategy", ORDERS.values(), ids=ORDERS)


def doublings(n):
    def f(x):
        for _ in range(n):
            x = x + x
        return x

    return f


def whole(x, y):
    """Sums and products of whole numbers, so that each order of additions gives the same number."""
    a = x * y + x
    b = a * a + y
    return (a + b) * (b - x) * a


#: Functions of numbers, with the seeds of their results.
FUNCTIONS = {
    "whole numbers": (whole, (3.0, 2.0), (1.0,)),
    "section 4": (PROGRAMS["section4"].function, (1.0,), (1.0,)),
    "two results, one twice": (lambda x, y: (x * y, y, x * y), (3.0, 2.0), (1.0, 5.0, 7.0)),
    "an input that is not used": (lambda x, y: y * y, (3.0, 2.0), (1.0,)),
    "a constant result": (lambda x: 5.0, (3.0,), (1.0,)),
    "an input as result": (lambda x: x, (3.0,), (2.0,)),
}


@order
@pytest.mark.parametrize("what", FUNCTIONS)
def test_all_orders_give_the_result_of_d4(what, strategy):
    f, primals, seeds = FUNCTIONS[what]
    y, pullback = STAGES["arrays"].vjp(f, *primals)
    expected = list(pullback(seeds if isinstance(y, tuple) else seeds[0]))
    assert reduce(f, primals, strategy, seeds).cotangents == expected
    assert without_factoring(f, primals, seeds).cotangents == expected


@order
def test_all_orders_do_the_same_number_of_steps_at_most_one_for_each_call(strategy):
    """An unfold removes a backpropagator, and a factor a call: their numbers are those of the program."""
    for f, primals, seeds in FUNCTIONS.values():
        sums = expression(record(f, primals), seeds).sums
        calls = sum(map(len, sums.values()))
        made = reduce(f, primals, strategy, seeds)
        inputs = len({d for body in sums.values() for d, _ in body} - sums.keys())
        assert made.unfolds == len(sums) - 1
        assert made.factors == calls - (len(sums) - 1) - inputs


@order
def test_with_factoring_doublings_are_linear_and_without_exponential(strategy):
    for n in (1, 5, 20):
        made = reduce(doublings(n), [1.0], strategy)
        assert made == ([2.0**n], n, n)
    assert [without_factoring(doublings(n), [1.0]).unfolds for n in (1, 5, 10)] == [1, 2**5 - 1, 2**10 - 1]
    with pytest.raises(LimitReached):
        without_factoring(doublings(30), [1.0], limit=1000)


def test_random_orders_differ_and_some_rewrite_bodies_before_main_reaches_them():
    places = set()

    def noted(steps):
        step = choose(steps)
        places.add(step.where)
        return step

    taken = []
    for seed in range(5):
        choose = at_random(seed)
        taken.append([])
        reduce(whole, (3.0, 2.0), lambda steps, mine=taken[-1]: mine.append(noted(steps)) or mine[-1])
    assert len(set(map(tuple, taken))) == 5
    assert len(places) > 2


@order
def test_smooth_functions_and_second_derivatives(strategy):
    def f(x, y):
        z = sin(x * y) * exp(x)
        return z * z / y

    primals = (0.7, 1.3)
    expected = pytest.approx(factored(f, *primals)[1](1.0), rel=1e-13)
    assert reduce(f, primals, strategy).cotangents == expected
    slope = lambda x: reduce(lambda x, y: f(x, y) * y, (x, 2.0), strategy).cotangents[0]  # noqa: E731
    second = tagged_forward.jvp(slope, (0.7,), (1.0,))[1]
    again = lambda x: STAGES["tape"].vjp(lambda x: f(x, 2.0) * 2.0, x)[1](1.0)[0]  # noqa: E731
    assert second == pytest.approx(tagged_forward.jvp(again, (0.7,), (1.0,))[1], rel=1e-12)
    assert STAGES["tape"].vjp(slope, 0.7)[1](1.0)[0] == pytest.approx(second, rel=1e-12)
    inside = reduce(lambda x: STAGES["tape"].vjp(lambda y: y * y * y * x, x)[1](1.0)[0], (2.0,), strategy)
    assert inside.cotangents == [9.0 * 2.0**2]
