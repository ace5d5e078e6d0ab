"""Effect handlers by generators: deep handlers, reverse and forward mode, and what generators cannot do."""

from __future__ import annotations

import copy
import math

import pytest

from dualrev.eager.numbers.overload import linearize
from dualrev.math import cos as cosine
from dualrev.math import exp as exponential
from dualrev.math import log as logarithm
from dualrev.math import sin as sine
from dualrev.rules.primitives import PRIMITIVES as TABLE
from stages import STAGES
from stages.relatives.continuations import shift_reset
from stages.relatives.effects import Checkpoint, derivative, evaluate, grad, reverse, vjp
from stages.relatives.effects.handlers import HandlerError, Resume, handle, run
from stages.relatives.effects.operations import PARTIALS, add, answer, cos, div, exp, log, mul, neg, sin, sub

# ---- programs as generators, and the same in direct style ------------------------------------------------------------


def product(x, y):
    z = yield add(x, y)
    return (yield mul(x, z))


def every_operation(x, y):
    a = yield mul((yield sin(x)), (yield cos(y)))
    b = yield div((yield exp(a)), (yield log((yield add(y, 2.0)))))
    return (yield sub((yield neg(b)), (yield mul(x, (yield div(1.0, y))))))


def power(x, n):
    """x^n; a call of another generator, and a condition."""
    if n == 0:
        return 1.0
    return (yield mul(x, (yield from power(x, n - 1))))


def of_power(x, y):
    return (yield add((yield from power(x, 3)), (yield from power(y, 2))))


def unused(x, y):
    yield log((yield sub(x, 0.699999999)))
    yield div(1.0, x)
    return (yield mul(y, y))


def constant(x, y):
    return 5.0
    yield


def input_again(x, y):
    return y
    yield


PROGRAMS = {
    "product": (product, lambda x, y: x * (x + y)),
    "every operation": (
        every_operation,
        lambda x, y: -(exponential(sine(x) * cosine(y)) / logarithm(y + 2.0)) - x * (1.0 / y),
    ),
    "calls and conditions": (of_power, lambda x, y: x * (x * (x * 1.0)) + y * (y * 1.0)),
    "a result that is not used": (unused, lambda x, y: y * y),
    "a constant": (constant, lambda x, y: 5.0),
    "an input": (input_again, lambda x, y: y),
}
every = pytest.mark.parametrize("what", PROGRAMS)


@every
def test_value_and_gradient_are_those_of_d4_and_of_shift_and_reset(what):
    pytest.importorskip("greenlet")
    program, f = PROGRAMS[what]
    y, pullback = vjp(program, 0.7, 1.3)
    for stage in (STAGES["arrays"], shift_reset):
        same, again = stage.vjp(f, 0.7, 1.3)
        assert same == y
        for ct in (1.0, -2.5):
            assert pullback(ct) == pytest.approx(again(ct), rel=1e-14)


@every
def test_forward_mode_and_second_derivatives_in_all_combinations(what):
    program, f = PROGRAMS[what]
    tape = STAGES["tape"].vjp
    slope = lambda x: tape(f, x, 1.3)[1](1.0)[0]  # noqa: E731
    first, second = tape(slope, 0.7) if what not in ("a constant", "an input") else (0.0, lambda ct: (0.0,))
    assert evaluate(derivative(program)(0.7, 1.3)) == pytest.approx(first, rel=1e-14)
    expected = pytest.approx(second(1.0)[0], rel=1e-12, abs=1e-14)
    for outer in (grad, derivative):
        for inner in (grad, derivative):
            assert evaluate(outer(inner(program))(0.7, 1.3)) == expected
    assert tape(lambda x: evaluate(grad(program)(x, 1.3)) + 0.0 * x, 0.7)[1](1.0)[0] == expected


@pytest.mark.parametrize("name", PARTIALS)
def test_the_partial_derivatives_are_those_of_the_table(name):
    line = TABLE[name]
    xs = [0.7, 1.3][: len(line.partials)]
    y, partials = linearize(line, xs)
    assert run(PARTIALS[name](*xs, y), answer) == pytest.approx(tuple(partials), rel=1e-15)


def test_numbers_of_nested_derivatives_are_not_confused():
    def f(x):
        def g(y):
            return (yield mul(x, (yield add(x, y))))

        return (yield mul(x, (yield from derivative(g)(1.0))))

    assert evaluate(grad(f)(3.0)) == evaluate(derivative(f)(3.0)) == 6.0


def test_a_chain_of_any_length():
    def chain(x):
        for _ in range(10_000):
            x = yield add(x, (yield mul(1e-9, x)))
        return x

    y, pullback = vjp(chain, 1.0)
    assert math.isclose(pullback(1.0)[0], y, rel_tol=1e-12)


