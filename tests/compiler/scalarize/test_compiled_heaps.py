"""Dicts of arrays that are filled, lists of lists, and lists of arrays that change (scalarize/lists/handles.py)."""

import numpy as np
import pytest
from numba import njit, prange, types
from numba.typed import Dict, List
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")

X = np.array([0.5, -1.2, 0.8])
V = np.array([0.3, -0.7, 1.1])
VECTOR = types.float64[:]
NUMBERS = types.ListType(types.float64)


@njit
def rows_that_grow(x, n):
    """Elements are added to rows and changed; two rows are one list; loops over rows, len, indices from the end."""
    rows = []
    for i in range(n):
        rows.append([x[0], 2.0 * x[1]])
        rows[i].append(x[2] * i)
        rows[i][1] += 3.0 * x[0]
    rows.append(rows[0])
    rows[-1].append(x[1] * x[1])
    rows[0][-1] *= rows[1][0]
    s = rows[2].pop() * len(rows[0])
    for r in rows:
        for v in r:
            s += v * v
        s *= len(r)
    return s


@njit
def tables(x, n):
    """A table from a comprehension, one with rows that are one list, and numbers that say who follows whom."""
    d = [[0.0] * n for _ in range(n)]
    d[0][0] = x[0]
    after = [[1, 2], [2], [0]]
    after[2].append(1)
    for i in range(n):
        for j in after[i]:
            d[j][i] += d[0][0] * x[j]
            d[j][j] = d[j][i] * x[i]
    same = [[x[0], x[1]]] * 2
    same[0][1] *= d[2][0]
    m = np.zeros((2, n))
    m[0, :] = d[1]
    return same[1][1] * np.sum(m * m) + sum(d[2]) + np.sum(np.array(d[1]) * x)


@njit
def methods(x):
    """Methods of a list in a list, called by two names."""
    rows = [[x[0], x[1]]]
    r = rows[0]
    r.extend([x[2], x[0] * x[1]])
    rows[0].insert(1, x[2] * x[2])
    s = rows[0].pop(0)
    r.sort()
    part = r[1:]
    part.append(s)
    u, v = rows[0][0], part[-1]
    if len(r) > 3 and x[1] in r:
        s += u * v
    return s * r[0] + part[1] * max(r)


@njit
def deeper(x):
    blocks = [[[x[0]], [x[1]]]]
    blocks.append([[x[2], x[0]]])
    blocks[0].append([x[1] * x[2]])
    blocks[1][0].append(x[0])
    s = 0.0
    for b in blocks:
        for r in b:
            for v in r:
                s += v * v * len(r) * len(b)
    return s


@njit
def filled(x):
    """Under constant keys: two keys have one array, which has a third name; loops over keys, values and items."""
    d = {}
    d["a"] = x * 2.0
    d["b"] = np.zeros(3)
    y = d["a"]
    y[0] = x[1] * x[2]
    d["c"] = y
    y[1] *= 3.0
    d["b"][0] += d["c"][1] * y[2]
    d["c"] += x
    s = 0.0
    for k in d:
        s += d[k][0] * len(k)
        d[k] = d[k] * x
    for k, v in d.items():
        v[2] += x[0] * len(k)
        s *= v[2]
    for v in d.values():
        s += v[1]
    del d["a"]
    if "a" not in d and y[0] < d["c"][0]:
        s += np.dot(d["c"], d["b"])
    return s * len(d)


@njit
def by_number(x, n):
    """Under computed keys; copies hold the same arrays; matrices; a second name of the dict."""
    d = {}
    for i in range(n):
        d[i % 2] = x * i
        for j in range(len(x)):
            d[i % 2][j] *= x[j]
    e = d.copy()
    e[0][1] = x[0]
    e[5] = d[1]
    d.update(e)
    d[5][0] += x[2]
    q = e.setdefault(7, x * x)
    q[0] = x[1]
    other = d
    other[8] = d.get(99, x + 1.0)
    w = {}  # no comprehension: numba loses what is written to q then
    for k in e:
        w[k] = np.outer(x, e[k])
    w[0][:, 1] *= 2.0
    for k in e:
        w[k] = w[k] * e[k]
    return np.sum(w[0] @ w[5]) + w[7].T[0, 1] + np.sum(other[8] * d[1]) * len(d)


@njit
def scaled(v, x):
    w = np.empty(3)
    w[:] = v * x
    return w


@njit
def first_to(v, x):
    v[0] = x
    return 0


