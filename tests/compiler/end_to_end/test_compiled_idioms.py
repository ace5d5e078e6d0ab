"""Programs that are made of idioms: every idiom occurs, the tape is right, and so are compiled gradients."""

import dataclasses

import pytest
from fuzzing.running import Discarded, eager
from fuzzing.variants import check, numbered
from programs.generators.idioms import program
from programs.generators.idioms_numba import NUMBA_IDIOMS
from programs.generators.idioms_table import HELPERS, IDIOMS


def test_every_idiom_occurs_and_fills_its_holes():
    made = [program(k) for k in range(400)]
    assert {name for of in made for name in of.constructs} >= {idiom.name for idiom in IDIOMS}
    assert all(any(f"def {name}(" in of.source for of in made) for name in HELPERS)
    assert not any("{" in of.source.replace("{0", "") or "new_new" in of.source for of in made)
    assert program(3) == program(3) != program(4)
    others = [program(k, numba=True) for k in range(400)]
    assert {name for of in others for name in of.constructs} >= {idiom.name for idiom in NUMBA_IDIOMS}
    assert not any("{" in of.source.replace("{0", "") or "new_new" in of.source for of in others)


def test_the_tape_agrees_with_differences():
    discarded = 0
    for k in range(60):
        try:
            eager(program(k))
        except Discarded:
            discarded += 1
    assert discarded < 6


def test_the_campaign_makes_them():
    made = [numbered("turns", k, 6, ["plain", "special", "raise"], "idioms") for k in range(6)]
    assert [of.variant for of in made] == ["plain", "special", "raise"] * 2
    assert made[0].constructs.keys() <= {idiom.name for idiom in IDIOMS} | {"for", "if"}


@pytest.mark.parametrize("number", [2, 11, 19])
def test_some_are_right_in_core(number):
    check(dataclasses.replace(program(number, 8), variant="core"))


def test_one_is_right():
    check(program(5, 5))
