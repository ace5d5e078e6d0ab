"""Compiling to categories: the laws, the modes, the counts, and the differentiable curry."""

from __future__ import annotations

import doctest
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from programs.corpus import CASES
from support.oracle import assert_same, direction

from dualrev.errors import UnsupportedError
from dualrev.math import cos, exp, sin
from stages import STAGES, LimitReached, count
from stages.comparison import measure
from stages.programs import PROGRAMS
from stages.relatives import elliott, tagged_forward
from stages.relatives.elliott import environment, vjp
from stages.relatives.elliott.categories import Cont, D, Dual, interpret
from stages.relatives.elliott.curry import App, Calls, Captured, Lam, Prim, Var, gradient
from stages.relatives.elliott.linear import Functions, Linear, plus
from stages.relatives.elliott.terms import EXL, EXR, ID, Compose, Const, Curry, Fork, compiled, size
from stages.relatives.recording import record

PAGE = Path(__file__).parents[2] / "docs" / "relatives.md"
tape = STAGES["arrays"].vjp  # D4

#: Functions of two numbers, and of their result one number.
FUNCTIONS = {
    "a product and a sum": lambda x, y: sin(x) * y + x,
    "quotients and powers": lambda x, y: x / y + x**y + 2.0**x,
    "an argument that is not used": lambda x, y: y * y,
    "a constant": lambda x, y: 5.0,
    "an input": lambda x, y: x,
    "shared": lambda x, y: exp(x * y) * exp(x * y) + cos(x * y),
    "an infinite partial that is not used": lambda x, y: (np.sqrt(x - 0.7), y)[1],
}
every = pytest.mark.parametrize("what", FUNCTIONS)


def program(f, *xs):
    return compiled(record(f, xs))


def doublings(n):
    def f(x):
        for _ in range(n):
            x = x + x
        return x

    return f


# ---- the categories --------------------------------------------------------------------------------------------------


@every
def test_all_categories_agree(what):
    f, xs = FUNCTIONS[what], (0.7, 1.3)
    term, env = program(f, *xs), environment(xs)
    y, (left, right) = f(*xs), tape(f, *xs)[1](1.0)
    assert interpret(term, Functions())(env) == y
    for dx, dy in ((1.0, 0.0), (0.0, 1.0), (0.3, -2.0)):
        expected = pytest.approx(left * dx + right * dy, rel=1e-13, abs=1e-15)
        moved = (((), dx), dy)
        value, forward = interpret(term, D(Linear()))(env)
        assert (value, forward(moved) or 0.0) == (y, expected)
        assert (forward(moved) or 0.0) == pytest.approx(tagged_forward.jvp(f, xs, (dx, dy))[1], rel=1e-13)
        value, continued = interpret(term, D(Cont(Linear())))(env)
        assert (value, continued(lambda z: z)(moved) or 0.0) == (y, expected)
    assert vjp(f, *xs)[1](1.0) == pytest.approx((left, right), rel=1e-13)


@pytest.mark.parametrize("k", [Linear(), Dual(Linear()), Dual(Dual(Linear()))], ids=["linear", "dual", "dual of dual"])
def test_the_laws_of_the_categories(k):
    """Identity, associativity, and what a fork and a join are, on the maps of a pair; D keeps them: it is a functor."""
    f, g = k.fork(k.scale(2.0), k.scale(3.0)), k.join(k.scale(5.0), k.scale(7.0))
    exl, exr, inl, inr = map(k.basic, ("exl", "exr", "inl", "inr"))
    one = 1.0
    same = [
        (k.compose(f, k.basic("id")), f, one, (one, one)),
        (k.compose(k.basic("id"), f), f, one, (one, one)),
        (k.compose(g, k.compose(f, k.scale(4.0))), k.compose(k.compose(g, f), k.scale(4.0)), one, one),
        (k.compose(exl, f), k.scale(2.0), one, one),
        (k.compose(exr, f), k.scale(3.0), one, one),
        (k.compose(g, inl), k.scale(5.0), one, one),
        (k.compose(g, inr), k.scale(7.0), one, one),
        (k.compose(g, f), k.scale(2.0 * 5.0 + 3.0 * 7.0), one, one),
    ]
    for first, second, z, other in same:
        z = other if isinstance(k, Dual) and not isinstance(k.k, Dual) else z
        assert first(z) == second(z)
    x = ((), 0.7)
    s = program(lambda x: sin(x) * x, 0.7)
    for left, right in (
        (Compose((EXL, Fork(s, s))), s),
        (Compose((s, ID)), s),
        (Compose((EXR, Fork(Const(1.0), s))), s),
    ):
        (y, d), (same_y, same_d) = interpret(left, D(k))(x), interpret(right, D(k))(x)
        at = 1.0 if isinstance(k, Dual) and not isinstance(k.k, Dual) else ((), 1.0)
        assert (y, d(at)) == (same_y, same_d(at))


