"""Calls of numba functions that cannot be derived, and through which nothing that is differentiated goes: they stay."""

import heapq
import random
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, stencil, types
from numba.extending import intrinsic, overload, overload_method
from support.checks import STEP, check
from support.incore import gradient

import dualrev as dr
from dualrev.compiler.frontend.reading.ast_purity import Look
from dualrev.compiler.frontend.reading.source import read

pytestmark = pytest.mark.usefixtures("unoptimized")

A = np.array([0.5, 1.2, -0.8, 2.0])
M = np.array([[2.0, 0.3], [0.4, 1.7]])
K = np.array([2, 0, 1, 2])
NUMBER = 2


class Pair(NamedTuple):
    u: np.ndarray
    v: float


@stencil
def smooth(a):
    return 0.5 * a[-1] + 0.5 * a[1]


@njit
def total_of(a):
    """A loop over np.nditer of two arrays, whose items have no known type, so that it cannot be derived here."""
    total = 0.0
    for pair in np.nditer((a, a)):
        u, v = pair
        total += u.item() * v.item()
    return total


@njit
def shrink(a, total):
    for pair in np.nditer((a, a)):
        u, v = pair
        total += 0.1 * u.item() * v.item()
    for i in range(len(a)):
        a[i] = 0.5 * a[i] + 0.1 * total
    return total


@njit
def count(places):
    for _ in np.nditer((places, places)):
        pass
    places[0] += 1


@njit
def next_pair(p, n):
    total = total_of(p.u)
    for pair in np.nditer((p.u, p.u)):
        u, _ = pair
        total += u.item() * n
    return Pair(p.u * total, p.v + total), n + 1


@njit
def below(a, x):
    n = 0
    for _ in np.nditer((K, K)):
        n += 1
    return n + int(a[0] < x) + int(np.linalg.eig(M)[0][0].real > x)


def of_overload(a):
    raise NotImplementedError


@overload(of_overload)
def _of_overload(a):
    def of_overload(a):
        total = 0.0
        for pair in np.nditer((a, a)):
            u, v = pair
            total += u.item() * v.item()
        return total

    return of_overload


@overload_method(types.Array, "of_method")
def _of_method(a):
    return lambda a: of_overload(a) + smooth(a)[1]


@njit
def reads_data(x, a, m):
    """Helpers, overloads, methods, stencils and functions of numpy; a tuple that goes in and comes out."""
    y = x * total_of(a) + x * x * of_overload(a) + a.of_method() / x
    p, n = next_pair(Pair(a, 0.5), 2)
    values, vectors = np.linalg.eig(m)
    y += x * smooth(a)[2] * values[0].real * vectors[0, 0].real
    return y * p.u[1] * p.v * n


def test_functions_of_data_stay_whole():
    check(reads_data, (1.3, A, M), (0,))


@njit
def writes_data(x, w, n):
    """An array and ints that calls overwrite, which the reverse pass needs."""
    b, k = A.copy(), K.copy()
    y = x
    for i in range(n):
        y = y * b[1] * x + b[i] * w[k[i] % 2]
        y *= shrink(b, 0.3) * k[0]
        count(k)
        y = np.sin(y * b[0]) * k[0]
    return y * b[2]


def test_what_such_functions_write_is_brought_back():
    args = (0.7, np.array([0.4, 0.9]), 3)
    check(writes_data, args, (0, 1))
    value, slope = dr.jvp(writes_data, args, (1.0, np.array([0.5, -1.0]), None))
    ends = [writes_data(0.7 + s, args[1] + s * np.array([0.5, -1.0]), 3) for s in (STEP, -STEP)]
    assert value == writes_data(*args)
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * STEP), rel=1e-7)
    product = dr.hvp(writes_data)(0.7, 1.0, *args[1:])
    gradient = dr.value_and_grad(writes_data, (0, 1))  # compiled already
    slopes = [gradient(0.7 + s, *args[1:])[1][0] for s in (STEP, -STEP)]
    assert product == pytest.approx((slopes[0] - slopes[1]) / (2.0 * STEP), rel=1e-6)
    value, pull = dr.vjp(writes_data, *args)
    assert pull(1.0)[0] == gradient(*args)[1][0]