def effects(program):
    """How many operations a program performs."""
    performed = []
    run(program, lambda effect: performed.append(effect) or answer(effect))
    return len(performed)


def test_the_work_is_linear():
    def doublings(n):
        def f(x):
            for _ in range(n):
                x = yield add(x, x)
            return x

        return f

    counts = [effects(grad(doublings(n))(1.0)) for n in (10, 20, 100)]
    assert counts == [4 * 10, 4 * 20, 4 * 100]  # an addition; two products and an addition of cotangents


def test_a_checkpoint_runs_again_and_gives_the_same():
    runs = []

    def part(x, y):
        runs.append(x)
        return (yield sin((yield mul(x, y))))

    def f(x, y):
        z = yield Checkpoint(part, (x, y))
        return (yield mul(z, (yield Checkpoint(part, (z, y)))))

    def plain(x, y):
        z = yield from part(x, y)
        return (yield mul(z, (yield from part(z, y))))

    assert vjp(f, 0.7, 1.3)[1](1.0) == vjp(plain, 0.7, 1.3)[1](1.0)
    runs.clear()
    evaluate(reverse(f, (0.7, 1.3), 1.0))
    assert len(runs) == 4  # each once forward, and once more for its reverse step
    for outer in (grad, derivative):
        for inner in (grad, derivative):
            expected = evaluate(outer(inner(plain))(0.7, 1.3))
            assert evaluate(outer(inner(f))(0.7, 1.3)) == pytest.approx(expected, rel=1e-13)


# ---- handlers --------------------------------------------------------------------------------------------------------


def test_a_clause_that_never_resumes_gives_the_value():
    ended = []

    def program():
        try:
            yield "stop"
        finally:
            ended.append(True)

    def clause(effect):
        return effect
        yield

    assert run(handle(program(), clause), None) == "stop"
    assert ended == [True]


def test_an_error_of_an_operation_is_raised_at_its_line_and_can_be_caught():
    def f(x):
        try:
            return (yield div(1.0, (yield sub(x, x))))
        except ZeroDivisionError:
            return (yield mul(x, x))

    assert vjp(f, 3.0)[1](1.0) == (6.0,)
    assert evaluate(derivative(f)(3.0)) == 6.0

    def g(x):
        return (yield x)

    for way in (g, grad(g), derivative(g)):
        with pytest.raises(HandlerError, match="yield an operation, such as") as caught:
            evaluate(way(3.0))
        assert "return (yield x)" in [str(entry.statement).strip() for entry in caught.traceback]


def test_a_number_that_outlives_its_derivative_or_is_captured_by_a_checkpoint_is_an_error():
    kept = []

    def keep(x):
        kept.append(x)
        return x
        yield

    evaluate(grad(keep)(3.0))
    with pytest.raises(HandlerError, match="pass it as an argument"):
        evaluate(product(kept[0], 1.0))

    def captures(x):
        def part(y):
            return (yield mul(x, y))

        return (yield Checkpoint(part, (x,)))

    with pytest.raises(HandlerError, match="a Checkpoint captures"):
        evaluate(grad(captures)(3.0))


def test_a_function_in_direct_style_and_an_effect_without_a_handler_are_errors():
    with pytest.raises(HandlerError, match=r"the program is no generator, but 9.0: yield its operations"):
        vjp(lambda x: x * x, 3.0)
    with pytest.raises(HandlerError, match="no handler for the effect"):
        run(product(1.0, 2.0), None)


# ---- what generators cannot do ---------------------------------------------------------------------------------------


def test_a_clause_resumes_at_most_once():
    def flip():
        return (yield "flip")

    def both(effect):
        heads = yield Resume(True)
        tails = yield Resume(False)
        return heads, tails

    with pytest.raises(HandlerError, match="resumed a second time"):
        run(handle(flip(), both), None)
    program = flip()
    next(program)
    with pytest.raises(TypeError):
        copy.copy(program)


def test_a_function_between_an_operation_and_its_handler_has_to_be_a_generator():
    """Shift and reset by greenlets hold the whole stack, so that any function can call an operation."""
    pytest.importorskip("greenlet")

    def f(x, y):
        return sum(u * u for u in (x, y))

    def g(x, y):
        square = lambda u: (yield mul(u, u))  # noqa: E731
        return (yield add(*(square(u) for u in (x, y))))

    assert shift_reset.vjp(f, 3.0, 2.0)[1](1.0) == (6.0, 4.0)
    with pytest.raises(TypeError):
        vjp(g, 3.0, 2.0)
