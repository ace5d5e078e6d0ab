"""Promoted accumulators (optimize/promote_accumulators.py): shadow elements that all iterations add to are scalars."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.traverse import statements, writes


def arguments():
    return np.array([0.3, -0.7, 1.1, 0.4]), np.array([1.2, 0.1, -0.4])


@njit
def polynomials(x, y):
    """Rounds that go down in the reverse sweep."""
    total = 1.0
    for i in range(len(x)):
        p = 0.0
        for k in range(len(y)):
            p = p * x[i] + y[k]
        total *= p
    return total


@njit
def pairs(x, y):
    """Elements of one array by two names, which coincide in some iterations."""
    total, other = 1.0, x
    for i in range(len(x)):
        for k in range(len(x)):
            total *= 1.0 + 0.1 * math.sin(x[i] - 2.0 * x[k]) * other[i] * x[-1]
    return total


@njit
def bounded(x, y):
    """Rounds from any number on, by steps of -1; and up to a break, which makes branches of the reverse sweep."""
    total = 1.0
    for k in range(1, 3):
        for i in range(3, k, -1):
            total *= math.sin(x[k] * x[i]) + y[0]
        for i in range(k, 4):
            if total > 40.0:
                break
            total *= 2.0 + x[i] * x[k]
    return total


@njit
def no_rounds(x, y):
    """Loops over elements that do not exist, without any iteration."""
    total = 1.0
    for i in range(10**6, 10**6 + 2):
        for k in range(i, 3):
            total *= x[i] * y[k]
        for k in range(-1, i, -1):
            total *= x[i] * y[k]
    return total * x[0] * y[0]


@njit
def moving(x, y):
    """The index changes, the view changes, or there is a condition."""
    total, i = 1.0, 0
    for k in range(len(y)):
        i = (i + 3) % 4
        total *= x[i] * y[k]
        row = x[k:]
        total *= row[1]
        if y[k] > 0.0:
            total *= x[2]
    return total


@njit
def read(x, y):
    """The cotangent of the element is read in the loop that adds to it."""
    a = x * 1.0
    for i in range(len(y)):
        for k in range(len(y)):
            a[k] = a[k] * a[i] * y[k]
    return np.sum(a)


GATHERED = [(polynomials, 1), (pairs, 3), (bounded, 1), (no_rounds, 2)]


@pytest.mark.parametrize("f", [f for f, _ in GATHERED] + [moving, read])
def test_the_gradient_is_that_of_the_tape(f):
    _, found = gradient(f, arguments(), (0, 1))
    expected = flat(dr.grad(twin(f), (0, 1))(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


def sums(f):
    """The numbers that stand for elements of the shadow of x."""
    made, _ = gradient(f, arguments(), (0,))
    return {x for s in statements(made.body) for x in writes(s) if x.name == "sum_{k}"}


@pytest.mark.parametrize(("f", "count"), GATHERED)
def test_what_all_rounds_add_to_is_a_number(f, count):
    assert len(sums(f)) == count


@pytest.mark.parametrize("f", [moving, read])
def test_what_moves_or_is_read_stays_in_memory(f):
    assert not sums(f)
