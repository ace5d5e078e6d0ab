"""Elided zeroing (optimize/elide_zeroing.py): the first addition to an element of a new shadow becomes a store."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient, gradient_by_stores
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Accumulate, Store
from dualrev.compiler.ir.core.traverse import statements
from dualrev.compiler.optimize.elide_zeroing import Storing


def arguments():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 3)), rng.normal(size=4)


@njit
def whole(x, y):
    """Every element once."""
    t = 0.0
    for i in range(len(y)):
        t += x[i, 0] * x[i, 1] + x[i][2] * y[i]
    return t


@njit
def downwards(x, y):
    t = 1.0
    for i in range(3, -1, -1):
        t = math.sin(t * y[i]) + x[0, 0]
    return t


@njit
def nested(x, y):
    """A matrix is covered by two loops; the vector gets something in every round."""
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t += x[i, j] * y[i]
    return t


@njit
def twice_in_a_round(x, y):
    """The second is added."""
    t = 0.0
    for i in range(len(y)):
        t += math.sin(y[i]) * x[i, 1]
        t += math.cos(x[i][1]) * y[i]
    return t


@njit
def two_loops(x, y):
    """The second loop adds to what the first one has stored."""
    t = 0.0
    for i in range(len(y)):
        t += y[i] * x[i, 0]
    for i in range(len(y) - 1):
        t += y[i] * y[i] * x[i, 2]
    return t


@njit
def some(x, y):
    """An array with elements that no iteration reads: their cotangents are zeros."""
    t = 0.0
    for i in range(1, 3):
        t += y[i] * x[i, 2]
    return t


@njit
def fewer_columns(x, y):
    """The loop adds to as many columns as there are in another matrix."""
    t = 0.0
    for i in range(len(y)):
        t += y[i] * x[i, 0] * x[i, 1]
    return t


@njit
def diagonal(x, y):
    t = 0.0
    for i in range(3):
        t += x[i, i] * y[i]
    return t


@njit
def negative(x, y):
    """y[-1] is the last element, too."""
    t = 0.0
    for i in range(-1, 4):
        t += y[i] * x[i, 0]
    return t


@njit
def last_too(x, y):
    """One element that all iterations read: its cotangent is added after the loop."""
    t = 0.0
    for i in range(4):
        t += y[i] * y[-1]
    return t


@njit
def mirrored(x, y):
    t = 0.0
    for i in range(4):
        t += y[i] * y[3 - i]
    return t


@njit
def neighbours(x, y):
    t = 0.0
    for i in range(3):
        t += y[i] * y[i + 1]
    return t


@njit
def branching(x, y):
    """A branch that decides whether an iteration contributes."""
    t = 0.0
    for i in range(4):
        if y[i] > 0.0:
            t += y[i] * y[i]
    return t


@njit
def ending(x, y):
    """A loop that ends early."""
    t = 0.0
    for i in range(4):
        t += y[i] * x[i, 0]
        if t > 0.3:
            break
    return t


@njit
def again(x, y):
    """The same elements in every iteration of an outer loop."""
    t = 0.0
    for _ in range(3):
        for i in range(4):
            t += y[i] * y[i] * x[i, 0]
    return t


@njit
def rows(x, y):
    """A part of the matrix that is named outside of the loop where it is read, and again in it."""
    t = 0.0
    for i in range(x.shape[0]):
        r = x[i]
        for j in range(2):
            t += r[0] * y[i]
            r = x[j]
        t += r[1] * y[i]
    return t


@njit
def temporary(x, y):
    """An array of the function, which one loop reads."""
    t = 0.0
    for k in range(2):
        a = np.empty(len(y))
        for i in range(len(y)):
            a[i] = math.sin(y[i] * x[i, k])
        for i in range(len(a)):
            t += a[i] * a[i]
        t *= y[k]
    return t


@njit
def part_of_a_temporary(x, y):
    """A temporary array with one element that is not read."""
    t = 0.0
    for k in range(2):
        a = np.empty(len(y))
        for i in range(len(y)):
            a[i] = math.sin(y[i] * x[i, k])
        for i in range(len(y) - 1):
            t += a[i] * a[i]
        t *= y[k]
    return t


@njit
def written(x, y):
    """An argument that is written."""
    t = 0.0
    for i in range(len(y)):
        t += y[i] * x[i, 0]
        y[i] = t
    for i in range(len(y)):
        t += y[i] * y[i]
    return t


@njit
def counter_changed(x, y):
    t = 0.0
    for i in range(4):
        t += y[i] * x[i, 0]
        i = 0
        t += x[i, 1] * y[i]
    return t


@njit
def bound_in_a_branch(x, y):
    """An inner loop with more iterations from the second outer iteration on."""
    t, m, n = 0.0, 2, x.shape[1]
    for i in range(x.shape[0]):
        if i >= 1:
            m = n
        for j in range(m):
            t += math.sin(x[i, j]) * y[i]
    return t


@njit
def bound_in_a_loop(x, y):
    """A bound that an inner loop sets, which has no iteration at first."""
    t, m, n = 0.0, 2, x.shape[1]
    for i in range(x.shape[0]):
        for _ in range(i):
            m = n
        for j in range(m):
            t += math.sin(x[i, j]) * y[i]
    return t


@njit
def bound_of_the_loop_itself(x, y):
    t, m = 0.0, 2
    n = len(y)
    for i in range(m):
        m = n
        t += math.sin(y[i])
    return t * m + x[0, 0]


@njit
def row_of_the_round_before(x, y):
    t = 0.0
    row = x[0]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t += row[j] * y[i] + x[i, j] * x[i, j]
        row = x[i]
    return t


PROGRAMS = [whole, downwards, nested, twice_in_a_round, two_loops, some, fewer_columns, diagonal, negative]
PROGRAMS += [last_too, mirrored, neighbours, branching, ending, again, rows, temporary, part_of_a_temporary, written]
PROGRAMS += [counter_changed, bound_in_a_branch, bound_in_a_loop, bound_of_the_loop_itself, row_of_the_round_before]


def stored(f):
    """The stores of a gradient that add or replace, before and after; and the shadows that need not be zeros."""
    made, _ = gradient(f, arguments(), (0, 1))
    shadows = made.parameters[2:4]
    storing = Storing(shadows)
    (body,) = storing.blocks(made.body)
    return body, storing.covered, shadows


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_compiled_gradient_is_that_of_the_tape(f):
    found = dr.value_and_grad(f, (0, 1))(*arguments())
    assert_same(found, dr.value_and_grad(f.py_func, (0, 1))(*arguments()))


@pytest.mark.parametrize("shape", [(4, 5), (5, 3), (4, 3), (9, 1), (0, 3)])
def test_elements_beyond_the_loop_are_zeros(shape):
    @njit
    def f(x, n):
        t = 0.0
        for i in range(n):
            t += math.sin(x[i, 0])
        return t

    x = np.random.default_rng(1).normal(size=shape)
    for k in range(20):  # memory that has been used
        n = min(len(x), 1 + k % 4)
        value, found = dr.value_and_grad(f)(x, n)
        expected = np.zeros(shape)
        expected[:n, 0] = np.cos(x[:n, 0])
        np.testing.assert_array_equal(found, expected)
        assert value == pytest.approx(np.sum(np.sin(x[:n, 0])))


@pytest.mark.parametrize("n", [1, 2, 17])
def test_a_diagonal_is_not_its_plane(n):
    """One counter on two axes; the other plane has a counter for each."""

    @njit
    def f(x):
        n, t = x.shape[1], 0.0
        for i in range(n):
            t += x[1, i, i]
            for j in range(n):
                t += x[0, i, j]
        return t * t

    x = np.ones((2, n, n))
    used = [np.full_like(x, 7.0) for _ in range(30)]  # memory that has been used
    del used
    expected = 2.0 * (n * n + n) * np.stack([np.ones((n, n)), np.eye(n)])
    np.testing.assert_array_equal(dr.grad(f)(x), expected)


@pytest.mark.parametrize(
    ("f", "count", "covered"),
    [
        (whole, 4, 2),
        (downwards, 2, 1),
        (nested, 1, 1),
        (two_loops, 2, 2),
        (some, 2, 0),
        (diagonal, 2, 1),
        (negative, 0, 0),
        (last_too, 1, 1),
        (mirrored, 0, 0),
        (neighbours, 0, 0),
        (branching, 0, 0),
        (ending, 2, 2),
        (again, 0, 0),
        (bound_in_a_branch, 1, 0),
        (bound_in_a_loop, 1, 0),
        (bound_of_the_loop_itself, 1, 1),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_where_it_is_stored(f, count, covered):
    body, found, shadows = stored(f)
    stores = [s for s in statements(body) if isinstance(s, Store) and s.op == "=" and s.array in shadows]
    parts = [s for s in statements(body) if isinstance(s, Store) and s.op == "=" and s.array not in shadows]
    assert (len(stores) + len(parts), len(found)) == (count, covered)
    assert sum(isinstance(s, Accumulate) for s in statements(body)) == covered


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_memory_that_held_something_makes_no_difference(f):
    """Shadows that need not be zeros are full of NaN before the evaluator runs the sweeps."""
    found, _ = gradient_by_stores(f, arguments())
    assert_same(found, dr.grad(f.py_func, (0, 1))(*arguments()))
