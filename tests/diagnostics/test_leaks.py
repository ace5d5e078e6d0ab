"""A number that outlives its derivative call would be a silent constant in the next: it is refused, in every stage."""

import pytest

from dualrev.errors import LeakError
from stages import STAGES

stages = pytest.mark.parametrize("stage", STAGES)


def gradient(stage, f, *primals):
    y, pullback = STAGES[stage].vjp(f, *primals)
    return y, pullback(1.0)


@stages
def test_a_cache_with_plain_keys(stage):
    cache = {}

    def f(x):
        key = round(x, 3)
        if key not in cache:
            cache[key] = x * x
        return 3.0 * cache[key]

    assert gradient(stage, f, 3.0) == (27.0, (18.0,))
    with pytest.raises(LeakError, match=r"kept in a global, a cache"):
        gradient(stage, f, 3.0)
    assert gradient(stage, f, 2.0) == (12.0, (12.0,))


@stages
@pytest.mark.parametrize(
    "use", [lambda x, old: x * old, lambda x, old: old - x, lambda x, old: old, lambda x, old: [x, old]]
)
def test_a_number_of_the_call_before(stage, use):
    kept = []
    gradient(stage, lambda x: kept.append(x) or x, 2.0)
    with pytest.raises(LeakError):
        STAGES[stage].vjp(lambda x: use(x, kept[0]), 2.0)


@stages
def test_a_number_of_a_call_that_failed(stage):
    kept = []

    def fails(x):
        kept.append(x)
        raise KeyError("no")

    with pytest.raises(KeyError):
        gradient(stage, fails, 2.0)
    with pytest.raises(LeakError):
        gradient(stage, lambda x: x * kept[0], 2.0)


@stages
def test_a_generator_that_goes_on_in_the_next_call(stage):
    def running_products():
        product = 1.0
        while True:
            product = product * (yield product)

    products = running_products()
    next(products)
    assert gradient(stage, products.send, 2.0) == (2.0, (1.0,))
    with pytest.raises(LeakError):
        gradient(stage, products.send, 3.0)


@stages
def test_an_inner_pullback_that_is_called_after_the_outer_call(stage):
    kept = []

    def outer(x):
        y, pullback = STAGES[stage].vjp(lambda u: u * u * x, x)
        kept.append(pullback)
        return y

    gradient(stage, outer, 2.0)
    with pytest.raises(LeakError):
        kept[0](1.0)


@stages
def test_numbers_of_an_outer_call_that_goes_on_are_no_leak(stage):
    def outer(x):
        inner = gradient(stage, lambda u: u * x * x, 3.0)[1][0]  # x^2
        return inner * x

    assert gradient(stage, outer, 2.0) == (8.0, (12.0,))