@njit
def in_callees(x, n):
    """A dict, a list of lists and a recursion, each with a heap of its own; a callee writes to an item."""
    d = {0: scaled(x, x)}
    rows = [[x[0]]]
    if n > 0:
        rows[0].append(in_callees(x, n - 1))
    else:
        rows[0].append(x[2])
    first_to(d[0], rows[0][1])
    d[1] = scaled(d[0], x)
    if n == 1:
        return d[1][0] * x[1]
    return np.sum(d[0] * d[1])


@njit
def arrays_in_a_list(x, n):
    """Arrays that are swapped, written to, and seen in parts."""
    h = [x * 1.0, np.zeros(3)]
    for i in range(n):
        a, b = h[0], h[1]
        for k in range(3):
            b[k] = a[k] * x[k] + a[k - 1]
        h[0], h[1] = h[1], h[0]
        h.append(h[-1] * a[i])
        tail = h[-1][1:]
        tail[0] += x[i]
    return np.sum(h[0]) + h[3][1] * h[2][0]


@njit
def mixed(a, b):
    for i in range(3):
        t = a[i]
        a[i] = b[i] * t + a[i - 1]
        b[i] += 2.0 * t * a[0]
    return a[0] * b[1]


@njit
def two_items_for_a_callee(x, n):
    """They share memory, or do not."""
    d = {0: x * 1.0}
    d[1] = x * x
    s = mixed(d[0], d[1]) + mixed(d[1], d[1])
    y = d[0]
    return s + mixed(y, d[n]) + np.sum(d[0] * d[1])


@njit
def beside_floats(x, n):
    """Dicts and lists of floats, and of arrays and lists, in one function; loops over all of them."""
    d, f = {0: x[0]}, {0: x * 1.0}
    ys = []
    rows = []
    for i in range(n):
        d[i] = x[i] * 2.0
        ys.append(d[i])
        rows.append([ys[i]])
        f[i] = x * ys[i]
    for k in d:
        d[k] = d[k] * x[0]
    for k, v in d.items():
        f[k][0] += v
    s = x[1]
    for y in ys:
        s = s * x[0] + y
    for r in rows:
        s += r[0] * r[0]
    for k in f:
        s += f[k][0] * d[k]
    return s


@njit
def short_rows(x):
    rows = [[x[0]]]
    rows.append([x[1] * x[2]])
    r = rows[0]
    rows[0].append(x[2])
    r[0] *= rows[1][0]
    s = 0.0
    for ys in rows:
        s += ys[0] * ys[-1] * len(ys)
    return s


@njit
def short_dict(x, n):
    d = Dict.empty(types.int64, VECTOR)
    for k in range(n):
        d[k] = x * x
    y = d[0]
    y[0] *= d[n - 1][1]
    d[n] = y
    s = 0.0
    for k, v in d.items():
        s += v[0] * v[2] * (k + 1)
    return s


PROGRAMS = [
    *[(rows_that_grow, 3), (tables, 3), (methods,), (deeper,), (filled,), (by_number, 4)],
    *[(in_callees, 2), (arrays_in_a_list, 2), (short_rows,)],
    *[(two_items_for_a_callee, 0), (two_items_for_a_callee, 1), (beside_floats, 3)],
]
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)


def by_differences(f, *args):
    slopes = np.zeros(3)
    for k in range(3):
        e = np.zeros(3)
        e[k] = 1e-6
        slopes[k] = (f(X + e, *args) - f(X - e, *args)) / 2e-6
    return slopes


