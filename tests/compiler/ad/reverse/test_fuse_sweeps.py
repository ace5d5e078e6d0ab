"""Fusing of both sweeps of loops that sum (ad/reverse/fuse_sweeps.py), by the reference interpreter."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Columns, For, Pop, Push
from dualrev.compiler.ir.core.traverse import statements


def arguments():
    return np.array([0.8, 1.3]), np.array([0.3, -0.7, 1.1, 0.4]), np.array([1.2, 0.1, -0.4, 0.9])


@njit
def likelihood(t, x, y):
    """Products, a branch, values that are read twice, names that are used again before and after the loop."""
    r = t[0] * 2.0
    offset = r * r
    total = 0.0
    for i in range(len(x)):
        r = (y[i] - t[0] * x[i]) / t[1]
        if r > 0.5:
            total -= math.exp(-r) * x[i]
        else:
            total += r * r
        total -= math.log(t[1])
    r = t[1] * t[1]
    return -0.5 * total / len(x) + offset * r


@njit
def two_sums(t, x, y):
    """A sum, a second one, a number that counts, and a sum that goes through two loops."""
    total, other = t[0], 0.0
    count = 0
    for i in range(len(x)):
        total += x[i] * y[i] * t[1]
        if x[i] > 0.0:
            other -= math.sin(t[0] * y[i])
            count += 1
    for i in range(count):
        total -= x[i] * x[i] * t[0]
    return (total - 3.0 * other) * 0.25 + count


@njit
def ends_early(t, x, y):
    """A loop with a way out, and a number that steers it."""
    total, k = 0.0, 0
    for i in range(len(x)):
        total += math.exp(t[0] * x[k]) * y[i]
        k = (k + 2) % 3
        if i == 2:
            break
    return total + k


@njit
def twice_the_sum(t, x, y):
    """The sum is taken twice, behind a minus."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * t[0]
    total = total + total
    return t[1] - total


@njit
def polynomials(t, x, y):
    """Rounds with an inner loop that records, and one that does not."""
    total = 0.0
    for i in range(len(x)):
        p = 0.0
        for k in range(len(t)):
            p = p * x[i] + t[k]
        q = 0.0
        for k in range(len(y)):
            q += y[k] * t[1]
        total += p * p * q
    return total


@njit
def roots(t, x, y):
    """Rounds with inner loops that end early in some of them."""
    total = 0.0
    for i in range(len(x)):
        z = t[0] + y[i]
        for _ in range(20):
            if abs(z * z - t[1]) < 1e-6:
                break
            z = 0.5 * (z + t[1] / z)
        for k in range(3):
            if k > i:
                break
            z = math.sin(z + x[k])
        total += z
    return 0.5 * total


@njit
def unknown_length(t, x, y):
    """Rounds with an inner loop of a length that nothing tells."""
    total = 0.0
    for i in range(len(x)):
        z = t[0] + y[i]
        while abs(z * z - t[1]) > 1e-6:
            z = 0.5 * (z + t[1] / z)
        total += z
    return total


@njit
def not_linear(t, x, y):
    """The cotangent of the sum is known after the loop only."""
    total = 0.0
    for i in range(len(x)):
        total += t[0] * x[i] * y[i]
    return total * total + t[1]


@njit
def active_factor(t, x, y):
    total = 0.0
    for i in range(len(x)):
        total += math.sin(x[i]) * y[i]
    return total * t[0] + t[1]


@njit
def carried(t, x, y):
    """A loop that carries more than sums."""
    total, z = 0.0, t[0]
    for i in range(len(x)):
        z = math.sin(z + x[i])
        total += z * y[i]
    return total + t[1]


@njit
def read_inside(t, x, y):
    """The sum is read in the loop."""
    total = 0.0
    for i in range(len(x)):
        total += t[0] * x[i]
        if total > 0.1:
            total += total * y[i]
    return total + t[1]


@njit
def written_later(t, x, y):
    """An array that the loop reads is written after it."""
    a = x * t[0]
    total = 0.0
    for i in range(len(a)):
        total += a[i] * a[i] * y[i]
    a[0] = t[1] * 3.0
    a[1] *= t[1]
    return total + a[0] * a[1]


@njit
def written_before(t, x, y):
    """An array that the loop reads is written before it, and has other readers after it."""
    a = x * t[0]
    a[1] = a[0] * t[1]
    total = 0.0
    for i in range(len(a)):
        total += a[i] * a[i] * y[i]
    return total + a[1] * a[2]


@njit
def several_at_once(t, x, y):
    """One statement adds several terms, in any order, and takes some away."""
    total = 0.0
    for i in range(len(x)):
        a, b = t[0] * x[i], math.exp(t[1] * y[i])
        total = a + (total - b) + a * b
    return total


@njit
def read_between(t, x, y):
    """A term of the same statement reads the sum."""
    total = 0.0
    for i in range(len(x)):
        total = total + t[0] * x[i] + math.sin(total)
    return total * t[1] + y[0]


@njit
def passed_twice(t, x, y):
    """A partial sum that has another reader."""
    total, last = 0.0, 0.0
    for i in range(len(x)):
        last = total + t[0] * x[i]
        total = last + t[1] * y[i]
    return total * last


@njit
def branch_after(t, x, y):
    """Code after the loop that adds to the sum in a branch and in a loop, and prints nothing."""
    total = 0.0
    for i in range(len(x)):
        total += t[0] * x[i] * x[i]
    if y[0] > 1.0:
        total += t[1]
    while total < -100.0:
        total += 1.0
    return total


