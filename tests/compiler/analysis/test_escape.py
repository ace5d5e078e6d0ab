"""Recursive functions that only borrow memory count no references (analysis/memory/escape.py); others do."""

import sys

import numpy as np
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr


@njit
def total(x, k, w):
    """Borrows: loads, ints, a branch and itself."""
    if k >= len(x):
        return 0.0
    if k % 2 == 0 and x[k] > 0.0:
        return x[k] * w + total(x, k + 1, w) * x[k]
    return total(x, k + 1, w) - x[k]


@njit
def halves(x, w):
    """A recursion on views of its argument, and on a new array."""
    n = len(x)
    if n == 1:
        return x[0] * w
    y = x[: n // 2] * w
    return halves(y, w) + halves(x[n // 2 :], w)


@njit
def filled(x, k):
    """Returns an array."""
    if k == 0:
        return x * 1.0
    y = filled(x, k - 1)
    y[k] = y[k - 1] * x[k]
    return y


@njit
def last(x):
    return filled(x, len(x) - 1)[-1]


@njit
def largest(x):
    """Makes an array inside, and returns a number."""
    y = np.ones(3) * x
    return y.max()


@njit
def with_help(x, k, w):
    """Borrows, but for what it calls."""
    if k >= len(x):
        return w
    return largest(x[k]) * with_help(x, k + 1, w) + largest(k * 1.0)


@njit
def even(x, k):
    return 1.0 if k < 0 else x[k] * odd(x, k - 1)


@njit
def odd(x, k):
    return 0.5 if k < 0 else x[k] + even(x, k - 1) * largest(x[k])


def counted(f, x, *args):
    """The derivative's functions that count no references; the gradient is that of the tape, and no array is lost."""
    before = sys.getrefcount(x)
    for _ in range(3):
        found = dr.grad(f)(x, *args)
    assert sys.getrefcount(x) == before
    assert_same(found, dr.grad(twin(f))(x, *args), rtol=1e-12)
    text = dr.derivative_source(f, x, *args)
    return [line.split("(")[0].removeprefix("def ") for line in _after(text, "_nrt=False")]


def _after(text, word):
    lines = text.splitlines()
    return [lines[k + 1] for k, line in enumerate(lines) if word in line]


def test_what_only_borrows_memory_counts_no_references():
    made = ["total_forward_lent", "total_forward", "total_reverse_lent", "total_reverse"]
    assert counted(total, np.array([1.5, -0.5, 0.75, 2.0, 0.3]), 0, 1.2) == made


def test_what_makes_memory_or_returns_it_counts():
    assert counted(halves, np.array([1.5, -0.5, 0.75, 2.0, 0.3]), 1.2) == []
    assert counted(last, np.array([1.5, -0.5, 0.75, 2.0, 0.3])) == []


def test_what_calls_others_that_make_memory_counts():
    """numba compiles a function without counting if it first meets it in one that is so compiled."""
    assert counted(with_help, np.array([1.5, 0.5, 0.75]), 0, 1.2) == []
    assert counted(even, np.array([1.5, 0.5, 0.75]), 2) == []
