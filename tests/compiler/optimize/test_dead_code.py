"""Jacobians compute tangents only: stores into arrays that nothing reads are eliminated (optimize/dead_code.py)."""

import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr


@njit
def elements(x, n):
    y = np.empty(n * len(x))
    for i in range(n):
        for j in range(len(x)):
            s = np.exp(0.1 * x[j]) + i
            z = x[j] * s
            if j > 0:
                z += x[j - 1]
            y[i * len(x) + j] = z + np.log(s)
    return y


@njit
def rows(x, n):
    """Stores by way of views; the total is an argument of a branch only."""
    y = np.zeros((n, len(x)))
    total = 0.0
    for i in range(n):
        y[i] = x * (i + 1.0)
        y[i, 1:] += np.sin(x[:-1])
        total += x[i]
    if total > 0.0:
        y[0, 0] -= x[1]
    return y


@njit
def read_again(x, n):
    """The result is read, and a copy of it is not."""
    y = np.zeros(n)
    y[0] = x[0]
    for i in range(1, n):
        y[i] = y[i - 1] * x[i % len(x)] + np.cos(x[0])
    z = y.copy()
    z[0] = 2.0
    return y


@njit
def add_to(y, x):
    for i in range(len(y)):
        y[i] += x[i % len(x)] * y[i]


@njit
def called(x, n):
    y = np.ones(n)
    add_to(y, x)
    return y


@njit
def written(x, n):
    """The caller sees what is stored."""
    for i in range(len(x)):
        x[i] = x[i] * x[i] + n
    return x


@njit
def until(x, n):
    y, k = np.zeros(n), 0
    while k < n and y[k - 1] < 40.0:
        y[k] = x[0] * k + x[1] * x[2]
        k += 1
    return y


@njit
def two(x, n):
    """One result is read by the other."""
    y, z = np.empty(n), np.empty(n)
    for i in range(n):
        y[i] = np.sqrt(1.0 + x[i % len(x)] ** 2)
    for i in range(n):
        z[i] = y[i] * y[n - 1 - i]
    return y, z


@njit
def divides(x, n):
    y = np.zeros(n * 20)
    for i in range(n * 20):
        y[i] = x[0] + n / x[1]
    return y


@njit(boundscheck=True)
def bounded(x, n):
    y = np.zeros(n * 20)
    y[n * 20] = x[0]
    return y


RNG = np.random.default_rng(0)
X = RNG.random(20) + 0.5


@pytest.mark.parametrize("f", [elements, rows, read_again, called, until, two], ids=lambda f: f.__name__)
def test_jacobians_are_those_of_the_tape(f):
    found, expected = dr.jacfwd(f)(X, 5), dr.jacrev(twin(f))(X, 5)
    assert_same(found, expected, rtol=1e-12, floor=1e-14)


def test_a_written_argument_stays_written():
    x, y = X.copy(), X.copy()
    assert_same(dr.jacfwd(written)(x, 2), np.diag(2.0 * X), rtol=1e-14)
    assert_same(x, written(y, 2), rtol=0.0)


def slope(f):
    """The text of the function that computes tangents, without comments."""
    text = re.sub("#.*", "", dr.derivative_source(f, X, 5, transform="jacfwd"))
    return text[text.index(f"def slope_{f.__name__}") : text.index("def columns_")]


def test_the_result_is_not_stored():
    text = slope(elements)
    assert " y[" not in text
    assert "log" not in text
    assert "exp" in text
    assert text.count(" t_y_1[") == 1


@pytest.mark.parametrize(("f", "array"), [(read_again, "y"), (two, "y"), (written, "x"), (until, "y"), (bounded, "y")])
def test_what_is_read_is_stored(f, array):
    assert f" {array}[" in slope(f)


def test_a_store_that_nothing_reads_is_eliminated_beside_others():
    text = slope(two)
    assert " z[" not in text
    assert " t_z_1[" in text


@pytest.mark.parametrize(
    ("f", "x", "error"),
    [(divides, np.zeros(20), ZeroDivisionError), (bounded, X, IndexError)],
    ids=["division", "index"],
)
def test_errors_of_what_is_not_needed_are_raised(f, x, error):
    with pytest.raises(error):
        f(x, 5)
    with pytest.raises(error):
        dr.jacfwd(f)(x, 5)
