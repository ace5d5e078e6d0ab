"""bench/calls.py: the table has all programs, and the hand-written derivatives are right. No time is asserted."""

import copy

import pytest
from support.oracle import assert_same

import dualrev as dr
from bench import calls
from bench.programs.call_programs import PROGRAMS


@pytest.mark.slow
def test_the_table_has_all_programs(capsys):
    assert calls.main(["--turns", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize("p", PROGRAMS, ids=lambda p: p.name)
def test_what_is_written_by_hand_is_right(p):
    found = dr.value_and_grad(p.f, **p.options)(*copy.deepcopy(p.args), **p.by_name)
    by_hand = p.by_hand(*copy.deepcopy(p.args), **p.by_name)
    if p.name == "records":
        found, by_hand = ((y, gradient.tolist()) for y, gradient in (found, by_hand))
    assert_same(found, by_hand, rtol=1e-14)
