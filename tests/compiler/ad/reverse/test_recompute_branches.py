"""Results of short branches are recomputed, not recorded (ad/tape_plan/recompute_branches.py)."""

import math
import re

import numpy as np
import pytest
from numba import njit, typeof
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.driver.emit import emit

A = np.linspace(-0.7, 2.1, 9)
TABLE = np.array([0.3, 1.2, -0.7])


@njit
def truncated(a, x, y):
    """A variance that is cut at 0, as in Heston's model."""
    for i in range(len(a)):
        z = max(x, 0.0)
        y = y + z * math.sin(y) + a[i]
        x = x + 0.3 * (0.2 - z) * a[i]
    return y


@njit
def weights(a, x, y):
    """Interpolation weights of two corners on each axis."""
    total = 0.0
    for i in range(len(a)):
        for j in range(2):
            for k in range(2):
                total = total + a[i - j - k] * (x if j else 1.0 - x) * (y if k else 1.0 - y) * total
    return total


@njit
def pieces(a, x, y):
    for i in range(len(a)):
        if a[i] < 0.0:
            w = -a[i]
        elif a[i] < 0.8:
            w = a[i] * a[i]
            w = w + 1.0
        elif a[i] < 1.5:
            w = x
        else:
            w = 2.0 - x * a[i]
        y = math.sin(y * w) * w + x
    return y


@njit
def one_side(a, x, y):
    for i in range(len(a)):
        w = a[i] * x
        if w > 0.4:
            w = 0.4 + 0.1 * w
        if i % 3 == 1:
            w = w * w
            w -= x
        y = y * math.cos(w * y) + w * y
    return y


@njit
def written_over(a, x, y):
    w = 1.0
    for i in range(len(a)):
        y = y * w
        if y > 2.0:
            w = x / (1.0 + y)
            y = y * 0.5
        else:
            w = 1.0 + x * 0.1
        y = y * w + math.sin(w * a[i])
        if i > 4:
            w = w * y
    return y * w


@njit
def around_loops(a, x, y):
    for i in range(len(a)):
        w = x if a[i] > 0.3 else 0.5 * y
        flag = a[i] > 1.0
        for j in range(3):
            u = w * j if flag else w + j
            y = y + math.sin(u * y) * w
    return y


@njit
def in_branches(a, x, y):
    for i in range(len(a)):
        if i % 2 == 0:
            w = x
            if a[i] > 0.5:
                w = a[i]
                if y > 1.0:
                    w = w * x
            y = math.sin(w * y) + w * y
        else:
            k = 2 if y > 0.7 else 3
            sign = 1.0
            if a[i] < 0.1:
                sign = -1.0
                k += 1
            y = y - sign * math.sin(y) * a[k] ** k * x
    return y


@njit
def with_exits(a, x, y):
    i = 0
    while i < len(a):
        w = min(x * a[i], 0.9)
        y = y + w * w * y
        if y > 3.0:
            w = y - 3.0
            if w > 0.2:
                break
        i += 1
        if w > 0.8:
            continue
        y = y * (w if w > 0.2 else 0.2)
    return y * y


@njit
def of_a_counter(a, x, y):
    """A loop that assigns to its counter in the body."""
    for i in range(len(a)):
        y = y + a[i]
        if i > 3:
            i = 1
        y = y * math.sin(a[i] * y) + x * i
        for k in range(i):
            y = y + math.sin(y) * a[k]
    return y + i


@njit
def states(a, x, y):
    """A machine with two of them."""
    mode, e = 0, 0.0
    for i in range(len(a)):
        u = x * a[i] - y
        if mode == 0:
            if u > 0.3:
                mode = 1
            gain = 1.0
        else:
            if u < -0.3:
                mode = 0
            gain = 0.5 * x
        y = y + gain * u * math.cos(y)
        e = e + y * y * gain
    return e


@njit
def of_flags(a, x, y):
    b = False
    for i in range(len(a)):
        c = x
        if b:
            c = c * y
            b = c > 1.0
        else:
            b = y > 1.0
            c = c + y
            c = c * c
        d = c
        if d > 3.0:
            d = 3.0 / d
        y = math.sin(d * y) * c + a[i]
    return y


