"""Common subexpression elimination (optimize/cse.py): an expression is computed once if its operands do not change."""

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Load
from dualrev.compiler.ir.core.traverse import statements

X = np.array([1.0, 2.0, 3.0, -4.0, 5.0])


@njit
def of_the_last_round(x):
    """A name that holds the value of the iteration before in odd iterations."""
    t = 0.0
    for i in range(len(x)):
        a = x[i]
        t += a * a
        if i % 2 == 0:
            b = x[i]
        t += b * a * (i + 1)
    return t


@njit
def first_step(t):
    s = 0.0
    for i in range(len(t) - 1):
        dt = t[i + 1] - t[i]
        if i == 0:
            dt0 = t[i + 1] - t[i]
        s += dt * dt0
    return s


@njit
def last_place(x):
    """An index that a branch assigns."""
    s = 0.0
    for i in range(len(x)):
        k = i + 1
        if x[i] > 0.0:
            j = i + 1
        s += x[j - 1] * x[i] * k
    return s


@njit
def after_the_loop(x):
    s = 0.0
    for i in range(len(x)):
        a = x[i] * x[i]
        if x[i] < 2.5:
            b = x[i] * x[i]
        s += a
    return s * b


@njit
def loop_without_rounds(x):
    s = 0.0
    for i in range(len(x)):
        a = x[i] * x[0]
        for _ in range((i + 1) % 2):
            b = x[i] * x[0]
        s += a * b
    return s


@njit
def read_before(x):
    """A product that equals the one of the iteration before, read before it is computed again."""
    s, b = 0.0, 1.0
    for i in range(len(x)):
        s += b * x[i]
        a = x[i] * x[1]
        b = x[i] * x[1]
        s += a * b
    return s


@njit
def in_a_condition(x):
    s, i = 0.0, 0
    while i < len(x) and x[i] > -10.0:
        a = x[i] * x[i]
        s += a
        i += 1
        if s > 6.0:
            b = x[i - 1] * x[i - 1]
            s += b
    return s


@njit
def until_it_returns(x):
    """A loop whose test never changes, and has been computed twice."""
    s, i = 0.0, 0
    small = x[0] < 2.0
    goes_on = x[0] < 2.0
    while goes_on:
        s += x[i] * x[i]
        i += 1
        if small and i == len(x):
            return s
    return s * x[0]


@njit
def equal_products(x):
    a = x[0] * x[1]
    b = x[0] * x[1]
    x[2] = a
    return b


PROGRAMS = [
    of_the_last_round,
    first_step,
    last_place,
    after_the_loop,
    loop_without_rounds,
    read_before,
    in_a_condition,
    until_it_returns,
    equal_products,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient_are_those_of_the_tape(f):
    expected = dr.value_and_grad(f.py_func)(X)
    assert_same(dr.value_and_grad(f)(X), expected)
    assert expected[0] == pytest.approx(f(X))


def test_in_the_same_block_nothing_is_computed_twice():
    @njit
    def f(x):
        t = 0.0
        for i in range(len(x)):
            a = x[i]
            if a > 0.0:
                t += x[i] * x[i]
            t += x[i] * a
        return t

    made, _ = gradient(f, (X,), (0,))
    loads = [s for s in statements(made.body) if isinstance(s, Load) and s.array.type.ndim == 1]
    assert len(loads) == 1  # both sweeps are one loop


def test_a_stored_element_is_not_loaded_again():
    @njit
    def f(x):
        y, t = np.zeros(len(x)), 0.0
        for i in range(len(x)):
            a = x[i] * 3.0
            y[i] = a
            t += y[i] * y[i]
        return t

    made, found = gradient(f, (X,), (0,))
    assert {s.array for s in statements(made.body) if isinstance(s, Load)} == {made.parameters[0]}  # and none of y
    assert_same(found[0], 18.0 * X)
