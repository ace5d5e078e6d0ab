"""Rounds of the reverse sweep that change shadows after their loads (optimize/sink_stores.py), by the evaluator."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import For, Load, Store
from dualrev.compiler.ir.core.traverse import statements


def arguments():
    return np.array([0.3, -0.7, 1.1, 0.4, 0.9]), np.array([1.2, 0.1, -0.4, 0.8, 0.6])


@njit
def chained(x, y):
    """Loop-carried numbers and an array that is updated, as in a step of a Runge-Kutta method."""
    a = x * 1.0
    for _ in range(3):
        before, half = 1.0, 1.0
        for i in range(len(a)):
            k1, k2 = y[i] * before, y[i] * half
            before = a[i]
            half = before + 0.3 * k1
            a[i] = before + 0.1 * (k1 + 2.0 * k2)
    return a[-1] * a[0]


@njit
def overlapping(x, y):
    """Loads and stores of one array by two names."""
    a = x * 1.0
    b = a[1:]
    for i in range(len(b)):
        a[i] = math.sin(a[i]) * y[i]
        b[i] = b[i] * a[i] + y[i + 1]
        a[i] = a[i] * b[i] * y[0]
    return np.sum(a)


@njit
def counted(x, y):
    """An index that an iteration changes after its use."""
    a, j = x * 1.0, 0
    for i in range(4):
        a[j] = a[j] * y[i] + x[j] * y[j]
        j = (j + 2) % 5
        a[j] = math.cos(a[j] * y[i]) * y[j]
        j = (j + 1) % 5
    return np.sum(a)


@njit
def branching(x, y):
    """Statements in branches stay there."""
    a, last = x * 1.0, 1.0
    for i in range(len(x)):
        if y[i] > 0.0:
            a[i] = a[i] * last * y[i]
        last = a[i] * x[i]
        a[i] = last * y[i] * y[0]
    return np.sum(a) + last


@njit
def called(t, k):
    t[k] = math.sin(t[k]) * t[0]
    return t[k]


@njit
def calling(x, y):
    """A function that is called sees what was stored before."""
    a, total = x * 1.0, 0.0
    for i in range(1, len(x)):
        a[i] = a[i] * y[i]
        total += called(a, i) * y[i - 1]
        a[i] = a[i] * a[i - 1] * y[i]
    return total + np.sum(a)


@pytest.mark.parametrize("f", [chained, overlapping, counted, branching, calling])
def test_the_gradient_is_that_of_the_tape(f):
    _, found = gradient(f, arguments(), (0, 1))
    expected = flat(dr.grad(twin(f), (0, 1))(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


def test_stores_stand_after_the_loads_of_other_arrays():
    made, _ = gradient(chained, arguments(), (0, 1))
    (loop,) = (s for s in list(statements(made.body)) if isinstance(s, For) and s.step.value < 0 and _stores(s))
    others = [k for k, s in enumerate(loop.body) if isinstance(s, Load) and not _is_shadow(s.array)]
    assert others
    assert min(_stores(loop)) > max(others)


def test_a_store_stays_before_a_load_of_the_same_memory():
    made, _ = gradient(overlapping, arguments(), (0, 1))
    (loop,) = (s for s in list(statements(made.body)) if isinstance(s, For) and _stores(s) and s.step.value < 0)
    loads = [k for k, s in enumerate(loop.body) if isinstance(s, Load) and _is_shadow(s.array)]
    assert min(_stores(loop)) < max(loads)


def _stores(loop):
    return [k for k, s in enumerate(loop.body) if isinstance(s, Store) and _is_shadow(s.array)]


def _is_shadow(x):
    return x.name.startswith("d_")