@njit
def descent(a, x, y, k):
    if k == 0:
        return y
    w = max(x, 0.2)
    y = math.sin(w * y) * w + a[k]
    if y > 1.0:
        w = w / y
    return descent(a, x * 0.9 - 0.1, y, k - 1) * w


@njit
def by_recursion(a, x, y):
    return descent(a, x, y, len(a) - 1)


@njit
def upwind(a, x, y):
    """Differences against the wind, of two arrays in turn."""
    u = np.sin(a * x)
    v = u.copy()
    for _ in range(3):
        for i in range(len(a)):
            left = u[i - 1] if i > 0 else y
            right = u[i + 1] if i < len(a) - 1 else 0.0
            slope = u[i] - left if u[i] > 0.0 else right - u[i]
            v[i] = u[i] - 0.3 * slope * u[i] + 0.01 * slope * slope * left
        for i in range(len(a)):
            u[i] = v[i]
    return np.sum(u * u)


@njit
def of_elements_that_change(a, x, y):
    u = a * x
    for i in range(1, len(a)):
        w = u[i] if a[i] > 0.4 else u[i - 1]
        u[i] = w * u[i - 1] + y
        u[i - 1] = w * w
        if i > 3:
            w = u[1] * w if y > 0.0 else TABLE[i % 3] * w
        y = math.sin(y * w) + w
    return y * u[2]


@njit
def chained(a, x, y):
    """A branch that is not recomputed, as the next iteration begins with y: no element that it read is needed."""
    u = a.copy()
    t = 0.0
    for i in range(1, len(a)):
        t = t + y * y * x
        if t > 0.5:
            y = 0.5 * y + u[i] + math.sin(t)
        else:
            y = u[i - 1] - y
        t = t + y * y * y
        u[i] = x + 0.3
        u[i - 1] = 0.2 * x
    return t


@njit
def too_costly(a, x, y):
    for i in range(len(a)):
        w = math.exp(a[i] * x) if a[i] > 0.5 else x
        y = math.sin(w * y) + w
    return y


PROGRAMS = [
    *[truncated, weights, pieces, one_side, written_over, around_loops, in_branches, with_exits, of_a_counter, states],
    *[of_flags, by_recursion, upwind, of_elements_that_change, chained, too_costly],
]
POINTS = [(0.8, 1.3), (0.3, -0.4), (-0.6, 0.9)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_after_branches_in_core(f):
    for x, y in POINTS:
        expected = dr.value_and_grad(f.py_func, (0, 1, 2))(A, x, y)
        assert_same(tuple(gradient(f, (A, x, y), (0, 1, 2))[1]), expected[1], rtol=1e-12, types=False)


#: With one branch, in inner loops, in a loop that is left, in a recursion, and of elements that change.
COMPILED = truncated, around_loops, with_exits, by_recursion, of_elements_that_change


@pytest.mark.parametrize(
    "f", [pytest.param(f, marks=[] if f in COMPILED else [pytest.mark.slow], id=f.__name__) for f in PROGRAMS]
)
def test_values_after_branches(f):
    for x, y in POINTS:
        expected = dr.value_and_grad(f.py_func, (0, 1, 2))(A, x, y)
        assert_same(dr.value_and_grad(f, (0, 1, 2))(A, x, y), expected, rtol=1e-12, types=False)


@pytest.mark.parametrize("f", [truncated, written_over, in_branches])
def test_second_derivatives(f):
    v = np.cos(A)
    expected = dr.grad(lambda a: dr.grad(f.py_func)(a, 0.8, 1.3) @ v)(A)
    assert_same(dr.hvp(f)(A, v, 0.8, 1.3), expected, rtol=1e-10, types=False)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (truncated, 3),  # x, y and the sine, which is a factor
        (weights, 1),
        (one_side, 2),
        (pieces, 3),  # y, the sine, and w: the branches are too long
        (upwind, 1),  # the old element of u
        (of_elements_that_change, 4),  # two elements and w, and y
        (chained, 2),  # y and t, and no old element of u
        (too_costly, 2),  # nor are exponentials: y, w, and in the branch the exponent of one that is active
    ],
)
def test_they_are_not_recorded(f, words):
    source = emit(f, "value_and_grad", (0, 1, 2), tuple(map(typeof, (A, 0.8, 1.3)))).source
    assert len(set(re.findall(r"(saved_\d+\[|words\[top.*\]).* = ", source))) == words
