"""Wang et al. 2019, section 3.1: reverse mode in continuation-passing style."""

import pytest
from support.oracle import assert_same
from test_relatives_wang import DIRECT, counted, derivative, gradient, mixed, running

from dualrev import math as dm
from stages import STAGES
from stages.comparison import counting
from stages.programs import PROGRAMS
from stages.relatives.continuations import cps
from stages.relatives.continuations.computation import ComputationError, call, fold, pure


def test_fig_7():
    f = lambda x: lambda k: (2.0 * x)(lambda y1: (x * x)(lambda y2: (y2 * x)(lambda y3: (y1 + y3)(k))))  # noqa: E731
    for x in (-1.5, 0.0, 3.0):
        assert gradient(cps, f, x) == (running(x), (2.0 + 3.0 * x * x,))


class NumR0:
    """Fig. 7 to the letter: k is called inside of the operation, on Python's stack."""

    def __init__(self, x):
        self.x, self.d = x, 0.0

    def __add__(self, that):
        def computation(k):
            y = NumR0(self.x + that.x)
            k(y)
            self.d += y.d
            that.d += y.d

        return computation


def test_fig_7_to_the_letter_nests_as_deep_as_the_program_is_long():
    def chain(x, n, k):
        return k(x) if n == 0 else (x + x)(lambda y: chain(y, n - 1, k))

    z = NumR0(1.0)
    chain(z, 100, lambda r: setattr(r, "d", 1.0))
    assert z.d == 2.0**100
    with pytest.raises(RecursionError):
        chain(z, 500, lambda r: setattr(r, "d", 1.0))


def test_a_chain_of_10_000_operations_in_continuation_passing_style():
    f = lambda x, y: fold(lambda x, _: lambda k: (dm.sin(x))(lambda s: (0.5 * y)(lambda h: (s + h)(k))), x, range(3400))  # noqa: E731
    assert_same(gradient(cps, f, 1.0, 0.25), gradient(STAGES["tape"], mixed, 1.0, 0.25), rtol=1e-12, floor=0.0)


def test_recursion_in_continuation_passing_style_at_any_depth():
    def power(x, n):  # x * (x * (... * x)): not a loop
        return pure(x) if n == 1 else lambda k: call(power, x, n - 1)(lambda y: (x * y)(k))

    assert gradient(cps, lambda x: power(x, 5), 2.0) == (32.0, (80.0,))
    assert gradient(cps, lambda x: power(x, 10_000), 1.0) == (1.0, (10_000.0,))


def test_the_order_of_fig_6_there_and_back():
    seen = []

    def noted(name, k):
        def went(y):
            seen.append(name)
            return k(y)

        return went

    f = lambda x: lambda k: (2.0 * x)(noted("y1", lambda y1: (x * x)(noted("y2", lambda y2: (y1 + y2)(k)))))  # noqa: E731
    module = counting.fresh(cps)
    module.visit, visit = lambda z, args, partials: seen.append(z.x) or visit(z, args, partials), module.visit
    _, pullback = module.vjp(f, 3.0)
    assert seen == ["y1", "y2"]
    assert pullback(1.0) == (8.0,)
    assert seen == ["y1", "y2", 15.0, 9.0, 6.0]  # back: y1 + y2, x * x, 2 * x


def cps_dot(xs, ys):
    def step(total, xy):
        x, y = xy
        return lambda k: (x * y)(lambda z: (total + z)(k))

    rest = zip(xs[1:], ys[1:], strict=True)
    return lambda k: (xs[0] * ys[0])(lambda z: fold(step, z, list(rest))(k))


def cps_loop(x, a, b, n):
    def step(x, _):
        if x > 0.0:
            return lambda k: (a * x)(lambda u: (u + b)(lambda v: dm.sin(v)(lambda s: (b - s)(lambda w: (a * w)(k)))))
        return lambda k: (a * x)(lambda u: (b - u)(lambda v: dm.sin(v)(lambda s: (a * s)(lambda w: (b + w)(k)))))

    return fold(step, x, range(n))


