"""Array expressions of functions with parallel=True: in threads where numba runs them so, and right wherever they lie.

The oracle is the tape, on the same function in plain Python. Arrays have a few thousand elements, so that there are
several chunks; what does not depend on threads at all is compared to the last bit.
"""

import numba
import numpy as np
import pytest
from numba import njit, prange
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr

N = 5000  # elements: some chunks


@njit(parallel=True)
def elementwise(x, y, c):
    z = np.exp(-0.5 * ((x - c) / 1.3) ** 2) * y
    w = z - c * np.sqrt(1.0 + x * x)
    z += 0.1 * w * y
    return np.sum(z * w) / len(x) + np.mean(np.sin(w))


@njit(parallel=True)
def neighbours(u, k):
    """Slices of one array: their shadows overlap."""
    u = u.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[2:] *= 1.0 + 0.01 * u[:-2]
    return np.sum(u * u * u)


@njit(parallel=True)
def plane(m, k):
    """Slices along both axes, and a view that is transposed."""
    d = m[1:, :-1] * m[:-1, 1:] + k * m[1:, 1:]
    w = np.zeros(d.shape)
    w[:, ::-1] = d
    return np.sum(w * w) + np.sum(np.cos(m.T))


@njit(parallel=True)
def broadcast(m, row, column, one):
    """Broadcast arrays: several iterations read the same element of a row, a column or a single element."""
    z = (m - row) * column + one * row
    return np.sum(z * z) + np.sum(one * m)


@njit(parallel=True)
def backwards(x, y):
    """Slices with steps other than 1, and a reversed array that shares memory with the other operand."""
    z = x[::-1] * x + y[::2] * y[1::2]
    z[::3] += x[::3] * y[0]
    x[::-1] = 2.0 * z
    return np.sum(z * x)


@njit(parallel=True)
def along_axes(m):
    a = np.sum(m * m, axis=0)
    b = np.sum(np.sin(m), axis=1)
    return np.sum(a * a) + np.sum(np.sqrt(1.0 + b * b)) + np.prod(1.0 + 1e-3 * b)


@njit(parallel=True)
def with_loops(x, pairs):
    """Array expressions in a loop over prange, and elements that an array chooses."""
    total = 0.0
    for i in prange(8):
        total += np.sum(np.sin(x * (i + 1.0))) * x[i]
    near = x[pairs] * 2.0
    near[pairs] = near * near
    return total + np.sum(near)


@njit(parallel=True)
def drawn(x):
    """Random arrays are drawn in one thread."""
    np.random.seed(3)
    return np.sum(x * np.random.normal(0.0, 1.0, len(x)))


@njit(parallel=True)
def overlapping(x):
    """A view whose elements share memory, as no array expression makes it."""
    windows = np.lib.stride_tricks.as_strided(x, (len(x) - 2, 3), (8, 8))
    return np.sum(np.sin(windows) * 0.5) + np.sum(windows * windows)


@njit(parallel={"numpy": False})
def without(x):
    return np.sum(np.sin(x) * x)


RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=N), RNG.normal(size=N)
M = RNG.normal(size=(90, 70))
CASES = {
    "elementwise": (elementwise, (X, Y, 0.4), (0, 1, 2), True),
    "neighbours": (neighbours, (X, 0.2), (0, 1), True),
    "plane": (plane, (M, 0.3), (0, 1), True),
    "broadcast": (broadcast, (M, M[3].copy(), M[:, :1].copy(), np.array([0.7])), (0, 1, 2, 3), True),
    "backwards": (backwards, (X, RNG.normal(size=2 * N)), (0, 1), True),
    "along_axes": (along_axes, (M,), (0,), True),
    "with_loops": (with_loops, (X, RNG.integers(0, N, N)), (0,), True),
    "drawn": (drawn, (X,), (0,), True),
    "overlapping": (overlapping, (X,), (0,), True),
    "without": (without, (X,), (0,), False),
}


def copies(args):
    return [np.array(x) if isinstance(x, np.ndarray) else x for x in args]


