"""Dicts of floats that lose items, and values that may be missing (scalarize/lists/dict_statements.py)."""

import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def taken(x, n):
    """By pop, del and popitem, in branches and loops; a key that comes again comes last."""
    d = {}
    s, w = 0.0, 1.0
    for i in range(n):
        d[i] = x * (i + 1)
        if i % 3 == 2:
            k, v = d.popitem()
            s += v * v * k
        if i == 4:
            s += d.pop(3) * d.pop(77, x * x)
            del d[0]
            d[0] = s * x
    for v in d.values():
        s += v * w
        w *= 1.5
    for k in list(d.keys()):
        if k > 1:
            s = s * x + d.pop(k)
    return s * len(d)


@njit
def joined(x):
    """By update, setdefault and copy; a name that has another value on some paths."""
    d = {1: x}
    y = d.setdefault(1, 7.0) * d.setdefault(3, x**3)
    e = d.copy()
    d.update({3: x, 2: y})
    z = 0.0
    if x > 0.1:
        z = d.pop(1)
        e.clear()
    e[9] = z * y
    s = 0.0
    for k, v in d.items():
        s = s * x + v * k
    return s * e[9] * len(e)


@njit
def looked_up(x, k):
    d = {1: x * x, 2: x}
    return d.get(k)


@njit
def popped(x, k):
    d = {1: x * x, 2: x}
    if k > 1:
        return d.pop(k)
    return d.get(k, x)


@njit
def missing(x):
    d = {}
    s = 0.0
    for i in range(5):
        v = d.get(i % 3)
        if v is None:
            d[i % 3] = x * x * (i + 1)
        else:
            s += v * v
    a, b = looked_up(x, 1), looked_up(x, 5)
    if a is not None:
        s += a * x
    if b is None:
        s *= x
    return s * popped(x, 1) + popped(x, 2)


def by_differences(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2.0 * h)


@pytest.mark.parametrize("f", [taken, joined, missing])
def test_derivatives(f):
    more = (7,) if f is taken else ()
    value, slope = dr.value_and_grad(f)(0.7, *more)
    assert value == f(0.7, *more)
    np.testing.assert_allclose(slope, by_differences(lambda x: f(x, *more), 0.7), rtol=1e-7)


def test_forward_and_second_order():
    assert_same(dr.jvp(popped, (0.7, 2), (1.0, None)), (0.7, 1.0))
    assert_same(dr.hessian(popped)(0.7, 1), 2.0)


def test_errors_are_those_of_the_function():
    @njit
    def f(x, k):
        d = {1: x}
        y = x
        if k:
            y = d.pop(k)
        return y * x

    assert dr.grad(f)(0.7, 1) == 1.4
    for function in (f, dr.grad(f)):
        with pytest.raises(KeyError):
            function(0.7, 2)


@njit
def of_itself(x):
    d = {1: x}
    d.update(d)
    return d[1]


@njit
def while_gone_over(x):
    d = {1: x, 2: x}
    s = 0.0
    for k in d:
        s += d.pop(k)
    return s


@pytest.mark.parametrize(("f", "words"), [(of_itself, "d.update(d)"), (while_gone_over, "s += d.pop(k)")])
def test_what_is_refused_names_the_use(f, words):
    with pytest.raises(UnsupportedError, match=re.escape(f"`{words}`")):
        dr.grad(f)(0.7)
