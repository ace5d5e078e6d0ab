"""dr.lift: numba functions inside of what the tape differentiates, against differences; and what numba is told."""

import collections
import copy
import inspect
import itertools
import math
import pickle
import subprocess
import sys
from math import sqrt

import numba
import numpy as np
import pytest
from support.oracle import assert_same, check_vjp, differences, direction, flat

import dualrev as dr
from dualrev import math as dm
from dualrev.errors import LeakError, LiftError, UnsupportedError
from stages import STAGES

Pair = collections.namedtuple("Pair", ["total", "parts"])


@numba.njit
def powers(x, n=3):
    """x + x sin(x) + ..."""
    y = 1.0
    for _ in range(n):
        y = y * np.sin(x) + x
    return y


@numba.njit
def smooth(x, a, k):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = a * x[i] * x[k] + x[i - 1]
    return out


@numba.njit
def several(p, x, n):
    return p[0] * p[1][1] * x, n + 1, (np.sum(x) * p[1][0], None)


@numba.njit
def named(x, a):
    return Pair(np.sum(x) * a, (x * a, a))


@numba.njit
def counted(x, n):
    return n + len(x)


@numba.njit
def overwritten(x, out):
    for i in range(len(out)):
        out[i] = x
    return x


@numba.njit
def overwritten_by_a_callee(x):
    overwritten(2.0, x)
    return x[0]


@numba.njit
def rest(x):
    return x[1:]


@numba.njit
def twice(x):
    y = x * 2.0
    return y, y[:1]


@dr.lift
@numba.njit
def decorated(x):
    """A square."""
    return x * x


@numba.njit
def calls_a_lifted_one(x):
    return decorated(x) + 1.0


@numba.njit("float64(float64[::1], float64)")
def declared(x, a):
    return x[0] * a * x[1]


lifted = dr.lift(powers)
X = np.array([0.5, -1.5, 2.0])


# Plain calls


def test_on_plain_arguments_it_is_the_function_itself():
    for n in (0, 3):
        assert_same(lifted(1.5, n), powers(1.5, n))
        assert_same(lifted(x=1.5, n=n), powers(1.5, n))
    assert_same(lifted(1.5), powers(1.5))
    out = np.zeros(2)
    assert dr.lift(overwritten)(3.0, out) == 3.0  # and may change what is plain
    assert_same(out, np.array([3.0, 3.0]))
    assert np.shares_memory(dr.lift(rest)(out), out)


def test_a_real_array_without_numbers_under_differentiation_is_plain():
    a = dr.RealArray(np.zeros(2))
    assert dr.lift(overwritten)(3.0, a) == 3.0
    assert_same(np.asarray(a), np.array([3.0, 3.0]))
    assert_same(dr.lift(smooth)(dr.RealArray(X.copy()), 2.0, 1), smooth(X, 2.0, 1))


def test_it_keeps_the_name_the_text_and_the_signature():
    assert lifted.__name__ == "powers"
    assert lifted.__doc__ == powers.__doc__
    assert lifted.__wrapped__ is powers
    assert inspect.signature(lifted) == inspect.signature(powers.py_func)
    assert repr(lifted) == "<dualrev.lift of powers>"
    assert dr.lift(lifted) is lifted


def test_it_pickles_and_copies():
    assert pickle.loads(pickle.dumps(decorated)) is decorated  # by its name, as functions do
    for again in (pickle.loads(pickle.dumps(lifted)), copy.deepcopy(lifted)):
        assert_same(dr.value_and_grad(again)(1.5), dr.value_and_grad(lifted)(1.5))


def test_other_numba_functions_can_call_it():
    assert calls_a_lifted_one(3.0) == 10.0


# Derivatives


PROGRAMS = {
    "a number": (lambda x: lifted(x) * x, 1.3),
    "a keyword": (lambda x: dm.exp(lifted(x=x / 2, n=2)), 1.3),
    "a default": (lambda x: lifted(x), 1.3),
    "a numpy scalar beside": (lambda x: dr.lift(smooth)(x, np.float64(1.5), np.int64(1))[0], X),
    "an array": (lambda x, a: np.sum(dr.lift(smooth)(x * x, a, 1) * x), X, 0.7),
    "an array as a whole": (lambda x, a: dr.lift(smooth)(x, a, 2), X, 0.7),
    "a view": (lambda x: dr.lift(smooth)(x[::-2], 1.5, 1)[0] * x[1], X),
    "one array twice": (lambda x: dr.lift(several)((x[0], (x[1], 2.0)), x, 1)[0] * x, X),
    "an array of objects": (lambda x, y: dr.lift(smooth)(np.array([x, y, 2.0]), x, 1)[0], 1.3, 0.4),
    "a plain array beside": (lambda a: np.sum(dr.lift(smooth)(X, a, 1)), 1.3),
    "a tuple in and out": (lambda x, a: dr.lift(several)((a, (x[2], a)), x, 2), X, 0.7),
    "a named tuple": (lambda x, a: dr.lift(named)(x * a, a), X, 0.7),
    "a result that is written to": (lambda x: written_to(x), X),
    "a declared signature": (lambda x, a: dr.lift(declared)(x, a) * a, X, 0.7),
    "a recursive use": (lambda x: lifted(lifted(lifted(x, 1), 1), 1), 1.3),
    "a checkpoint": (lambda x, a: dr.checkpoint(lambda x, a: np.sum(dr.lift(smooth)(x * a, a, 1)))(x, a) * a, X, 0.7),
    "an integer result": (lambda x: np.sum(x) * dr.lift(counted)(x, 4), X),
    "float32": (lambda x: np.sum(dr.lift(smooth)(x, 1.5, 1)), X.astype(np.float32)),
}


