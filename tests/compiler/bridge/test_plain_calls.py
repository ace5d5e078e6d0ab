"""The fast path of `jvp`, `vjp` and `linearize` for plain data: results and errors are those of the general path."""

import gc
import sys
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from numba import float64, njit
from support.oracle import assert_same, differences

import dualrev as dr
from dualrev.compiler.bridge import api, linear_map
from dualrev.errors import ArgumentError, ArgumentNumberError, CotangentError, TangentError

X, SINGLE, ROWS = np.array([0.5, -1.2, 0.8]), np.array([1.5, 0.5, -2.0], np.float32), np.arange(1.0, 7.0).reshape(2, 3)
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
ONES = np.ones(3)


class Point(NamedTuple):
    a: float
    b: float


class Box(NamedTuple):
    low: Point
    size: np.ndarray
    count: int


@njit
def square(x):
    return x * x


@njit
def total(x):
    return np.sum(x * x * x)


@njit
def powers(x, n):
    return x**n, n, (n * x, True)


@njit
def scaled(x, by=2.0, n=3):
    return by * x**n


@njit
def nested(t):
    return t[0] * t[1][0] * np.sum(t[1][1] ** 2) * t[2]


@njit
def of_point(p, q):
    return Point(p.a * q[0], p.b + q[1] * q[1])


@njit
def of_box(box):
    return box.low.a * np.sum(box.size) ** 2 / box.count, box.size * box.low.b


@njit
def named(x, kind, none):
    return x if kind == "same" else x * x


@njit
def writing(x, y):
    x[0] = y * x[1]
    return x * y


@njit
def picked(k, x, mask):
    return x[k[0]] * x[k[1]] * mask[0]


@njit([float64(float64, float64)])
def declared(x, y):
    return x * x * y


@njit
def variadic(x, *r):
    return x * r[0] * r[1]


#: The function, its arguments, tangents for them, and a cotangent of the value.
CASES = {
    "float": (square, (3.0,), (0.5,), 2.0),
    "np.float64": (square, (np.float64(3.0),), (0.5,), 2.0),
    "np.float64 as tangent": (square, (3.0,), (np.float64(0.5),), np.float64(2.0)),
    "an int as tangent": (square, (3.0,), (1,), 2),
    "nothing moves": (square, (3.0,), (None,), 2.0),
    "array": (square, (X,), (ONES,), X),
    "an array of ints as tangent": (square, (X,), (np.arange(3),), np.arange(3)),
    "float32": (square, (SINGLE,), (np.ones(3, np.float32),), np.ones(3, np.float32)),
    "matrix": (square, (ROWS,), (ROWS + 1.0,), ROWS),
    "matrix in Fortran order": (square, (np.asfortranarray(ROWS),), (ROWS,), ROWS),
    "no axes": (square, (np.array(2.0),), (np.array(1.0),), 1.0),
    "no elements": (square, (np.zeros(0),), (np.zeros(0),), np.zeros(0)),
    "read-only": (total, (READ_ONLY,), (ONES,), 1.5),
    "strided": (total, (np.arange(6.0)[::2],), (ONES,), 1.5),
    "int": (powers, (1.5, 3), (0.7, None), (1.0, None, (0.5, None))),
    "np.int64": (powers, (1.5, np.int64(3)), (0.7, None), (1.0, None, (0.5, None))),
    "defaults": (scaled, (1.5,), (0.7,), 2.0),
    "one default": (scaled, (1.5, 4.0), (0.7, 0.1), 2.0),
    "an argument that does not move": (scaled, (1.5, 4.0), (None, 0.1), 2.0),
    "tuples": (nested, ((1.5, (2.0, X), 3),), ((0.1, (0.2, ONES), None),), 2.0),
    "named tuples": (of_point, (Point(1.5, 2.0), (3.0, 0.5)), (Point(0.1, 0.2), (0.3, 0.4)), Point(1.0, 2.0)),
    "a named tuple that does not move": (of_point, (Point(1.5, 2.0), (3.0, 0.5)), (None, (0.3, 0.4)), Point(1.0, 2.0)),
    "nested named tuples": (of_box, (Box(Point(1.5, 2.0), X, 3),), (Box(Point(0.1, 0.2), ONES, None),), (1.0, ONES)),
    "str and None": (named, (1.5, "square", None), (0.5, None, None), 1.0),
    "NaN": (square, (np.array([np.nan, np.inf, -0.0]),), (ONES,), ONES),
    "written": (writing, (X, 2.0), (ONES, 0.5), X),
    "int array": (picked, (np.array([0, 2]), X, np.array([True])), (None, ONES, None), 2.0),
    "declared": (declared, (1.5, 2.0), (0.5, 0.1), 2.0),
    "an int for a declared float": (declared, (1.5, 2), (0.5, None), 2.0),
    "variadic": (variadic, (1.5, 2.0, 3.0), (0.5, 0.1, 0.2), 2.0),
    "an array twice": (writing, (X, 2.0), (X, 0.5), X),
}

