"""ad-delcont: operations lifted from functions with their pullbacks, and the article's examples."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp
from support.stage_programs import cotangent, small

import dualrev as dr
from dualrev import math as dm
from dualrev.errors import ArgumentError, LeakError, OutputError
from stages import STAGES
from stages.comparison import counting
from stages.programs import PROGRAMS
from stages.relatives.continuations import delcont
from stages.relatives.continuations.control import reset, shift
from stages.relatives.continuations.delcont import grad, op1, op2, rad1, rad2, vjp

everywhere = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)

add = op2(lambda x, y: (x + y, lambda z: z, lambda z: z))
mul = op2(lambda x, y: (x * y, lambda z: z * y, lambda z: z * x))
sqrt = op1(lambda x: (dm.sqrt(x), lambda z: 0.5 * z / dm.sqrt(x)))


# ---- the article's example of shift and reset, step by step ----------------------------------------------------------


def test_t1_step_by_step():
    steps = []

    def t1():
        x = 1

        def body(k):
            steps.append(x)
            y = x + 1
            z = k(y)  # 1) leaves the body
            steps.append(("k gave", z))  # 4)
            return y  # 5)

        r = shift(body)
        steps.append((0, "with", r))  # 2)
        return r  # 3)

    assert reset(t1) == 2
    assert steps == [1, (0, "with", 2), ("k gave", 2)]


def test_t1_as_in_the_article():
    """Run from the state [], where the last number comes first."""
    state = []

    def t1():
        x = 1

        def body(k):
            state.insert(0, x)
            y = x + 1
            state.insert(0, k(y))
            return y

        r = shift(body)
        state.insert(0, 0)
        return r

    assert (reset(t1), state) == (2, [2, 0, 1])


# ---- op1, op2, rad1, rad2, grad --------------------------------------------------------------------------------------


def test_rad1_of_lifted_operations():
    assert rad1(lambda x: add(mul(x, x), x), 3.0) == (12.0, 7.0)
    assert rad1(lambda x: sqrt(x), 4.0) == (2.0, 0.25)
    assert rad1(lambda x: mul(sqrt(x), sqrt(x)), 4.0) == (4.0, 1.0)


def test_rad1_of_overloaded_operations():
    assert rad1(lambda x: 2.0 * x + x * x * x, 3.0) == (33.0, 29.0)
    assert rad1(lambda x: x, 3.0) == (3.0, 1.0)
    assert rad1(lambda x: 5.0, 3.0) == (5.0, 0.0)


def test_rad2():
    assert rad2(mul, 3.0, 2.0) == (6.0, (2.0, 3.0))
    assert rad2(lambda x, y: x * (x + y), 3.0, 2.0) == (15.0, (8.0, 3.0))
    assert rad2(lambda x, y: sqrt(y), 3.0, 4.0) == (2.0, (0.0, 0.25))


def test_grad_of_nested_data():
    y, ct = grad(lambda p: p["x"] * p["y"][0] + p["y"][1], {"x": 3.0, "y": (2.0, 1.0), "n": 4})
    assert_same((y, ct), (7.0, {"x": 2.0, "y": (3.0, 1.0), "n": None}))


def test_constants_have_no_part():
    assert rad1(lambda x: mul(x, 5.0), 3.0) == (15.0, 5.0)
    assert rad1(lambda x: mul(5.0, x), 3.0) == (15.0, 5.0)
    assert mul(5.0, 3.0) == 15.0
    assert sqrt(4.0) == 2.0


def test_an_operation_that_is_not_reached_is_not_pulled_back():
    pulled = []
    noted = op1(lambda x: (x, lambda z: pulled.append(z) or z))
    assert rad1(lambda x: noted(noted(x)) and x * 2.0, 3.0) == (6.0, 2.0)
    assert pulled == []
    assert rad1(lambda x: noted(x) + noted(x), 3.0) == (6.0, 2.0)
    assert pulled == [1.0, 1.0]


# ---- value and cotangent of different types --------------------------------------------------------------------------


def test_a_value_of_one_type_and_a_cotangent_of_another():
    """Words, whose cotangents are how often each letter counts."""

    def plus(a, b):
        return {key: a.get(key, 0.0) + b.get(key, 0.0) for key in sorted({*a, *b})}

    def count(letter):
        return op1(lambda word: (float(word.count(letter)), lambda z: {letter: z}), plus)

    def f(word):
        return count("a")(word) * count("n")(word) + count("a")(word)

    assert rad1(f, "banana") == (9.0, {"a": 3.0, "n": 3.0})
    assert rad1(lambda word: 1.0, "banana", nothing={}) == (1.0, {})


def test_a_cotangent_that_is_sparse():
    """An array, whose cotangent is a map from places to numbers; the entry that nothing reads has none."""

    def plus(a, b):
        return {i: a.get(i, 0.0) + b.get(i, 0.0) for i in sorted({*a, *b})}

    def at(i):
        return op1(lambda xs: (float(xs[i]), lambda z: {i: z}), plus)

    xs = np.array([2.0, 3.0, 5.0])
    y, ct = rad1(lambda xs: at(0)(xs) * at(2)(xs) + at(0)(xs), xs)
    assert (y, ct) == (12.0, {0: 6.0, 2: 2.0})


def test_intermediate_values_of_any_type():
    pair = op2(lambda x, y: ((x, y), lambda z: z[0], lambda z: z[1]))
    plus = lambda a, b: (a[0] + b[0], a[1] + b[1])  # noqa: E731
    first = op1(lambda p: (p[0], lambda z: (z, 0.0)), plus)
    second = op1(lambda p: (p[1], lambda z: (0.0, z)), plus)

    def f(x, y):
        p = pair(x, y)
        return first(p) * second(p) * first(p)

    assert rad2(f, 3.0, 2.0) == (18.0, (12.0, 9.0))
    with pytest.raises(TypeError, match="unsupported operand"):
        rad2(lambda x, y: pair(x, y) * 2.0, 3.0, 2.0)  # no arithmetic with pairs
    with pytest.raises(OutputError):
        vjp(pair, 3.0, 2.0)
    with pytest.raises(TypeError, match="returned a variable with a tuple"):
        vjp(lambda x, y: [x, pair(x, y)], 3.0, 2.0)
    with pytest.raises(TypeError, match="a variable with a tuple, of an outer derivative"):
        rad2(lambda x, y: rad1(lambda z: op2(lambda p, z: (z, None, None))(pair(x, y), z), 1.0)[0], 3.0, 2.0)
    with pytest.raises(TypeError, match="return one value, or use vjp"):
        rad2(lambda x, y: (x, y), 3.0, 2.0)


def test_any_cotangent_for_the_value():
    pair = op2(lambda x, y: ((x, y), lambda z: z[0] * y, lambda z: z[1] * x))
    assert rad2(pair, 3.0, 2.0, one=(1.0, 10.0)) == ((3.0, 2.0), (2.0, 30.0))


# ---- sharing ---------------------------------------------------------------------------------------------------------


def test_doublings_are_linear_with_variables_and_exponential_with_actions():
    """In the article a number is an action, ContT x (ST s) (DVar s a da); its op2 runs both arguments."""
    runs = []

    def variables(x):
        for _ in range(10):
            runs.append(1)
            x = add(x, x)
        return x

    assert rad1(variables, 1.0) == (1024.0, 1024.0)
    assert len(runs) == 10

    def add_actions(a, b):
        def action():
            runs.append(1)
            return add(a(), b())

        return action

    def actions(x):
        io = lambda: x  # noqa: E731
        for _ in range(10):
            io = add_actions(io, io)
        return io()

    runs.clear()
    assert rad1(actions, 1.0) == (1024.0, 1024.0)
    assert len(runs) == 2**10 - 1


# ---- behind the stages' interface ------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("seed", [1])
def test_value_and_gradient_are_those_of_the_tape(program, seed):
    primals = small(program, seed)
    y, pullback = vjp(program.function, *primals)
    expected, expected_pullback = STAGES["tape"].vjp(program.function, *primals)
    assert_same(y, expected, rtol=1e-12, floor=0.0)
    ct = cotangent(y)
    found = pullback(ct)
    assert_same(found, expected_pullback(ct), rtol=1e-12, floor=0.0)
    assert_same(pullback(ct), found, rtol=0.0, floor=0.0)


@everywhere
def test_the_derivative_is_that_of_differences(program):
    check_vjp(vjp, program.function, *small(program, 0))


@everywhere
def test_the_derivative_of_the_derivative_is_that_of_differences(program):
    check_order_2(vjp, program.function, *small(program, 0))


def test_lifted_operations_nest():
    def slope(f):
        return lambda x: rad1(f, x)[1]

    cube = lambda x: mul(x, mul(x, x))  # noqa: E731
    assert [slope(cube)(2.0), slope(slope(cube))(2.0), slope(slope(slope(cube)))(2.0)] == [12.0, 12.0, 6.0]
    assert slope(lambda x: x * slope(lambda y: add(x, y))(1.0))(1.0) == 1.0
    for other in (STAGES["tape"], dr):
        for outer, inner in ((vjp, other.vjp), (other.vjp, vjp)):
            assert outer(lambda x, inner=inner: inner(cube, x)[1](1.0)[0], 2.0)[1](1.0) == (12.0,)
            mixed = outer(lambda x, inner=inner: inner(lambda y: mul(mul(x, y), x), 2.0)[1](1.0)[0], 3.0)
            assert mixed[1](1.0) == (6.0,)


def test_a_chain_of_10_000_operations():
    def f(x):
        for _ in range(5000):
            x = mul(add(x, x), 0.5)
        return x

    assert rad1(f, 0.75) == (0.75, 1.0)


def test_every_pullback_is_called_once():
    def calls(name, n):
        recorder = counting.Recorder(float("inf"))
        program = PROGRAMS[name]
        y, pullback = recorder.instrument(delcont).vjp(program.function, *program.make(n, 0))
        pullback(cotangent(y))
        return recorder.counts.calls

    assert [calls("doublings", n) for n in (1, 10, 100, 1000)] == [1, 10, 100, 1000]
    for name in ("wide", "deep"):
        steps = [calls(name, n) for n in (100, 200, 300)]
        assert steps[2] - steps[1] == steps[1] - steps[0]


def test_errors():
    with pytest.raises(ArgumentError):
        vjp(lambda n: n, 3)
    with pytest.raises(OutputError):
        vjp(lambda x: 3, 1.0)
    kept = SimpleNamespace(x=None)

    def keep(x):
        kept.x = x
        return x * x

    assert rad1(keep, 3.0) == (9.0, 6.0)
    with pytest.raises(LeakError):
        kept.x * 2.0
    with pytest.raises(LeakError):
        sqrt(kept.x)


def test_an_exception_passes_and_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError):
        rad1(lambda x: mul(x, x) / 0.0, 3.0)
    broken = op1(lambda x: (x, lambda z: z / 0.0))
    with pytest.raises(ZeroDivisionError):
        rad1(lambda x: broken(x * x) * 2.0, 3.0)
    assert rad1(lambda x: mul(x, x), 3.0) == (9.0, 6.0)


def test_the_square_root_of_0():
    assert vjp(lambda x: dm.sqrt(x), 0.0)[1](1.0) == (math.inf,)
