"""Small things that numba code of other people does, and that were refused, or crashed: against differences."""

from collections import namedtuple

import numba
import numpy as np
import pytest
from numba import njit
from numba.typed import Dict
from support.checks import STEP, check
from support.oracle import assert_same

import dualrev as dr

Point = namedtuple("Point", "x y")
CORNERS = (1.5, (2, 3))
A = np.array([0.5, 1.2, -0.8])


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
    for f in (rows_from_lists, dr.value_and_grad(rows_from_lists, (0,))):
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
    gradients = check(of_its_own_class, (1.3, 4, A), (0, 2))
    value, slope = dr.value_and_grad(of_its_own_class)(np.float32(1.3), 4, A)
    assert value == of_its_own_class(np.float32(1.3), 4, A)
    assert slope == pytest.approx(gradients[0], rel=1e-6)


@njit
def goes_over_memory(x, m):
    """np.nditer: read as a number, written, and left early; the order is that of numba's type."""
    s = 0.3
    for v in np.nditer(m):
        s = np.sin(s * v.item()) * x + v[()]
        if s < -100.0:
            break
        v[()] = s * x
        s += v * x
    for v in np.nditer(m[:, 1:]):
        s -= 0.5 * x if -v < s else v.item()
    return s * m[0, 1]


def test_loops_over_nditer():
    m = np.array([[0.5, 1.1, -0.4], [0.9, -0.7, 0.2]])
    for made in (m.copy(), np.asfortranarray(m)):
        args = [(0.7 + step, made + step) for step in (0.0, STEP, -STEP)]
        value, slope = dr.jvp(goes_over_memory, (0.7, made.copy("K")), (1.0, np.ones((2, 3))))
        found = [goes_over_memory(x, a.copy("K")) for x, a in args]
        assert value == found[0]
        assert slope == pytest.approx((found[1] - found[2]) / (2.0 * STEP), rel=1e-7)
        of_x, of_m = dr.grad(goes_over_memory, (0, 1))(0.7, made.copy("K"))
        assert of_x + of_m.sum() == pytest.approx(slope, rel=1e-12)


KEY = numba.types.UniTuple(numba.types.int64, 2)


@njit
def by_pairs(x, n):
    d = {}
    e = Dict.empty(KEY, numba.types.float64)
    for i in range(n):
        for j in range(n):
            if (j, i) in d:
                d[i, j] = x * d[j, i]
            else:
                d[(i, j)] = x * i + j * x * x
            d[i, j] *= x
            e[i % 2, j] = d[i, j]
    total = 0.0
    for (i, j), y in d.items():
        total += y * (i + 1) * j
    for k, y in e.items():
        total += y * k[0]
    return total * d.get((1, 1), 0.0) + e[0, 1]


def test_dicts_by_pairs():
    check(by_pairs, (0.7, 3), (0,))


@njit
def largest(a, y, n):
    best = None
    if n == 0:
        return None
    for i in range(n):
        if best is None or a[i] * y > best:
            best = a[i] * y
    return best


@njit
def first_above(a, y):
    for i in range(len(a)):
        if a[i] > y:
            return i
    return None


@njit
def row_with(m, k):
    for i in range(len(m)):
        if m[i, 0] > k:
            return m[i].copy()
    return None


@njit
def halved(x, n):
    if n == 0:
        return None
    y = halved(x * x, n - 1)
    if y is None:
        return x
    return y * x


@njit
def may_be_none(x, a, n):
    """Numbers, a place, an array, and what calls itself; used, and looked at before."""
    s = x
    m = np.array([[1.0, x], [2.0, x * a[0]]])
    for j in range(n + 1):
        y = largest(a, x, j)
        s = s + x if y is None else s * y + y
        r = row_with(m, j)
        if r is not None:
            s += r[1] * x
    k = first_above(a, x)
    if k is not None:
        s += x * k
    return s * halved(x, n)


def test_functions_that_may_give_none():
    """A function that may return None has a derivative; if it does return None, numba's own TypeError is raised."""
    check(may_be_none, (0.7, A, 3), (0, 1))
    for f in (may_be_none, dr.value_and_grad(may_be_none, (0, 1))):
        with pytest.raises(TypeError, match="expected float64, got None"):
            f(0.7, A, 0)
    assert dr.grad(halved)(0.7, 2) == pytest.approx(3.0 * 0.7**2)


def weight(k):
    return k * 1.0


def test_blocks_of_objmode_use_what_stands_around_the_function():
    """A function of Python, and a module."""

    @njit
    def f(x):
        with numba.objmode(r="float64"):
            r = weight(2) + float(np.linalg.matrix_rank(np.eye(3)))
        return r * np.sum(x * x)

    check(f, (A,), (0,))


def test_blocks_of_objmode_have_variables_of_their_own(capsys):
    """An objmode block with variables without numba types runs. (It was once taken for pruned code.)"""

    @njit
    def f(x, tape):
        words, top = tape + 1, 0
        with numba.objmode(top="int64"):
            text = f"{words} '{{x}}' {words + 1}\n"
            top = len(text) + words
        with numba.objmode():
            said = "said " + str(tape)
            print(said)
        if 3 % 2 != 1:
            with numba.objmode(top="int64"):
                never = "never"
                top = len(never)
        return x * x * top

    for stage in ("lowered", "expanded"):
        assert "said" in dr.derivative_source(f, 2.0, 3, stage=stage)
    assert (dr.grad(f)(2.0, 3), dr.jvp(f, (2.0, 3), (1.0, None))[1]) == (f(2.0, 3), f(2.0, 3))
    assert capsys.readouterr().out == "said 3\n" * 4


def test_the_distance_to_the_next_float_has_the_derivative_0():
    @njit
    def f(x, a):
        return np.spacing(x) * 1e16 + np.sum(np.spacing(a) * 1e16 * a)

    gradient = dr.grad(f, (0, 1))(2.5, A)
    assert gradient[0] == 0.0
    np.testing.assert_array_equal(gradient[1], np.spacing(A) * 1e16)


def test_texts_of_try_blocks_name_variables():
    @njit
    def f(x, tape):
        words, top = tape + 1, 0
        try:
            text = f"{words} 'x' \"{{words}}\" {words + 1}\n"
            if text == "4 'x' \"{words}\" 5\n":
                top = 7
        except Exception:  # numba takes no other
            top = 1
        return x * x * top

    assert dr.grad(f)(2.0, 3) == f(2.0, 3) == 28.0
