"""Assignments between parts of one array that overlap: in the order in which numba copies
(scalarize/arrays/overlap_test.py).

The oracle is the numba function itself, and differences of it: numpy copies otherwise.
"""

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")

X = np.linspace(0.3, 1.9, 15).reshape(3, 5)
V = np.cos(np.arange(15.0)).reshape(3, 5)
W = np.linspace(0.5, 1.7, 15).reshape(3, 5)


@njit
def parts_of_rows(x, k):
    """numba copies these upwards, whatever overlaps."""
    y = x * x
    y[0, 2:4] = y[0, 1:3]
    y[k, 3:] = y[k, 2:4]
    y[0, ..., 2:4] = y[0, None, 1:3]
    y[1, 4:1:k] = y[1, 1:4]
    w = y.reshape(1, 3, 5)
    w[0, 1:, 2:4] = w[0, :-1, 1:3]
    w[:, 1, 2::2] = w[:, 1, 1:3]
    return y * y


@njit
def gathered(x, k):
    y = x * x
    y[1, np.array([2, 3])] = y[1, 1:3]
    y[np.array([1, 2]), 2] = y[0:2, 2]
    y[:, np.array([1, 2])] = y[:, :2]
    y[np.array([0, 2])] = y[1:]
    return y * y


@njit
def copied(x, k):
    """numba copies first where it sees that the memory may overlap."""
    y = x * x
    y[0, 1:] = y[0, :-1]
    y[:, 1:] = y[:, :-1]
    y[1] = y[1, ::-1]
    y[:, :3] = y[:, :3].T
    y[k + 2 :] = y[0, 0:]
    z = y[0]
    z[::2] = z[:3]
    return y * y


@njit
def in_place(x, k):
    """Operations in place read what they have written."""
    y = x * x
    y[1:] += y[:-1]
    y[:] -= y[::-1]
    y[0, 1:] *= y[0, :-1]
    y[:, :3] += y[:, :3].T * 1.0
    np.multiply(y[0, :-1], y[2, :-1], y[0, 1:])
    z = np.asfortranarray(y)
    z += z[0]
    return y + z


@pytest.mark.parametrize("f", [parts_of_rows, gathered, copied, in_place])
def test_values_and_derivatives_are_those_of_numba(f):
    expected = f(X, -1)
    h = 1e-5
    slope = (f(X + h * V, -1) - f(X - h * V, -1)) / (2.0 * h)
    value, tangent = dr.jvp(f, (X, -1), (V, None))
    assert_same(value, expected, rtol=1e-12)
    assert_same(tangent, slope, rtol=1e-6, floor=1e-7)
    value, pull = dr.vjp(f, X, -1)
    assert_same(value, expected, rtol=1e-12)
    assert abs(np.sum(pull(W)[0] * V) - np.sum(W * slope)) < 1e-6 * np.sum(np.abs(W * slope))


def gradient_of_product(x):
    """The gradient of np.sum(parts_of_rows(x, -1) * x), by the pullback that is compiled already."""
    y, pull = dr.vjp(parts_of_rows, x, -1)
    return pull(x)[0] + y


def test_second_derivatives():
    @njit
    def f(x):
        return np.sum(parts_of_rows(x, -1) * x)

    h = 1e-5
    up, down = (gradient_of_product(X + step * V) for step in (h, -h))
    assert_same(dr.hvp(f)(X, V), (up - down) / (2.0 * h), rtol=1e-6, floor=1e-6)


def test_a_product_into_an_array_that_it_reads():
    """BLAS clears the output array first, or does not: there is no value to be differentiated."""

    @njit
    def f(m, x):
        y = x * x[0]
        np.dot(m, y, y)
        return y[0]

    @njit
    def cured(m, x):
        y = x * x[0]
        y[:] = np.dot(m, y)
        return y[0]

    m, x = np.array([[2.0, 0.5], [0.0, 1.0]]), np.array([0.3, 0.7])
    with pytest.raises(
        ValueError, match=r"f: `np.dot\(m, y, y\)`: .* Let it make a new array: a\[:\] = np.dot\(b, c\)"
    ):
        dr.grad(f, (0, 1))(m, x)
    assert_same(dr.grad(cured, 1)(m, x), np.array([4.0 * 0.3 + 0.5 * 0.7, 0.5 * 0.3]), rtol=1e-12)
