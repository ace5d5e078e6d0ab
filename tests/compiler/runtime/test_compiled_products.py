"""Products of matrices that are added to a matrix (runtime/linalg/gemm.py), and the gradients that use them."""

import itertools

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev.compiler.runtime.linalg.gemm import _distance, add_product

pytestmark = pytest.mark.usefixtures("unoptimized")

SHAPES = [(9, 8, 11), (1, 40, 20), (30, 1, 20), (30, 20, 1), (1, 1, 1), (2, 0, 3), (0, 3, 2)]


def layouts(shape, dtype):
    """A matrix by rows, by columns, with gaps, as parts of larger ones, and backwards."""
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    rows, columns = shape
    yield x.copy()
    yield np.asfortranarray(x)
    for large, place, is_transposed in [
        ((2 * rows, 3 * columns), (slice(None, None, 2), slice(None, None, 3)), False),
        ((rows + 3, columns + 2), (slice(1, rows + 1), slice(1, columns + 1)), False),
        ((columns + 3, rows + 2), (slice(1, columns + 1), slice(1, rows + 1)), True),
    ]:
        part = np.zeros(large, dtype)[place]
        part = part.T if is_transposed else part
        part[...] = x
        yield part
    yield x[::-1].copy()[::-1]


@njit([f"void({', '.join([dtype + '[:, :]'] * 3)})" for dtype in ("float32", "float64")])
def add_any(c, a, b):
    """Compiled for matrices of any layout."""
    add_product(c, a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_layout_is_multiplied_and_added(dtype):
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    for m, k, n in SHAPES:
        for c, a, b in itertools.product(*(layouts(s, dtype) for s in ((m, n), (m, k), (k, n)))):
            expected = c + a @ b
            add_any(c, a, b)
            np.testing.assert_allclose(c, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("order", ["CCC", "CFC", "FCF"])
def test_arrays_of_known_layout(order):
    c, a, b = (
        np.array(x, order=o) for x, o in zip((np.ones((9, 8)), np.eye(9), 2 * np.ones((9, 8))), order, strict=True)
    )
    add_product(c, a, b)
    np.testing.assert_array_equal(c, 3.0 * np.ones((9, 8)))


def test_what_lies_around_a_part_stays_as_it_is():
    large = np.full((9, 10), 7.0)
    add_product(large[2:7, 1:5], np.ones((5, 30)), np.ones((30, 4)))
    inside = np.zeros(large.shape, bool)
    inside[2:7, 1:5] = True
    np.testing.assert_array_equal(large, np.where(inside, 37.0, 7.0))


def test_the_distance_of_rows_or_columns():
    def distance(x):
        return _distance(x.itemsize, *x.shape, *x.strides)

    x = np.zeros((6, 8))
    assert distance(x) == distance(x[:, :5]) == -8
    assert distance(x.T) == distance(x[:, :5].T) == 8
    assert distance(x[::2]) == -16
    assert distance(x[:, ::2]) == distance(x[::-1]) == distance(np.broadcast_to(x[0], (6, 8))) == 0
    assert abs(distance(np.zeros((3, 1))[::2])) == 2
    assert abs(distance(np.zeros((1, 3)))) in (1, 3)


@njit
def layers(x, w, v):
    hidden = np.tanh(x @ w.T)
    return np.sum((hidden @ v[:, 1:4]) ** 2)


def test_the_gradient_of_a_network_with_parts_of_matrices():
    rng = np.random.default_rng(1)
    args = rng.normal(size=(20, 9)), rng.normal(size=(12, 9)), np.asfortranarray(rng.normal(size=(12, 5)))
    found = dr.grad(layers, (0, 1, 2))(*args)
    expected = dr.grad(layers.py_func, (0, 1, 2))(*args)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
