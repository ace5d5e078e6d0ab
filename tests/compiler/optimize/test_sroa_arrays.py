"""Jacobians of short vectors, whose columns are numbers: no array is made but the matrix (optimize/sroa_arrays.py)."""

import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr


@njit
def short(x, c, m):
    """Places that are set late, in branches and in loops, that are added to, read, and never set."""
    y, t = np.zeros(5), np.array([x[0] * c, x[-1], 2.0])
    if x[0] > 0.5:
        y[1] = t[0] * t[1]
    for i in range(m.shape[0]):
        y[0] += np.sin(x[i % len(x)]) * m[i, 0]
        y[2] -= m[i, 1] * c
        if i == 2:
            break
        y[3] = y[0] * t[2]
    return y, np.array([np.exp(c) * y[0]])


@njit
def by_place(x):
    """A place that only a run knows: it stays an array."""
    y = np.zeros(3)
    y[int(x[0]) % 3] = x[1] * x[1]
    return y


@njit
def divides(x):
    return np.array([1.0 / x[0], x[1]])


@njit
def products(x):
    return np.array([x[0] * x[1], x[0] * x[0]])


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 3, 40])  # 40 columns have no room in a frame
def test_columns_of_short_vectors_are_numbers(size):
    x, c, m = RNG.random(size) + 0.5 * (size > 1), 0.7, RNG.random((4, 2))
    given = (x, c, m)
    for transform in ("jacfwd", "jacobian"):
        found = getattr(dr, transform)(short, argnums=(0, 1, 2))(*given)
        expected = dr.jacrev(twin(short), argnums=(0, 1, 2))(*given)
        assert_same(found, expected, rtol=1e-12, floor=1e-14)
    if size == 1:
        text = dr.derivative_source(short, *given, argnums=(0, 1, 2), transform="jacfwd")
        slope = re.sub("#.*", "", text[text.index("def slope_short") : text.index("def columns_short")])
        assert "np.empty" not in slope
        assert "np.zeros" not in slope
        assert "value_short" in text  # it may divide by zero: its exceptions are those of one run


def test_a_function_that_cannot_raise_is_not_run_for_its_shape():
    x = np.array([2.0, 3.0])
    assert "value_products" not in dr.derivative_source(products, x, transform="jacfwd")
    assert_same(dr.jacfwd(products)(x), np.array([[3.0, 2.0], [4.0, 0.0]]), rtol=1e-14)


def test_rows_of_short_vectors():
    x = RNG.random(40)
    assert_same(dr.jacobian(divides)(x), np.eye(2, 40) * [[-1.0 / x[0] ** 2], [1.0]], rtol=1e-13)


def test_places_that_are_not_known():
    x = np.array([1.0, 3.0])
    assert_same(dr.jacfwd(by_place)(x), np.array([[0.0, 0.0], [0.0, 6.0], [0.0, 0.0]]), rtol=1e-13)


def test_an_exception_of_the_function_is_raised_and_the_next_call_works():
    both = dr.jacfwd(divides)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            both(np.array([0.0, 1.0]))
        assert_same(both(np.array([2.0, 1.0])), np.array([[-0.25, 0.0], [0.0, 1.0]]), rtol=1e-13)


def test_a_batch_and_strided_samples():
    points = RNG.random((6, 8))[:, ::4]
    found = dr.vmap(dr.jacfwd(divides))(points)
    expected = np.array([[[-1.0 / p[0] ** 2, 0.0], [0.0, 1.0]] for p in points])
    assert_same(found, expected, rtol=1e-13)