@njit
def looks_at_what_moves(x, a):
    b = a * x
    return b[1] * x * below(b, x)


def test_a_discrete_value_of_what_is_differentiated():
    check(looks_at_what_moves, (0.7, A), (0, 1))


@njit
def moves_on(x, a):
    return total_of(a * x)


@njit
def moves_back(x, a):
    b = np.empty(4)
    b[:] = x * a
    return shrink(b, 0.2) * x


@njit
def draws(a):
    for _ in np.nditer((a, a)):
        pass
    return np.random.rand()


@njit
def of_draws(x):
    return x * x * draws(A)


def test_what_would_be_wrong_is_refused():
    """Code that cannot be derived is refused if it gets a differentiated value, or if draws would run twice."""
    for f in (moves_on, moves_back):
        with pytest.raises(dr.errors.UnsupportedError, match=r"np.nditer\(\(a, a\)\):`: .*numpy.nditer"):
            dr.grad(f)(0.7, A)
    assert dr.grad(of_draws)(0.7) > 0.0
    with pytest.raises(dr.errors.UnsupportedError, match=r"draws in its vjp cannot .* run more than once"):
        dr.vjp(of_draws, 0.7)


@njit
def returns_itself(x):
    b = A.copy()
    c = given_back(b)
    c[0] = x * x
    return b[0] * x


@njit
def given_back(a):
    for _ in np.nditer((a, a)):
        pass
    return a


def test_a_result_that_is_an_argument():
    """A result that is an argument is refused, since nobody knows then which reads see which stores."""
    with pytest.raises(ValueError, match="returns memory of an argument"):
        dr.grad(returns_itself)(0.7)


@njit
def folded(m):
    s = 0.0
    for pair in np.nditer((m, m)):
        u, v = pair
        s = 0.5 * s + u.item() * v.item()
        m[0, 0] += s
    return s


@njit
def of_an_order(x, m):
    """A matrix whose numba type has its layout: the passes' copy has the same layout."""
    y = x
    for _ in range(2):
        y *= m[0, 0] * folded(m) * y
    return y


def test_the_order_of_copies():
    m = np.asfortranarray([[0.5, 1.1, -0.4], [0.9, -0.7, 0.2]])
    value, slope = dr.value_and_grad(of_an_order)(0.7, m.copy("K"))
    ends = [of_an_order(x, m.copy("K")) for x in (0.7, 0.7 + STEP, 0.7 - STEP)]
    assert value == ends[0] != of_an_order(0.7, m.copy("C"))
    assert slope == pytest.approx((ends[1] - ends[2]) / (2.0 * STEP), rel=1e-7)


@njit
def draws_by_another_name(a):
    f = random.random
    for _ in np.nditer((a, a)):
        pass
    return f()


@njit
def reads(a, places, p):
    k = places[0]
    return a[k] + a[-1] + a[NUMBER] + len(a) + a.shape[0] + np.linalg.eig(p)[0][0]


@njit
def makes_views(a, places, p):
    t = slice(0, 2)
    b = a[t]
    b[0] = p[None][0, 0]
    return b


def test_a_number_and_an_array_that_the_call_changes():
    """There is no tape and no shadow: what the array holds at the end still has its place."""

    @njit
    def f(x, places):
        count(places)
        return x * x * places[0]

    places = np.array([2, 7])
    assert dr.value_and_grad(f)(1.5, places) == (6.75, 9.0)
    assert places.tolist() == [3, 7]


def test_what_a_tree_tells():
    look = Look(read(reads))
    assert look.only_reads("a", 1)
    assert look.only_reads("p", 2)
    assert look.does_the_same()
    assert not look.only_reads("a", 2)
    for f in (makes_views, shrink, given_back):
        assert not Look(read(f)).only_reads("a", 1)
    assert not Look(read(draws)).does_the_same()
    assert not Look(read(draws_by_another_name)).does_the_same()


@njit
def squares_and_shrinks(x, d, out):
    for i in range(len(x)):
        out[i] = x[i] * x[i] * d[i]
    shrink(d, 0.2)
    return out[0] * d[0]


@njit
def of_data_that_changes(x, d):
    """A callee that differentiates x and changes d by code that cannot be derived, without x."""
    out = np.zeros_like(x)
    y = squares_and_shrinks(x, d, out)
    return y + np.sum(out * d)


