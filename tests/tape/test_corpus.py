"""The corpus of real programs, through the public API: compared with differences to order 2, in both modes."""

import math

import pytest
from programs.corpus import CASES
from support.oracle import assert_same, check_order_2, check_vjp, direction, flat, inner, widen

import dualrev as dr

pytestmark = pytest.mark.usefixtures("checked")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_the_corpus_is_large():
    assert len(CASES) >= 150
    assert len({case.name for case in CASES}) == len(CASES)


@every_case
def test_the_derivative_is_that_of_differences(case):
    check_vjp(dr.vjp, case.function, *case.primals)


@every_case
def test_the_second_derivative_is_that_of_differences(case):
    check_order_2(dr.vjp, case.function, *case.primals, rtol=1e-7)


@every_case
def test_forward_mode_is_the_transpose_of_reverse_mode(case):
    """<ct, jvp(v)> = <vjp(ct), v>, and jvp's value is vjp's"""
    y, pullback = dr.vjp(case.function, *case.primals)
    v = direction(case.primals)
    same, dy = dr.jvp(case.function, case.primals, v)
    assert_same(same, y)
    ct = direction(y, seed=1)
    terms = [c * d for c, d in zip(flat(ct), flat(dy), strict=True)]
    mirror = [c * d for c, d in zip(flat(pullback(ct)), flat(v), strict=True)]
    assert_same(math.fsum(terms), math.fsum(mirror), rtol=1e-9, floor=1e-12 * max(map(abs, [*terms, *mirror])))


@every_case
def test_modes_nest_in_one_another(case):
    """The second derivative along v is the same forward in forward, reverse in forward and forward in reverse."""
    v = direction(case.primals)
    ct = direction(case.function(*widen(case.primals)), seed=1)

    def value(*xs):
        return inner(ct, case.function(*xs))

    def slope(*xs):
        return dr.jvp(value, xs, v)[1]

    def gradient(*xs):
        return dr.vjp(value, *xs)[1](1.0)

    xs = widen(case.primals)
    first, forward = dr.jvp(slope, xs, v)
    forward_of_reverse = [w * d for w, d in zip(flat(v), flat(dr.jvp(gradient, xs, v)[1]), strict=True)]
    reverse_of_forward = [w * d for w, d in zip(flat(v), flat(dr.vjp(slope, *xs)[1](1.0)), strict=True)]
    size = max(map(abs, [*forward_of_reverse, *reverse_of_forward]), default=0.0)
    assert_same(first, math.fsum(w * d for w, d in zip(flat(v), flat(gradient(*xs)), strict=True)), floor=1e-9)
    assert_same(forward, math.fsum(forward_of_reverse), rtol=1e-8, floor=1e-11 * size)
    assert_same(forward, math.fsum(reverse_of_forward), rtol=1e-8, floor=1e-11 * size)
