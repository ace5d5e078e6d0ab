"""Loops and arrays that are written, in reverse mode by the evaluator: columns, order, new arrays, repetition."""

import math

import numpy as np
import pytest
from numba import njit
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from support.incore import gradient, pullback
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Columns, For, Load, Pop, Store
from dualrev.compiler.ir.core.traverse import statements


def arguments():
    return np.array([0.3, -0.7, 1.1, 0.4, 0.6]), np.array([1.2, 0.1, -0.4, 0.9, 0.5])


@njit
def in_place(x, y):
    """Elements of their own, in a loop around which there is another one."""
    for k in range(3):
        for i in range(len(x)):
            x[i] = x[i] - 0.1 * x[i] * x[i] * y[k]
    return np.sum(x)


@njit
def steps_and_bounds(x, y):
    """Rounds that are counted down, that begin anywhere, and that there are none of."""
    for i in range(3, 0, -1):
        x[i] = x[i] * x[i - 1] * y[i]
    for k in range(1, 3):
        for i in range(k, len(x) - k):
            x[i] *= math.sin(x[i]) * y[k]
    for i in range(4, 2):
        x[i] *= x[i]
    for i in range(0, len(x), 2):
        x[i] *= x[i] * y[i]
    return np.sum(x * x)


@njit
def nested(x, y):
    """Each of two loops, one in the other, records."""
    s = y[0]
    for i in range(len(x)):
        s = math.sin(s + x[i])
        for k in range(i, len(x)):
            s = s * math.cos(s * y[k])
        x[i] *= s
    return s + x[1] * x[2]


@njit
def kinds(x, y):
    """Whole numbers, flags and numbers are recorded, some in a branch."""
    s, j, up = 1.0, 0, True
    for i in range(len(x)):
        s = s * x[j] + y[i]
        j = (j * 3 + 1) % 5
        up = s > 0.2
        if up:
            s = math.exp(-s)
        else:
            s = s * s
    return s


@njit
def ends_or_raises(x, y):
    s = 1.0
    for i in range(len(x)):
        s = math.sin(s * x[i])
        if s < -5.0:
            raise ValueError("small")
    for i in range(len(y)):
        s = math.exp(-s * y[i])
        if i == 3:
            break
    return s


@njit
def neighbours(x, y):
    """Loops whose iterations share elements, so that their order matters."""
    for i in range(1, len(x)):
        x[i] = x[i] * x[i - 1] + y[i]
    for i in range(len(x) - 1):
        x[i] = x[i + 1] * x[i + 1]
    return np.sum(x * y)


@njit
def rows(x, y):
    """A loop whose iterations each use one row, whatever the other index is."""
    a = np.zeros((len(x), 2))
    for i in range(len(x)):
        a[i, 0] = x[i] * y[i]
        a[i, 1] = a[i, 0] * x[i]
        a[i, 0] = a[i, 0] * a[i, 1]
    return np.sum(a * a)


@njit
def crossed(x, y):
    """The counter is the first index here and the second there."""
    a = np.outer(x, y)
    for i in range(len(x)):
        a[i, 1] = a[i, 1] * a[1, i]
        a[1, i] = a[1, i] * x[i]
    return np.sum(a * a)


@njit
def handed_on(x, y):
    """A new array in each iteration, which replaces the old one in the next."""
    u = x.copy()
    for k in range(3):
        new = u.copy()
        for i in range(1, len(u) - 1):
            new[i] = u[i] - 0.3 * u[i] * (u[i + 1] - u[i - 1]) * y[k]
        u = new
    return np.sum(u * u)


@njit
def read_before(x, y):
    """The new array is read before it is written once more, also by other names for it, and in a loop."""
    u = x.copy()
    for k in range(3):
        new = u * y[k]
        new[0] = new[1] * new[1]
        part = new[1:]
        part[0] = part[0] * new[2]
        other = new
        other[2] = math.sin(new[2]) * part[2]
        for i in range(1, len(u)):
            new[i] = new[i] * new[i - 1]
        u = new
    return np.sum(u * u)


@njit
def chosen(x, y):
    """A store to one of two arrays, chosen in a branch."""
    u, v = x.copy(), y.copy()
    for k in range(3):
        new = u * v
        if x[k] > 0.0:
            w = new
        else:
            w = v
        w[k] = w[k] * w[k + 1] * new[k]
        u = new
    return np.sum(u * v)


@njit
def _twice(a, b):
    s = a[0] * b[1]
    b[0] = s * a[1]
    return s + a[0] * a[0]


@njit
def other_names(x, y):
    """Stores through another name and in a callee, after which a known value of an element is stale."""
    part = x[1:]
    s = x[2] * x[2]
    part[1] = y[0] * 2.0
    s += x[2] * x[2]
    s += _twice(y, y) * y[0]
    x[0] = s
    return x[0] * x[0] + s * y[0]


@njit
def conditions(x, y):
    """Elements that a condition reads, and its iteration reads again."""
    s, k = 0.5, 0
    while x[k] * s < 0.9 and k < 4:
        s = s + x[k] * x[k] * y[k]
        k += 1
    if x[k] > y[k]:
        s = s * x[k] * y[k]
    return s * x[k]


@njit
def discounted(x, y):
    """A loop-carried number without a cotangent, read before and after its update."""
    b, factor = np.zeros(len(x)), 1.0
    for i in range(len(x)):
        before = x[i] * factor
        factor = factor * 0.9
        b[i] = before * factor
    return np.sum(b * y)


