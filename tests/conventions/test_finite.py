"""Numbers that are infinite or NaN and come from nowhere near the arguments: a known zero takes no part with them.

Each line of these functions makes a product that the result does not depend on: the value and both derivatives are
those of `2.0 * x`, which needs no other oracle.
"""

import math

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr

INFINITE, UNKNOWN, SINGLE = np.array([math.inf, 1.0]), np.array([math.nan, 1.0]), np.array([3e38, 1.0], np.float32)
PAIR, ZEROS, LARGE, TINY, ZERO = (math.inf, 1.0), np.array([0.0, 2.0]), 1e200, 5e-324, 0


@njit
def times(a, b):
    return a * b


@njit
def element():
    return INFINITE[0]


@njit
def with_a_default(x, w=math.inf):
    return x * w


@njit
def frozen(x):
    y = (
        x * INFINITE[0]
        + x * INFINITE[1:][0] * INFINITE[0]
        + times(x, INFINITE[0])
        + times(INFINITE[0], x)
        + x * UNKNOWN[0]
    )
    y += x * element() + x * PAIR[0] + with_a_default(x) + x * INFINITE.T[0] + x * SINGLE[0] * SINGLE[0]
    for w in INFINITE:
        y += w * x
    return y if x > 5.0 else 2.0 * x


@njit
def arrays(x):
    a, b, c = INFINITE.copy(), INFINITE * 2.0, np.zeros(2)
    c[:] = INFINITE
    d = np.full(2, np.inf)
    y = x * a[0] + x * b[0] + x * c[0] + x * d[0] + x * np.array([np.inf, 1.0])[0]
    y += np.sum(x * INFINITE) + x * np.where(ZEROS > 1.0, 1.0, np.inf)[0]
    return y if x > 5.0 else 2.0 * x


@njit
def reduced(x):
    y = x * np.max(INFINITE) + x * max(INFINITE) + x * INFINITE.sum() + x * np.dot(INFINITE, INFINITE)
    y += x * np.sort(INFINITE)[1] + x * np.cumsum(INFINITE)[1] + x * np.prod(INFINITE)
    return y if x > 5.0 else 2.0 * x


@njit
def literals(x):
    y = x * np.inf + x * math.inf + x * float("inf") + x * (LARGE * LARGE) + x / TINY + x * math.nan
    w = LARGE
    w = w * w
    v = np.finfo(np.float64).max * 2.0
    u = np.float64(10) ** 400
    y += x * w + x * v + x * u + x * (np.inf if x < 9.0 else 1.0) + x * np.exp(1000.0) + x * np.log(0.0)
    y += x * np.log(ZERO) + x * abs(INFINITE[0]) - x * -INFINITE[0] + x * min(INFINITE[0], np.inf)
    return y if x > 5.0 else 2.0 * x


@njit(error_model="numpy")
def quotients(x):
    n = len(ZEROS) - 2
    y = x * (1.0 / ZEROS[0]) + x * (1 / n) + x * np.log(n) + x * (1.0 / ZEROS)[0]
    return y if x > 5.0 else 2.0 * x


@njit
def turns(x):
    """A factor that is infinite in the second iteration only."""
    a, w = 1.0, INFINITE[0]
    y = 0.0
    for _ in range(2):
        y += a * x
        a, w = w, a
    return y if x > 5.0 else 2.0 * x


@pytest.mark.parametrize("f", [frozen, arrays, reduced, literals, quotients, turns])
def test_what_is_infinite_by_itself_is_not_multiplied_with_a_known_zero(f):
    found = [dr.grad(f)(1.0), dr.jvp(f, (1.0,), (1.0,))[1]]
    assert_same([f(1.0), *found], [2.0, 2.0, 2.0], rtol=0.0)


@njit
def default(x, w=math.inf, pair=(1.0, math.nan)):
    y = x * w + pair[1] * x
    return y if x > 5.0 else 2.0 * x


def test_a_default_that_is_infinite():
    with np.errstate(all="ignore"):
        assert_same([dr.grad(default)(1.0), dr.jvp(default, (1.0,), (1.0,))[1]], [2.0, 2.0], rtol=0.0)


@njit
def kept(x):
    """A constant argument that is multiplied by an infinite number, also in a callee."""
    u = x if x > 5.0 else 3.0
    return times(INFINITE[0], u) * 0.0 + times(u, INFINITE[0]) + INFINITE[0] * u + x * 2.0


def test_what_does_not_move_is_not_multiplied_with_what_is_infinite():
    for f in (kept, twin(kept)):
        with np.errstate(all="ignore"):
            assert_same(dr.jvp(f, (1.0,), (1.0,))[1], 2.0, rtol=0.0)


WEIGHTS, COLUMN = np.array([[1.0, math.inf], [2.0, 3.0]]), np.array([math.inf, 2.0])


@njit
def product(x, w):
    return np.dot(x, w)


@njit
def products(x):
    """Products of vectors and matrices with infinite entries, also into an existing array and in a callee."""
    m, out = np.outer(x, x), np.zeros(2)
    np.dot(WEIGHTS, x, out)
    y = product(x, WEIGHTS) + out + (m @ WEIGHTS)[0] + (WEIGHTS @ m)[1] + x * np.dot(x, COLUMN)
    return np.sum(y) if x[0] > 5.0 else x[0] * x[0] + 3.0 * x[1]


def test_products_of_matrices_that_are_not_asked_for():
    """Their cotangents are all 0: what is infinite in a frozen matrix takes no part."""
    x, v = np.array([1.3, 0.7]), np.array([0.5, -2.0])
    assert_same(dr.grad(products)(x), np.array([2.6, 3.0]))
    assert_same(dr.jvp(products, (x,), (v,))[1], 2.6 * 0.5 - 6.0)
    assert_same(dr.hvp(products)(x, v), np.array([1.0, 0.0]))
