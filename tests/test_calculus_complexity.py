"""Section 4.1's criterion: cost (snd (Wrap[P] x) dy) <= c (cost (P x) + size x), by the evaluator's counts."""

import math

import pytest

from stages.calculus import TRANSFORMATIONS, evaluate
from stages.calculus.complexity import FAMILIES, measure, size
from stages.calculus.errors import StepLimit
from stages.calculus.values import Made

REVERSE = [name for name in TRANSFORMATIONS if name != "forward"]


def ratio(family, name, n, limit=5e6):
    program, x = FAMILIES[family].make(n)
    return measure(TRANSFORMATIONS[name], program, x, 1.0, limit)


@pytest.mark.parametrize("family", FAMILIES)
def test_d4_keeps_the_criterion(family):
    """The ratio stays where it is when the size grows sixteenfold."""
    small, large = (ratio(family, "D4", n).ratio for n in (16, 256))
    assert large < 1.05 * small
    assert large < 40


@pytest.mark.parametrize("family", FAMILIES)
def test_sparse_maps_keep_it_up_to_a_logarithm(family):
    found = [ratio(family, "sparse", n) for n in (16, 64, 256)]
    per_logarithm = [m.ratio / math.log2(m.primal + m.size) for m in found]
    assert per_logarithm == sorted(per_logarithm, reverse=True)


@pytest.mark.parametrize(("family", "name"), [(f, name) for f in ("wide", "deep") for name in ("D1", "D2", "D3")])
def test_the_others_break_it_where_the_paper_says(family, name):
    """The ratio grows with the size: at least by half for twice of it, where the family breaks the transformation."""
    small, large = (ratio(family, name, n).ratio for n in (64, 128))
    if name in FAMILIES[family].broken:
        growth = [ratio(family, name, n).ratio for n in (32, 64, 128)]
        assert growth[2] - growth[1] > 1.5 * (growth[1] - growth[0])
    else:
        assert large < 1.15 * small


def test_d1_takes_twice_as_long_for_each_doubling():
    costs = [ratio("doublings", "D1", n).gradient for n in (8, 9, 10)]
    assert 1.8 < (costs[2] - costs[1]) / (costs[1] - costs[0]) < 2.2
    with pytest.raises(StepLimit):
        ratio("doublings", "D1", 40, limit=1e5)


@pytest.mark.parametrize("name", ["D2", "D3", "sparse", "D4"])
def test_the_others_are_linear_in_doublings(name):
    assert ratio("doublings", name, 256).ratio < 1.05 * ratio("doublings", name, 16).ratio


@pytest.mark.parametrize("family", FAMILIES)
def test_the_families_compute_what_they_say(family):
    program, x = FAMILIES[family].make(9)
    found = evaluate(program, x)
    squares = sum((0.1 * (k % 7 + 1)) ** 2 for k in range(9))
    assert found == pytest.approx(1e-3 * 2**9 if family == "doublings" else squares)


def test_size_counts_constructors_pairs_and_scalars():
    assert size((1.0, ((), 2))) == 5
    assert size(Made("Cons", (1.0, Made("Nil", ())))) == 3