def written_to(x):
    y = dr.lift(smooth)(x, 2.0, 1)
    z = y.copy()
    y[1] = x[0] * x[2]
    return np.sum(y * z)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derivative_is_the_one_that_differences_show(name):
    f, *primals = PROGRAMS[name]
    if name == "float32":  # values are in double precision there, as everywhere on the tape
        found = dr.grad(f)(*primals)
        assert found.dtype == np.float32
        assert_same(found.astype(float), dr.grad(f)(primals[0].astype(float)), rtol=1e-6)
        return
    check_vjp(dr.vjp, f, *primals)
    v = direction(tuple(primals))
    y, dy = dr.jvp(f, tuple(primals), v)
    expected = differences(f, tuple(primals), v)
    assert_same(np.array(flat(dy)), expected, rtol=1e-8, floor=1e-8 * float(np.abs(expected).max()))
    assert_same(y, f(*primals), types=False)


def test_jacobians_by_rows_and_by_columns_are_those_of_the_tape():
    def jacobians(f):
        return [jac(lambda x: f(x, 2.0, 1))(X) for jac in (dr.jacrev, dr.jacfwd, dr.jacobian)]

    for found, expected in zip(jacobians(dr.lift(smooth)), jacobians(smooth.py_func), strict=True):
        assert_same(found, expected, rtol=1e-14)


@pytest.mark.parametrize("engine", STAGES.values(), ids=STAGES)
def test_the_stages_of_the_paper_can_call_it(engine):
    def f(x, a):
        return np.sum(dr.lift(smooth)(x, a, 1)) * lifted(a)

    assert_same(dr.grad(f, (0, 1), engine=engine)(X, 0.7), dr.grad(f, (0, 1))(X, 0.7), rtol=1e-14)


def test_a_pullback_can_be_called_again_after_the_arguments_have_changed():
    x, k = X.copy(), np.array([1, 2])
    y, pullback = dr.vjp(lambda x: dr.lift(indexed)(x, k), x)
    first = pullback(2.0)
    x[:], k[:] = 0.0, 0
    assert_same(pullback(2.0), first)
    assert_same(pullback(1.0), (np.array([0.0, 2.0, -1.5]),))
    assert y == -3.0


@numba.njit
def indexed(x, k):
    return x[k[0]] * x[k[1]]


def test_values_keep_their_kinds():
    seen = []

    def f(x, a):
        y, n, (s, nothing) = dr.lift(several)((a, (x[2], a)), x, 2)
        pair = dr.lift(named)(x, a)
        seen.append([type(y), type(n), type(s), nothing, type(pair), type(pair.total), type(pair.parts[0])])
        return s

    dr.grad(f)(X, 0.7)
    assert seen == [[dr.RealArray, int, dr.Real, None, Pair, dr.Real, dr.RealArray]]


def test_what_has_no_derivative_is_not_compiled():
    assert dr.grad(lambda x: x * dr.lift(counted)(np.array([x, x]), 1))(2.0) == 3.0


def test_an_exception_of_the_function_comes_through():
    with pytest.raises(IndexError):
        dr.grad(lambda x: dr.lift(checked)(x, 7))(X)
    assert_same(dr.grad(lambda x: dr.lift(checked)(x, 1))(X), np.array([0.0, 1.0, 0.0]))


@numba.njit
def checked(x, k):
    if k >= len(x):
        raise IndexError("k")
    return x[k]


# Nesting


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product((dr.grad, dr.jacfwd), repeat=2)))
def test_an_outer_number_may_scale_the_derivative(outer, inner):
    def f(a):
        return inner(lambda x: a * lifted(x) * a)(1.3) + a

    assert_same(outer(f)(2.0), 4.0 * dr.grad(powers)(1.3) + 1.0, rtol=1e-14)

    def g(a):
        return np.sum(inner(lambda x: a * np.sum(dr.lift(smooth)(x, 2.0, 1)))(X))

    assert_same(outer(g)(2.0), float(np.sum(dr.grad(lambda x: np.sum(dr.lift(smooth)(x, 2.0, 1)))(X))), rtol=1e-14)