def cps_newton(m, e):
    def turn(x):
        def decide(step):
            return lambda k: (x - step)(lambda x: k(x) if -1e-9 <= step <= 1e-9 else call(turn, x)(k))

        return lambda k: dm.sin(x)(
            lambda s: (e * s)(
                lambda es: (x - es)(
                    lambda u: (u - m)(
                        lambda top: dm.cos(x)(
                            lambda c: (e * c)(
                                lambda ec: (1.0 - ec)(
                                    lambda below: (top / below)(lambda step: decide(step)(k)),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        )

    return turn(m)


@pytest.mark.parametrize(
    ("f", "name", "pick"),
    [
        (lambda x, y: lambda k: (x + y)(lambda z: (x * z)(k)), "fig1", lambda *p: p),
        (cps_dot, "dot", lambda *p: p),
        (cps_loop, "loop", lambda *p: p),
        (lambda ms, e: cps_newton(ms[0], e), "newton", lambda ms, e: (ms[:1], e)),
    ],
    ids=["fig1", "dot", "loop", "newton"],
)
def test_programs_in_continuation_passing_style(f, name, pick):
    primals = pick(*PROGRAMS[name].make(20, 0))
    direct = PROGRAMS[name].function if name != "newton" else lambda *p: PROGRAMS[name].function(*p)[0]
    y, pullback = cps.vjp(f, *primals)
    expected = gradient(STAGES["tape"], direct, *primals)
    assert_same((y, pullback(1.0)), expected, rtol=1e-12, floor=0.0)
    assert_same(pullback(1.0), expected[1], rtol=1e-12, floor=0.0)


def test_in_continuation_passing_style_outputs_are_structures_and_ints_are_discrete():
    y, pullback = cps.vjp(
        lambda xs, n: lambda k: (xs[0] * xs[1])(lambda z: k({"z": z, "n": n, "x": xs[0]})), [3.0, 2.0], 7
    )
    assert y == {"z": 6.0, "n": 7, "x": 3.0}
    assert pullback({"z": 1.0, "n": None, "x": 10.0}) == ([12.0, 3.0], None)
    assert pullback({"z": 0.0, "n": None, "x": 10.0}) == ([10.0, 0.0], None)


def test_calls_in_continuation_passing_style_are_linear():
    f = lambda x, n: fold(lambda x, _: x + x, x, range(n))  # noqa: E731
    for n in (1, 10, 100):
        counts = counted(cps, f, 1.0, n)
        assert (counts.created, counts.calls) == (n + 1, n)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x, "returned a Dual: write pure"),
        (lambda x: 2.0, "returned a float"),
        (lambda x: (x * x) * x, "is no number yet"),
        (lambda x: 1.0 + x * x, "is no number yet"),
        (lambda x: pure(1.0) if x * x else pure(x), "is no number yet"),
        (lambda x: pure(1.0) if x * x == 4.0 else pure(x), "is no number yet"),
        (lambda x: pure(1.0) if x < x * x else pure(x), "is no number yet"),
        (lambda x: (x * x)(lambda y: y * y), "returned a Bounce"),
        (lambda x: lambda k: (x * x)(lambda y: y), "a continuation returned a Dual"),
        (lambda x: lambda k: [(x * x)(k), (x + x)(k)][1], "more than once"),
        (lambda x: lambda k: (x * x)(lambda y: [k(y), k(y)][1]), "more than once"),
        (lambda x: lambda k: None, "a continuation returned a NoneType"),
    ],
)
def test_what_is_not_in_continuation_passing_style_is_refused(f, message):
    with pytest.raises(ComputationError, match=message):
        cps.vjp(f, 2.0)


def test_cps_inside_of_cps_is_refused():
    with pytest.raises(ComputationError):
        cps.vjp(lambda x: pure(cps.vjp(lambda y: x * y, 2.0)[1](1.0)[0]), 3.0)
    with pytest.raises(ComputationError):
        cps.vjp(lambda x: pure(cps.vjp(lambda y: y * y, x)[1](1.0)[0]), 3.0)
    with pytest.raises(ComputationError):
        cps.vjp(lambda x: pure(cps.vjp(lambda y: y * 3.0, 2.0)[1](x)[0]), 3.0)


@pytest.mark.parametrize("outer", [*DIRECT.values(), STAGES["tape"], STAGES["naive"]])
def test_cps_inside_of_others(outer):
    f = lambda x: lambda k: (2.0 * x)(lambda y1: (x * x)(lambda y2: (y2 * x)(lambda y3: (y1 + y3)(k))))  # noqa: E731
    assert gradient(outer, derivative(cps)(f), 5.0) == (77.0, (30.0,))
    assert derivative(outer)(lambda x: x * derivative(cps)(lambda y: x + y)(1.0))(1.0) == 1.0
