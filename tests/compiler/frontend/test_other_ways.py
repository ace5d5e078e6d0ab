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
    "reduce": (lambda x: functools.reduce(operator.mul, x), "Write a loop: `for y in ys: x = f(x, y)`", None, A),
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


@pytest.mark.parametrize("name", INSTEAD)
def test_the_message_names_what_numba_has(name):
    f, words, cured, x = INSTEAD[name]
    with pytest.raises(dr.UnsupportedError) as refused:
        dr.grad(njit(f))(x)
    assert words in str(refused.value)
    assert "test_other_ways.py:" in str(refused.value)
    dr.check_grads(njit(cured or of_loop), (x,), order=1)


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