def test_data_that_a_derived_function_passes_on():
    found = dr.grad(of_data_that_changes)(A, K + 0.5)
    ends = [[of_data_that_changes(A + t * e, K + 0.5) for t in (STEP, -STEP)] for e in np.eye(4)]
    assert found == pytest.approx([(a - b) / (2.0 * STEP) for a, b in ends], rel=1e-7)
    with pytest.raises(dr.errors.UnsupportedError, match=r"numpy\.nditer"):
        dr.grad(of_data_that_changes, 1)(A, K + 0.5)


@njit
def sum_of_squares(a):
    """A sum in which only the try block reads the array, and which writes to nothing."""
    total = 0.0
    for u in a:
        try:
            total += u * u
        except Exception:
            total = 0.0
    return total


@njit
def with_squares(x, d):
    d[1] = x[0]
    return sum_of_squares(d) + x[0]


@njit
def larger_of(a, b):
    return a if a[0] > b[0] else b


@njit
def of_argument(x, d):
    return sum_of_squares(x) * d[0]


@njit
def of_what_is_given_back(x, d):
    b = d * 1.0
    larger_of(b, d * 0.5)[1] = x[1]
    return sum_of_squares(b) * x[0]


@njit
def of_a_callee(x, d):
    return with_squares(x, d)


@njit
def of_data_beside(x, d):
    return sum_of_squares(d) * x[0]


def test_a_number_out_of_a_function_that_only_reads():
    """No derivative is seen to come out of it, so the caller has to look."""
    given = A.copy(), K + 0.5
    for f in (of_argument, of_what_is_given_back, of_a_callee):
        with pytest.raises(dr.errors.UnsupportedError, match="try/except cannot be differentiated"):
            gradient(f, given, (0,))
    assert gradient(of_data_beside, given, (0,))[1][0].tolist() == [15.0, 0.0, 0.0, 0.0]


@njit
def list_of(n):
    for _ in np.nditer((A, A)):
        n += 1
    return [0.5 * n, 3.0]


@njit
def list_and_count(n):
    return list_of(n), n


@njit
def places_of(n):
    for _ in np.nditer((A, A)):
        n += 1
    return [n, 3]


@njit
def of_a_list(x):
    ys = list_of(2)
    return ys[0] * x[0]


@njit
def of_a_list_in_a_tuple(x):
    ys, n = list_and_count(2)
    return ys[0] * x[0] * n


@njit
def of_places(x):
    places, y = places_of(-3), x[0]
    for k in places:
        y *= x[k]
    return y * x[places[0]] * len(places)


def test_a_list_that_a_call_returns():
    """It is none of the lists that are arrays in core: numba could not type the derivative. Lists of ints stay."""
    for f in (of_a_list, of_a_list_in_a_tuple):
        with pytest.raises(dr.errors.UnsupportedError, match=r" list_(of|and_count)\(2\)`: a list that a call returns"):
            dr.grad(f)(A)
    check(of_places, (A,), (0,))


@intrinsic
def same_int(context, a):
    return types.int64(types.int64), lambda context, builder, sig, args: args[0]


@njit
def of_what_nobody_knows(x, n):
    return same_int(n) * x * x


@njit
def of_that_and_a_set(x, n):
    k = same_int(n)
    total = 0.0
    for y in {x, x * x}:
        total += y
    return total * k


@njit
def of_a_heap(x, n):
    heap = [3, 1, n]
    heapq.heapify(heap)
    return x * x * heapq.heappop(heap)


def test_a_pullback_is_refused_for_what_no_derivative_is_known_of_before_unknown_calls():
    """The cure of an unknown call is another derivative: it has to be one that there is."""
    with pytest.raises(dr.errors.UnsupportedError, match=r"a set cannot be differentiated"):
        dr.vjp(of_that_and_a_set, 0.7, 2)
    with pytest.raises(dr.errors.UnsupportedError, match=r"run more than once.*Write dr\.grad or dr\.jvp"):
        dr.vjp(of_what_nobody_knows, 0.7, 2)
    assert dr.grad(of_what_nobody_knows)(0.7, 2) == 2.8
    assert dr.vjp(of_a_heap, 0.7, 2)[1](1.0) == (1.4, None)
