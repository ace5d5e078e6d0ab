"""Stencils: a loop for each of the overlapping places that a round adds to (optimize/loop_fission.py)."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient, pullback
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import For
from dualrev.compiler.ir.core.traverse import statements


def arguments():
    rng = np.random.default_rng(0)
    return rng.normal(size=9), rng.normal(size=9)


@njit
def residual(x, y):
    """Three places of one array, and one of another."""
    r = np.empty_like(x)
    r[0], r[-1] = x[0], y[-1]
    for i in range(1, len(x) - 1):
        r[i] = x[i - 1] * y[i] - 2.0 * x[i] + x[i + 1]
    return np.sum(r * r * y)


@njit
def slices(x, y):
    """The same with views, which are elements of themselves."""
    r = x[:-2] * y[1:-1] - 2.0 * x[1:-1] + x[2:]
    return np.sum(r * r * y[2:])


@njit
def grid(x, y):
    """Rows do not overlap, columns do."""
    a = np.outer(x, y)
    b = np.zeros_like(a)
    for i in range(1, len(x) - 1):
        for j in range(1, len(y) - 1):
            b[i, j] = a[i - 1, j] * a[i, j - 1] + a[i + 1, j] - a[i, j + 1] * 0.5
    return np.sum(b * b)


@njit
def grid_in_slices(x, y):
    a = np.outer(x, y)
    b = 0.5 * a[:-2, 1:-1] + a[2:, 1:-1] - a[1:-1, :-2] + 2.0 * a[1:-1, 2:]
    return np.sum(b * b)


@njit
def restored(x, y):
    """An array is brought back in the first of the loops, where they are read, or its old elements are read."""
    r = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        y[i] = y[i] * y[i]
        r[i] = (x[i - 1] + x[i + 1]) * y[i]
    for i in range(1, len(x) - 1):
        r[i] = r[i] * (x[i - 1] - x[i + 1])
        r[i] = r[i] * 2.0
    return np.sum(r * y)


@njit
def with_a_factor(x, y):
    """A scalar that all iterations read: its cotangent is summed in one of the loops only."""
    k, r = y[0] * y[1], np.zeros_like(x)
    for i in range(1, len(x) - 1):
        r[i] = k * (x[i - 1] - x[i + 1])
    return np.sum(r * r) + k


@njit
def added_to_what_is_read(x, y):
    """Iterations that read cotangents of their own elements, clear them, and add to them."""
    z, r = x * y, np.zeros_like(x)
    for i in range(1, len(x) - 1):
        r[i] = z[i] * 2.0
        z[i] = r[i] + z[i] * (x[i - 1] - x[i + 1])
        r[i] = r[i] * z[i]
    return np.sum(r * z)


@njit
def expensive(x, y):
    """An expensive expression of two neighbours, which must not be computed twice."""
    r = np.zeros_like(x)
    for i in range(1, len(x)):
        r[i] = math.exp(x[i] * x[i - 1]) / (2.0 + x[i] * x[i])
    return np.sum(r * y)


@njit
def rows(x, y):
    """Two rows of a matrix do not overlap."""
    a = np.zeros((2, len(x)))
    a[0], a[1] = x, y
    r = a[0] * 2.0 + a[1] * y
    return np.sum(r * r)


@njit
def strides(x, y):
    """Pairs do not overlap."""
    r = np.zeros(4)
    for i in range(4):
        r[i] = x[2 * i] - x[2 * i + 1] * y[i]
    return np.sum(r * r)


@njit
def in_place(x, y):
    """A stencil in place: the order of the iterations matters."""
    for i in range(1, len(x) - 1):
        x[i] = x[i] + 0.5 * (x[i - 1] + x[i + 1]) * y[i]
    return np.sum(x * x)


@njit
def two_arrays(x, y):
    """A second name, which may or may not be the same array."""
    now, then = x.copy(), x.copy()
    for _ in range(3):
        for i in range(1, len(x) - 1):
            then[i] = now[i] + y[i] * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, then = then, now
    return np.sum(now * now)


#: With the loops of both sweeps; of `restored`, there are two in each, and one of them is split.
SPLIT = [(residual, 4), (slices, 4), (grid, 3), (grid_in_slices, 3), (restored, 5), (with_a_factor, 3)]
WHOLE = [added_to_what_is_read, expensive, rows, strides, in_place, two_arrays]


@pytest.mark.parametrize("numbers", [(0,), (0, 1)])
@pytest.mark.parametrize("f", [*(f for f, _ in SPLIT), *WHOLE])
def test_the_gradient_is_that_of_the_tape(f, numbers):
    _, found = gradient(f, arguments(), numbers)
    expected = flat(dr.grad(twin(f), numbers)(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-11)


def loops(f):
    """How many loops of both sweeps stand for each innermost loop of the function."""
    made = pullback(f, arguments(), (0, 1))[0]
    inner = [s for s in statements(made.body) if isinstance(s, For) and not any(isinstance(t, For) for t in s.body)]
    return [sum(s.target is x for s in inner) for x in {s.target for s in inner}]


@pytest.mark.parametrize(("f", "count"), SPLIT)
def test_overlapping_places_have_loops_of_their_own(f, count):
    assert max(loops(f)) == count


@pytest.mark.parametrize("f", WHOLE)
def test_others_stay_whole(f):
    assert max(loops(f)) <= 2


@njit
def turned_around(c, x, n):
    """The parameter c becomes a part of itself: what it is a part of was looked for without an end."""
    c = c[::-1]
    for _ in range(n):
        c[1:] -= c[0] * x
        total = 0.0
        for i in range(len(c) - 1):
            total += c[i] * c[i + 1]
        x = np.sin(x) + total
    return x


@pytest.mark.parametrize("step", [1, 2])
def test_a_parameter_that_becomes_a_part_of_itself(step):
    c = np.linspace(0.2, 1.1, 5 * step)[::step]
    expected = dr.grad(turned_around.py_func, (0, 1))(c.copy(), 0.4, 3)
    assert_same(dr.grad(turned_around, (0, 1))(c, 0.4, 3), expected, rtol=1e-12, types=False)
