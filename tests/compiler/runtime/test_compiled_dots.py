"""Products of vectors and matrices as emitted code has them, and what they contribute, against numpy's and numba's."""

import numpy as np
import pytest
from numba import njit

from dualrev.compiler import runtime

pytestmark = pytest.mark.usefixtures("unoptimized")

VECTORS = [((3,), (3,)), ((0,), (0,)), ((2,), (3,)), ((4, 3), (3,)), ((4, 0), (0,)), ((0, 3), (3,)), ((3, 4), (5,))]
MATRICES = [((3, 4), (4, 5)), ((1, 4), (4, 5)), ((3, 4), (4, 1)), ((1, 4), (4, 1)), ((20, 30), (30, 25))]
EMPTY = [((4, 0), (0, 5)), ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 3), (2, 3))]


@njit
def ours(a, b):
    return runtime.dot(a, b)


@njit
def theirs(a, b):
    return np.dot(a, b)


def array(shape, order, dtype, seed=0):
    """Random numbers; those of order A are apart in memory."""
    rng = np.random.default_rng(seed)
    if order == "A":
        return rng.normal(size=tuple(2 * n for n in shape)).astype(dtype)[tuple(slice(None, None, 2) for _ in shape)]
    return np.asarray(rng.normal(size=shape), dtype=dtype, order=order)


def outcome(f, *args):
    """The value, or the error."""
    try:
        return f(*args)
    except ValueError as error:
        return str(error)


@pytest.mark.filterwarnings("ignore::numba.NumbaPerformanceWarning")  # of arrays that it has to copy
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF", "AC"])
def test_products_are_numbas_bit_by_bit(orders, dtype):
    turned = [(b[::-1], a[::-1]) for a, b in VECTORS]
    for of_a, of_b in [*VECTORS, *turned, *MATRICES, *EMPTY]:
        a, b = array(of_a, orders[0], dtype), array(of_b, orders[1], dtype, 1)
        found, expected = outcome(ours, a, b), outcome(theirs, a, b)
        if isinstance(expected, str):
            assert found == expected
        else:
            assert np.shape(found) == np.shape(expected)
            assert np.array_equal(found, expected)


@njit
def contributions(d_a, d_b, a, b, ct):
    runtime.dot_left_22(d_a, b, ct)
    runtime.dot_right_22(d_b, a, ct)


@pytest.mark.parametrize(
    ("orders", "dtype"),
    [*((x, np.float64) for x in ("CCC", "CFC", "FCF", "FFF", "CAF", "ACC")), ("CFC", np.float32)],
)
def test_contributions_to_matrices(orders, dtype):
    for of_a, of_b in [*MATRICES, *EMPTY[:3]]:
        shapes = of_a, of_b, (of_a[0], of_b[1])
        a, b, ct = (array(shape, order, dtype) for shape, order in zip(shapes, orders, strict=True))
        d_a, d_b = array(of_a, orders[0], dtype, 1), array(of_b, orders[1], dtype, 2)
        expected = d_a + ct @ b.T, d_b + a.T @ ct
        contributions(d_a, d_b, a, b, ct)
        for found, wanted in zip((d_a, d_b), expected, strict=True):
            size = 60.0 * np.finfo(dtype).eps  # sums of up to 30 products, in another order
            np.testing.assert_allclose(found, wanted, rtol=size, atol=10.0 * size)


@njit
def of_vectors(d_a, d_v, d_u, a, u, v):
    runtime.dot_left_21(d_a, v, u)
    runtime.dot_right_21(d_v, a, u)
    runtime.dot_right_12(d_a, u, v)
    runtime.dot_left_12(d_u, a, v)


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_contributions_to_matrices_and_vectors(order):
    for shape in [(3, 4), (1, 4), (4, 1), (0, 3), (3, 0)]:
        a, u, v = array(shape, order, float), array(shape[:1], "C", float), array(shape[1:], "C", float)
        d_a, d_v, d_u = array(shape, order, float, 1), np.ones(shape[1]), np.ones(shape[0])
        expected = d_a + 2.0 * np.outer(u, v), 1.0 + a.T @ u, 1.0 + a @ v
        of_vectors(d_a, d_v, d_u, a, u, v)
        for found, wanted in zip((d_a, d_v, d_u), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)


@njit
def made(n, m):
    return runtime.empty((n, m), np.float32), runtime.zeros(n, np.int64), runtime.zeros((n, m, 2), np.bool_)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (4, 5)])
def test_new_arrays(shape):
    n, m = shape
    empty, ints, flags = made(n, m)
    assert (empty.shape, empty.dtype, ints.shape, ints.dtype) == ((n, m), np.float32, (n,), np.int64)
    assert (flags.shape, flags.dtype) == ((n, m, 2), np.bool_)
    assert not ints.any()
    assert not flags.any()


@pytest.mark.parametrize(("shape", "words"), [((-1, 2), "negative dimensions"), ((2**40, 2**40), "array is too big")])
def test_arrays_that_cannot_be(shape, words):
    for make in (made, njit(lambda n, m: np.empty((n, m), np.float32))):
        with pytest.raises(ValueError, match=words):
            make(*shape)
