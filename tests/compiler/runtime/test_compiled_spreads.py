"""Arrays in the shape that they are broadcast to: right wherever their elements lie, and whatever shapes come.

Views whose strides are certainly multiples of an element have addresses of their own (runtime/arrays/broadcast.py);
fields of packed records have strides that are not.
"""

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr

RNG = np.random.default_rng(3)


@njit
def combined(a, b, c):
    """Three matrices, any of which may have a single row or column."""
    y = np.sin(a) * b + c
    y[1:] += a[:1] * y[:-1]
    return np.sum(y * y) + np.sum(a[:, ::-1] * c)


@njit
def vectors(x, y):
    z = x * y + x
    z *= y
    return np.sum(z * z) + np.sum(np.where(x < 0.3, z, y))


@njit
def fields(records, y):
    """The numbers of packed records lie 12 bytes apart."""
    z = records["x"] * y + records["x"]
    return np.sum(z * z * records["n"])


SHAPES = [((4, 5), (4, 5), (4, 5)), ((1, 5), (4, 1), (4, 5)), ((4, 1), (1, 1), (1, 5)), ((1, 1), (1, 1), (1, 1))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("order", "CF")
def test_axes_of_length_one_are_repeated_in_both_sweeps(shapes, order):
    args = [np.array(RNG.normal(size=shape), order=order) for shape in shapes]
    value, gradient = dr.value_and_grad(combined, argnums=(0, 1, 2))(*args)
    expected = dr.value_and_grad(twin(combined), argnums=(0, 1, 2))(*args)
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert_same(gradient, expected[1], rtol=1e-11)
    steps = tuple(RNG.normal(size=shape) for shape in shapes)
    _, tangent = dr.jvp(combined, tuple(args), steps)
    assert tangent == pytest.approx(sum(np.sum(g * s) for g, s in zip(gradient, steps, strict=True)), rel=1e-11)


def test_shapes_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="broadcast"):
        dr.grad(combined)(np.ones((4, 5)), np.ones((3, 5)), np.ones((4, 5)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lengths", [(37, 37), (1, 37), (37, 1), (0, 1), (1, 1)])
def test_vectors(lengths, dtype):
    x, y = (RNG.normal(size=n).astype(dtype) for n in lengths)
    gradient = dr.grad(vectors, argnums=(0, 1))(x, y)
    expected = dr.grad(twin(vectors), argnums=(0, 1))(x.astype(np.float64), y.astype(np.float64))
    assert_same(gradient, tuple(g.astype(dtype) for g in expected), rtol=1e-11 if dtype == np.float64 else 1e-4)


def test_fields_of_packed_records():
    records = np.zeros(6, dtype=[("x", np.float64), ("n", np.int32)])
    records["x"], records["n"] = RNG.normal(size=6), np.arange(6)
    y = RNG.normal(size=6)
    found = dr.grad(fields, argnums=1)(records, y)
    x = records["x"].copy()
    np.testing.assert_allclose(found, 2.0 * (x * y + x) * records["n"] * x, rtol=1e-13)
    gradient = dr.grad(vectors, argnums=(0, 1))(records["x"], y)
    assert_same(gradient, dr.grad(vectors, argnums=(0, 1))(x, y), rtol=1e-13)