@njit
def wandering(x, y):
    """A whole number, which is no progression."""
    n, k = len(x), 1
    b = np.zeros(n)
    for i in range(n):
        s = x[k]
        k = (k * 3 + 1) % n
        b[i] = s * x[k]
    return np.sum(b * y)


@njit
def flagged(x, y):
    up, b = True, np.zeros(len(x))
    for i in range(len(x)):
        if up:
            b[i] = x[i] * y[i]
        up = x[i] > 0.2
        if up:
            b[i] += x[i] * x[i]
    return np.sum(b * b)


@njit
def pairs(x, y):
    """The inner loop starts after the counter of the outer one."""
    a, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            a[j] = x[i] * x[j] + y[j]
            s += a[j] * x[j] * s
    return s + np.sum(a * a)


@njit
def pairs_in_rounds(x, y):
    """A loop whose iterations carry no values, although pairs of them share elements."""
    a = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            a[j] = x[i] * x[j] * y[j]
        a[i] = a[i] * x[i]
    return np.sum(a * a)


@njit
def pairs_from_below(x, y):
    """The inner loop may start before the first element: a[-1] is the last one."""
    a, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        for j in range(i - 1, len(x)):
            a[j] = x[i] * x[j] + y[j]
        s += a[i]
    return s + np.sum(a * a)


@njit
def best_so_far(x, y):
    """Two stores: one that may move to the end of its iteration, and one that its iteration reads."""
    a, best = np.zeros(len(x) + 1), 0.0
    for i in range(len(x)):
        s = max(a[i] * y[i], x[i])
        a[i + 1] = s
        if s > best:
            best = s
    for i in range(len(x)):
        a[i] = a[i] * a[i + 1]
        best = best * math.sin(a[i])
    return best + a[1]


CASES = [in_place, steps_and_bounds, nested, kinds, ends_or_raises, neighbours, rows, crossed, handed_on, read_before]
CASES += [chosen, other_names, conditions, discounted, wandering, flagged, best_so_far]
CASES += [pairs, pairs_in_rounds, pairs_from_below]


@pytest.mark.parametrize("f", CASES)
def test_the_gradient_is_that_of_the_tape(f):
    _, found = gradient(f, arguments(), (0, 1))
    expected = flat(dr.grad(twin(f), (0, 1))(*twin(arguments())))
    assert_same(np.array(flat(found)), np.array(expected), rtol=1e-12)


def test_columns_are_written_before_the_last_stores_of_a_round():
    """In the first loop these are stores into the array; in the second one its element is read after it was written."""
    made, _ = gradient(best_so_far, arguments(), (0, 1))
    first, second = [s for s in made.body if isinstance(s, For) and s.target.name == "i"][:2]
    for loop, expected in ((first, True), (second, False)):
        written = [s.array.name for s in loop.body if isinstance(s, Store)]
        assert {*written} == {"a", "saved_{k}"}
        assert (written[-1] == "a") is expected


@njit
def windows(x, y):
    """A store to windows: the counter is an index, and iterations share elements."""
    w = sliding_window_view(x, 2)
    for i in range(len(x) - 1):
        w[i, 1] = w[i, 1] * w[i, 0] * y[i]
    v = as_strided(y, (len(y),), (0,))
    for i in range(len(x)):
        v[i] = v[i] * x[i] + 0.1
    return np.sum(x * x) + y[0]


@njit
def _squeeze(w, y):
    for i in range(len(w)):
        w[i, 1] = w[i, 1] * w[i, 0] * y[i]


@njit
def passed_windows(x, y):
    _squeeze(as_strided(x, (len(x) - 1, 2), (8, 8)), y)
    return np.sum(x * x)


@pytest.mark.parametrize("f", [windows, passed_windows])
def test_windows_that_overlap(f):
    """The tape has none that are written: against differences."""
    _, found = gradient(f, arguments(), (0, 1))
    found, expected = np.concatenate(found), []
    for k in range(10):
        up, down = (np.concatenate(arguments()) + h * np.eye(10)[k] for h in (1e-6, -1e-6))
        expected.append((f(up[:5].copy(), up[5:].copy()) - f(down[:5].copy(), down[5:].copy())) / 2e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def sweeps(f):
    return [*statements(pullback(f, arguments(), (0, 1))[0].body)]


@pytest.mark.parametrize(("f", "count"), [(in_place, 1), (neighbours, 2), (rows, 1), (ends_or_raises, 0), (kinds, 0)])
def test_loops_of_known_length_record_in_columns(f, count):
    made = sweeps(f)
    assert sum(isinstance(s, Columns) and s.taken for s in made) == count
    assert any(isinstance(s, Pop) for s in made) == (count == 0)


def test_rounds_with_elements_of_their_own_run_upwards():
    def directions(f, counter="i"):
        loops = [s for s in sweeps(f) if isinstance(s, For) and s.target.name == counter]
        return [s.step.value for s in loops[len(loops) // 2 :]]

    assert directions(in_place) == [1]
    assert directions(rows) == [1]
    assert directions(neighbours) == [-1, -1]
    assert directions(crossed) == [-1]
    assert directions(pairs, "j") == [-1]
    assert directions(pairs_in_rounds, "j") == [1]
    assert directions(pairs_from_below, "j") == [-1]


def test_elements_of_a_new_array_do_not_come_back():
    assert not any(isinstance(s, (Columns, Pop)) for s in sweeps(handed_on))
    assert any(isinstance(s, (Columns, Pop)) for s in sweeps(read_before))


def test_an_element_is_loaded_once():
    forward = [s for s in sweeps(rows) if isinstance(s, Load) and s.array.name == "x"]
    assert len({s.target for s in forward}) == 1
