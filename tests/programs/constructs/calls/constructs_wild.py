"""Constructs of real numba code other than arithmetic: `*args`, optional values, callbacks, `map`, indices."""

import enum
import math
import operator

import numba
import numpy as np
from numba import cfunc, float64, guvectorize, literally, njit
from numba.typed import List
from support.case import case, raises

A = np.array([0.5, 1.2, -0.8, 2.0])
M = np.array([[0.5, 1.2, 0.8], [1.5, -0.3, 0.7]])
MODES = ("linear", "square")
SCALES = (0.5, (2.0, 3))


class Kind(enum.Enum):
    LOW = 2
    HIGH = 5


@njit
def weighted(x, *rest):
    s = x * len(rest)
    for k in range(len(rest)):
        s += (k + 1) * rest[k]
    return s


@njit
def scaled_in_place(by, *arrays):
    arrays[0][1] *= by
    arrays[1][:] = arrays[0] * by


@njit
def passed_on(x, *rest):
    return weighted(x, *rest) * weighted(x, rest[0], 2.0, x)


@case(0.7, 1.3, A)
@njit
def any_number_of_arguments(x, y, a):
    """With and without a tuple at the call; through another function; arrays that are changed."""
    t = (y, x * y)
    b = np.zeros(len(a))
    scaled_in_place(x, a, b)
    return weighted(x, y, 3.0) + passed_on(y, *t) + weighted(x, *t) * np.sum(a * b)


@njit
def scaled(x, by):
    return x * by


@case(A, 0.3)
@case(A, 5.0)
@njit
def the_best_or_none(a, least):
    """A number, an array and a place that are None until something is found; tested in conditions of several parts."""
    best, where, row, low = None, None, None, None
    for k in range(len(a)):
        if a[k] > least and (best is None or a[k] * a[k] < best):
            best, where = a[k] * a[k], k
            row = a[k:] * least
        if a[k] < least:
            low = a[k] if low is None or low > a[k] else scaled(a[k], 0.5)
    if best is None:
        return least * least
    best += 0.5
    if low is not None:
        best += low * least
    s = best * a[0] if where is not None and where > 0 else best
    if row is not None:
        s += np.sum(row)
    return s


@raises(TypeError, A, 5.0)
@njit
def a_number_that_is_none(a, least):
    a[0] *= 2.0
    found = None
    for x in a:
        if x > least:
            found = x
    return found * 2.0


@cfunc("float64(float64, float64)")
def swing(x, y):
    return math.exp(-x) * y


@case(0.7, A)
@njit
def callbacks_and_lambdas(x, a):
    """A cfunc, with an int where it declares a float; map and filter; a lambda that is passed on."""

    def twice(g, u):
        return g(g(u))

    s = swing(x, 3) + twice(lambda u: u * u + x, a[0])
    for y in map(lambda u: u * math.sin(u), a):  # noqa: C417 - as people write it
        s += y
    for y in filter(lambda u: u > 0.0, a):
        if y > 1.9:
            break
        s *= y
    return s


@case(0.7, A, "linear", 3)
@case(0.7, A, "other", 2)
@njit
def what_is_known(x, a, mode, k):
    """Items of global tuples, members of an Enum, strings, `in`, tuples that are compared, functions for operators."""
    s = SCALES[0] * x * SCALES[1][1] + operator.mul(x, Kind.HIGH.value) + numba.float64(k)
    if mode in ("linear", "cubic"):
        s *= x
    if mode == MODES[0] or (mode.startswith("ot") and "he" in mode):
        s += operator.getitem(a, 1)
    places = np.array([1, k])
    if 3 in places and (k, 2) == (3, 2) and (k, 1) < (4, 0):
        s -= x
    ys = List.empty_list(numba.float64)
    ys.extend(a * x)
    return s + literally(2) * ys[1] * ys[-1] + x.real * x.imag + a.real[0]


@case(A, M)
@njit
def places_of_a_mask(a, m):
    """np.where and np.nonzero as indices, read, written and added to."""
    b = a[np.where(a > 0.6)] * 2.0
    a[a.nonzero()] *= 0.5
    rows, _ = np.where(m > 0.6)
    return np.sum(b) + np.sum(a * a) + np.sum(m[rows] ** 2)


@case(A, M, later=True)
@njit
def places_of_a_mask_in_two_dimensions(a, m):
    """As above, of a later numba than 0.65, which takes several index arrays."""
    m[np.where(m < 0.0)] = a[0]
    rows, columns = np.where(m > 0.6)
    return np.sum(a * a) + np.sum(m[rows, columns] ** 2) + np.sum(m[np.nonzero(m > 1.0)])


@guvectorize([(float64[:], float64[:])], "(n)->(n)")
def powers(u, made):
    s = 1.0
    for k in range(len(u)):
        s *= u[k]
        made[k] = s


@guvectorize([(float64[:], float64, float64[:])], "(n),()->()")
def spread(u, by, made):
    made[0] = by * (u[-1] - u[0] * u[1])


@case(A, M, 0.7)
@njit
def generalized_ufuncs(a, m, x):
    """Generalized ufuncs on vectors, rows and columns, with numbers and arrays; np.clip by arrays; np.finfo."""
    b = np.zeros(len(a))
    powers(a, b)
    powers(m, m)
    sums = np.zeros(2)
    spread(m, x, sums)
    spread(m, sums * sums, sums)
    return np.sum(b * np.clip(a, b - 0.3, b + 0.3)) + np.sum(sums) + np.finfo(np.float64).eps * m[0, 1]


@case(0.7, A, 3, "fast")
@case(0.7, A, 1, "slow")
@raises(KeyError, 0.7, A, 1, "medium")
@njit
def dicts_and_sets_that_never_change(x, a, k, word):
    """Their values may be differentiated: by key, with get, in loops; `in`, and how many there are."""
    a[1] *= x
    table = {1: x, 3: a[1] * x}
    rates = {"slow": 0.5, "fast": 2.0}
    pairs = {0: a[0], 2: x}
    known = {k, 7}
    s = 0.0
    for q in range(4):
        if q in pairs and q not in {5, 6}:
            s += pairs[q] * q
        s += pairs.get(q, a[0]) * 0.1
    if k in known:
        s *= rates[word]
    for q, v in pairs.items():
        s += q * v * v
    for v in rates.values():
        s += v * x
    for q in pairs.keys():  # noqa: SIM118 - as people write it
        s += q * x
    return s * len(pairs) + rates["slow"] + table[k]
