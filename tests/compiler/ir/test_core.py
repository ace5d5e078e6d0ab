"""The typed core: what the front end makes is well formed, means what the function means, and can be read."""

import dataclasses
import inspect

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import types
from programs.constructs.collected import CASES
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.driver.emit import core_program
from dualrev.compiler.ir.core import atoms, nodes, traverse
from dualrev.compiler.ir.core.interpret import run
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.verify import check
from dualrev.rules.primitives import PRIMITIVES

SINGLE = "single"  # of numbers in single precision, where numpy and numba round functions differently


def core_of(f, *args):
    """The typed core of a numba function for these arguments, those with defaults left out; and what calls lead to."""
    defaults = [p.default for p in inspect.signature(f.py_func).parameters.values()][len(args) :]
    kinds = (*map(numba.typeof, args), *map(types.Omitted, defaults))
    core, program = core_program(f, kinds)
    return core, tuple(defaults), program


# numba compiles each function: seconds
EACH = [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 6 != 5 else []) for k, c in enumerate(CASES)]


@pytest.mark.parametrize("case", EACH)
def test_run_is_the_function(case):
    """`run(expand(lower(f))) = f`: the value, and what is left of the arguments."""
    core, defaults, program = core_of(case.function, *case.arguments())
    check(core)
    given, plain = case.arguments(), case.arguments()
    expected = twin(case.function)(*plain)
    tolerance = 3e-7 if SINGLE in case.name or _holds_single(case.primals) else 1e-12
    calls = (s.function for s in traverse.statements(core.body) if isinstance(s, nodes.Call))
    evaluate = program.run if any(isinstance(g, atoms.Symbol) for g in calls) else run  # numba knows no such function
    assert_same(wide(evaluate(core, (*given, *defaults))), wide(expected), rtol=tolerance, floor=tolerance)
    assert_same(wide(given), wide(plain), rtol=tolerance, floor=tolerance)


def _holds_single(x):
    if isinstance(x, tuple):
        return any(map(_holds_single, x))
    return getattr(x, "dtype", None) == np.float32


def wide(x):
    """Values without the classes of named tuples and of the tape, in double precision."""
    x = dr.value(x) if isinstance(x, dr.RealArray) else x
    if isinstance(x, tuple):
        return tuple(map(wide, x))
    if isinstance(x, np.ndarray):
        return x.astype(np.float64) if x.dtype == np.float32 else x
    return x.item() if isinstance(x, np.generic) else x


@njit
def damped(x, a, n):
    t = (x, a[0])
    for i in range(n):
        if t[0] > 0.5:
            t = (t[1] * x, a[i])
        a[i] += t[0]
    return t[0] + np.sum(a * x)


def test_show_is_a_program_that_people_read():
    core, *_ = core_of(damped, 0.7, np.ones(3), 2)
    assert show(core) == SHOWN


SHOWN = """\
def damped(x: float64, a: array(float64, 1d, C), n: int64):
    _1: float64 = a[0]
    t_0: float64 = x
    t_1: float64 = _1
    for i: int64 in range(0, n, 1):
        _2: bool = (t_0 > 0.5)
        if _2:
            _3: float64 = t_1
            _4: float64 = mul(_3, x)
            _5: float64 = a[i]
            t_0 = _4
            t_1 = _5
        _6: float64 = t_0
        a[i] += _6
    _7: float64 = t_0
    _8: float64 = 0.0
    _9: int64 = a.shape[0]
    for _10: int64 in range(0, _9, 1):
        _11: float64 = a[_10]
        _12: float64 = mul(_11, x)
        _8 = add(_8, _12)
    _13: float64 = _8
    _14: float64 = add(_7, _13)
    return _14
"""


def test_derivative_source_shows_what_is_differentiated():
    assert dr.derivative_source(damped, 0.7, np.ones(3), 2, stage="expanded") == SHOWN
    with pytest.raises(ValueError, match=r"stage is one of 'lowered', .*'scalarize', .*, and not 'typed'"):
        dr.derivative_source(damped, 0.7, np.ones(3), 2, stage="typed")


@njit
def searched(f, t, limit):
    x, n = t
    while n > 0 and x < limit:
        n -= 1
        if f(x) > 3.0:
            break
        x = f(x)
    return x


@njit
def twice(x):
    return 2.0 * x


def test_derivative_source_shows_what_comes_before_it():
    """The stage "lowered" shows tuples, flags that end loops, and the computation of loop conditions."""
    assert dr.derivative_source(searched, twice, (0.5, 4), 9.0, stage="lowered").startswith(LOWERED)


