"""Late shadows (ad/tape_plan/late_shadows.py): the reverse pass makes the shadows of an iteration's new arrays, and
the arrays themselves again if nothing reads their elements."""

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Keep
from dualrev.compiler.ir.core.traverse import statements


@njit
def linear(x, w):
    """Temporary arrays of which the reverse pass reads only the shape."""
    t = x.copy()
    for _ in range(3):
        apart = w[1:] * (t[1:] - t[:-1])
        t[1:-1] += 0.1 * (apart[1:] - apart[:-1])
    return np.sum(t * t)


@njit
def curved(x, w):
    """Elements of the temporary array are read: it is kept, and its shadow is not."""
    t = x.copy()
    for _ in range(3):
        y = np.sin(t * w)
        for i in range(len(t)):
            t[i] += y[i] * y[len(t) - 1 - i]
    return np.sum(t)


@njit
def in_branches(x, w):
    """One that is made in a branch, and one that views are chosen of at run time."""
    s = 0.0
    for k in range(4):
        if x[k % 2] > 0.5:
            y = np.empty(len(x))
            for i in range(len(x)):
                y[i] = x[i] * w[i]
            v = y[1:] if k > 1 else y[:-1]
            s += np.sum(v) * w[k % 2]
        else:
            z = x * 2.0
            s += z[k] * x[k]
    return s


@njit
def from_round_to_round(x, w):
    """An array that the next iteration and code after the loop read."""
    before = x * 1.0
    s = 0.0
    for _ in range(3):
        y = before * w
        s += np.sum(y[1:] * x[1:])
        before = y
    return s + before[0] + y[1]


@njit
def in_while(x, w):
    s, k = x[0], 0
    while s < 3.0:
        y = x * s
        z = y[::-1]
        s += 0.3 + z[0] * w[k % 2] * 0.1
        k += 1
        if k > 6:
            break
    return s


@njit
def nested(x, w):
    """Temporary arrays of two depths; the size of one depends on the counter."""
    s = 0.0
    for k in range(1, 4):
        y = x[:k] * w[:k]
        for j in range(k):
            z = y * w[j]
            z[0] += x[j]
            s += np.sum(z)
        y[0] = 2.0 * w[0]
        s += np.sum(y)
    return s


@njit
def helper(x, c):
    y = c * x
    z = y[1:] - y[:-1]
    return np.sum(z) * c


@njit
def of_calls(x, w):
    """A function that is called has temporary arrays, too; one that is passed on is none."""
    s = 0.0
    for k in range(3):
        y = x * w[k]
        s += helper(y, w[0]) + helper(x, w[k])
    return s


@njit
def written_twice(x, w):
    """Elements are overwritten before and after they are read."""
    s = 0.0
    for k in range(3):
        y = np.zeros(len(x))
        y[0] = x[0] * w[k]
        s += y[0] * y[0]
        y[0] = w[0]
        y[1] += y[0] * x[1]
        s += y[1]
    return s


@njit
def read_in_several_blocks(x, w):
    """One array whose elements are read in branches, in a loop, and after early returns: it has one shadow."""
    s = 0.0
    for k in range(4):
        y = np.empty(3)
        y[0], y[1], y[2] = x[k], w[k], x[k] * w[k]
        if x[k] > 0.5:
            s += y[0] * w[1]
        elif x[k] > 0.0:
            s -= y[1]
        for j in range(2):
            s += y[j + 1] * w[j]
            if s > 50.0:
                return s * y[0]
        s += y[2]
    return s + np.median(x) + np.median(w[1:])


@njit
def of_changing_size(x, w):
    """The size is an int that changes after the array has been made; it is in an array that changes, too."""
    s, n = 0.0, 2
    sizes = np.array([1, 2, 3, 2])
    for k in range(3):
        y = np.empty(n)
        z = np.empty(sizes[k])
        for i in range(n):
            y[i] = x[i] * w[k]
        for i in range(sizes[k]):
            z[i] = w[i] * x[k]
        n = 4 - k
        sizes[k] = 1
        s += np.sum(y) * w[n % 2] + np.sum(z)
    return s


@njit
def elements_alone(x, w):
    """An array whose shape is never read."""
    s = 0.0
    for k in range(3):
        y = np.empty(2)
        y[0] = x[k]
        y[1] = w[k]
        s += y[0] * 2.0 + y[1] * 3.0
    return s


PROGRAMS = [
    read_in_several_blocks,
    of_changing_size,
    elements_alone,
    linear,
    curved,
    in_branches,
    from_round_to_round,
    in_while,
    nested,
    of_calls,
    written_twice,
]
X, W = np.array([0.7, 1.3, -0.4, 0.9, 0.2]), np.array([1.1, -0.6, 0.8, 0.5, 1.7])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_tape(f):
    _, found = gradient(f, (X.copy(), W.copy()), (0, 1))
    assert_same(flat(tuple(found)), flat(dr.grad(twin(f), (0, 1))(X.copy(), W.copy())), rtol=1e-12)


def kept(f):
    """Count the arrays that go to the tape in each iteration."""
    made, _ = gradient(f, (X.copy(), W.copy()), (0, 1))
    return sum(isinstance(s, Keep) for s in statements(made.body))


def test_only_arrays_whose_elements_are_read_are_kept():
    assert kept(linear) == 0
    assert kept(curved) == 1


@pytest.mark.parametrize("f", [linear, curved])
def test_second_derivatives(f):
    v = np.array([0.3, -1.0, 0.5, 0.2, 0.9])
    found = dr.hvp(f)(X.copy(), v, W.copy())
    assert_same(found, dr.hvp(twin(f))(X.copy(), v, W.copy()), rtol=1e-11)
