"""Claims of the paper about other methods, executed: linear factoring (3.4), ids from addresses (12.2), and space."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stages import STAGES, count
from stages.comparison.space import kept, reachable
from stages.programs import PROGRAMS
from stages.relatives import addresses, factored

SECTION_4 = PROGRAMS["section4"]


def doublings(n):
    def f(x):
        for _ in range(n):
            x = x + x
        return x

    return f


# ---- factored --------------------------------------------------------------------------------------------------------


def test_section_4s_example_is_reduced_as_it_stands_there():
    assert factored.reduction(SECTION_4.function, 1.0) == [
        "f4 1",
        "f2 1 + f3 2",
        "f2 1 + f2 8 + f1 10",
        "f2 9 + f1 10",
        "f1 10 + f1 18 + f1 27",
        "f1 55",
    ]


@pytest.mark.parametrize("name", ["doublings", "section4", "dot", "rotate"])
def test_every_function_is_unfolded_as_often_as_staged_calls_it(name):
    """Once; those of the input are called, too, and are no lets: a let that is not called is not unfolded."""
    program = PROGRAMS[name]
    primals = program.make(3, 0)
    calls = {stage: count(stage, program.function, *primals).calls for stage in ("factored", "staged")}
    inputs = calls["staged"] - calls["factored"]
    assert calls["factored"] > 0
    assert 0 < inputs <= count("tape", program.function, *primals).created


def test_what_the_result_does_not_need_is_not_unfolded():
    def f(x):
        for _ in range(50):
            x * x  # thrown away
        return x + x

    assert factored.reduction(f, 3.0) == ["f52 1", "f1 1 + f1 1", "f1 2"]
    assert count("factored", f, 3.0).calls == 1
    assert kept("factored", f, 3.0) > 50


def test_whole_cotangents_stay_a_cost_that_depends_on_the_input():
    """The paper's note 3: of n inputs two are used."""
    two = [count("factored", lambda xs: xs[0] * xs[1], [1.0] * n) for n in (10, 1000)]
    assert two[0].calls == two[1].calls == 1
    assert two[1].scalars > 50 * two[0].scalars


# ---- addresses -------------------------------------------------------------------------------------------------------


def shuffled(x):
    """A chain of squares; some of them get the memory of freed objects."""
    gone = [x * 1.0 for _ in range(50)]
    while gone:
        gone.pop(0)  # what is freed first is given out last
    for _ in range(20):
        x = x * x
    return x


def test_memory_is_given_out_again_so_that_addresses_are_no_order(monkeypatch):
    plain = addresses.order

    def by_address(us):
        return sorted(plain(us), key=id)

    _, pullback = addresses.vjp(shuffled, 1.0)
    assert pullback(1.0) == (2.0**20,)
    monkeypatch.setattr(addresses, "order", by_address)
    with pytest.raises(KeyError):  # a square of which nobody has said how it was used
        pullback(1.0)


def test_what_the_result_does_not_need_is_not_kept():
    def f(x, n):
        for _ in range(n):
            x * x  # thrown away
        return x + x

    assert kept("addresses", f, 3.0, 1000) == kept("addresses", f, 3.0, 1)
    assert kept("tape", f, 3.0, 1000) > kept("tape", f, 3.0, 1) + 1000


def test_the_search_for_the_order_visits_every_contribution():
    counts = count("addresses", doublings(10), 1.0)
    assert counts.created == 11
    assert counts.calls == 11 + (1 + 2 * 10)  # called, and visited on the way there: by the output, and twice by each
    assert counts.map_steps > 0 == counts.array_writes


# ---- both ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [addresses, factored], ids=["addresses", "factored"])
class TestBoth:
    def test_the_pullback_can_be_called_again(self, stage):
        _, pullback = stage.vjp(lambda x, y: (x * y, x), 3.0, 2.0)
        assert [pullback((1.0, 0.0)), pullback((0.0, 1.0)), pullback((1.0, 0.0))] == [
            (2.0, 3.0),
            (1.0, 0.0),
            (2.0, 3.0),
        ]

    def test_an_infinite_partial_of_what_is_not_used_is_no_nan(self, stage):
        def f(x, y):
            np.sqrt(x)
            return y * y

        assert stage.vjp(f, 0.0, 3.0)[1](1.0) == (0.0, 6.0)

    def test_nested_derivatives(self, stage):
        def slope(x):
            return stage.vjp(lambda y: y * y * y * x, x)[1](1.0)[0]

        assert stage.vjp(slope, 2.0)[1](1.0) == (9.0 * 2.0**2,)  # 3 x^3 has the derivative 9 x^2

    def test_a_chain_of_any_length(self, stage):
        def f(x):
            for _ in range(20_000):
                x = x + 1e-9 * x
            return x

        y, pullback = stage.vjp(f, 1.0)
        assert math.isclose(pullback(1.0)[0], y, rel_tol=1e-12)


# ---- space -----------------------------------------------------------------------------------------------------------


def test_words_of_values():
    shared = (1.0, 2.0)
    assert reachable(shared) == 3
    assert reachable((shared, shared)) == 3 + 3
    assert reachable([shared, {1: shared}]) == 3 + 3 + 3
    assert reachable(np.zeros(10)) == 11
    assert reachable(lambda: shared) == 2 + 3
    assert reachable(lambda: shared, shared) == 2
    assert reachable(1.0) == reachable("text") == 0


@pytest.mark.parametrize("name", [*STAGES, "factored", "addresses"])
def test_space_is_in_proportion_to_the_program(name):
    """The bound of section 7: the input's scalars and the operations that were done."""
    small, twice, large = (kept(name, doublings(n), 1.0) for n in (50, 100, 200))
    assert (large - twice) == 2 * (twice - small) > 0
