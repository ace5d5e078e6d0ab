"""Jacobians of numba functions, by rows and by columns, several rows or columns at a time."""

import math
import pickle
import re

import numba
import numpy as np
import pytest
from numba import njit
from scipy.optimize import least_squares
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.errors import ArgumentError, OutputError, UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def peaks(p, t):
    made = np.empty(len(t))
    for i in range(len(t)):
        total = 0.0
        for k in range(len(p) // 3):
            u = (t[i] - p[3 * k]) / p[3 * k + 1]
            total += p[3 * k + 2] * math.exp(-u * u)
        made[i] = total
    return made


P, TIMES = np.array([1.0, 0.7, 1.1, 3.0, 0.9, 0.8]), np.linspace(0.0, 4.0, 9)
jacobian = dr.jacobian(peaks)


def test_a_jacobian_is_a_numba_function():
    expected = dr.jacobian(twin(peaks))(P, TIMES)
    assert_same(jacobian(P, TIMES), expected, rtol=1e-13, floor=1e-15)
    assert_same(jacobian(P, TIMES[:1]), expected[:1], rtol=1e-13, floor=1e-15)  # by rows
    assert jacobian(P[:3], TIMES[:0]).shape == (0, 3)
    assert jacobian(P[:0], TIMES).shape == (9, 0)

    @njit
    def gauss_newton(p, t, y, steps):
        for _ in range(steps):
            j = jacobian(p, t)
            p = p - np.linalg.solve(j.T @ j, j.T @ (peaks(p, t) - y))
        return p

    y = peaks(P, TIMES)
    assert gauss_newton(P + 0.02, TIMES, y, 12) == pytest.approx(P, rel=1e-10)
    fitted = least_squares(lambda p, t: peaks(p, t) - y, P + 0.05, jac=lambda p, t: jacobian(p, t), args=(TIMES,))
    assert fitted.x == pytest.approx(P, rel=1e-6)
    assert isinstance(jacobian, numba.core.dispatcher.Dispatcher)
    assert jacobian is dr.jacobian(peaks)
    assert pickle.loads(pickle.dumps(jacobian)) is jacobian


def test_which_mode_is_taken():
    source = dr.derivative_source(peaks, P, TIMES, transform="jacobian")
    weight, rows, columns = re.search(r"if (\S+) \* (\S+) <= (.*):", source).groups()
    assert 0.25 < float(weight) < 2.0  # a row takes longer than one of the four columns that are made together
    assert (rows, columns) == ("value.size", "(p.size + 3) // 4")
    assert "rows_peaks(" in source
    assert "columns_peaks(" in source
    one = dr.derivative_source(norm, P, transform="jacobian")
    assert "columns_norm" not in one
    few = dr.derivative_source(spiral, 1.0, 3, transform="jacobian")
    assert "rows_spiral" not in few
    assert "_tangent" not in few


@njit
def norm(x):
    return math.sqrt(np.sum(x * x))


@njit
def spiral(x, n):
    made = np.empty((n, 2))
    for k in range(n):
        made[k, 0], made[k, 1] = x * math.cos(k * x), x * math.sin(k * x)
    return made


@pytest.mark.parametrize("transform", [dr.jacobian, dr.jacrev, dr.jacfwd])
def test_numbers_on_one_side(transform):
    assert_same(transform(norm)(P), P / norm(P), rtol=1e-14)
    assert_same(transform(spiral)(0.7, 3), dr.jacfwd(twin(spiral))(0.7, 3), rtol=1e-14, floor=1e-16)


# Several directions at a time


@njit
def scaled_into(made, a, x):
    """It writes a buffer, and returns a number that no direction changes."""
    for i in range(len(a)):
        made[i] = a[i] * x
    return len(a)


@njit
def powers(x, n):
    return x if n == 1 else x * powers(x, n - 1)


@njit
def with_calls(a, x, y, z, u, v):
    buffer = np.zeros(len(a))
    count = scaled_into(buffer, a, x)
    kept = np.max(buffer) * y
    for i in range(count):
        buffer[i] = buffer[i] + powers(z, 3) * u if a[i] > 0.0 else kept * v
    return buffer, kept, (np.dot(buffer, a), count)


def flat(x):
    return np.concatenate([np.zeros(0), *map(flat, x)]) if isinstance(x, tuple) else np.ravel(np.asarray(x, float))


ARGS = np.array([0.3, -0.2, 0.9, 0.5, 1.3]), 0.7, 1.1, 0.8, -0.6, 0.4


def test_calls_recursion_and_numbers_in_lanes():
    """Arrays by fours, the last ones alone, and numbers by fours."""
    args = ARGS
    for argnums in ((0, 1, 2, 3, 4, 5), (5, 2)):
        found = dr.jacfwd(with_calls, argnums)(*args)
        expected = dr.jacrev(twin(with_calls), argnums)(*args)
        assert len(found) == 3
        for k in (0, 1):
            assert_same(flat(found[k]), flat(expected[k]), rtol=1e-12, floor=1e-14)
        assert_same(flat(found[2][0]), flat(expected[2][0]), rtol=1e-12, floor=1e-14)


def test_a_function_is_run_once_for_several_directions():
    source = dr.derivative_source(peaks, P, TIMES, transform="jacfwd")
    slope = source[source.index("def slope_peaks") : source.index("def columns_peaks")]
    assert slope.count("= math.exp(") == 1
    assert slope.count("runtime.empty_with_shadow(_1, np.float64, 2, 3, 4)") == 1
    assert "runtime.zeros_like(" not in slope


@njit
def parts_of(x):
    """The first two results share memory, the third is of its own."""
    table = np.empty((2, 3))
    for i in range(3):
        table[0, i] = x[i] * x[0]
        table[1, i] = x[i]
    return table[0], table, x * x


@njit
def branches_by_parts(x):
    row, table, squares = parts_of(x)
    return row * squares if squares[0] < 4.0 and np.isfinite(table[0, 0]) else row + squares


def test_results_of_a_call_that_share_memory_keep_other_results_apart():
    """Tangents in lanes are not confused with the function's numbers, which are the same in each lane."""
    x = np.array([1.5, 0.5, -2.0])
    source = dr.derivative_source(branches_by_parts, x, transform="jacfwd")
    assert "parts_of_tangent(x, t_x_1, t_x_2, t_x_3, t_x_4)" in source
    assert_same(dr.jacfwd(branches_by_parts)(x), dr.jacrev(twin(branches_by_parts))(x), rtol=1e-13)


@njit
def gathers(x, a):
    """The tangents of a are as the function leaves them, and have to be cleared for the next directions."""
    for i in range(len(a)):
        a[i] = a[i] * x[i] + a[i - 1]
    return a * x


def test_arrays_that_are_written():
    x, a = np.array([0.3, 0.2, 0.9, 0.5, 1.3]), np.ones(5)
    for transform in (dr.jacfwd, dr.jacrev):
        left = a.copy()
        found, expected = transform(gathers, (0, 1))(x, left), dr.jacrev(twin(gathers), (0, 1))(x, a.copy())
        assert_same(found, expected, rtol=1e-13, floor=1e-15)
        assert_same(left, fresh_after(x, a), rtol=0.0)


def fresh_after(x, a):
    a = a.copy()
    gathers(x, a)
    return a


def test_single_precision():
    @njit
    def squares(x):
        return x * x

    single = dr.jacfwd(squares)(P.astype(np.float32))
    assert single.dtype == np.float32
    assert_same(single.astype(float), np.diag(2.0 * P), rtol=1e-6)
    number = dr.jacfwd(spiral)(np.float32(0.7), 3)
    assert number.dtype == np.float32
    assert_same(number.astype(float), dr.jacfwd(spiral)(0.7, 3), rtol=1e-5, floor=1e-6)


def test_errors():
    @njit
    def count(x):
        return len(x)

    @njit
    def listed(x):
        return x[0] * x[1]

    for transform in (dr.jacobian, dr.jacrev, dr.jacfwd):
        with pytest.raises(OutputError):
            transform(count)(P)
        with pytest.raises(ArgumentError):
            transform(peaks)(np.arange(3), TIMES)
    with pytest.raises(UnsupportedError):
        dr.jacobian(listed)([1.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        jacobian(np.array([1.0, 0.0, 1.0]), TIMES)


def test_lanes_of_results_that_share_memory():
    @njit
    def twice(x):
        made = x * x
        return made, made

    @njit
    def f(x):
        one, other = twice(x)
        return one * other

    assert "twice_tangent(x, t_x_1, t_x_2, t_x_3, t_x_4)" in dr.derivative_source(f, P, transform="jacfwd")
    assert_same(dr.jacfwd(f)(P), np.diag(4.0 * P**3), rtol=1e-14)


@njit
def two_equations(x, y, p):
    r = math.sqrt(x * x + y * y)
    return x - p[0] * x / r**1.3 - 0.4, (y - p[1] * y / r**1.3, 2.0)


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev", "jacobian"])
def test_numbers_by_numbers_make_no_arrays(transform):
    p = np.array([0.7, 0.4])
    args, slopes = (0.8, 0.3, p), getattr(dr, transform)
    text = dr.derivative_source(two_equations, *args, transform=transform, argnums=(0, 1))
    assert "new_tape" not in text
    assert "block" not in text
    expected = slopes(two_equations.py_func, (0, 1))(*args)
    assert_same(slopes(two_equations, (0, 1))(*args), expected, rtol=1e-13, types=False)
    both = slopes(two_equations, (0, 2))  # of what is by an array there are blocks
    assert_same(both(*args), slopes(two_equations.py_func, (0, 2))(*args), rtol=1e-13, types=False)


@njit
def energy(x, y, p):
    return x * y * p[0] / math.sqrt(x * x + y * y) + math.exp(-x * y * p[1])


def test_a_hessian_of_numbers_makes_no_arrays():
    args = (0.8, 0.3, np.array([0.7, 0.4]))
    text = dr.derivative_source(energy, *args, transform="hessian", argnums=(0, 1))
    assert "block" not in text
    for numbers in ((0, 1), (0, 2)):
        expected = dr.hessian(energy.py_func, numbers)(*args)
        assert_same(dr.hessian(energy, numbers)(*args), expected, rtol=1e-12, types=False)