def test_a_third_derivative_by_outer_numbers_only():
    def f(a):
        return dr.grad(lambda x: a**3 * lifted(x))(1.3)

    assert_same(dr.grad(dr.grad(f))(2.0), 12.0 * dr.grad(powers)(1.3), rtol=1e-13)


SECOND = {
    "hessian": lambda: dr.hessian(lambda x: lifted(x) * x)(1.3),
    "hvp": lambda: dr.hvp(lambda x: lifted(x))(1.3, 1.0),
    "jacfwd of grad": lambda: dr.jacfwd(dr.grad(lifted))(1.3),
    "mixed": lambda: dr.grad(lambda a: dr.grad(lambda x: lifted(x * a))(1.3))(2.0),
    "a gradient": lambda: dr.grad(lambda x: dr.grad(powers)(x))(1.3),
    "a lifted gradient": lambda: dr.grad(lambda x: dr.lift(dr.grad(powers))(x))(1.3),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_derivative_is_refused(name):
    with pytest.raises(UnsupportedError) as caught:
        SECOND[name]()
    text = str(caught.value)
    assert text.startswith(f"a second derivative of the numba function 'powers' was asked for at {__file__}:")
    assert "the tape takes first derivatives of compiled functions. Write powers.py_func there" in text


def test_a_second_derivative_by_other_variables_than_its_arguments_is_none():
    assert_same(dr.hessian(lambda a: a * a * lifted(1.3))(2.0), 2.0 * powers(1.3), rtol=1e-15)


# Refusals


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: dr.lift(overwritten)(x, np.zeros(2)), "out"),
        (lambda x: dr.lift(overwritten)(x, np.array([1.3, 1.3])), "out"),  # what is written is there already
        (lambda x: dr.lift(overwritten)(2.0, np.array([x, x])), "out"),
        (lambda x: dr.lift(overwritten)(x, np.zeros(0)), "out"),
        (lambda x: dr.lift(overwritten_by_a_callee)(np.array([x, x])), "x"),
    ],
)
def test_a_function_that_changes_its_arguments_is_refused(f, name):
    for _ in range(2):
        with pytest.raises(
            UnsupportedError, match=f"it changes its argument '{name}' in place, or may do so"
        ) as caught:
            dr.grad(f)(1.3)
        assert f"was called with numbers that are being differentiated at {__file__}:" in str(caught.value)
        assert "Write a function that makes an array and returns it." in str(caught.value)


def test_views_of_arguments_are_refused_as_results():
    with pytest.raises(UnsupportedError, match=r"shares memory with an argument or another result.*Write x\.copy\(\)"):
        dr.grad(lambda x: dr.lift(rest)(x)[0])(X)
    with pytest.raises(UnsupportedError, match="shares memory"):
        dr.grad(lambda x: dr.lift(twice)(x)[0][0])(X)


def test_what_the_compiler_refuses_is_refused_at_the_call():
    @numba.njit
    def refused(x):
        return np.nextafter(x, 2.0)

    reached = []

    def f(x):
        dr.lift(refused)(x)
        reached.append(x)
        return x

    with pytest.raises(UnsupportedError, match=r"test_lift\.py:\d+"):
        dr.grad(f)(1.3)
    assert not reached


@pytest.mark.parametrize("f", [powers.py_func, len, 3.0, None])
def test_only_numba_functions_can_be_lifted(f):
    with pytest.raises(LiftError) as caught:
        dr.lift(f)
    assert str(caught.value).startswith("dualrev.lift takes a numba function, but got ")
    assert f"at {__file__}:" in str(caught.value)
    assert "leave dualrev.lift out, or write @numba.njit below it." in str(caught.value)


def test_wrong_arguments_are_python_s_errors():
    with pytest.raises(TypeError, match="too many"):
        dr.grad(lambda x: lifted(x, 1, 2))(1.3)
    with pytest.raises(TypeError):
        lifted()


def test_a_number_that_has_been_kept_is_refused():
    kept = []
    dr.grad(lambda x: kept.append(x) or x)(1.3)
    dr.grad(lambda x: kept.append(x) or x[0])(X)
    for call in (lambda: lifted(kept[0]), lambda: dr.lift(smooth)(kept[1], 1.0, 1), lambda: powers(kept[0])):
        with pytest.raises((LeakError, UnsupportedError)):
            call()
    with pytest.raises(LeakError):
        lifted(kept[0])


