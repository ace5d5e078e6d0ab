"""Staged calls whose keys are functions: any order is right, and only some orders are fast."""

import pytest

from stages import STAGES, count
from stages.programs import PROGRAMS
from stages.relatives.functions_as_keys import at_random, first, last, resolve

ORDERS = [first, last, *map(at_random, range(3))]


def shared(x, y):
    for k in range(6):
        x, y = x * y + 0.1 * k, y - x * x / (1.0 + y * y)
    return x + 2.0


def fibonacci(n):
    def f(a, b):
        for _ in range(n):
            a, b = b, b + a
        return b

    return f


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_gives_the_cotangents_of_d4(order):
    _, pullback = STAGES["arrays"].vjp(shared, 0.4, 0.9)
    assert resolve(shared, [0.4, 0.9], order).cotangents == pytest.approx(pullback(1.0), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_calls_of_one_backpropagator_are_merged(order):
    """A chain of doublings has one call at a time, so that no order can be wrong, unlike in naive."""
    doublings = PROGRAMS["doublings"].function
    assert resolve(lambda x: doublings(x, 30), [1.0], order) == ([2.0**30], 31)


def test_by_the_order_there_are_as_many_calls_as_with_ids_or_exponentially_many():
    few = [resolve(fibonacci(n), [1.0, 1.0], first).calls for n in (8, 16)]
    assert few == [count("staged", fibonacci(n), 1.0, 1.0).calls for n in (8, 16)]
    small, large = (resolve(fibonacci(n), [1.0, 1.0], last).calls for n in (8, 16))
    assert large > 1.6**8 * small


def test_a_result_that_no_input_reaches():
    assert resolve(lambda x: 3.0, [1.0], last) == ([0.0], 0)
    assert resolve(lambda x, y: y, [1.0, 2.0], last) == ([0.0, 1.0], 1)
