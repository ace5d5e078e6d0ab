"""The old contents of fresh arrays are not recorded, and everything that has to be is."""

import math

import numpy as np
import pytest
from numba import njit
from support.checks import agrees

import dualrev as dr


@njit
def recurrence(x, n=4):
    out = np.empty(n)
    out[0] = x
    for i in range(1, n):
        out[i] = out[i - 1] * out[i - 1] * x + 0.1
    return out[n - 1] + out[n // 2] * out[1]


@njit
def two_columns(x, n=4):
    for k in range(2):
        out = np.empty((n, 2))
        out[0, 0] = x
        out[0, 1] = x * x + k
        for i in range(n - 1):
            out[i + 1, 0] = out[i, 1] * out[i, 0]
            out[i + 1, 1] = out[i, 0] * x + out[i, 1] * 0.3
        x = x * 0.9 + 0.01 * out[n - 1, 0]
    return x


@njit
def triangle(x, n=4):
    out = np.empty_like(np.ones((n, n)))
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = x * (i + 1) if j == 0 else out[i, j - 1] * out[i, 0]
    return out[n - 1, n - 1] + out[1, 1]


@pytest.mark.parametrize("f", [recurrence, two_columns, triangle], ids=lambda f: f.__name__)
def test_no_element_of_a_fresh_array_is_recorded(f):
    agrees(f, 0.7)
    source = dr.derivative_source(f, 0.7)
    assert "] = out[" not in "".join(line for line in source.splitlines() if line.strip().startswith("words["))
    assert "= words[" not in "".join(line for line in source.splitlines() if line.strip().startswith("out["))


# What must be recorded: these would be wrong otherwise


@njit
def written_twice(x, n=4):
    s = 0.0
    out = np.empty(n)
    for i in range(n):
        for j in range(2):
            out[i] = x * (i + 1) * (j + 1)
            s += out[i] * out[i] * x
    return s


@njit
def from_the_end(x, n=4):
    s = 0.0
    out = np.empty(n)
    out[-1] = x
    s += out[n - 1] * out[n - 1]
    for i in range(n):
        out[i] = x * x * i
        s += out[i] * out[i]
    return s


@njit
def negative_counters(x, n=4):
    s = 0.0
    out = np.empty(n)
    for i in range(-n, n):
        out[i] = x * (i + 7) * x
        s += out[i] * out[i] * out[i]
    return s


@njit
def overlapping_ranges(x, n=4):
    s = 0.0
    out = np.empty(n)
    out[2] = x
    s += out[2] * out[2]
    for i in range(1, n):
        out[i] = x * x * i
        s += out[i] * out[i]
    return s


@njit
def zeros_are_something(x, n=4):
    s = 0.0
    out = np.zeros(n)
    for i in range(n):
        s += out[i] * x + math.cos(out[i] * x)
        out[i] = x * x + i
        s += out[i] * out[i]
    return s


@njit
def fill(a, x):
    for i in range(len(a)):
        a[i] = x * (i + 1)


@njit
def by_a_callee(x, n=4):
    s = 0.0
    out = np.empty(n)
    fill(out, x)
    s += np.sum(out * out)
    for i in range(n):
        out[i] = x * x * i
        s += out[i] * out[i]
    return s


@njit
def through_a_view(x, n=4):
    s = 0.0
    out = np.empty(n)
    rest = out[1:]
    for i in range(n - 1):
        rest[i] = x * (i + 1)
        s += rest[i] * rest[i]
    for i in range(n):
        out[i] = x * x * i
        s += out[i] * out[i]
    return s


@njit
def one_name_for_two_arrays(x, n=4):
    s = 0.0
    out = np.empty(n)
    for k in range(2):
        for i in range(n):
            out[i] = x * (i + 1)
            s += out[i] * out[i]
        if k == 0 and n > 9:
            out = np.empty(n)
    return s


@njit
def added_to(x, n=4):
    s = 0.0
    out = np.empty(n)
    for i in range(n):
        out[i] = x * (i + 1)
    for i in range(n):
        s += out[i] * out[i]
        out[i] += x
        s += out[i] * out[i]
    return s


@pytest.mark.parametrize(
    "f",
    [
        *[written_twice, from_the_end, negative_counters, overlapping_ranges, zeros_are_something],
        *[by_a_callee, through_a_view, one_name_for_two_arrays, added_to],
    ],
    ids=lambda f: f.__name__,
)
def test_elements_that_are_written_again_come_back(f):
    agrees(f, 0.7)


# New arrays that share a name, or a class, with older ones


@njit
def handed_on(x, n=4):
    a = np.full(n, x)
    for _ in range(3):
        b = np.empty(n)
        for i in range(n):
            b[i] = a[i] * a[i - 1] * x
        a = b
    return np.sum(a * a)


@njit
def in_array_style(x, n=4):
    a = np.full(n, x)
    for k in range(3):
        a = a * x + np.sin(a[::-1] * k)
    return np.sum(a * a)


@pytest.mark.parametrize("f", [handed_on, in_array_style], ids=lambda f: f.__name__)
def test_no_element_of_an_array_that_is_handed_on_is_recorded(f):
    agrees(f, 0.7)
    source = dr.derivative_source(f, 0.7)
    assert "= words[" not in "".join(line for line in source.splitlines() if line.strip()[0:2] in ("b[", "a[", "_1"))
    assert "runtime.store(" not in source


@njit
def written_after_its_successor(x, n=4):
    s, a = 0.0, np.full(n, x)
    for _ in range(3):
        b = np.empty(n)
        for i in range(n):
            b[i] = a[i] * a[i - 1] * x
        a[1] = b[0] * a[0]
        s += a[1] * a[1] * b[2]
        a = b
    return s + np.sum(a * a)


@njit
def by_another_name_first(x, n=4):
    s = 0.0
    for k in range(2):
        b = np.empty(n)
        c = b
        c[0] = x * (k + 1)
        s += b[0] * b[0]
        for i in range(n):
            b[i] = x * x * i
            s += c[i] * c[i]
    return s


@njit
def zeros_in_each_round(x, n=4):
    s = 0.0
    for k in range(3):
        b = np.zeros(n)
        for i in range(n):
            s += b[i] * x + b[i - 1] * b[i - 1] * x
            b[i] = x * x + k * s
            s += b[i] * b[i]
    return s


@pytest.mark.parametrize(
    "f", [written_after_its_successor, by_another_name_first, zeros_in_each_round], ids=lambda f: f.__name__
)
def test_what_another_name_writes_comes_back(f):
    agrees(f, 0.7)