def test_the_source_of_a_derivative_is_python_and_only_numba_functions_have_one():
    text = dr.derivative_source(powers, 1.3, 3)
    assert "def value_and_grad_powers(" in text
    compile(text, "powers", "exec")
    with pytest.raises(dr.UnsupportedError):
        dr.derivative_source(powers.py_func, 1.3)


# The dispatcher itself

BARE = {
    "a number": lambda x: powers(x),
    "a number by its name": lambda x: powers(n=2, x=x),
    "an array": lambda x: powers(np.array([x, 1.0]) * x),
    "a tuple": lambda x: powers((1.0, x)),
    "a nested tuple": lambda x: powers(1.0, ((1.0, x), 2)),
    "a list": lambda x: powers([x, 1.0]),
}


@pytest.mark.parametrize("engine", [None, STAGES["tape"], STAGES["staged"]], ids=["default", "tape", "staged"])
@pytest.mark.parametrize("name", BARE)
def test_a_call_of_the_dispatcher_says_to_lift_it(name, engine):
    if name == "an array" and engine is not None:  # of objects, there: numba refuses it in its own words
        with pytest.raises(numba.TypingError):
            dr.grad(BARE[name], engine=engine)(1.3)
        return
    for _ in range(2):  # before and after there are overloads
        with pytest.raises(UnsupportedError) as caught:
            dr.grad(BARE[name], engine=engine)(1.3)
        text = str(caught.value)
        assert text.startswith(
            f"the numba function 'powers' was called with numbers that are being differentiated at {__file__}:"
        )
        assert "lambda x: powers(" in text
        assert "Write dualrev.lift(powers)(...)" in text
        assert "powers.py_func(...)" in text
        powers(1.3)
        powers(1.3, 2)


def test_numba_types_arrays_by_itself():
    """Importing dualrev changes nothing for arrays, so that numba itself refuses an array of objects."""
    with pytest.raises(numba.TypingError):
        dr.grad(lambda x: powers(np.array([x, 1.0])))(1.3)
    program = (
        "import numpy, numba\n"
        "before = numba.extending.typeof_impl.dispatch(numpy.ndarray)\n"
        "import dualrev\n"
        "assert numba.extending.typeof_impl.dispatch(numpy.ndarray) is before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert str(numba.typeof(np.zeros(2))) == "array(float64, 1d, C)"
    assert str(numba.typeof(np.array([None, 1.0]))) == "array(pyobject, 1d, C)"
    assert "powers" in str(numba.typeof(lifted))


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning")
def test_a_list_has_a_list_of_cotangents():
    assert_same(dr.grad(lambda x: dr.lift(indexed)([x * x, 2.0 * x], (0, 1)))(1.3), 6.0 * 1.3**2)


def test_what_it_does_to_arrays_of_its_own_is_its_own_business():
    assert_same(dr.grad(dr.lift(local))(X), np.array([2.0, 2.0, 2.0]))


@numba.njit
def local(x):
    y = x.copy()
    for i in range(len(y)):
        y[i] = 2.0 * y[i]
    return np.sum(y)


# py_func, on the tape

FACTOR = 0.5


@numba.njit
def power_of_sine(x, k):
    return math.sin(x) ** k if k else root(x)


@numba.njit
def root(x, scale=FACTOR):
    return sqrt(x) * scale


@numba.njit
def series(x, n):
    out = np.zeros(n)
    for k in range(n):
        out[k] = power_of_sine(x, k) * math.sqrt(x)

    def total(v):
        return np.sum(v * v) + math.exp(-v[0])

    return total(out) + FACTOR * max([x for _ in range(n)])


def test_the_python_function_of_a_numba_function_takes_the_tape():
    """Python's math and numpy's arrays in it, and in the numba functions that it calls, mean ours."""
    f = series.py_func
    assert dr.grad(f)(1.2, 4) == pytest.approx(dr.grad(series)(1.2, 4))
    assert dr.jvp(f, (1.2, 4), (1.0, None))[1] == pytest.approx(dr.vjp(f, 1.2, 4)[1](1.0)[0]) == dr.grad(f)(1.2, 4)
    assert dr.hvp(f)(1.2, 1.0, 4) == pytest.approx(dr.hessian(f)(1.2, 4))
    dr.check(f, 1.2, 4)
    dr.check_grads(f, (1.2, 4))
    assert f(1.2, 4) == pytest.approx(series(1.2, 4))
    assert series.py_func is f


def test_others_keep_their_globals():
    with pytest.raises(dr.ConversionError, match=r"from dualrev import math"):
        dr.grad(lambda x: math.sin(x))(1.0)
    inner = numba.njit(lambda x: math.sin(x))
    with pytest.raises(dr.ConversionError, match=r"from dualrev import math"):
        dr.grad(inner.py_func)(1.0)
