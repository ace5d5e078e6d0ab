"""A partial that the forward sweep has computed is taken from there: in a rotation, the cosine for the sine."""

import math

import numpy as np
import pytest
from numba import njit, typeof
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.driver.emit import emit

A = np.linspace(-0.7, 2.1, 9)


@njit
def walk(turns, x, y):
    total = 0.0
    for i in range(len(turns)):
        c, s = math.cos(turns[i]), math.sin(turns[i])
        x, y = c * x - s * y, s * x + c * y
        total += x * y
    return total


@njit
def in_sums(turns, x, y):
    total = 0.0
    for i in range(len(turns)):
        total += np.sin(turns[i] * x) * y + 2.0 * np.cos(turns[i] * x)
    return total


@njit
def in_branches(turns, x, y):
    c = math.cos(x)
    for i in range(len(turns)):
        if turns[i] > 0.5:
            y = y * math.sin(x) + turns[i] * c
        elif turns[i] > 0.0:
            s = math.sin(y)
            y = s * math.cos(y) + c * s
        else:
            y = math.cos(y) * y
    return y * c


@njit
def after_the_loop(turns, x, y):
    for i in range(len(turns)):
        y = y * math.sin(x) + turns[i] * math.sin(y)
    c = math.cos(x)
    return y * c * math.cos(y)


@njit
def written_over(turns, x, y):
    c = math.cos(x)
    y = y * c
    c = turns[0]
    s = math.sin(x) * c
    x = x + s
    return math.sin(x) * y + s * math.cos(x) + c


@njit
def of_another_round(turns, x, y):
    c = 1.0
    for i in range(len(turns)):
        y = y * c + math.sin(turns[i])
        c = math.cos(turns[i]) * y
    return y * c


@njit
def in_the_test(turns, x, y):
    i = 0
    while math.cos(x) * y < 20.0 and i < len(turns):
        y = y * math.cos(x) + math.sin(x) + turns[i]
        x = x * 0.9
        i += 1
    return y


@njit
def hyperbolic(turns, x, y):
    for i in range(len(turns)):
        c, s = math.cosh(turns[i] * y), math.sinh(turns[i] * y)
        y = (x * c + y * s) / (1.0 + c * c + s)
    return y


@njit
def powers(turns, x, y):
    for i in range(len(turns)):
        y = y + math.log(x + y * y) * (x + y * y) ** (0.1 * turns[i])
    return y


@njit
def turned(a, x, y):
    if a == 0.0:
        return x - a * y, y + a * x
    c, s = math.cos(a), math.sin(a)
    return c * x - s * y, s * x + c * y


@njit
def by_calls(turns, x, y):
    for i in range(len(turns)):
        x, y = turned(turns[i] - turns[3], x, y)
    return x * x * y


@njit
def with_exits(turns, x, y):
    for i in range(len(turns)):
        s = math.sin(turns[i] * y)
        if s > 0.95:
            break
        c = math.cos(turns[i] * y)
        y = y + s * c * x
        if c < -0.5:
            return y * c
    return y


PROGRAMS = [
    *[walk, in_sums, in_branches, after_the_loop, written_over, of_another_round, in_the_test, hyperbolic, powers],
    *[by_calls, with_exits],
]


@pytest.mark.parametrize(
    ("f", "kind"), [*((f, np.float64) for f in PROGRAMS), (walk, np.float32), (in_branches, np.float32)]
)
def test_partials_of_the_forward_sweep(f, kind):
    args = A.astype(kind), kind(0.8), kind(1.3)
    expected = dr.value_and_grad(f.py_func, (0, 1, 2))(*args)
    rtol = 1e-12 if kind is np.float64 else 2e-5
    assert_same(dr.value_and_grad(f, (0, 1, 2))(*args), expected, rtol=rtol, types=False)
    assert_same(tuple(gradient(f, args, (0, 1, 2))[1]), expected[1], rtol=rtol, types=False)


@njit
def of_no_factors(turns, x, y):
    for i in range(len(turns)):
        y = y * y + math.sin(turns[i] * x) + 2.0 * math.cos(turns[i] * x)
    return y


def computed(f, name):
    """How often a function stands in the emitted source, but for comments."""
    source = emit(f, "value_and_grad", (0, 1, 2), tuple(map(typeof, (A, 0.8, 1.3)))).source
    return "\n".join(line.partition("#")[0] for line in source.splitlines()).count(f"{name}(")


@pytest.mark.parametrize(
    ("f", "cosines", "sines"),
    [
        (walk, 1, 1),
        (in_sums, 1, 1),  # both sweeps are in one round
        (after_the_loop, 3, 4),  # in the loop, the cosine of x is that after it; those of y are others
        (of_another_round, 1, 2),
        (of_no_factors, 2, 2),  # they would be two words more in each round
    ],
)
def test_what_is_there_is_not_computed_again(f, cosines, sines):
    assert (computed(f, "cos"), computed(f, "sin")) == (cosines, sines)


@pytest.mark.parametrize("f", [walk, in_branches, by_calls, hyperbolic])
def test_second_derivatives(f):
    v = np.cos(A)
    expected = dr.grad(lambda turns: dr.grad(f.py_func)(turns, 0.8, 1.3) @ v)(A)
    assert_same(dr.hvp(f)(A, v, 0.8, 1.3), expected, rtol=1e-10, types=False)
