"""Functions that numba does not compile: the message names one that it does, and the program with it is right.

Each line is written as it is, then with what the message says.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
from numba import njit

import dualrev as dr

A, M = np.array([1.5, 0.4, 0.8]), np.array([[2.0, 0.3], [0.4, 1.5]])

#: The function, words of the message, and the function with the cure.
INSTEAD: dict[str, tuple[Callable[..., Any], str, Callable[..., Any], Any]] = {
    "abs": (lambda x: operator.abs(x[0]), "Write abs(x)", lambda x: abs(x[0]), A),
    "concat": (
        lambda x: sum(operator.concat([x[0]], [x[1]])),
        "Write x + y",
        lambda x: sum([x[0]] + [x[1]]),  # noqa: RUF005 - that is the cure
        A,
    ),
    "imatmul": (
        lambda m: np.sum(operator.imatmul(m, m)),
        "Write x = x @ y",
        lambda m: np.sum(m @ m),
        M,
    ),
    "index": (lambda x: x[0] * operator.index(3), "Write int(x)", lambda x: x[0] * 3, A),
    "truth": (lambda x: x[0] * operator.truth(x[1]), "Write bool(x)", lambda x: x[0] * bool(x[1]), A),
    "itemgetter": (lambda x: operator.itemgetter(1)(x), "Write x[k] for itemgetter(k)(x)", lambda x: x[1], A),
    "attrgetter": (
        lambda x: operator.attrgetter("size")(x) * x[0],
        "Write x.name for attrgetter('name')(x)",
        lambda x: x.size * x[0],
        A,
    ),
    "call": (lambda x: operator.call(np.sum, x), "Write f(x)", lambda x: np.sum(x), A),
    "reduce": (
        lambda x: functools.reduce(operator.mul, x),
        "dualrev has no derivative for it in numba functions. Write a loop: `for y in ys: x = f(x, y)`",
        None,
        A,
    ),
    "reduce of a lambda": (lambda x: functools.reduce(lambda p, q: p * q, x), "Write a loop", None, A),
    "a function that numpy has": (
        lambda m: scipy.linalg.solve(m, m)[0, 0] + m[0, 0],
        "the call of scipy.linalg.solve cannot be differentiated: numba compiles no functions of SciPy."
        " Write np.linalg.solve",
        lambda m: np.linalg.solve(m, m)[0, 0] + m[0, 0],
        M,
    ),
}

#: SciPy without a function of numpy: the cure is a Python function.
IN_PYTHON = {
    "expm": (lambda m: scipy.linalg.expm(m)[0, 1], M, "without @njit, with `from dualrev.scipy import linalg`."),
    "brentq": (
        lambda x: scipy.optimize.brentq(lambda t: t - x[0], 0.0, 3.0),
        A,
        "without @njit, with `from dualrev.scipy import optimize`.",
    ),
    "a class": (
        lambda x: scipy.interpolate.RBFInterpolator(x, x)(0.5),
        A,
        "the call of scipy.interpolate.RBFInterpolator cannot",
    ),
}


def of_loop(x):
    s = x[0]
    for y in x[1:]:
        s = s * y
    return s


def agree(f, x):
    """The compiled gradient is the tape's."""
    np.testing.assert_allclose(dr.grad(njit(f))(x), dr.grad(f)(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", INSTEAD)
def test_the_message_names_what_numba_has(name):
    f, words, cured, x = INSTEAD[name]
    with pytest.raises(dr.UnsupportedError) as refused:
        dr.grad(njit(f))(x)
    assert words in str(refused.value)
    assert "test_other_ways.py:" in str(refused.value)
    agree(cured or of_loop, x)


@pytest.mark.parametrize("name", IN_PYTHON)
def test_scipy_is_called_outside_of_numba_functions(name):
    f, x, words = IN_PYTHON[name]
    with pytest.raises(dr.UnsupportedError) as refused:
        dr.grad(njit(f))(x)
    assert words in str(refused.value)


def test_the_python_function_that_the_message_names_has_a_derivative():
    from dualrev.scipy import linalg, optimize

    dr.check_grads(lambda m: linalg.expm(m)[0, 1], (M,), order=1)
    dr.check_grads(lambda x: optimize.brentq(lambda t: t - x[0], 0.0, 3.0) * x[1], (A,), order=1)


@njit
def product(x):
    f = operator.mul
    return f(x[0], x[1])


def test_a_function_in_a_variable_is_written_where_it_is_called():
    with pytest.raises(dr.UnsupportedError, match=r"operator\.mul as a value .* Write its own name where it is called"):
        dr.grad(product)(A)


# Messages of the compiler whose cure is written out in numbers, arrays and lists. tests/programs/refusals.py has the
# functions that are refused.

ROWS = np.array([[0.7, 0.2], [0.4, 0.9]])


def sorted_by_keys(x):
    ys = [x[0], x[1], x[2]]
    keys = np.array([-2.0 * y for y in ys])
    return np.array(ys)[np.argsort(keys)][1] * x[0]


def rows_one_by_one(m):
    s = 0.0
    for k in range(len(m)):
        s += np.sort(m[k])[0] * k
    return s


def array_of_complex_numbers(x):
    z = np.array([x[0] * 1j, x[0] + 1j])
    return np.abs(z[0] * z[1])


def reshape_afterwards(x):
    return np.sum(x[np.array([0, 2])].reshape(-1, 1) * x)


def unique_for_a_set(x):
    v = np.unique(np.array([x[0], x[0] * x[1]]))
    return v[0] * v[1]


def copy_of_a_list(x):
    ys = [x[0], x[1]]
    zs = list(ys)
    return zs.pop() * ys[1]


def range_of_the_length(x):
    ys = [x[0], x[1]]
    for k in range(len(ys)):
        ys.append(ys[k] * x[0])
    return ys[3] * ys[2]


def a_test_in_place_of_try(x):
    return x[0] * x[0] if x[0] > 0.0 else 0.0


def on_the_tape(x):
    return np.fft.fft(x).real[1] * x[0] + np.gradient(x)[1] ** 2 + np.polyval(x, 0.3)


CURES = [sorted_by_keys, array_of_complex_numbers, reshape_afterwards, unique_for_a_set, copy_of_a_list]
CURES += [range_of_the_length, a_test_in_place_of_try]


@pytest.mark.parametrize("f", CURES)
def test_what_the_messages_of_refusals_name_has_a_derivative(f):
    agree(f, A)


def test_rows_that_are_sorted_one_by_one_have_a_derivative():
    agree(rows_one_by_one, ROWS)


fourier = njit(on_the_tape)


def test_what_the_tape_alone_knows_names_py_func():
    with pytest.raises(dr.UnsupportedError, match=r"Write dr\.grad\(f\.py_func\), which runs f on the tape"):
        dr.grad(fourier)(A)
    dr.check_grads(fourier.py_func, (A,), order=2)