def with_threads(count, f, args):
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        return f(*copies(args))
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_the_tape_s_with_any_number_of_threads(name):
    f, args, chosen, threads = CASES[name]
    both = dr.value_and_grad(f, argnums=chosen)
    value, gradient = with_threads(2, both, args)
    if name == "drawn":
        numbers = np.random.RandomState(3).normal(0.0, 1.0, N)
        expected = np.sum(X * numbers), (numbers,)
    elif name == "overlapping":
        times = np.minimum(np.minimum(np.arange(N) + 1, N - np.arange(N)), 3)
        expected = f(*args), (times * (0.5 * np.cos(X) + 2.0 * X),)
    else:
        expected = dr.value_and_grad(twin(f), argnums=chosen)(*copies(args))
    assert value == pytest.approx(expected[0], rel=1e-11)
    assert_same(gradient, expected[1], rtol=1e-10)
    again = with_threads(1, both, args)
    assert value == again[0]
    assert_same(gradient, again[1], rtol=0.0)
    text = dr.derivative_source(f, *args, argnums=chosen)
    assert ("runtime.in_threads" in text) == threads


@pytest.mark.parametrize("n", [0, 1, 2, 1023, 1024, 2049])
def test_arrays_of_any_length(n):
    x, y = X[:n].copy(), Y[:n].copy()
    if n:  # np.mean of nothing is nan
        value, gradient = dr.value_and_grad(elementwise, argnums=(0, 1, 2))(x, y, 0.4)
        expected = dr.value_and_grad(twin(elementwise), argnums=(0, 1, 2))(x, y, 0.4)
        assert value == pytest.approx(expected[0], rel=1e-12)
        assert_same(gradient, expected[1], rtol=1e-11)
    assert_same(dr.grad(without)(x), np.cos(x) * x + np.sin(x), rtol=1e-12)


def test_arrays_that_the_caller_has_laid_out_otherwise():
    x, y = np.repeat(X, 2)[::2], Y[::-1]
    value, gradient = dr.value_and_grad(elementwise, argnums=(0, 1, 2))(x, y, 0.4)
    expected = dr.value_and_grad(twin(elementwise), argnums=(0, 1, 2))(x, y, 0.4)
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert_same(gradient, expected[1], rtol=1e-11)


@njit(parallel=True)
def racing(x, k):
    """Statements that numba runs in threads, and that read elements which they write."""
    y = x * 1.0
    if k == 0:
        y[1:, 0] += y[:-1, 0]
    elif k == 1:
        y[:] -= y[::-1]
    elif k == 2:
        y[:, 1:] = y[:, :-1]
    elif k == 3:
        y[0, 2:5] = y[0, 1:4]
    elif k == 4:
        z = y[0] * (1.0 + 0.5j)
        z[1:] += z[:-1]
        y[0] = z.real
    return y


@njit(parallel=True)
def apart(x):
    """The same of elements that lie apart, of each element itself, of copies, and in one thread."""
    y = x * 1.0
    y[:, ::2] += y[:, 1::2]
    y[:, 1:] *= y[:, 1:]
    y[1:] += y[:-1].copy()
    for i in prange(len(y)):
        y[i, 1:] += y[i, :-1].copy()
    return np.sum(y * y * y)


@pytest.mark.parametrize("k", range(5))
def test_statements_whose_threads_read_what_others_write_are_errors(k):
    """Their values are left to chance."""
    with pytest.raises(ValueError, match=r"racing: `[yz].* numba runs this in threads.* Write a copy .*a\.copy\(\)"):
        dr.jvp(racing, (M, k), (M, None))
    assert_same(dr.jvp(racing, (M, 9), (M, None))[1], M)


def test_statements_whose_threads_read_nothing_that_others_write():
    value, slope = dr.jvp(apart, (M,), (M,))
    expected = dr.jvp(twin(apart), (M,), (M,))
    assert value == pytest.approx(apart(M), rel=1e-12) == pytest.approx(expected[0], rel=1e-12)
    assert slope == pytest.approx(expected[1], rel=1e-11)
