"""bench/ on made-up numbers: laws of times, answers that must not pass, and what is expected of the next size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.measuring.agreement import DisagreementError, check, convert, disagreement, flatten
from bench.measuring.laws import Law, expected_power, fit_law, fit_slope
from bench.suite.conftest import Ladder

DRAWS = 200
COVERED = range(181, 200)  # of them: 95%, and three standard deviations to both sides

BY_TWO = tuple(2**k for k in range(4, 17))
FOUR = (32, 128, 512, 2048)
TO_SIXTEEN = tuple(range(4, 17))


def draws(law, sizes, noise, seed=0):
    """Times that are off by a share, normally distributed in their logarithm."""
    numbers = np.random.default_rng(seed)
    times = np.array([law(n) for n in sizes])
    for _ in range(DRAWS):
        yield times * np.exp(noise * numbers.standard_normal(len(sizes)))


def laws(law, sizes, noise):
    return [fit_law(sizes, times) for times in draws(law, sizes, noise)]


# t = c n^p or t = c b^n


@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize("sizes", [BY_TWO, FOUR])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_interval_of_a_power_covers_it_in_95_of_100_draws(power, sizes, noise):
    found = laws(lambda n: 1e-6 * n**power, sizes, noise)
    assert {law.kind for law in found} == {"power"}
    assert sum(law.low <= power <= law.high for law in found) in COVERED
    assert all(law.low < law.value < law.high for law in found)


@pytest.mark.parametrize(("base", "noise"), [(2.0, 0.01), (2.0, 0.05), (3.0, 0.05)])
def test_the_interval_of_an_exponential_covers_its_base_in_95_of_100_draws(base, noise):
    found = laws(lambda n: 1e-6 * base**n, TO_SIXTEEN, noise)
    assert {law.kind for law in found} == {"exponential"}
    assert sum(law.low <= base <= law.high for law in found) in COVERED


@pytest.mark.parametrize("sizes", [BY_TWO, (64, 128, 256, 512, 1024)])
def test_n_log_n_has_the_power_that_is_expected_at_the_sizes_that_were_used(sizes):
    def claim(n):
        return n * math.log(n)

    found = laws(claim, sizes, 0.03)
    power = expected_power(claim, found[0].sizes)
    assert 1.0 < power < 1.3
    assert {law.kind for law in found} == {"power"}
    assert sum(law.low <= power <= law.high for law in found) in COVERED


def test_n_and_n_log_n_are_told_apart():
    def claim(n):
        return n * math.log(n)

    linear, above = laws(float, BY_TWO, 0.02), laws(claim, BY_TWO, 0.02)
    power = expected_power(claim, linear[0].sizes)
    assert sum(law.high < power for law in linear) > 0.9 * DRAWS
    assert sum(law.low > 1.0 for law in above) > 0.9 * DRAWS


def test_the_interval_is_as_wide_as_the_noise():
    widths = [
        np.median([law.high - law.low for law in laws(lambda n: 1e-6 * n, BY_TWO, noise)]) for noise in (0.01, 0.04)
    ]
    assert widths[1] == pytest.approx(4.0 * widths[0], rel=0.01)


def test_without_noise_the_law_is_exact():
    for power in (0.0, 1.0, 2.5):
        law = fit_law(BY_TWO, [3e-7 * n**power for n in BY_TWO])
        assert (law.value, law.low, law.high) == pytest.approx((power,) * 3, abs=1e-6)


def test_fixed_costs_at_small_sizes_do_not_matter():
    times = [20e-6 + 1e-6 * n for n in BY_TWO]
    law = fit_law(BY_TWO, times)
    assert min(law.sizes) == 1024
    assert law.value == pytest.approx(1.0, abs=0.01)
    by_all, _ = np.polyfit(np.log(BY_TWO), np.log(times), 1)
    assert by_all < 0.95


def test_fewer_than_four_sizes_give_no_law():
    assert fit_law([], []) is None
    assert fit_law([1, 2, 4], [1.0, 2.0, 4.0]) is None
    assert fit_law([1, 2, 4, 8], [1.0, 2.0, 4.0, 8.0]).sizes == (1, 2, 4, 8)


def test_four_sizes_are_used_however_they_are_spread():
    assert fit_law([1, 2, 3, 4, 1000], [1.0, 2.0, 3.0, 4.0, 1000.0]).sizes == (2, 3, 4, 1000)


def test_the_order_of_sizes_does_not_matter():
    sizes, times = [64, 16, 256, 32, 128], [66.0, 15.0, 260.0, 31.0, 125.0]
    assert fit_law(sizes, times) == fit_law(*map(list, zip(*sorted(zip(sizes, times, strict=True)), strict=True)))


@pytest.mark.parametrize(("power", "noise"), [(0.0, 0.03), (0.1, 0.05), (1.0, 0.2)])
def test_noise_does_not_make_an_exponential_of_a_power(power, noise):
    sizes = (32, 64, 128, 256)
    assert {law.kind for law in laws(lambda n: 1e-6 * n**power, sizes, noise)} == {"power"}


def test_a_law_in_a_table():
    assert str(Law("exponential", 1.9984, 1.98, 2.02, ())) == "2.00^n (1.98 to 2.02)"


# t = a + b n


@pytest.mark.parametrize("sizes", [(20, 40, 80, 160, 320), (250, 500, 1000), BY_TWO])
@pytest.mark.parametrize("fixed", [0.0, 1e-6, 1e-4])
def test_the_interval_of_a_slope_covers_it_in_95_of_100_draws(fixed, sizes):
    found = [fit_slope(sizes, times) for times in draws(lambda n: fixed + 1e-7 * n, sizes, 0.03)]
    assert sum(abs(slope.value - 1e-7) <= slope.error for slope in found) in COVERED


def test_a_slope_without_noise_is_exact():
    for fixed in (0.0, 2e-6):
        slope = fit_slope(FOUR, [fixed + 3e-9 * n for n in FOUR])
        assert slope.value == pytest.approx(3e-9, rel=1e-6)
        assert slope.intercept == pytest.approx(fixed, abs=1e-12)
        assert slope.error < 1e-14


def test_small_sizes_weigh_as_much_as_large_ones():
    """The noise of the largest time is larger than all of the smallest one."""
    sizes = (10, 100, 1000, 10_000, 100_000)
    fixed = [fit_slope(sizes, times).intercept for times in draws(lambda n: 1e-4 + 1e-6 * n, sizes, 0.02)]
    assert np.quantile(np.abs(np.array(fixed) / 1e-4 - 1.0), 0.9) < 0.05


def test_fewer_than_three_sizes_give_no_slope():
    assert fit_slope([], []) is None
    assert fit_slope([1, 2], [1.0, 2.0]) is None
    assert fit_slope([1, 2, 3], [1.0, 2.0, 3.0]) is not None


# Whether two answers agree

RIGHT = (2.5, ([1.0, -2.0], np.array([[3.0, 0.0], [1e-3, 5.0]])))


def answer(value=2.5, first=1.0, second=-2.0, third=3.0, zero=0.0):
    return value, ([first, second], np.array([[third, zero], [1e-3, 5.0]]))


def test_the_same_answer_agrees_however_it_is_nested():
    assert disagreement(answer(), RIGHT) is None
    flat = (np.array([2.5]), np.array([1.0, -2.0, 3.0, 0.0, 1e-3, 5.0]))
    assert disagreement(flat, RIGHT) is None
    assert disagreement((2.5, ()), (2.5, ())) is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (answer(first=1.0 + 1e-8), "the gradient is 1.00000001 in place of 1.0 at entry 0"),
        (answer(second=2.0), "the gradient is 2.0 in place of -2.0 at entry 1"),
        (answer(third=math.nan), "the gradient is nan in place of 3.0 at entry 2"),
        (answer(third=math.inf), "the gradient is inf in place of 3.0 at entry 2"),
        (answer(zero=1e-10), "the gradient is 1e-10 in place of 0.0 at entry 3"),
        (answer(value=2.5 + 1e-7), "the value is 2.5000001 in place of 2.5"),
        (answer(value=math.nan), "the value is nan in place of 2.5"),
        ((2.5, [1.0, -2.0, 3.0, 0.0, 1e-3]), "the gradient has 5 entries in place of 6"),
        ((2.5, ()), "the gradient has 0 entries in place of 6"),
        (((), RIGHT[1]), "the value has 0 entries in place of 1"),
        ((2.5, [0.0] * 6), "the gradient is 0.0 in place of 1.0 at entry 0"),
        ((2.5, [-2.0, 1.0, 3.0, 0.0, 1e-3, 5.0]), "the gradient is -2.0 in place of 1.0 at entry 0"),
    ],
)
def test_a_wrong_answer_does_not_pass(found, message):
    assert disagreement(found, RIGHT) == message
    with pytest.raises(DisagreementError, match=r"^mine: "):
        check(found, RIGHT, "mine")


def test_a_small_entry_beside_a_large_one_is_compared_by_itself():
    expected = (1.0, [1e6, 1e-3])
    assert disagreement((1.0, [1e6, 1e-3 + 1e-5]), expected) is not None
    assert disagreement((1.0, [1e6, 1e-3 + 1e-8]), expected) is None  # what is left where 1e6 cancels


def test_nan_does_not_agree_with_nan():
    """A program whose gradient is not a number has nothing to be timed for."""
    assert disagreement((1.0, [math.nan]), (1.0, [math.nan])) is not None
    assert disagreement((1.0, [5.0, 1.0]), (1.0, [5.0, math.nan])) is not None


@pytest.mark.parametrize("found", [[3.0, 1.0], [-5.0, 7.0]])
def test_no_number_agrees_with_infinity(found):
    assert disagreement((1.0, found), (1.0, [math.inf, 1.0])) is not None


def test_infinity_does_not_agree_with_infinity():
    assert disagreement((1.0, [math.inf, 1.0]), (1.0, [math.inf, 1.0])) is not None


def test_an_answer_is_a_pair():
    with pytest.raises(ValueError, match="zip"):
        disagreement((1.0, [2.0], [3.0]), (1.0, [2.0]))


def test_what_is_no_number_is_no_answer():
    with pytest.raises(TypeError):
        disagreement((1.0, [None]), (1.0, [2.0]))


def test_flatten_takes_the_numbers_row_by_row():
    nested = [1.0, (np.array([[2.0, 3.0], [4.0, 5.0]]), [], np.float64(6.0)), 7]
    found = flatten(nested)
    assert found == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7]
    assert not any(isinstance(x, np.generic) for x in found)


def test_convert_keeps_the_nesting():
    assert convert(str, [1.0, (2.0, [], [3])]) == ["1.0", ("2.0", [], ["3"])]
    array = np.ones(2)
    assert convert(lambda x: x, (array,))[0] is array  # an array is one thing


# What a ladder expects of the next size


def climb(sizes, seconds, limit):
    """Return the sizes at which a call is made."""
    ladder, made = Ladder(), []
    for n in sizes:
        if ladder.expected("f", n) <= limit:
            made.append(n)
            ladder.climb("f", n, seconds(n))
    return made


def test_nothing_is_expected_of_what_has_not_been_timed():
    ladder = Ladder()
    assert ladder.expected("f", 1000) == 0.0
    ladder.climb("f", 10, 1.0)
    assert ladder.expected("g", 1000) == 0.0


def test_one_time_is_taken_to_grow_linearly():
    ladder = Ladder()
    ladder.climb("f", 10, 1.0)
    assert ladder.expected("f", 40) == pytest.approx(4.0)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_a_power_is_continued(power):
    ladder = Ladder()
    for n in (10, 20):
        ladder.climb("f", n, 1e-3 * n**power)
    assert ladder.expected("f", 80) == pytest.approx(1e-3 * 80**power)


def test_an_exponential_is_seen_to_grow_faster_than_it_did():
    ladder = Ladder()
    for n in (8, 10):
        ladder.climb("f", n, 1e-6 * 2.0**n)
    assert 1e-6 * 2.0**11 < ladder.expected("f", 12) < 1e-6 * 2.0**12
    assert ladder.expected("f", 32) > 1e-6 * 2.0**10 * 100.0


def test_what_got_faster_is_taken_to_grow_linearly():
    ladder = Ladder()
    for n, seconds in ((10, 5.0), (20, 2.0)):
        ladder.climb("f", n, seconds)
    assert ladder.expected("f", 40) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("sizes", "seconds"),
    [
        ([2**k for k in range(4, 17)], lambda n: 1e-4 * n),
        ([2**k for k in range(4, 17)], lambda n: 1e-6 * n * n),
        ([*range(4, 16), *(2**k for k in range(4, 17))], lambda n: 1e-6 * 2.0**n),
        (range(4, 60, 2), lambda n: 1e-6 * 2.0**n),
    ],
)
def test_no_call_is_much_longer_than_the_limit(sizes, seconds):
    limit = 0.1
    made = climb(sizes, seconds, limit)
    assert seconds(made[-1]) < 1.5 * limit
    left_out = [n for n in sizes if n not in made]
    assert left_out == [n for n in sizes if n > made[-1]]
    assert seconds(left_out[0]) > limit
