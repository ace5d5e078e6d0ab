"""Stores of callees that need no undoing, as nobody reads the old elements again (needed_values.py: spent)."""

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr


@njit
def slope(x, y, z):
    z[0] = x[0]
    for i in range(1, len(x)):
        z[i] = x[i] * y[i - 1]


@njit
def square(z):
    for i in range(len(z)):
        z[i] = z[i] * z[i]


@njit
def through(x, z):
    square(z)
    slope(x, z, z)


@njit
def rk(x, w):
    n = len(x)
    y = np.zeros(n)
    k1 = np.zeros(n)
    k2 = np.zeros(n)
    t = np.zeros(n)
    for _ in range(3):
        slope(x, y, k1)
        for i in range(n):
            t[i] = y[i] + 0.3 * k1[i]
        slope(x, t, k2)
        for i in range(n):
            y[i] += 0.2 * (k1[i] + 2 * k2[i])
    return y[-1] + y[1] * w[0]


@njit
def nonlinear_in_k(x, w):
    n = len(x)
    y = x.copy()
    k1 = np.zeros(n)
    s = 0.0
    for _ in range(3):
        slope(x, y, k1)
        for i in range(n):
            s += k1[i] * k1[i] * w[i]
            y[i] = k1[i]
    return s


@njit
def once(x, w):
    k = w.copy()
    square(k)
    return k[0] * x[0] + k[1]


@njit
def twice(x, w):
    k = w * 1.0
    square(k)
    square(k)
    s = k[0] * k[1]
    square(k)
    return s + k[2]


@njit
def on_argument(x, w):
    square(w)
    slope(x, w, w)
    return w[0] * w[1] * x[1]


@njit
def nested(x, w):
    k = w * 2.0
    through(x, k)
    s = k[1] * 3.0
    through(x, k)
    return s + k[2]


@njit
def view(x, w):
    k = w * 2.0
    v = k[1:]
    square(v)
    s = k[1] * k[2]
    square(k)
    return s + v[0]


@njit
def loads_again(x, w):
    k = w * 2.0
    s = 0.0
    for j in range(3):
        a = k[j]
        square(k)
        s += a * a * x[j]
    return s + k[0]


@njit
def cond(x, w):
    k = w * 2.0
    if k[0] > 0.1:
        square(k)
        s = k[0] * k[0]
    else:
        slope(x, k, k)
        s = k[1]
    square(k)
    return s + k[2]


@njit
def ints(idx, x, y):
    for i in range(len(idx)):
        y[i] += x[idx[i]] ** 2
        idx[i] = (idx[i] + 1) % 3


@njit
def with_ints(x, w):
    idx = np.arange(3)
    y = np.zeros(3)
    for _ in range(4):
        ints(idx, x, y)
    return y[0] * w[0] + y[1] * w[1] + idx[0]


@njit
def whiled(x, w):
    k = w * 1.0
    n = 0
    while k[0] < 3.0 and n < 4:
        square(k)
        k[0] += x[n % 3] * 0.9
        n += 1
    return k[0] * k[1] + k[2]


@njit
def made_in_loop(x, w):
    s = 0.0
    for j in range(3):
        k = w * x[j]
        square(k)
        s += k[0] * k[1]
        square(k)
        s += k[2]
    return s


@njit
def last_of(z, x):
    slope(x, x, z)
    square(z)
    return z[0] * z[1]


@njit
def returns(x, w):
    z = np.zeros(3)
    a = last_of(z, x)
    b = z[2] * w[0]
    c = last_of(z, w)
    return a * b * c + z[1]


@njit
def halved(z, u):
    for i in range(3):
        z[i] = 0.5 * u[i] + z[i]
        u[i] = 0.3 * u[i]


@njit
def one_of_two(x, w):
    """Two arrays of one alias class: the reverse pass needs only the one that is not made in the iteration."""
    u, total = x.copy(), 0.0
    for k in range(4):
        z = np.ones(3)
        for i in range(3):
            total += u[i] * u[i] * w[i]
        halved(z, u)
        total += z[0]
        if k % 2 == 1:
            u = z
    return total


CALLERS = [
    rk,
    nonlinear_in_k,
    once,
    twice,
    on_argument,
    nested,
    view,
    loads_again,
    cond,
    with_ints,
    whiled,
    made_in_loop,
    returns,
    one_of_two,
]


def derived(f):
    """Assert that the gradient in core equals the tape's, and return its function."""
    given = np.array([0.7, -1.2, 1.4]), np.array([0.9, 1.3, -0.6])
    function, found = gradient(f, tuple(x.copy() for x in given), (0, 1))
    expected = dr.grad(twin(f), argnums=(0, 1))(*(x.copy() for x in given))
    assert_same(flat(found), flat(expected), rtol=1e-9)
    return function


@pytest.mark.parametrize("f", CALLERS, ids=lambda f: f.py_func.__name__)
def test_the_gradient_is_that_of_the_tape(f):
    derived(f)


@njit
def slopes_only(x, w):
    k = np.zeros(3)
    slope(x, w, k)
    slope(w, x, k)
    return k[1] + k[2]


def test_nothing_is_recorded_of_what_nobody_reads():
    text = dr.derivative_source(slopes_only, np.ones(3), np.ones(3), argnums=(0, 1))
    assert "words[" not in text
    assert "column" not in text
    derived(slopes_only)