def test_zero_is_not_added():
    assert plus(None, (1.0, None)) == (1.0, None)
    assert plus(((), 1.0), ((), 2.0)) == ((), 3.0)
    assert plus(((None, 1.0), None), ((2.0, None), 3.0)) == ((2.0, 1.0), 3.0)


def test_without_curry_there_are_no_functions():
    with pytest.raises(AttributeError, match="curry"):
        interpret(Curry(EXR), D(Dual(Linear())))


# ---- vjp -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name)
def test_reverse_mode_by_the_dual_is_that_of_d4(case):
    """All of the corpus is compared with `tape` in test_relatives.py."""
    try:
        y, pullback = tape(case.function, *case.primals)
    except UnsupportedError:
        pytest.skip("the stages do not take it")
    same, again = vjp(case.function, *case.primals)
    ct = direction(y, seed=1)
    assert_same(same, y)
    assert_same(again(ct), pullback(ct), rtol=1e-11, floor=1e-12)


def test_second_derivatives_by_itself_and_with_stages():
    def slope(inner):
        return lambda x: inner(lambda y: sin(y) * y * y * x, x)[1](1.0)[0]

    x = 0.7
    expected = tape(slope(tape), x)[1](1.0)[0]
    for outer, inner in ((vjp, vjp), (tape, vjp), (vjp, tape), (tagged_forward.vjp, vjp)):
        assert outer(slope(inner), x)[1](1.0)[0] == pytest.approx(expected, rel=1e-13)


def test_the_pullback_can_be_called_again():
    _, pullback = vjp(lambda x, y: (x * y, x), 3.0, 2.0)
    assert [pullback((1.0, 0.0)), pullback((0.0, 1.0)), pullback((1.0, 0.0))] == [(2.0, 3.0), (1.0, 0.0), (2.0, 3.0)]


def test_a_chain_of_any_length():
    def f(x):
        for _ in range(3_000):
            x = x + 1e-9 * x
        return x

    y, pullback = vjp(f, 1.0)
    assert math.isclose(pullback(1.0)[0], y, rel_tol=1e-12)


# ---- counts ----------------------------------------------------------------------------------------------------------


def applied(k, n):
    """The basic linear maps that the derivative of n doublings applies."""
    steps = []
    linear = Linear(lambda: steps.append(None))
    y, d = interpret(program(doublings(n), 1.0), D(k(linear)))(((), 1.0))
    result = d(lambda z: z)(((), 1.0)) if k is Cont else d(1.0)[1]
    assert result == y == 2.0**n
    return len(steps)


def test_the_dual_shares_and_continuations_do_not():
    assert [applied(Dual, n + 1) - applied(Dual, n) for n in (5, 10)] == [applied(Dual, 6) - applied(Dual, 5)] * 2
    assert all(applied(Cont, n + 1) > 1.9 * applied(Cont, n) for n in (5, 7))


def test_a_variable_costs_its_distance():
    counts = [count("elliott", lambda xs: xs[0] * xs[-1], [1.0] * n) for n in (10, 20, 30)]
    assert {b.created - a.created for a, b in itertools.pairwise(counts)} == {10}
    assert size(program(doublings(20), 1.0)) - size(program(doublings(19), 1.0)) == 6  # id, fork, add, fork, exr, exr


