"""Random numba programs: the compiled gradient, the eager tape and differences agree."""

import argparse
import dataclasses
import os
from collections import Counter

import numpy as np
import pytest
from fuzzing.agreeing import Engine
from fuzzing.campaign import campaign, summary
from fuzzing.differences import by_differences
from fuzzing.leaves import covector, numbers, tangent, with_numbers
from fuzzing.reducing import read, reduce, save
from fuzzing.running import Discarded, Failed, eager, load, plain
from fuzzing.variants import check, of_order
from hypothesis import HealthCheck, Phase, assume, given, settings
from numba import njit
from numba.core.dispatcher import Dispatcher
from programs.generators.generator import Program, program, programs
from programs.generators.language import COMMON, Pair
from programs.generators.language_numba import NUMBA
from programs.generators.things import bodies

import dualrev as dr


@njit
def _square(x):
    return x * x


COMPILER = isinstance(dr.grad(_square), Dispatcher)
compiled = pytest.mark.skipif(not COMPILER, reason="dualrev does not compile gradients of numba functions yet")
few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
fewer = settings(few, max_examples=8, phases=[Phase.generate])  # the campaign makes smaller what fails, in less time
fewest = settings(fewer, max_examples=3)  # numba compiles each for five seconds

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
def test_the_gradient_in_core_of_a_random_program_is_the_tape_s(of):
    """Both sweeps, run by the evaluator."""
    try:
        check(dataclasses.replace(of, variant="core"))
    except (Discarded, dr.errors.UnsupportedError):
        assume(False)


@compiled
@fewest
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
    assert program("0-1", numba=True) == program("0-1", numba=True) != program("0-1")


@pytest.mark.slow
def test_every_template_occurs():
    """Nearly all of them within 200 programs of each language; none is misspelt, such that nothing would fill it."""
    made = Counter(name for k in range(200) for numba in (False, True) for name in program(k, 12, numba).constructs)
    every = {t for language in (COMMON, *NUMBA) for templates in language.templates.values() for t in templates}
    never = {t for t in every if t not in made}
    assert len(never) <= len(every) // 20, never


# What the tape has not

MIXED = Program(
    """import numpy as np
from numba import njit

@njit
def f(z, a, k):
    a[1:] += a[:-1]
    return abs(z) ** 2 * a[1] + z.imag * a[k]
""",
    ("complex(0.3, -0.7)", "np.array([0.4, 0.9])", "1"),
    variant="numba",
    forward=True,
)


def test_differences_find_what_is_wrong(tmp_path):
    """Differences find errors in a gradient, in a tangent and in the final arguments, and none in right derivatives."""
    f = load(MIXED.source, str(tmp_path)).f
    derivative = dr.value_and_grad(f, (0, 1))

    def with_engine(z=0.0, a=1.0, left=0.0, tangent=0.0):
        def both(*xs):
            y, (by_z, by_a) = derivative(*xs)
            xs[1][0] += left
            return y, (by_z + z, by_a * a)

        def jvp(f, xs, ts):
            y, slope = dr.jvp(f, xs, ts)
            return y, slope + tangent

        by_differences(MIXED, f, Engine(lambda f, argnums: both, jvp))

    with_engine()
    for wrong in ({"z": 1e-3}, {"z": 1e-3j}, {"a": 1.001}):
        with pytest.raises(Failed, match=r"^differences"):
            with_engine(**wrong)
    with pytest.raises(Failed, match=r"^arguments, first call"):
        with_engine(left=1e-9)
    with pytest.raises(Failed, match=r"^tangent"):
        with_engine(tangent=1e-6)


def test_where_numba_differs_from_numpy_differences_say_what_is_right():
    """In `a -= a[::-1]` numba reads what it has written."""
    source = SMALL.source.partition("@njit")[0] + "@njit\ndef f(a):\n    a -= a[::-1]\n    return a[0] * a[2]\n"
    of = Program(source, ("np.array([0.4, 0.9, 0.2])",))

    def value_and_grad(f, argnums):
        return lambda a: (f(a), (np.array([0.8, 0.0, -1.2]),))  # a[0] is 0.4 - 0.2, and a[2] is 0.2 - 0.2

    with pytest.raises(Failed, match=r"^differences"):
        check(of, value_and_grad)


def test_numbers_of_objects():
    """There and back: of records, complex numbers, tuples; a gradient's imaginary parts have the other sign."""
    x = (bodies([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), np.array([1.0 + 2.0j]), 3, Pair(0.7, np.array([0.8]), 2))
    found = numbers(x)
    assert found == [0.1, 0.4, 0.2, 0.3, 0.5, 0.6, 1.0, 2.0, 0.7, 0.8]
    again = with_numbers(x, iter([2.0 * u for u in found]))
    assert numbers(again) == [2.0 * u for u in found]
    assert again[0]["k"].tolist() == [0, 1]
    assert covector(x[1]) == [1.0, -2.0]
    assert tangent(x, iter(found))[2] is None


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