LOWERED = """\
def searched(f, t: Tuple(float64, int64), limit: float64):
    _1: float64 = t[0]
    _2: int64 = t[1]
    x: float64 = _1
    n: int64 = _2
    _break1: bool = False
    before:
        _3: bool = n > 0 and x < limit
    while _3 until _break1:
        n -= 1
        _4: float64 = _value(x)
        _5: float64 = 3.0
        _6: bool = _4 > _5
        _7: bool = _6
        if _7:
            _break1 = True
        else:
            x = _value(x)
    return x
"""


# Faults that check finds


def test_check_finds_what_is_wrong():
    core, *_ = core_of(damped, 0.7, np.ones(3), 2)
    check(core)
    body = list(core.body)
    x, number = traverse.leaves(core.parameters[0])[0], atoms.Var("new", types.float64)
    array, count = traverse.leaves(core.parameters[1])[0], traverse.leaves(core.parameters[2])[0]
    zero = atoms.Constant(0, types.int64)
    wrong = {
        "is read before it is assigned": nodes.Copy(x, number, 1),
        "int64 = array": nodes.Copy(count, array, 1),
        "an index is no int": nodes.Load(number, array, (x,), 1),
        "2 indices of an array with 1 axes": nodes.Load(number, array, (zero, zero), 1),
        "an element of": nodes.Load(count, array, (zero,), 1),
        "no array": nodes.Load(number, x, (zero,), 1),
        "the target has type int64": nodes.Real(count, PRIMITIVES["sin"], "math.sin", (x,), 1),
        "sin of 2 arguments": nodes.Real(number, PRIMITIVES["sin"], "math.sin", (x, x), 1),
        "the condition is no bool": nodes.If(array, (), (), 1),
        "no int": nodes.For(count, x, x, zero, (), (), 1),
        "an exit is no bool": nodes.For(count, zero, zero, zero, (), (count,), 1),
        "does not speak of its base": nodes.View(array, array, atoms.Constant(1, types.int64), 1),
        "the target is no array": nodes.Make(number, atoms.Constant(1, types.int64), 1),
        r"\*=": nodes.Store(array, (zero,), x, 1, "*="),
    }
    for message, statement in wrong.items():
        with pytest.raises(AssertionError, match=message):
            check(dataclasses.replace(core, body=(*body, statement)))
    with pytest.raises(AssertionError, match="the result new is never assigned"):
        check(dataclasses.replace(core, result=number))


def test_run_finds_a_term_that_means_something_else():
    """The comparison above can fail: a statement that is left out, or put twice, shows."""
    core, *_ = core_of(damped, 0.7, np.ones(3), 2)
    expected = run(core, (0.7, np.ones(3), 2))
    for k, s in enumerate(core.body):
        if isinstance(s, nodes.For):
            without = dataclasses.replace(core, body=(*core.body[:k], *core.body[k + 1 :]))
            twice = dataclasses.replace(core, body=(*core.body[: k + 1], *core.body[k:]))
            assert run(without, (0.7, np.ones(3), 2)) != expected != run(twice, (0.7, np.ones(3), 2))


def test_variables_of_one_name_are_different_variables():
    x, y = atoms.Var("x", types.float64), atoms.Var("x", types.float64)
    f = nodes.Function("f", (x, y), (nodes.Real(x, PRIMITIVES["sub"], "-", (x, y), 1),), x, True)
    check(f)
    assert run(f, (5.0, 3.0)) == 2.0
    assert show(f) == "def f(x: float64, x_1: float64):\n    x = sub(x, x_1)\n    return x\n"


def test_divisions_raise_where_the_function_s_do():
    x, y = atoms.Var("x", types.float64), atoms.Var("y", types.float64)
    divide = nodes.Real(x, PRIMITIVES["div"], "/", (x, y), 1, checked=True)
    f = nodes.Function("f", (x, y), (divide,), x, True)
    with pytest.raises(ZeroDivisionError):
        run(f, (1.0, 0.0))
    follows_ieee = dataclasses.replace(divide, checked=False)
    assert run(dataclasses.replace(f, body=(follows_ieee,)), (1.0, 0.0)) == np.inf


def test_constants_of_different_types_are_different():
    made = [atoms.Constant(x) for x in (1, 1.0, True, 0.0, -0.0, float("nan"))]
    assert len(set(made)) == 6
    assert atoms.Constant(float("nan")) == atoms.Constant(float("nan"))
