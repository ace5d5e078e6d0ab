"""Arrays that each iteration overwrites before it reads them (analysis/memory/privatizable.py)."""

import functools
import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import For, Pop, Push
from dualrev.compiler.ir.core.traverse import statements


def arguments():
    return np.array([0.8, 1.3, -0.4]), np.array([0.3, -0.7, 1.1, 0.4]), np.array([1.2, 0.1, -0.4, 0.9])


@njit
def largest_exponential(v):
    largest = v[0]
    for k in range(1, len(v)):
        if v[k] > largest:
            largest = v[k]
    total = 0.0
    for k in range(len(v)):
        total += math.exp(v[k] - largest)
    return largest + math.log(total)


@njit
def likelihood(t, x, y):
    """A buffer of one iteration that a function reads."""
    n = len(t)
    scores = np.empty(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            scores[k] = t[k] * x[i] - y[i] * y[i]
        total += largest_exponential(scores)
    return total - 2.0 * largest_exponential(t)


@njit
def triangle(t, x, y):
    """A buffer whose elements below the written one are read, in iterations that each write all elements."""
    n = len(t)
    a, z = np.zeros(n), np.zeros(n)
    total = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            for k in range(n):
                a[k] = x[i] * t[k] - y[j]
                z[k] = a[k] * t[0]
                for m in range(k):
                    z[k] += a[m] * y[j]
            for k in range(len(z)):
                total -= z[k] * z[k]
    return 0.5 * total


@njit
def several(t, x, y):
    """Arrays of other lengths, of whole numbers, and of elements that are changed after all are written."""
    one, count, like = np.empty(3), np.zeros(len(x), np.int64), np.empty_like(x)
    total = 0.0
    for i in range(len(x)):
        for k in range(3):
            one[k] = t[k] * x[i]
        for k in range(count.shape[0]):
            count[k] = (i * k) % 3
        for k in range(like.shape[0]):
            like[k] = math.sin(x[k] * t[count[k]])
        if y[i] > 0.5:
            one[1] *= one[0]
        like[i] += one[count[i]]
        total += like[i] * like[3 - i] * one[1]
    return total


SCRATCH = [likelihood, triangle, several]


@njit
def one_remains(t, x, y):
    """A buffer with an element that the iteration before wrote."""
    a = np.zeros(len(y))
    total = 0.0
    for i in range(len(x)):
        for k in range(len(y) - 1):
            a[k] = t[0] * x[i] * y[k]
        total += a[2] * a[3] + a[0]
        a[3] = t[1]
    return total


@njit
def read_first(t, x, y):
    """An iteration that first reads an element of the iteration before."""
    n = len(t)
    a = np.zeros(n)
    total = 0.0
    for i in range(len(x)):
        total += a[0] * y[i]
        for k in range(n):
            a[k] = t[k] * x[i]
    return total


@njit
def read_ahead(t, x, y):
    """An element that is read before its iteration writes it."""
    n = len(t)
    a = np.zeros(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = t[k] * x[i]
            for m in range(k + 1):
                total += a[(m + 1) % n] * y[i]
    return total


@njit
def read_in_place(t, x, y):
    n = len(t)
    a = np.zeros(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = a[k] * x[i] + t[k]
        total += a[1] * y[i]
    return total


@njit
def read_later(t, x, y):
    """Elements of the last iteration that are read after the loop."""
    n = len(t)
    a = np.zeros(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = t[k] * x[i]
        total += a[1] * y[i]
    return total + a[2]


@njit
def in_a_branch(t, x, y):
    n = len(t)
    a = np.ones(n)
    total = 0.0
    for i in range(len(x)):
        if y[i] > 0.5:
            for k in range(n):
                a[k] = t[k] * x[i]
        total += a[1] * y[i]
    return total


@njit
def some_elements(t, x, y):
    n = len(t)
    a = np.ones(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            if y[k] > 0.5:
                a[k] = t[k] * x[i]
        total += a[1] * y[i]
    return total


@njit
def shorter(t, x, y):
    """The number has changed since the array was made with it."""
    n = len(t)
    a = np.ones(n)
    n -= 1
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = t[k] * x[i]
        total += a[2] * a[0]
        a[2] = t[2] * y[i]
    return total


@njit
def no_round(t, x, y):
    """A buffer that the first iteration does not write, as its inner loop has no iteration there."""
    n = len(t)
    a = np.ones(n)
    total = 0.0
    for i in range(len(x)):
        for _ in range(i):
            for k in range(n):
                a[k] = t[k] * x[i] * y[i]
        total += a[0] * t[1]
        a[0] = t[2]
    return total


@njit
def other_name(t, x, y):
    """A buffer that is read through a view."""
    n = len(t)
    a = np.zeros(n)
    b = a[1:]
    total = 0.0
    for i in range(len(x)):
        total += b[0] * y[i]
        for k in range(n):
            a[k] = t[k] * x[i]
    return total


@njit
def ends(t, x, y):
    """The loop that writes may end."""
    n = len(t)
    a = np.ones(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = t[k] * x[i]
            if a[k] > 0.3:
                break
        total += a[2] * y[i]
    return total


@njit
def backwards(t, x, y):
    """A buffer whose elements after the written one are read."""
    n = len(t)
    a = np.ones(n)
    total = 0.0
    for i in range(len(x)):
        for k in range(n):
            a[k] = t[k] * x[i]
            for m in range(k, n):
                total += a[m] * y[i]
    return total


APART = [one_remains, read_first, read_ahead, read_in_place, read_later, in_a_branch, some_elements, shorter]
APART += [no_round, other_name, ends, backwards]


def users_loops(f):
    return [s for s in f.body if isinstance(s, For) and s.target.name == "i"]


@functools.cache
def reversed_by(f, numbers):
    """The gradient in core, and what it is for the arguments."""
    return gradient(f, arguments(), numbers)


@pytest.mark.parametrize("numbers", [(0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("f", SCRATCH + APART)
def test_the_gradient_is_that_of_the_tape(f, numbers):
    _, found = reversed_by(f, numbers)
    expected = flat(dr.grad(twin(f), numbers)(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


@pytest.mark.parametrize("f", SCRATCH)
def test_the_rounds_are_reversed_at_once_and_leave_nothing_on_the_tape(f):
    made, _ = reversed_by(f, (0, 1, 2))
    (loop,) = users_loops(made)
    outside = [s for t in made.body if t is not loop for s in statements((t,))]
    assert not [s for s in outside if isinstance(s, (Push, Pop))] or f is likelihood  # which calls outside, too


@pytest.mark.parametrize("f", APART)
def test_other_arrays_are_not_such(f):
    made, _ = reversed_by(f, (0, 1, 2))
    assert len(users_loops(made)) == 2


@pytest.mark.parametrize(
    "f", [*SCRATCH, *(pytest.param(f, marks=() if k % 3 == 0 else pytest.mark.slow) for k, f in enumerate(APART))]
)
def test_compiled_code_says_the_same(f):
    found = dr.grad(f, (0, 1, 2))(*arguments())
    expected = flat(dr.grad(twin(f), (0, 1, 2))(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


@pytest.mark.parametrize("f", [*SCRATCH, one_remains, read_ahead, read_later])
def test_products_with_hessians(f):
    """Tangents have room of their own."""
    t, x, y = arguments()
    found = dr.hvp(f)(t, np.array([0.2, -1.0, 0.7]), x, y)
    step = np.array([0.2, -1.0, 0.7]) * 1e-5
    gradient_at = dr.grad(f, (0, 1, 2))
    expected = (gradient_at(t + step, x, y)[0] - gradient_at(t - step, x, y)[0]) / 2e-5
    assert_same(found, expected, rtol=1e-6)
