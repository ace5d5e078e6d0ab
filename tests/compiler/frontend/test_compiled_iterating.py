"""Iterators, np.nditer, literal_unroll and values that may be None: in core, against differences."""

import numpy as np
import pytest
from numba import literal_unroll, njit
from numba.typed import Dict, List
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr

A, B = np.array([0.5, 1.0, 3.0, -0.7]), np.array([1.0, 2.0, -1.0, 0.5])
M = np.arange(8.0).reshape(2, 4) + 0.3
STEP = 1e-6


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def check(f, *args):
    """Assert that the gradient with respect to the real arguments equals differences in one direction."""
    numbers = [k for k, x in enumerate(args) if isinstance(x, (float, np.ndarray))]
    _, found = gradient(f, tuple(copied(args)), numbers)
    directions = {k: np.cos(np.arange(1.0, np.size(args[k]) + 1.0)).reshape(np.shape(args[k]))[()] for k in numbers}
    ends = [
        f(*[x + t * directions[k] if k in directions else x for k, x in enumerate(copied(args))]) for t in (STEP, -STEP)
    ]
    slope = sum(np.sum(g * directions[k]) for g, k in zip(found, numbers, strict=True))
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * STEP), rel=1e-7)


@njit
def iterators(a, m, x):
    """Over an array, rows of a view, a tuple, a list that is a comprehension, a typed list; their rests in loops."""
    it = iter(a)
    before = next(it)
    s = before * before
    for y in it:
        s += (y - before) ** 2 * y
        before = y
    rows = iter(m[:, :3])
    first, second = next(rows), next(rows)
    second[0] = first[1] * x
    three = iter((x, y, x * y))
    s += next(three) * next(three) + next(three)
    squares = [u * u for u in second]
    over = iter(squares)
    while s < 20.0:
        s += next(over)
    kept = List()
    for u in a:
        kept.append(u * x)
    again = iter(kept)
    s *= next(again)
    for u in again:
        if u < 0.0:
            continue
        s += u * s
    else:
        s += 1.0
    return s + (first * second).sum()


def test_iterators():
    check(iterators, A, M, 0.4)
    with pytest.raises(StopIteration):
        dr.grad(iterators)(A[:0], M, 0.4)


@njit
def bound_again(a):
    """An iterator over a name that is bound again: it goes on over the old array."""
    it = iter(a)
    s = next(it)
    a = 3.0 * a
    s = s * next(it) + a[2] * next(it)
    for k in range(3):
        part = a[k:] * 2.0
        if k == 0:
            of_first = iter(part)
        s += next(of_first) * part[0]
    return s


def test_iterators_over_names_that_are_bound_again():
    check(bound_again, A)


@njit
def over_keys(x, d):
    keys = iter(d)
    return x * next(keys)


def test_an_iterator_over_what_has_no_places_stays_as_it_is_written():
    """A dict with the key 0 has something in the place 0, too: that is not its first key."""
    d = Dict()
    d[7], d[0] = 2, 3
    assert dr.grad(over_keys)(1.5, d) == 7.0


@njit
def several_arrays(m, b):
    """One is broadcast, one written, and the order counts."""
    out, s = np.zeros_like(m), 0.0
    for x, y, z in np.nditer((m, b, out)):
        z[()] = x.item() * y.item() + z
        s = 0.9 * s + x * y
    for x, y in np.nditer((m[:, ::2], b[:2])):
        s = 0.8 * s - y.item() * x
    return np.sum(out * out) * s


@njit
def written_once(b, s):
    for x, y in np.nditer((b, s)):
        y[()] = y.item() + x.item()
    return s[0]


def test_nditer_of_several_arrays():
    check(several_arrays, M, B)
    with pytest.raises(ValueError, match="written has to have all of its elements"):
        gradient(written_once, (M, B), (0,))
    for f in (written_once, dr.grad(written_once)):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            f(B, np.zeros(1))
    with pytest.raises(dr.UnsupportedError, match="in C order"):
        dr.grad(several_arrays)(np.asfortranarray(M), B)


@njit
def decay(x, p):
    return np.exp(-p * x)


@njit
def power(x, p):
    return p * x**p


FUNCTIONS = decay, power
MIXED = 1.5, 2, np.array([1.0, 2.0])


@njit
def of_several_types(t, a):
    s = 0.0
    for v in literal_unroll(t):
        if np.sum(v * a) > 3.0:
            continue
        s += np.sum(v * a) ** 2
    return s


@njit
def unrolled(x, p, t):
    """Tuples of functions and of values: written with a name, global, and an argument of several types."""
    functions, values = (decay, power), (x, 2, t[1], x * x)
    s = 1.0
    for f in literal_unroll(functions):
        s += f(x, p) * f(p, x)
    for f in literal_unroll(FUNCTIONS):
        if f(x, p) > 1e3:
            return s
        s *= f(x, p) + x
    for v in literal_unroll(values):
        s += np.sum(v * t[1]) * x
    for v in literal_unroll(MIXED):
        s += np.sum(v * np.ones(2)) * x
    return s + of_several_types(t, A[:2])


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_literal_unroll():
    t = (1.0, np.array([1.0, 3.0]), 2)
    check(unrolled, 0.5, 1.2, t)


@njit
def without_axes(x, a):
    z, n, w = np.array(x), np.array(3), np.array(a[1])
    z[()] = z * 2.0 + 1.0
    z[()] += w.item() * n
    return z.item() * x + w[()] ** 2 + z * w


def test_arrays_of_one_number():
    check(without_axes, 0.7, A)


@njit
def lists_among_others(a, x):
    ys = [x]
    y, more = len(ys) * x, []
    for v in a:
        more.append(v * y)
        ys.append(v)
    both, z = [x, 2.0], ys[0] + more[1]
    both.append(z)
    return sum(both) * sum(more) + sum(ys)


def test_lists_that_get_their_names_among_others():
    check(lists_among_others, A, 0.4)


@njit
def first_above(x, a):
    if x < 0.0:
        return None
    for y in a:
        if y > x:
            return y * x * x
    return x * 2.0


@njit
def halves(x, a):
    if x > 0.0:
        return a * x
    return None


def test_the_function_itself_may_give_none():
    """There is a derivative where there is a value; where there is none, numba's own error for it is raised."""
    check(first_above, 2.0, A)
    assert dr.value_and_grad(first_above)(2.0, A) == (12.0, 12.0)
    assert dr.hessian(first_above)(2.0, A) == 6.0
    y, pullback = dr.vjp(halves, 2.0, A)
    assert_same((y, pullback(B)), (2.0 * A, (float(A @ B), 2.0 * B)))
    for derivative in (
        lambda: dr.grad(first_above)(-1.0, A),
        lambda: dr.jvp(halves, (-1.0, A), (1.0, B)),
        lambda: dr.hessian(first_above)(-1.0, A),
    ):
        with pytest.raises(TypeError, match="got None"):
            derivative()
