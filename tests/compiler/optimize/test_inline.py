"""A call of a small function becomes what it computes, in core: optimize/inline.py."""

import math

import numba
import numpy as np
import pytest
from fuzzing.running import load
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, jacobian
from support.twin import twin

import dualrev as dr
from dualrev.compiler.driver.emit import core_program, emit
from dualrev.compiler.ir.core.nodes import Call
from dualrev.compiler.ir.core.traverse import statements
from dualrev.compiler.optimize.inline import LIMIT, LIMIT_OF_LOOPS

A = np.array([0.5, 1.2, -0.8])
G = np.array([2.0, 3.0])


@njit
def logistic(x):
    return 1.0 / (1.0 + math.exp(-x))


@njit
def bounded(x, low, high):
    if x < low:
        x = low
    elif x > high:
        x = high * 1.0
    return x


@njit
def swapped(a, b):
    return b, a


@njit
def both(p):
    (a, b), c = p
    return a * b + c, a - c


@njit
def at(a, i):
    return a[i] * a[-1]


@njit
def doubled(x):
    y = logistic(x)
    return y * logistic(y)


@njit
def quotient(i, j):
    return i // j


@njit
def of_frozen(a, x):
    return a[0] * x


@njit
def uses_all(x, a, n):
    s = x
    for i in range(n):
        s = bounded(s * logistic(a[i]), -1.5, 2.0)  # the argument is assigned to in the function
        s, x = swapped(s, x)
        s, t = swapped(x, s)
        u, v = both(((s, t), a[i]))
        x += at(a, i) * doubled(u) + quotient(7, i + 1) * v
    return s + x * of_frozen(G, x)


def calls(f, *types):
    """List the names of the functions that the core of f calls."""
    return [
        s.function.value.py_func.__name__ for s in statements(core_program(f, types)[0].body) if isinstance(s, Call)
    ]


def test_small_functions_are_no_calls():
    types = numba.float64, numba.float64[::1], numba.int64
    assert calls(uses_all, *types) == ["of_frozen"]  # its argument is a frozen array
    source = emit(uses_all, "grad", (0, 1), types).source
    assert [name for name in ("logistic", "bounded", "swapped", "both", "at(", "doubled") if f"{name}_" in source] == []


@pytest.mark.parametrize("n", [0, 1, 3])
def test_derivatives_are_those_of_the_tape(n):
    args = 0.7, A, n
    plain = twin(uses_all)
    expected = dr.value_and_grad(plain, (0, 1))(*args)
    assert_same(dr.value_and_grad(uses_all, (0, 1))(*args), expected)
    _, found = gradient(uses_all, args, (0, 1))
    for got, wanted in zip(found, expected[1], strict=True):
        assert_same(got, wanted)
    tangents = 0.3, np.ones(3), None
    assert_same(dr.jvp(uses_all, args, tangents)[1], dr.jvp(plain, args, tangents)[1])
    assert_same(dr.hessian(uses_all)(*args), dr.hessian(plain)(*args))


def test_a_result_may_be_an_argument_of_the_next():
    @njit
    def rotated(x, y, n):
        for _ in range(n):
            x, y = swapped(y, x * y)
            y, x = swapped(x, y)
        return x - 2.0 * y

    assert_same(dr.grad(rotated, (0, 1))(1.3, 0.7, 4), dr.grad(twin(rotated), (0, 1))(1.3, 0.7, 4))


# Parameters that are assigned to


@njit
def at_least(x, low):
    if x < low:
        x = low
    return x * x


@njit
def remembered(x):
    old = x
    x = x * 2.0
    return old * x


@njit
def in_order(a, b):
    if a > b:
        a, b = b, a
    return a - 2.0 * b


@njit
def ends_early(x, low):
    if x < low:
        x = low
        if low > 5.0:
            return x
    return x * x


@njit
def returned(x):
    x = x * 3.0
    return x  # noqa: RET504 - it is what is tested


@njit
def chained(x, y):
    y = x
    z = y
    x += 1.0
    y = z * x
    return y  # noqa: RET504


@njit
def scaled(x, n):
    for _ in range(n):
        x = x * 1.5
    old = x
    x = old * old
    return x + old


@pytest.mark.parametrize("x", [-0.4, 0.1, 0.7])
@pytest.mark.parametrize(
    "call",
    [
        *[
            "at_least(x, 0.2)",
            "remembered(x)",
            "in_order(x, 0.3)",
            "ends_early(x, 0.2)",
            "returned(x)",
            "chained(x, 2.0)",
        ],
        *["scaled(x, 2)", "at_least(returned(x), x * x)", "returned(returned(x)) * remembered(x)"],
        *["(x * x if at_least(x, 0.2) > 0.3 else x)", "in_order(x, at_least(x, 0.5))", "remembered(x * x)"],
    ],
)
def test_parameters_have_two_values(call, x, tmp_path):
    source = f"from test_inline import *\n\n@njit\ndef f(x):\n    return {call}\n"
    f = load(source, str(tmp_path)).f
    assert calls(f, numba.float64) == []
    _, found = gradient(f, (x,), (0,))
    assert found[0] == pytest.approx(dr.grad(twin(f))(x), rel=1e-12)


