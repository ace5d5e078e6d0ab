"""Sums into numbers and elements: which become accumulations, and that no other one does."""

import numpy as np
import pytest
from numba import njit, prange
from support.checks import agrees

import dualrev as dr

X = np.linspace(0.5, 1.5, 4)


@njit
def square(u):
    return u * u


@njit
def twice_the_first(v):
    v[0] *= 2.0
    return v[1]


@njit
def the_first_of(v):
    return v[0] * v[1]


@njit
def sum_of_an_element(x):
    y = x * 1.0
    for i in range(3):
        y[i] = y[i] + x[i + 1] * x[i]
        y[i] = x[i] + y[i]
        y[i] = y[i] - square(x[i])
    return y.sum()


@njit
def beside_a_call(x):
    y = x * 1.0
    for i in range(3):
        y[i] = y[i] + the_first_of(x)
    return y.sum()


@njit
def beside_a_branch(x):
    y = x * 1.0
    for i in range(3):
        old = y[i]
        if x[i] > 0.7:
            u = x[i] * x[i]
        else:
            u = x[i] * 3.0
        y[i] = old + u
    return y.sum()


@njit(parallel=True)
def in_parallel(x):
    y = x * 1.0
    for i in prange(4):
        y[i] = y[i] + the_first_of(x) * x[i]
    return y.sum()


@njit
def of_a_number(x):
    s = x[0]
    for i in range(3):
        s = s + x[i] * x[i + 1] - x[i] + square(x[i])
    return s


@pytest.mark.parametrize(
    ("f", "count"),
    [
        (sum_of_an_element, 3),
        (beside_a_call, 1),
        (beside_a_branch, 1),
        (in_parallel, 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_sum_of_an_element_is_an_accumulation(f, count):
    source = dr.derivative_source(f, X, stage="recognise-accumulation")
    assert source.count("y[i] += ") + source.count("y[i] -= ") == count
    agrees(f, X)


def test_a_sum_of_a_number_is_one():
    source = dr.derivative_source(of_a_number, X, stage="recognise-accumulation")
    assert source.count("s = add(s, ") + source.count("s = sub(s, ") == 3
    agrees(of_a_number, X)


# What is no accumulation


@njit
def changed_by_a_call(x):
    """The element is loaded before the call changes it."""
    y = x * 1.0
    for _ in range(3):
        y[0] = y[0] + twice_the_first(y)
    return y.sum()


@njit
def by_another_name(x):
    y = x * 1.0
    z = y[:2]
    for i in range(2):
        old = y[i]
        z[i] = x[i] * x[i]
        y[i] = old + z[i]
    return y.sum()


@njit
def another_index(x):
    y = x * 1.0
    i = 0
    for _ in range(3):
        old = y[i]
        i += 1  # noqa: SIM113
        y[i] = old + x[i] * x[0]
    return y.sum()


@njit
def the_other_way_round(x):
    y = x * 1.0
    for i in range(3):
        y[i] = x[i + 1] * x[i] - y[i]
    return y.sum()


@njit
def both_operands(x):
    y = x * 1.0
    for i in range(3):
        old = y[i]
        y[i] = old + old
    return y.sum()


@njit
def read_again(x):
    y = x * 1.0
    s = 0.0
    for i in range(3):
        old = y[i]
        y[i] = old + x[i] * x[0]
        s += old * old
    return y.sum() + s


@pytest.mark.parametrize(
    "f", [changed_by_a_call, by_another_name, another_index, the_other_way_round, both_operands, read_again]
)
def test_no_other_sum_is(f):
    source = dr.derivative_source(f, X, stage="recognise-accumulation")
    assert "y[i] += " not in source
    assert "y[0] += " not in source
    agrees(f, X)