@every_program
def test_the_evaluator_has_the_gradient_of_the_tape_and_of_differences(program):
    f, *args = program
    _, expected = dr.value_and_grad(f.py_func)(X.copy(), *args)
    _, (found,) = gradient(f, (X.copy(), *args), (0,))
    assert_same(found, expected, rtol=1e-11)
    np.testing.assert_allclose(found, by_differences(f.py_func, *args), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", [(short_rows,), (short_dict, 2)], ids=["rows", "dict"])
def test_both_modes_and_second_order(program):
    f, *args = program
    both = dr.value_and_grad(f)
    value, slopes = both(X.copy(), *args)
    assert value == f(X.copy(), *args)
    np.testing.assert_allclose(slopes, by_differences(f, *args), rtol=1e-7, atol=1e-9)
    none = (None,) * len(args)
    assert_same(dr.jvp(f, (X.copy(), *args), (V, *none)), (value, float(slopes @ V)), rtol=1e-12)
    step = 1e-6 * V
    along = (both(X + step, *args)[1] - both(X - step, *args)[1]) / 2e-6
    np.testing.assert_allclose(dr.hvp(f)(X.copy(), V, *args), along, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@every_program
def test_all_of_it_compiled(program):
    f, *args = program
    value, slopes = dr.value_and_grad(f)(X.copy(), *args)
    assert value == f(X.copy(), *args)
    assert_same((value, slopes), dr.value_and_grad(f.py_func)(X.copy(), *args), rtol=1e-11)
    none = (None,) * len(args)
    assert_same(dr.jvp(f, (X.copy(), *args), (V, *none)), (value, float(slopes @ V)), rtol=1e-11)
    expected = dr.hvp(f.py_func)(X.copy(), V, *args)
    assert_same(dr.hvp(f)(X.copy(), V, *args), expected, rtol=1e-10)


@njit
def typed_lists(x, n):
    rows, by_kind = List.empty_list(NUMBERS), Dict.empty(types.int64, NUMBERS)
    for i in range(n):
        rows.append(List.empty_list(types.float64))
        by_kind[i % 2] = rows[i]
        by_kind[0].append(x[i])
    s = x[0]
    for ys in rows:
        for y in ys:
            s = s * x[1] + y * len(ys)
    return s * by_kind[0][-1]


def test_lists_of_numba_s_own():
    """Without the tape, which has no lists of numba's."""
    np.testing.assert_allclose(dr.grad(typed_lists)(X.copy(), 3), by_differences(typed_lists, 3), rtol=1e-7)


@njit
def failing(x, i, j, k):
    """x is changed before; then an index, a key, or the number of names is wrong."""
    rows, d = [[x[0], x[1]]], {0: x * 2.0}
    x[0] = 5.0
    rows.append([x[2]])
    rows[1].append(x[0])
    d[1] = d[0] * x
    for _ in range(k):
        rows[1].pop()
    u, v = rows[1]
    return rows[i][j] * d[i][0] * u * v


def test_errors_are_those_of_the_function():
    slope = dr.grad(failing)
    for args, error in [
        ((0, 2, 0), IndexError),
        ((2, 0, 0), IndexError),
        ((0, -3, 0), IndexError),
        ((0, 0, 1), ValueError),
        ((0, 0, 3), IndexError),
    ]:
        found = []
        for f in (failing, slope):
            x = X.copy()
            with pytest.raises(error) as raised:
                f(x, *args)
            found.append((str(raised.value), x.tolist()))
        assert found[0] == found[1]
    np.testing.assert_allclose(slope(X.copy(), 1, 0, 0), by_differences(failing, 1, 0, 0), rtol=1e-7, atol=1e-9)


@njit
def longer(x, n):
    """The list that a loop goes over, and another one, become longer in it; and a dict."""
    rows = [[x[0], x[1]]]
    rows.append([x[2]])
    d = {0: x * 1.0}
    for v in rows[0]:
        rows[n % 2].append(v * x[0])
        if n > 1:
            break
    for k in d:
        d[k * n + k] = d[k] * x
        d[n // 4] = d[k]
        if n == 5:
            break
    return sum(rows[0]) * sum(rows[1]) * np.sum(d[0])


def test_a_loop_does_not_miss_that_its_list_or_dict_is_longer():
    slope = dr.grad(longer)
    for n in (1, 2, 3, 5):
        np.testing.assert_allclose(slope(X.copy(), n), by_differences(longer.py_func, n), rtol=1e-7, atol=1e-9)
    for n, words in [(0, "a list has changed its length"), (4, "a dict has got new keys")]:
        with pytest.raises(RuntimeError, match=words):
            slope(X.copy(), n)


@njit(parallel=True)
def elements_in_threads(x, n):
    rows = [[0.0, 0.0] for _ in range(n)]
    for i in prange(n):
        rows[i][0] = x[i] * x[i]
        rows[i][1] = x[i - 1]
    return rows[0][0] * rows[1][1] + rows[2][0] * rows[0][1]


@njit(parallel=True)
def filled_in_threads(x, n):
    s = 0.0
    for i in prange(n):
        d = {}
        d[0] = x * i
        s += d[0][1]
    return s


def test_parallel_loops():
    """Threads may write to rows, and not make any."""
    np.testing.assert_allclose(
        dr.grad(elements_in_threads)(X.copy(), 3), by_differences(elements_in_threads.py_func, 3), rtol=1e-7
    )
    with pytest.raises(UnsupportedError, match=r"`d\[0\] = x \* i`: .*range in place of prange"):
        dr.grad(filled_in_threads)(X.copy(), 3)