def test_numba_agrees_on_parameters_that_are_assigned_to():
    @njit
    def f(x):
        y = at_least(x, 0.2) + remembered(x) * returned(x)
        return y + in_order(x, 0.3) * ends_early(x, 0.2) - chained(x, y)

    assert_same(dr.value_and_grad(f)(0.7), dr.value_and_grad(twin(f))(0.7))
    assert_same(dr.hessian(f)(0.7), dr.hessian(twin(f))(0.7))


# Functions that loop, or write to memory


@njit
def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


@njit
def scale(a, c, b):
    for i in range(len(a)):
        a[i] += c * b[i]


@njit
def total(a):
    s = 0.0
    for x in a:
        s += x * x
    return s


@njit
def last_large(a):
    """A name whose value is copied in one iteration and changes in the next."""
    for i in range(len(a)):
        x = a[i] * a[i]
        if x > 1.0:
            old = x
    return old * 2.0


@njit
def of_last_large(x):
    return last_large(x) * total(x)


def test_a_copy_in_a_loop_keeps_what_it_copied():
    x = np.array([0.5, 1.2, 0.7])
    assert calls(of_last_large, numba.float64[::1]) == []
    assert_same(dr.value_and_grad(of_last_large)(x.copy()), dr.value_and_grad(twin(of_last_large))(x.copy()))


@njit
def in_place(x, c, n):
    a = x.copy()
    i = 1  # a name that the functions have, too
    for k in range(n):
        if a[k] > a[k + 1]:
            swap(a, k, k + 1)
        scale(a, c, x)
        scale(a[:i], total(a) * a[i], a[1 : 1 + i])  # overlapping parts
        scale(a, 0.1, a)  # the same array twice
        a[i] *= total(a)
    return total(a) + a[i]


def test_small_functions_that_write_or_loop_are_no_calls():
    assert calls(in_place, numba.float64[::1], numba.float64, numba.int64) == []


@pytest.mark.parametrize("n", [0, 1, 2])
def test_derivatives_of_what_they_write_are_those_of_the_tape(n):
    args = A.copy(), 0.3, n
    plain = twin(in_place)
    assert_same(dr.value_and_grad(in_place, (0, 1))(*args), dr.value_and_grad(plain, (0, 1))(*args))
    tangents = np.array([0.2, -1.0, 0.5]), 1.5, None
    assert_same(dr.jvp(in_place, args, tangents)[1], dr.jvp(plain, args, tangents)[1])
    assert_same(dr.hessian(in_place, (0,))(*args), dr.hessian(plain, (0,))(*args))


# What stays a call

OTHERS = f"""import math
from numba import njit
import dualrev as dr

@njit
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)

@njit
def makes(x, a):
    b = a + x
    return b[0] * b[1]

@njit
def stops(x):
    for _ in range(3):
        if x > 2.0:
            break
        x *= x + 1.0
    return x

@njit
def writes(x, a):
    {"; ".join(f"a[{k % 3}] *= x" for k in range(LIMIT_OF_LOOPS))}
    return a[0]

@njit
def raises(x):
    if x < 0.0:
        raise ValueError("negative")
    return math.sqrt(x)

@njit(fastmath=True)
def fast(x):
    return x + 1.0

@njit(error_model="numpy")
def numpys(x, k):
    return x * (3 // k)

@dr.checkpoint
@njit
def again(x):
    return x * x

@dr.custom_vjp
@njit
def ruled(x):
    return x * x

ruled.defvjp(njit(lambda x: (x * x, 2.0 * x)), njit(lambda y, ct: (y * ct,)))

@njit
def long(x):
    y = x
    {"; ".join(f"y = y * x + {k}.0" for k in range(LIMIT))}
    return y

@njit
def f(x, a, k):
    return x * CALL
"""


@pytest.mark.parametrize(
    "call",
    [
        *["power(x, 3)", "makes(x, a)", "stops(x)", "writes(x, a)", "raises(x)", "fast(x)"],
        *["numpys(x, k)", "again(x)", "ruled(x)", "long(x)"],
    ],
)
def test_others_stay(call, tmp_path):
    f = load(OTHERS.replace("CALL", call), str(tmp_path)).f
    assert calls(f, numba.float64, numba.float64[::1], numba.int64) == [call.split("(")[0]]
    assert dr.grad(f)(0.9, A.copy(), 2) == pytest.approx(jacobian(lambda x: f(x, A.copy(), 2), (0.9,)).item(), rel=1e-7)


@njit(error_model="python")
def strict(i, j):
    return i // j


def test_a_function_keeps_its_error_model():
    @njit(error_model="numpy")
    def f(x, k):
        return x * strict(3, k)

    for run in (f, dr.grad(f)):
        with pytest.raises(ZeroDivisionError):
            run(1.0, 0)
    assert dr.grad(f)(1.0, 2) == 1.0
