"""Whole-array statements: which of them make an array, and that what is not made makes no difference."""

import numpy as np
import pytest
from compiled.incore import gradient
from numba import njit
from oracle import assert_same

import dualrev as dr
from dualrev.compiler import runtime

RNG = np.random.default_rng(0)
X, Y, W, M = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=3), RNG.uniform(0.5, 1.5, (6, 6))


@njit
def sums(x, y, w, m):
    """Of expressions of several arrays: of all elements, along an axis, into a variable that is read."""
    total = np.sum(x * y - w[0]) + np.mean(m * x - y.reshape(6, 1)) + np.prod(x * y + w[1])
    x = np.sum(m * x, axis=1)
    y = np.sum(x * m - y, axis=0)
    apart = np.expand_dims(x, 1) - np.expand_dims(y, 0)
    return total + np.sum(np.sum(apart * apart, axis=-1) * w[2]) + np.sum(x * y)


@njit
def in_place(x, y, w, m):
    """The right side shares memory with the left one here, and not there."""
    z = np.zeros(4)
    for k in range(3):
        z += w[k] * x[k : k + 4]
    z[1:] += 0.5 * z[:-1]
    view = z[:2]
    view *= z[2:] - z[1:3]
    m = m * 2.0
    m[1:-1, 1:-1] += 0.1 * (m[:-2, 1:-1] * y[1:-1] - m[2:, 1:-1])
    rows = m[:3]
    rows -= x * m[3:]
    rows += rows * rows
    same = z
    same -= 0.3 * z * z
    same += z
    return np.sum(z * z) + np.sum(m * m)


@pytest.mark.parametrize("f", [sums, in_place], ids=lambda f: f.py_func.__name__)
def test_derivatives_are_those_of_the_tape(f):
    """In core, which the interpreter runs."""
    args = X, Y, W, M
    found = gradient(f, tuple(x.copy() for x in args), (0, 1, 2, 3))[1]
    assert_same(tuple(found), dr.grad(f.py_func, (0, 1, 2, 3))(*args), floor=1e-11)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_products_contribute_to_their_operands_in_each_layout(layout):
    """What dot(a, v) and dot(w, a) contribute, added to what is there."""
    a, v, w = np.array(RNG.normal(size=(3, 5)), order=layout), RNG.normal(size=5), RNG.normal(size=3)
    d_a, d_v, d_w = np.array(RNG.normal(size=(3, 5)), order=layout), RNG.normal(size=5), RNG.normal(size=3)
    for work, into, given, more in [
        (runtime.dot_left_21, d_a, (v, w), np.outer(w, v)),
        (runtime.dot_right_21, d_v, (a, w), a.T @ w),
        (runtime.dot_left_12, d_w, (a, v), a @ v),
        (runtime.dot_right_12, d_a, (w, v), np.outer(w, v)),
    ]:
        expected = into + more
        work(into, *given)
        np.testing.assert_allclose(into, expected, rtol=1e-14, atol=1e-15)


@njit
def energy(x, y, w):
    return np.sum(np.cos(x - y) * w) + np.mean(np.sum(x * y.reshape(-1, 1), axis=1))


@njit
def convolved(x, w):
    y = np.zeros(len(x) - len(w) + 1)
    for k in range(len(w)):
        y += w[k] * x[k : k + len(y)]
    return np.sum(y * y)


@pytest.mark.parametrize(("f", "args", "made"), [(energy, (X, Y, X), 1), (convolved, (X, W), 1)])
def test_no_array_is_made_of_what_is_summed(f, args, made):
    """The vector of sums, and the array that is summed up in, are the only ones."""
    text = dr.derivative_source(f, *args, stage="expanded")
    assert text.count("np.empty") + text.count("np.zeros") == made