@pytest.mark.parametrize("family", measure.FAMILIES, ids=lambda family: family.program)
def test_the_growth_on_the_page_at_sizes_that_are_no_longer_cut_off(family):
    sizes = (50, 100, 200) if family.program == "deep" else (100, 200, 400)
    work = [count("elliott", *_made(family.program, n)).work for n in sizes]
    power = 1.0 if family.program == "doublings" else 2.0
    assert math.log2(work[2] / work[1]) == pytest.approx(power, abs=0.1)
    assert math.log2(work[1] / work[0]) == pytest.approx(power, abs=0.15)


def _made(name, n):
    return (PROGRAMS[name].function, *PROGRAMS[name].make(n, 0))


# ---- the differentiable curry ----------------------------------------------------------------------------------------


def mul(x, y):
    return Prim("mul", (x, y))


TWICE = Lam(Lam(App(Var(1), App(Var(1), Var(0)))))
#: Terms in Var(0), and the same functions in Python.
HIGHER = {
    "a function that captures": (App(Lam(mul(Var(0), Var(1))), Var(0)), lambda x: x * x),
    "twice": (App(App(TWICE, Lam(mul(Var(0), Var(1)))), Var(0)), lambda x: x * x * x),
    "twice twice": (App(App(App(TWICE, TWICE), Lam(mul(Var(0), Var(1)))), Var(0)), lambda x: x * x * x * x * x),
    "a function as a result": (
        App(App(Lam(Lam(Prim("sin", (mul(Var(0), Var(1)),)))), Var(0)), mul(Var(0), Var(0))),
        lambda x: sin(x * x * x),
    ),
    "a function that is not called": (App(Lam(2.0), Lam(mul(Var(0), Var(1)))), lambda x: 2.0),
}


@pytest.mark.parametrize("category", [Calls, Captured])
@pytest.mark.parametrize("what", HIGHER)
def test_functions_as_values_have_the_derivative_of_d4(what, category):
    term, f = HIGHER[what]
    for x in (0.7, -1.2):
        y, pullback = tape(f, x)
        assert gradient(term, x, category()) == pytest.approx((y, pullback(1.0)[0]), rel=1e-13)
        slope, second = tape(lambda x: gradient(term, x, category())[1], x)
        expected, differentiated = tape(lambda x, f=f: tape(f, x)[1](1.0)[0], x)
        assert (slope, second(1.0)[0]) == pytest.approx((expected, differentiated(1.0)[0]), rel=1e-12, abs=1e-12)


def tower(n):
    r"""let f1 = \y. y x in let f2 = \y. f1 y in ... fn x: each captures the one before."""
    body = App(Var(0), Var(n))
    for _ in range(n - 1):
        body = App(Lam(body), Lam(App(Var(1), Var(0))))
    return App(Lam(body), Lam(mul(Var(0), Var(1))))


def test_calls_run_bodies_again_and_captured_environments_do_not():
    counts = {}
    for category in (Calls, Captured):
        for n in (4, 5, 9, 10):
            steps = []
            assert gradient(tower(n), 3.0, category(lambda s=steps: s.append(None))) == (9.0, 6.0)
            counts[category, n] = len(steps)
    assert counts[Calls, 10] > 1.8 * counts[Calls, 9]
    assert counts[Captured, 10] - counts[Captured, 9] <= 2 * (counts[Captured, 5] - counts[Captured, 4])


def test_the_examples_on_the_page_run():
    assert doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0


def test_a_program_above_the_limit_is_not_made(monkeypatch):
    """The path of a variable is as long as the program after it, so that a program can be too large to make."""

    def chain(x):
        y = x
        for _ in range(100):
            y = y * x
        return y

    made = count("elliott", chain, 1.0)
    assert made.created == size(compiled(record(chain, (1.0,))))
    monkeypatch.setattr(elliott, "compiled", lambda recording: pytest.fail("the program was made"))
    with pytest.raises(LimitReached, match="more than 1,000 steps"):
        count("elliott", chain, 1.0, limit=1000)
