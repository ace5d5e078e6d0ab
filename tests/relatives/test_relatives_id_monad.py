"""Smeding and Vákár 2023, Figs. 3 and 8: D2 in its id generation monad, compared with D4 and with the calculus."""

import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from dualrev.errors import OutputError
from stages import STAGES
from stages.calculus import TRANSFORMATIONS, Machine, check, parse_program
from stages.relatives.id_monad import MonadError, bind, ids, literal, pure, vjp


def turns(n, x):
    """n times 0.5 x y, where both literals are evaluated in each turn."""
    if n == 0:
        return pure(x)
    return bind(turns(n - 1, x), lambda y: bind(0.5 * y, lambda half: bind(literal(1.5), lambda c: c * half)))


def direct(n, x):
    for _ in range(n):
        x = 1.5 * (0.5 * x)
    return x


CASES = {
    "fig1": (lambda x, y: bind(x + y, lambda z: x * z), lambda x, y: x * (x + y), (3.0, 2.0)),
    "sharing": (
        lambda x: bind(x * x, lambda y: bind(dm.sin(y), lambda z: z * y)),
        lambda x: dm.sin(x * x) * (x * x),
        (0.7,),
    ),
    "literals": (lambda x: turns(4, x), lambda x: direct(4, x), (0.3,)),
    "nested data": (
        lambda p: bind(p["a"] * p["b"][0], lambda y: pure({"y": y, "x": p["a"], "n": 3})),
        lambda p: {"y": p["a"] * p["b"][0], "x": p["a"], "n": 3},
        ({"a": 2.0, "b": (3.0, 4.0)},),
    ),
    "a constant": (lambda x: pure((x, 2.0)), lambda x: (x, 2.0), (3.0,)),
    "a branch": (lambda x: x * x if x > 0.0 else pure(x), lambda x: x * x if x > 0.0 else x, (3.0,)),
}


@pytest.mark.parametrize(("monadic", "direct", "primals"), CASES.values(), ids=CASES)
def test_value_and_gradient_are_those_of_d4(monadic, direct, primals):
    y, pullback = vjp(monadic, *primals)
    expected, expected_pullback = STAGES["arrays"].vjp(direct, *primals)
    assert_same(y, expected, rtol=0.0, floor=0.0)
    ct = dr.tree.map(lambda v: 0.5 + v if isinstance(v, float) else None, y)
    found = pullback(ct)
    assert_same(found, expected_pullback(ct), rtol=1e-15, floor=0.0)
    assert_same(pullback(ct), found, rtol=0.0, floor=0.0)


def test_its_derivative_is_that_of_differences():
    f = lambda x: vjp(lambda y: bind(y * y, lambda z: bind(dm.exp(z), lambda e: e * y)), x)[1](1.0)[0]  # noqa: E731
    dr.check_grads(f, (0.6,), order=2)


@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_every_evaluation_of_a_literal_draws_an_id_as_in_the_calculus(n):
    """n turns: n literals 2.0, n products and, at the end, the literal 1.0."""
    text = r"letrec f : Int -> R = \(n : Int). if n <# 1 then 1.0 else 2.0 * f (n -# 1) in f " + str(n)
    program = parse_program(text)
    machine = Machine(TRANSFORMATIONS["D2"].of(program, check(program, "source")))
    (value, (last, _)), following = machine.apply(machine.value(), 0)

    def f(n):
        return literal(1.0) if n < 1 else bind(literal(2.0), lambda c: bind(f(n - 1), lambda y: c * y))

    assert (value, last + 1) == (2.0**n, 2 * n + 1)
    assert following == ids(f, n) == 2 * n + 1
    assert vjp(f, n)[0] == value


def test_a_literal_in_an_operation_draws_its_id_first():
    """x, the literal, the product: the same ids as the stage's counter gives."""
    assert [ids(lambda x, n=n: turns(n, x), 0.3) for n in range(4)] == [1, 5, 9, 13]
    assert ids(lambda x: x * x, 3.0) == 2
    assert ids(lambda x: pure(x), 3.0) == 1


def test_sharing_is_bind():
    """A computation that is used twice runs twice: 2^n for n doublings; bound, it runs once."""

    def again(n, x):
        return pure(x) if n == 0 else bind(again(n - 1, x), lambda a: bind(again(n - 1, x), lambda b: a + b))

    def bound(n, x):
        return pure(x) if n == 0 else bind(bound(n - 1, x), lambda a: a + a)

    assert vjp(lambda x: again(6, x), 1.0)[1](1.0) == vjp(lambda x: bound(6, x), 1.0)[1](1.0) == (64.0,)
    assert ids(lambda x: again(6, x), 1.0) == 2**6
    assert ids(lambda x: bound(6, x), 1.0) == 7


def test_an_input_without_real_numbers():
    y, pullback = vjp(lambda n, s: bind(literal(0.5), lambda c: 2.0 * c if s == "twice" else pure(c)), 3, "twice")
    assert y == 1.0
    assert pullback(1.0) == (None, None)


def test_a_chain_of_10_000_operations():
    def f(x):
        m = pure(x)
        for _ in range(10_000):
            m = bind(m, lambda y: y + x)
        return m

    assert vjp(f, 1.0)[0] == 10_001.0
    assert vjp(f, 1.0)[1](1.0) == (10_001.0,)


def test_errors():
    with pytest.raises(MonadError, match=r"write bind\(x \+ y"):
        vjp(lambda x: x * (x + x), 3.0)
    with pytest.raises(MonadError, match=r"returned a Dual: write pure\(x\)"):
        vjp(lambda x: x, 3.0)
    with pytest.raises(MonadError, match="inside of another one"):
        vjp(lambda x: pure(vjp(lambda y: x * y, 2.0)[0]), 3.0)
    with pytest.raises(MonadError, match="outside of a function"):
        literal(2.0)
    with pytest.raises(OutputError):
        vjp(lambda n: pure(n), 3)
    with pytest.raises(ZeroDivisionError):
        vjp(lambda x: x / 0.0, 3.0)
    with pytest.raises(MonadError, match="outside of a function"):
        literal(2.0)  # an exception leaves nothing behind