#: The same, with an error in the call or in the cotangent.
REFUSED = {
    "no real number": (square, (2,), (None,), 1.0),
    "no real number in a tuple": (nested, ((1, (2, np.arange(3)), 3),), ((None, (None, None), None),), 1.0),
    "a tangent of another shape": (square, (X,), (np.ones(4),), np.ones(4)),
    "an int as the tangent of an array": (square, (X,), (1,), 1),
    "a tuple as the tangent of a named tuple": (
        of_point,
        (Point(1.5, 2.0), (3.0, 0.5)),
        ((0.1, 0.2), None),
        (1.0, 2.0),
    ),
    "a tangent for an int": (powers, (1.5, 3), (0.7, 1.0), (1.0, 1.0, (0.5, None))),
    "no tangent for a default": (scaled, (1.5, 2.0), (0.7,), (1.0,)),
    "None in a tuple": (nested, ((1.5, (2.0, X), 3),), ((None, (0.2, ONES), None),), None),
    "a bool": (square, (1.5,), (True,), True),
    "another byte order": (square, (X.astype(">f8"),), (ONES,), ONES),
    "half precision": (square, (X.astype(np.float16),), (ONES,), ONES),
    "too many arguments": (square, (1.5, 2.0), (0.7, 0.7), 1.0),
    "too few arguments": (declared, (1.5,), (0.7,), 1.0),
    "too many tangents": (square, (1.5,), (0.7, 0.7), (1.0, 1.0)),
}


def copied(x):
    return x.copy("K") if isinstance(x, np.ndarray) else x


def results(f, args, tangents, ct):
    """What the public functions return for a case, or the error that each of them raises."""
    args = tuple(map(copied, args))
    found = []

    def noted(run):
        try:
            found.append(run())
        except (TypeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))

    noted(lambda: dr.jvp(f, tuple(map(copied, args)), tangents))
    noted(lambda: dr.vjp(f, *map(copied, args))[0])
    noted(lambda: dr.vjp(f, *map(copied, args))[1](ct))
    noted(lambda: dr.linearize(f, *map(copied, args))[1](*tangents))
    return tuple(found)


