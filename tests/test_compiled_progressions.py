"""Whole numbers that each round of a loop changes by the same amount, or negates, are computed, not recorded."""

import numpy as np
import pytest
from compiled.incore import gradient
from numba import njit
from oracle import assert_same

import dualrev as dr

A = np.linspace(0.3, 1.7, 24)


@njit
def counted(a, x, n):
    i = 0
    while i < n:
        x = np.sin(x) * a[i]
        i += 1
    return x * i


@njit
def from_the_end(a, x, n):
    i = len(a) - 1
    while i >= n:
        x = np.sin(x) * a[i]
        i -= 2
    return x * a[i]


@njit
def by_an_argument(a, x, n):
    i = n
    for _ in range(3):
        x = np.sin(x) * a[i] * a[-i]
        i = n + i
    return x


@njit
def before_the_test(a, x, n):
    i = -1
    while True:
        i += 1
        if i >= n:
            break
        x = np.sin(x) * a[i]
    return x * a[i]


@njit
def alternating(a, x, n):
    sign, other = 1, n
    for i in range(2, 9):
        if sign > 0:
            x = np.sin(x) * a[i]
        else:
            x = np.cos(x) * a[i + sign]
        x *= other
        sign, other = -sign, -other
    return x


@njit
def ends_early(a, x, n):
    i, k = 0, 1
    while True:
        x = np.sin(x) * a[i]
        k += 3
        if x < 0.2 or i > n:
            break
        i += 1
        x *= a[k]
    return x * a[k]


@njit
def nested(a, x, n):
    i = 0
    while i < n:
        k = i
        while k < n:
            x = np.sin(x) * a[k]
            k += 1
        i += 1
        for j in range(i, n):
            x = np.cos(x) * a[k - j + i]
            k -= 1
    return x


@njit
def changing(a, x, n):
    """The amount is another one in each round, the number is changed twice, in a branch, or is of another type."""
    i, step, twice, some, small = 0, 1, 0, 0, np.uint64(0)
    while i < n:
        x = np.sin(x) * a[i] * a[twice] * a[some] * a[small]
        i += step
        step += 1
        twice += 1
        twice += 1
        if x > 0.3:
            some += 1
        small += np.uint64(1)
    return x


@njit
def by_twos(a, x, n):
    k = 1
    for i in range(0, n, 2):
        x = np.sin(x) * a[i] * a[k]
        k += 1
    return x


@njit
def recursive(a, x, n):
    if n == 0:
        return x
    i = n
    total = 0.0
    while i > 0:
        total += recursive(a, np.sin(x) * a[i], n - 1) * a[i]
        i -= 1
    return total


RECORDED = [ends_early, nested, changing, by_twos]  # something is, all the same, such as how often a loop has run
PROGRAMS = [counted, from_the_end, by_an_argument, before_the_test, alternating, ends_early, nested, changing, by_twos]


@pytest.mark.parametrize("f", [*PROGRAMS, recursive], ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_tape(f):
    compiled, tape = dr.value_and_grad(f, (0, 1)), dr.value_and_grad(f.py_func, (0, 1))
    for n in (0, 1, 2, 5) if f is not recursive else (0, 1, 3):
        assert_same(compiled(A.copy(), 0.7, n), tape(A.copy(), 0.7, n), rtol=1e-12, types=False)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_both_sweeps_in_core(f):
    _, (by_a, by_x) = gradient(f, (A.copy(), 0.7, 5), (0, 1))
    expected = dr.grad(f.py_func, (0, 1))(A.copy(), 0.7, 5)
    assert_same((by_a, float(by_x)), expected, rtol=1e-12, types=False)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_such_numbers_are_not_recorded(f):
    text = dr.derivative_source(f, A, 0.7, 5, argnums=(0, 1))
    assert ("runtime.bits(" in text) == (f in RECORDED)


def test_second_derivatives():
    for f in (counted, alternating):
        expected = dr.grad(dr.grad(f.py_func, 1), 1)(A.copy(), 0.7, 5)
        assert_same(dr.hessian(f, 1)(A.copy(), 0.7, 5), expected, rtol=1e-10, types=False)
