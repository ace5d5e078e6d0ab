"""Whole-array statements: which of them make an array, and that what is not made makes no difference."""

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler import runtime

RNG = np.random.default_rng(0)
X, Y, W, M = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=3), RNG.uniform(0.5, 1.5, (6, 6))


@njit
def sums(x, y, w, m):
    """Sums of expressions of several arrays: of all elements, along an axis, into a variable of the expression."""
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
    """dot(a, v) and dot(w, a) add to the cotangents of their operands, in each layout."""
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


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("size", [(2, 3, 4), (8, 8, 8), (8, 8, 9), (20, 3, 11), (3, 0, 2)])
def test_matrix_products_contribute_by_loops_or_by_blas(size, layout):
    """dot(a, b) adds to the cotangents of its operands, by loops or by BLAS, also for views."""
    rows, inner, columns = size
    a, d_a = (np.array(RNG.normal(size=(rows, inner)), order=layout) for _ in range(2))
    b, d_b = (np.array(RNG.normal(size=(inner, columns)), order=layout) for _ in range(2))
    ct = RNG.normal(size=(rows, 2 * columns))[:, ::2]
    left, right = d_a + ct @ b.T, d_b + a.T @ ct
    runtime.dot_left_22(d_a, b, ct)
    runtime.dot_right_22(d_b, a, ct)
    np.testing.assert_allclose(d_a, left, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(d_b, right, rtol=1e-13, atol=1e-14)


@pytest.fixture
def pieces():
    """How many pieces of memory numba code has asked for that are not freed."""

    def count():
        stats = rtsys.get_allocation_stats()
        return stats.alloc - stats.free

    _nrt_python.memsys_enable_stats()
    yield count
    _nrt_python.memsys_disable_stats()


@njit
def array_and_shadow(shape):
    return runtime.empty_with_shadow(shape, np.float64)


@pytest.mark.parametrize("shape", [(8,), (0,), (4, 16), (64,), (65,), (9, 8), (300, 2)])
def test_a_new_array_and_its_shadow_are_apart(shape, pieces):
    """In one piece of memory or in two: filling one leaves the other, also when the other name is gone."""
    array_and_shadow(shape)
    before = pieces()
    array, shadow = array_and_shadow(shape)
    assert array.shape == shadow.shape == shape
    assert array.flags.c_contiguous
    assert shadow.flags.c_contiguous
    assert not shadow.any()
    array[...] = 1.0
    assert not shadow.any()
    shadow[...] = 2.0
    assert (array == 1.0).all()
    del array
    again = array_and_shadow(shape)
    assert (shadow == 2.0).all()
    del shadow, again
    assert pieces() == before


@njit
def array_and_four_shadows(shape):
    return runtime.empty_with_shadow(shape, np.float64, 2, 3, 4)


@pytest.mark.parametrize("shape", [(8,), (0,), (4, 16), (65,)])
def test_a_new_array_and_its_shadows_in_four_lanes_are_apart(shape, pieces):
    array_and_four_shadows(shape)
    before = pieces()
    made = array_and_four_shadows(shape)
    assert [x.shape for x in made] == [shape] * 5
    assert not any(x.any() for x in made[1:])
    for k, x in enumerate(made):
        x[...] = k
    kept = list(made[2:])
    del made, x
    again = array_and_four_shadows(shape)
    assert [np.unique(x).tolist() for x in kept] == ([[2.0], [3.0], [4.0]] if kept[0].size else [[]] * 3)
    del kept, again
    assert pieces() == before


@pytest.mark.parametrize("shape", [(-1,), (2**62, 2**62)])
def test_a_shape_that_cannot_be_is_an_error(shape):
    with pytest.raises((ValueError, MemoryError)):
        array_and_shadow(shape)


@njit
def squared(y, x):
    y[:] = x * x
    return y


@njit
def handed_on(x):
    """Arrays that are handed to functions have their shadows from the forward sweep on."""
    total = 0.0
    for _ in range(3):
        y = np.empty(len(x))
        w = np.empty((len(x), 2), dtype=np.float64)
        w[:, 0] = x
        w[:, 1] = x
        squared(y, x)
        total += np.sum(squared(y, y)) + np.sum(squared(w, w[:, ::-1]))
    return total


@pytest.mark.parametrize("size", [0, 3, 40, 200])
def test_small_and_large_arrays_share_memory_with_shadows_or_not(size):
    x = np.linspace(1.0, 2.0, size)
    assert "runtime.empty_with_shadow" in dr.derivative_source(handed_on, x)
    np.testing.assert_allclose(dr.grad(handed_on)(x), 12.0 * x**3 + 12.0 * x, rtol=1e-13)


@njit
def energy(x, y, w):
    return np.sum(np.cos(x - y) * w) + np.mean(np.sum(x * y.reshape(-1, 1), axis=1))


@njit
def convolved(x, w):
    y = np.zeros(len(x) - len(w) + 1)
    for k in range(len(w)):
        y += w[k] * x[k : k + len(y)]
    return np.sum(y * y)


@njit
def distance(x, y, w):
    apart = x - y
    total = np.sqrt(np.sum(apart * apart))
    size = np.abs(x) * w
    z = size * total
    return total + np.sum(z)


@njit
def softened(x, y, w):
    e = np.exp(x)
    u = np.exp(y)[:, None] * e
    w[:] = 1.0
    v = 1.0 / x.reshape(-1, 1)
    return np.sum(u) + np.sum(v * np.ones((len(x), 9)))


@pytest.mark.parametrize(
    ("f", "args", "made"),
    [(energy, (X, Y, X), 1), (convolved, (X, W), 1), (distance, (X, Y, X), 0), (softened, (X, Y, X.copy()), 5)],
)
def test_arrays_are_made_of_what_is_read_more_than_once_or_repeated(f, args, made):
    """The vector of sums, the array that is summed up in, e and np.exp(y), u as w changes, v, and ones."""
    text = dr.derivative_source(f, *args, stage="expanded")
    assert text.count("np.empty") + text.count("np.zeros") + text.count("np.ones") == made
    twin = dr.grad(f.py_func, (0, 1))(*map(np.copy, args))
    for found, expected in zip(dr.grad(f, (0, 1))(*map(np.copy, args)), twin, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