@pytest.fixture
def general(monkeypatch):
    """Return a function that runs another one without the fast path."""

    def run(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(api.plain_arguments, "key", lambda args: None)
            patch.setattr(api.plain_arguments, "tangents", lambda args, given: None)
            patch.setattr(linear_map, "key", lambda args: None)
            patch.setattr(linear_map, "plain_tangents", lambda args, given: None)
            return function(*args)

    return run


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_fast_path_gives_what_the_general_path_gives(case, general):
    expected = general(results, *case)
    assert_same(results(*case), expected, rtol=0.0)
    assert_same(results(*case), expected, rtol=0.0)  # the types of the arguments are known now
    assert not any(isinstance(x, tuple) and isinstance(x[0], str) for x in expected)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_the_fast_path_refuses_what_the_general_path_refuses(case, general):
    found, expected = results(*case), general(results, *case)
    assert repr(found) == repr(expected)
    assert isinstance(found[0][0], str)


def test_the_derivatives_are_those_of_differences():
    for name in ("float", "array", "defaults", "nested named tuples", "variadic"):
        f, args, tangents, ct = CASES[name]
        moves = lambda *u, f=f, args=args: f(*u, *args[len(u) :])  # noqa: E731
        dy = dr.jvp(f, args, tangents)[1]
        if name != "nested named tuples":
            assert_same(np.ravel(dy), differences(moves, args, tangents), rtol=1e-7)
        cts = dr.vjp(f, *args)[1](ct)
        pairing = sum(np.sum(np.multiply(a, b)) for a, b in zip(flat(cts), flat(tangents), strict=True))
        assert pairing == pytest.approx(sum(np.sum(np.multiply(a, b)) for a, b in zip(flat(ct), flat(dy), strict=True)))


def flat(x):
    return [] if x is None else [leaf for part in x for leaf in flat(part)] if isinstance(x, tuple) else [x]


def test_second_order_in_both_modes():
    dr.check_grads(scaled, (1.5, 2.0), order=2)


def test_a_call_after_an_error_is_right():
    for f, args, tangents, error in (
        (square, (X,), (np.ones(4),), TangentError),
        (square, (2,), (None,), ArgumentError),
        (powers, (1.5, 3), (0.7, 1.0), TangentError),
    ):
        with pytest.raises(error):
            dr.jvp(f, args, tangents)
    assert dr.jvp(square, (3.0,), (1.0,)) == (9.0, 6.0)
    y, pullback = dr.vjp(square, 3.0)
    with pytest.raises(CotangentError):
        pullback((1.0, 2.0))
    assert (y, pullback(1.0)) == (9.0, (6.0,))


def test_results_share_no_memory_with_arguments_and_tangents():
    x, t = X.copy(), ONES.copy()
    y, pullback = dr.vjp(square, x)
    for made in (*dr.jvp(square, (x,), (t,)), y, *pullback(t)):
        assert not any(np.may_share_memory(made, given) for given in (x, t))
    x[:] = 7.0  # the pullback has a copy
    assert_same(pullback(ONES), (2.0 * X,), rtol=1e-15)
    args = (1.5, (2.0, x), 3)
    pullback = dr.vjp(nested, args)[1]
    x[:] = 0.0
    assert pullback(1.0)[0][0] == 2.0 * 3 * 49.0 * 3


def test_a_recompiled_function_is_differentiated_anew():
    global FACTOR
    FACTOR = 2.0

    @njit
    def f(x):
        return FACTOR * x

    assert dr.jvp(f, (3.0,), (1.0,)) == (6.0, 2.0)
    FACTOR = 5.0
    f.recompile()
    assert dr.jvp(f, (3.0,), (1.0,)) == (15.0, 5.0)
    assert dr.vjp(f, 3.0)[1](1.0) == (5.0,)
    assert dr.grad(f)(3.0) == 5.0


def test_a_derivative_is_made_once():
    makers = (dr.grad, dr.value_and_grad, dr.hessian, dr.jacobian, dr.jacfwd, dr.jacrev)
    for make in makers:
        assert make(scaled) is make(scaled, 0) is make(scaled, argnames="x")
        assert make(scaled, (0, 1)) is make(scaled, [0, 1]) is make(scaled, argnames=("x", "by"))
        assert make(scaled, (-3, np.int64(1))) is make(scaled, (0, 1)) is not make(scaled, (1, 0))
        assert make(scaled, 1) is make(scaled, -2) is not make(scaled)
        for argnums in (True, 1.0, (0, True), (0, 0), (), 3, (0, 3)):
            with pytest.raises(ArgumentNumberError):
                make(scaled, argnums)
    assert dr.hvp(square) is dr.hvp(square)


def python_calls(f, *args):
    """How many functions of Python a call runs, after the first one, which compiles.

    The garbage collector is off: what it finds may run functions of numba's, which have nothing to do with the call.
    """
    f(*args)
    gc.collect()
    gc.disable()
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


POINTS, MOVES = CASES["named tuples"][1:3]

#: How many functions a call may run, and the call: a function and its arguments. A compiled function counts, too. The
#: numbers are those of Python 3.11; later versions run fewer.
COUNTED = {
    "a derivative made before": (1, lambda: (dr.grad(scaled), 1.5)),
    "grad": (15, lambda: (dr.grad, scaled)),
    "grad by two": (24, lambda: (dr.grad, scaled, (0, 1))),
    "grad by name": (36, lambda: (partial(dr.grad, argnames="by"), scaled)),
    "value_and_grad": (15, lambda: (dr.value_and_grad, scaled)),
    "hessian": (16, lambda: (dr.hessian, scaled)),
    "jacobian": (19, lambda: (dr.jacobian, scaled)),
    "hvp": (12, lambda: (dr.hvp, square)),
    "jvp": (16, lambda: (dr.jvp, square, (3.0,), (1.0,))),
    "jvp with defaults": (16, lambda: (dr.jvp, scaled, (1.5,), (1.0,))),
    "jvp of a named tuple": (43, lambda: (dr.jvp, of_point, POINTS, MOVES)),
    "vjp": (25, lambda: (dr.vjp, square, 3.0)),
    "vjp of an array": (33, lambda: (dr.vjp, square, X)),
    "vjp of a named tuple": (47, lambda: (dr.vjp, of_point, *POINTS)),
    "pullback": (9, lambda: (dr.vjp(square, 3.0)[1], 1.0)),
    "linearized": (16, lambda: (dr.linearize(square, X)[1], ONES)),
}


@pytest.mark.parametrize(("most", "call"), COUNTED.values(), ids=COUNTED)
def test_calls_run_little_of_python(most, call):
    """Costs are counted: before there was a fast path, `vjp` of a named tuple ran 629 functions."""
    assert python_calls(*call()) <= most
