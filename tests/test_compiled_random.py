"""Random numba programs: the compiled gradient, the eager tape and differences agree."""

import argparse
import dataclasses
import os

import pytest
from compiled.campaign import campaign, summary
from compiled.generator import Program, program, programs
from compiled.reducing import read, reduce, save
from compiled.running import Discarded, Failed, eager, plain
from compiled.variants import check, of_order
from hypothesis import HealthCheck, Phase, assume, given, settings
from numba import njit
from numba.core.dispatcher import Dispatcher

import dualrev as dr


@njit
def _square(x):
    return x * x


COMPILER = isinstance(dr.grad(_square), Dispatcher)
compiled = pytest.mark.skipif(not COMPILER, reason="dualrev does not compile gradients of numba functions yet")
few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
fewer = settings(few, max_examples=6, phases=[Phase.generate])  # the campaign makes smaller what fails, in less time

SMALL = Program(
    """import math
import numpy as np
from numba import njit

@njit
def h1(a, x):
    a[0] = a[0] * x
    return a[0]

@njit
def f(x, a, k):
    unused = math.sin(x)
    for i in range(k):
        if x > 10.0:
            unused += 1.0
        x = math.tanh(x + a[i % len(a)])
    return h1(a, x) + np.sum(a)
""",
    ("0.4321", "np.array([0.3, -0.71])", "3"),
)


def off_by(factor):
    """A value_and_grad whose gradients are wrong by this factor; it leaves the arguments as f does."""

    def value_and_grad(f, argnums):
        def both(*xs):
            _, (x, a) = dr.value_and_grad(plain(SMALL.source, dr.math, dr.numpy), argnums)(*xs)
            return f(*xs), (factor * x, a)

        return both

    return value_and_grad


@few
@given(programs())
def test_the_tape_s_gradient_of_a_random_program_is_that_of_differences(of):
    try:
        eager(of)
    except Discarded:
        assume(False)


@compiled
@fewer
@given(programs())
def test_compiled_gradient_of_a_random_program_is_the_tape_s(of):
    try:
        check(of)
    except (Discarded, dr.errors.UnsupportedError):
        assume(False)


@compiled
@pytest.mark.slow
@pytest.mark.parametrize(("order", "share"), [(1, 1.0), (2, 0.2)])
def test_compiled_derivatives_of_many_random_programs(tmp_path, order, share):
    """DUALREV_PROGRAMS of them, or 300; fewer of those that take longer to compile."""
    programs = round(share * int(os.environ.get("DUALREV_PROGRAMS", "300")))
    options = argparse.Namespace(programs=programs, seconds=0.0, seed="test", size=12, variants=of_order(order))
    vars(options).update(save=tmp_path, jobs=os.cpu_count() or 1, shard=50, reduce=60.0, eager=False)
    results = campaign(options)
    assert not [result for result in results if result["status"] == "failed"], summary(results, options)
    assert sum(result["status"] == "refused" for result in results) <= len(results) // 50, summary(results, options)


# The check itself


def test_check_finds_a_gradient_that_is_wrong_and_nothing_where_it_is_right():
    check(SMALL, off_by(1.0))
    with pytest.raises(Failed, match=r"gradient, first call"):
        check(SMALL, off_by(1.0 + 1e-7))


def test_check_finds_arguments_that_are_not_left_as_f_leaves_them():
    def value_and_grad(f, argnums):
        def both(x, a, k):
            found = off_by(1.0)(f, argnums)(x, a, k)
            a[1] += 1e-9
            return found

        return both

    with pytest.raises(Failed, match=r"arguments, first call"):
        check(SMALL, value_and_grad)


def test_check_finds_an_error():
    def value_and_grad(f, argnums):
        raise IndexError("inside")

    with pytest.raises(Failed, match=r"IndexError at test_compiled_random.py line \d+: inside"):
        check(SMALL, value_and_grad)


def test_a_saved_program_is_read_again(tmp_path):
    for of in (SMALL, dataclasses.replace(SMALL, variant="special", forward=True)):
        save(of, tmp_path / "0.py", "two\nlines")
        again = read(tmp_path / "0.py")
        assert (again.source.split(), again.arguments) == (SMALL.source.split(), SMALL.arguments)
        assert (again.variant, again.forward) == (of.variant, of.forward)


def test_reduce_keeps_what_makes_a_program_fail():
    def fails(of):
        try:
            eager(of)
        except Exception:
            return False
        return "np.sum(a)" in of.source and "x > 10.0" in of.source

    _, _, text = reduce(SMALL, fails).source.partition("@njit\n")
    assert text.split("\n") == ["def f(x, a, k):", "    if x > 10.0:", "        pass", "    return np.sum(a)", ""]


def test_a_seed_is_a_program():
    assert program("0-1") == program("0-1") != program("0-2")


@pytest.mark.slow
def test_hypothesis_finds_a_small_program():
    """One that shrinks: the first with a loop around a write into an array."""
    found = []

    @settings(few, max_examples=300, phases=[Phase.generate, Phase.shrink], database=None)
    @given(programs())
    def search(of):
        own = of.source.rpartition("@njit")[2]
        if "for " in own and "[0] = " in own:
            found.append(of)
            raise AssertionError

    with pytest.raises(AssertionError):
        search()
    assert len(found[-1].source.rpartition("@njit")[2].split("\n")) <= 14
