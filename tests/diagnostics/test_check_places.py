"""dr.check lists all places of a function that the tape refuses, not the first one only."""

import math
import re
import threading
from math import log

import numpy as np
import pytest
from numba import njit
from scipy import special

import dualrev as dr
from dualrev.eager.checking.survey import survey

X = np.array([0.5, 1.5, 2.0])


def helper(u):
    return log(u)


def price(p, data):
    mu, s = p[0], p[1]
    z = np.zeros(len(data))
    for i in range(len(data)):
        z[i] = (data[i] - mu) / s
    scale = math.exp(z[0])
    u = np.exp(np.array([scale, 1.0]))
    table = {u[0]: 1.0}
    acc = np.ones(3)
    acc += p
    k = special.pbdv(1.0, acc[0])[0]
    t = float(k) + helper(p[2])
    h = np.quantile(p, 0.5, method="hazen")
    return complex(h, 2.0).real + math.floor(mu) + t + len(table)


def twice(x):
    return math.sin(x) * helper(x)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        y = np.empty(2)
        y[0] = x * self.scale
        return math.cos(y[0])


def lines(error):
    return re.findall(r"^\d+\. .*? at .*?test_check_places\.py:\d+: `(.*?)`", str(error), re.MULTILINE)


def test_all_places_are_listed_in_their_order():
    with pytest.raises(dr.ConversionError, match=r"^10 places of 'price' cannot be differentiated:\n1\. ") as caught:
        dr.check(price, X, np.arange(4.0))
    assert "Write `z = dualrev.numpy.array(z)` below" in str(caught.value)
    assert lines(caught.value) == [
        "z[i] = (data[i] - mu) / s",
        "scale = math.exp(z[0])",  # it is reached by what was stored
        "u = np.exp(np.array([scale, 1.0]))",
        "table = {u[0]: 1.0}",
        "acc += p",
        "k = special.pbdv(1.0, acc[0])[0]",
        "t = float(k) + helper(p[2])",
        "return log(u)",
        'h = np.quantile(p, 0.5, method="hazen")',
        "return complex(h, 2.0).real + math.floor(mu) + t + len(table)",
    ]
    assert "do not take were not seen." in str(caught.value)


def test_places_in_callees_methods_and_closures():
    with pytest.raises(dr.ConversionError) as caught:
        dr.check(twice, 0.5)
    assert lines(caught.value) == ["return math.sin(x) * helper(x)", "return log(u)"]
    with pytest.raises(dr.ConversionError) as caught:
        dr.check(Model(2.0).loss, 0.5)
    assert lines(caught.value) == ["y[0] = x * self.scale", "return math.cos(y[0])"]
    scale = 3.0
    with pytest.raises(dr.ConversionError) as caught:
        dr.check(lambda x, n: twice(x) + float(x * scale) * n, 0.5, 2)
    assert len(lines(caught.value)) == 3


def test_a_run_that_ends_says_so():
    def f(x):
        y = math.sin(x[0]) + float(x[1])
        x.tobytes()
        return y + helper(x[0])

    with pytest.raises(dr.ConversionError, match=r"(?s)^3 places .*the run ended at the last one") as caught:
        dr.check(f, X)
    assert "3. AttributeError: " in str(caught.value)


def test_one_place_is_the_error_itself():
    def f(x):
        return math.sin(x)

    with pytest.raises(dr.ConversionError, match=r"^float\(\) of a number"):
        dr.check(f, 0.5)
    with pytest.raises(dr.HashError, match=r"^a number that is being differentiated was used as a key"):
        dr.check(lambda x: {x: x}[x] * 2.0, 0.5)


def test_nothing_stays_as_it_was_for_the_search():
    data = np.arange(4.0)
    for _ in range(2):
        with pytest.raises(dr.ConversionError, match=r"^10 places"):
            dr.check(price, X, data)
    assert data.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert math.sin(0.0) == 0.0
    assert type(np.zeros(1)) is np.ndarray
    with pytest.raises(dr.ConversionError, match=r"^float"):
        dr.grad(twice)(0.5)


def test_other_threads_are_refused_as_ever():
    found = []

    def other():
        try:
            dr.grad(lambda x: math.sin(x))(0.5)
        except dr.ConversionError as error:
            found.append(error)

    def f(x):
        y = float(x)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return y * x

    error = dr.ConversionError("float()")
    assert survey(f, (0.5,), [0], error) is error  # one place, twice: the other thread's is not among them
    assert len(found) == 2


# Numba functions


@njit
def smallest(y):
    table = {1: y[0]}
    table[2] = y[1] * y[1]
    return np.nextafter(min(table[1], table[2]), 0.0)


@njit
def priced(x, n):
    total, steps = 0.0, np.zeros(n)
    for k in range(n):
        steps[k] = np.nextafter(x[k], 2.0)
        total += x[k] * steps[k]
        seen = total
    seen = np.nextafter(total, 1.0)
    again = seen * np.nextafter(seen, 3.0)  # it depends on what is refused
    flags = x > 0.7
    if n > 2:
        total = x[flags, None][0, 0]
    else:
        total = total * np.nextafter(total, 2.0)
    return total + again + smallest(x)


@njit
def in_turns(x, n):
    past = x
    for _ in range(n):
        new = np.nextafter(past, 1.0)  # it depends on itself, one round before
        past = new * np.nextafter(past, 4.0)
    return past + np.nextafter(x, 5.0)


def test_all_places_of_a_numba_function():
    with pytest.raises(
        dr.UnsupportedError, match=r"(?s)^5 places of 'priced'.*What depends on them.*not seen"
    ) as caught:
        dr.check(priced, X, 3)
    assert re.findall(r"^\d+\. .*?test_check_places\.py:\d+: `(.*?)`", str(caught.value), re.MULTILINE) == [
        "return np.nextafter(min(table[1], table[2]), 0.0)",
        "steps[k] = np.nextafter(x[k], 2.0)",
        "seen = np.nextafter(total, 1.0)",
        "total = x[flags, None][0, 0]",
        "total = total * np.nextafter(total, 2.0)",
    ]


def test_what_a_later_round_of_a_numba_function_has_lost():
    with pytest.raises(dr.UnsupportedError, match=r"^2 places of 'in_turns'") as caught:
        dr.check(in_turns, 0.5, 2)
    assert "past, 4.0" not in str(caught.value)


def test_one_place_of_a_numba_function_is_the_error_itself():
    @njit
    def one(x):
        y = np.nextafter(x, 2.0)
        return y * np.sin(y) + x

    with pytest.raises(dr.UnsupportedError) as first:
        dr.grad(one)(0.5)
    with pytest.raises(dr.UnsupportedError) as caught:
        dr.check(one, 0.5)
    assert str(caught.value) == str(first.value)
    assert dr.grad(njit(lambda x: x * 2.0))(0.5) == 2.0