@njit
def result_changed(t, x, y):
    """The sum is multiplied in a branch after the loop."""
    total = 0.0
    for i in range(len(x)):
        total += t[0] * x[i] * x[i]
    if y[0] > 1.0:
        total = total * y[0]
    return total


@njit
def pairs(t, x, y):
    """An inner loop that adds to the same sum and ends early, with a number of the iteration that is differentiated."""
    total = 1.0
    for i in range(len(x)):
        a = t[0] * x[i]
        for k in range(len(y)):
            r = math.sqrt((a - y[k]) ** 2 + t[1])
            total += math.exp(-r) / r
            if k > i + 1:
                break
        total -= a * a
    return 0.5 * total


@njit
def rows(t, x, y):
    """Sums of an iteration that are added to the total with factors known before the loop, or in the iteration."""
    total, count = 0.0, 0
    for i in range(len(x)):
        a, scale = 0.0, 2.0 * x[i]
        for k in range(len(y)):
            for j in range(k):
                a += math.sin(t[0] * y[k] * x[j]) * t[1]
                count += 1
        total += 3.0 * (a - t[0]) * scale
    return total / 4.0 + count


@njit
def squared_rows(t, x, y):
    """A sum of an iteration that is squared: its cotangent is known after the inner loop."""
    total = 0.0
    for i in range(len(x)):
        a = 0.0
        for k in range(len(y)):
            a += math.sin(t[0] * y[k]) * x[i]
            total += a * t[1]
        total += a * a
    return total


@njit
def shared_room(t, x, y):
    """Inner loops that read an array which each iteration writes."""
    total = 0.0
    room = np.empty(len(y))
    for i in range(len(x)):
        for k in range(len(room)):
            room[k] = math.cos(t[0] * y[k] + x[i])
        for k in range(len(y)):
            total += room[k] * room[k] * t[1]
    return total


FUSED = [
    *[(likelihood, 1), (twice_the_sum, 1), (two_sums, 2), (ends_early, 1), (written_before, 1)],
    *[(polynomials, 1), (roots, 1), (several_at_once, 1)],
    *[(pairs, 1), (rows, 1), (squared_rows, 1), (shared_room, 1)],
]
APART = [not_linear, active_factor, carried, read_inside, written_later, branch_after, result_changed]
APART += [unknown_length, read_between, passed_twice]


def users_loops(f):
    """The loops of both sweeps that stand for loops of the function."""
    return [s for s in f.body if isinstance(s, For) and s.target.name == "i"]


def inner_loops(f):
    """The same of those over k, wherever they are."""
    return [s for s in statements(f.body) if isinstance(s, For) and s.target.name == "k"]


@pytest.mark.parametrize("numbers", [(0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("f", [f for f, _ in FUSED] + APART)
def test_the_gradient_is_that_of_the_tape(f, numbers):
    _, found = gradient(f, arguments(), numbers)
    given = twin(arguments())
    expected = flat(dr.grad(twin(f), numbers)(*given))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


@pytest.mark.parametrize(("f", "count"), FUSED)
def test_a_sum_has_one_loop(f, count):
    made, _ = gradient(f, arguments(), (0,))
    assert len(users_loops(made)) == count


@pytest.mark.parametrize(("f", "count"), [(pairs, 1), (rows, 1), (squared_rows, 2), (shared_room, 3)])
def test_loops_of_a_round_that_add_to_the_sum_have_one_loop_as_well(f, count):
    made, _ = gradient(f, arguments(), (0, 1, 2))
    assert len(inner_loops(made)) == count


@pytest.mark.parametrize("f", [polynomials, roots])
def test_a_round_leaves_nothing_on_the_tape(f):
    """Every record of an iteration is popped in the same iteration: outside of the loop only sums remain."""
    made, _ = gradient(f, arguments(), (0, 1))
    (loop,) = users_loops(made)
    inside = [s for s in statements(loop.body) if isinstance(s, (Push, Pop, Columns))]
    assert inside
    assert inside == [s for s in statements(made.body) if isinstance(s, (Push, Pop, Columns))]


@pytest.mark.parametrize("f", APART)
def test_what_is_more_than_a_sum_has_two(f):
    made, _ = gradient(f, arguments(), (0, 1, 2))
    assert len(users_loops(made)) == 2


@njit
def replaced(x, n):
    """An int takes the place of the sum, once something has been computed from it."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    t = s * 2.0
    s = float(n)
    return s + t


@njit
def replaced_in_a_branch(x, n):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    if n > 2:
        s = float(n)
    return s * 3.0


@njit
def replaced_in_a_loop(x, n):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    for k in range(n):
        s = float(k)
    return s * 3.0


@njit
def beside_an_unused_sum(x, n):
    """A loop whose iterations fill an array for a sum that the result does not depend on."""
    a = np.empty(len(x))
    t = 0.0
    u = 0.0
    for i in range(n):
        for k in range(len(a)):
            a[k] = x[k] * x[k]
            for j in range(k):
                u += a[k] * a[j]
        t += x[i % len(x)] * x[i % len(x)]
    if u < 0.0:
        n = 0
    return t + n


@pytest.mark.parametrize("n", [0, 2, 4])
@pytest.mark.parametrize(
    "f", [replaced, replaced_in_a_branch, replaced_in_a_loop, beside_an_unused_sum], ids=lambda f: f.__name__
)
def test_sums_that_something_else_replaces(f, n):
    x = np.array([1.0, 2.0, 3.0, -4.0, 5.0])
    assert_same(dr.value_and_grad(f)(x, n), dr.value_and_grad(f.py_func)(x, n))
