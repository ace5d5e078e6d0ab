"""Small things that numba code of other people does, and that were refused, or crashed: against differences."""

from collections import namedtuple

import numpy as np
import pytest
from numba import njit
from oracle import assert_same

import dualrev as dr

Point = namedtuple("Point", "x y")
CORNERS = (1.5, (2, 3))
A = np.array([0.5, 1.2, -0.8])
STEP = 1e-6


def check(f, args, argnums):
    """The value, and the gradient in one direction in both modes."""
    value, gradients = dr.value_and_grad(f, argnums)(*args)
    assert value == f(*args)
    directions = [np.cos(np.arange(1.0, np.size(args[k]) + 1.0)).reshape(np.shape(args[k]))[()] for k in argnums]
    ends = []
    for step in (STEP, -STEP):
        moved = list(args)
        for k, d in zip(argnums, directions, strict=True):
            moved[k] = args[k] + step * d
        ends.append(f(*moved))
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * STEP), rel=1e-7)
    return gradients


@njit
def tells_of_tuples(a, p):
    pair = (a[0], (len(a),))
    print(a.shape, pair, p, CORNERS)
    if a[0] > 2.0:
        raise ValueError("too large", a.shape)
    return a[0] * a[1] * p.y


def test_tuples_are_printed_and_raised_as_tuples(capfd):
    """A KeyError before: everything else in core knows the parts of tuples only."""
    args = (A, Point(2.0, 3.0))
    assert_same(dr.grad(tells_of_tuples)(*args), np.array([3.6, 1.5, 0.0]))
    assert capfd.readouterr().out == "(3,) (0.5, (3,)) Point(x=2.0, y=3.0) (1.5, (2, 3))\n"
    with pytest.raises(ValueError, match="too large") as caught:
        dr.grad(tells_of_tuples)(4.0 * A + 1.0, args[1])
    assert caught.value.args == ("too large", (3,))


@njit
def rows_from_lists(x, m, n):
    rows = np.zeros((4, m), dtype=float)
    rows[0, :3] = [x, 2.0 * x * x, 1.0]
    rows[1] = [1.0, x, x * x, n * x]
    grown = [0.5]
    for k in range(n):
        grown.append(x * k)
    rows[2, :] = grown
    rows[3] = [x] * 4
    rows[3, 1:3] = (x, 2.0)
    turned = np.cross([0, 1, 3], np.array([x, 2.0, x * x]))
    return np.sum(rows[0] * rows[1] * rows[2] * rows[3]) * x + turned[0] * turned[2]


def test_lists_are_assigned_to_parts_of_arrays():
    """Also one that has grown; dtype=float was a KeyError, too. And np.cross takes a list, as it takes an array."""
    check(rows_from_lists, (1.3, 4, 3), (0,))
    for f in (rows_from_lists, dr.grad(rows_from_lists)):
        for m, n in ((5, 3), (4, 0)):
            with pytest.raises(ValueError, match="cannot assign slice"):
                f(1.3, m, n)


@njit
def of_its_own_class(x, n, a):
    kind = type(x)
    total = -kind(0.5) * x * x + type(n)(3.7) * x
    made = np.empty(len(a), kind)
    made[:] = a
    if n > 2:
        made[0] = kind(np.inf) if n > 10 else kind(n)
    for y in a:
        total += type(x)(1) / x * kind(y)
    return total * np.sum(made * a)


def test_the_class_of_an_argument():
    check(of_its_own_class, (1.3, 4, A), (0, 2))
    value, slope = dr.value_and_grad(of_its_own_class)(np.float32(1.3), 4, A)
    assert value == of_its_own_class(np.float32(1.3), 4, A)
    assert slope == pytest.approx(dr.grad(of_its_own_class)(1.3, 4, A), rel=1e-6)
