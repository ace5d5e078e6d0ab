"""Lists of numbers: comprehensions, displays, and arrays of them."""

import math

import numpy as np
from numba import njit
from numba.typed import List
from support.case import case, raises

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])


@case(A, 0.7)
@njit
def comprehensions(a, x):
    """Over arrays, ranges and enumerate, with conditions; a name of its own for the variable; sums and arrays."""
    k = 2
    ys = [x * k + math.sin(x) for k, x in enumerate(a)]
    zs = [y * x for y in ys if y > 0.0 if y < 5.0]
    s = ys[k] * zs[-1] + sum(zs) * len(ys)
    b = np.array([a[i] * a[i - 1] for i in range(1, len(a))])
    c = np.asarray([u for u in a if u > 100.0])
    for y, w in zip(ys, b):  # noqa: B905 - numba has no strict
        s += y * w * x
    return s + np.sum(b * b) + len(c) * x


@case(A, 1)
@njit
def lists_that_change(a, k):
    """Two names for one list; [x] * n; lists of ints as indices; a list in a loop."""
    ys = [a[0], 2.0, a[1] * a[2]]
    other = ys
    other[0] *= a[3]
    sums = [0.0] * len(a)
    places = [0, 2, k]
    for i in places:
        sums[i] += a[i] * ys[0]
        parts = [a[i] * u for u in ys]
        sums[i] = sums[i] + parts[1] * parts[k]
    return ys[0] * ys[2] + sum(sums) + sums[places[-1]]


@raises(IndexError, A, 3)
@njit
def an_index_behind_a_list(a, k):
    ys = [a[0], a[1], a[2]]
    a[0] = 5.0
    return ys[k]


@case(A, 0.7)
@njit
def lists_that_grow(a, x):
    """By append in loops and branches, from nothing and from a comprehension; pop, clear; indices from the end."""
    kept = []
    for i in range(len(a)):
        if a[i] > -1.0:
            kept.append(a[i] * x)
    powers = [x]
    while powers[-1] > 0.05 and len(powers) < 9:
        powers.append(powers[-1] * x + 0.01 * kept[1])
    powers[-2] *= a[3]
    typed = List()
    for y in kept:
        typed.append(y * powers[0])
    typed[1] = x * x
    s = 0.0
    stack = [0]
    while len(stack) > 0:
        k = stack.pop()
        s += a[k] * a[k] * len(stack)
        for child in (2 * k + 1, 2 * k + 2):
            if child < len(a):
                stack.append(child)
    for i in range(3):
        parts = []
        parts.append(x * i)
        if i > 1:
            parts.clear()
            parts.append(a[i])
    return s * powers[-1] + powers[2] * sum(kept) + typed[1] * len(typed) * parts[0] + sum(kept[1:3]) * len(parts)


@case(A, 3)
@njit
def comprehensions_of_several_loops(a, n):
    """The inner loop may depend on the outer one; with conditions; names of their own."""
    i = 7
    ys = [a[i] * a[j] for i in range(n) for j in range(i, len(a)) if i != j if a[j] > -1.0]
    return ys[2] * sum(ys) * i + np.sum(np.array([x * y for x in a for y in ys[:2]]))


@raises(IndexError, A, 3)
@njit
def an_index_behind_what_a_list_has_room_for(a, k):
    ys = [a[0]]
    ys.append(a[1])
    a[0] = 5.0
    return ys[k]


@raises(IndexError, A, 2)
@njit
def a_pop_of_an_empty_list(a, k):
    ys = [a[0]]
    a[0] = 5.0
    for _ in range(k):
        ys.pop()
    return a[1]


@njit
def weighted(ys):
    s = 0.0
    for k in range(len(ys)):
        s += ys[k] ** 2 * (k + 1)
    return s


@njit
def folded(ys, k):
    if k == len(ys):
        return 0.0
    return ys[k] ** 2 + ys[0] * folded(ys, k + 1)


@case(A, 0.7)
@njit
def lists_that_are_passed(a, x):
    """To functions that read them: displays, lists that grow, numba's typed ones, of ints, and in a recursion."""
    ys = [a[0] * x, a[1]]
    typed = List()
    for k in range(3):
        ys.append(a[k] * ys[0])
        typed.append(a[k] * x)
    return weighted(ys) * weighted([x, a[3]]) + folded(typed, 0) * weighted([2, 3])


@case(A, 0.7)
@njit
def arrays_in_a_list_that_was_empty(a, x):
    kept = []
    for k in range(3):
        kept.append(a[k:] * x)
    s = 0.0
    for u in kept:
        s += np.sum(u * u) * len(u)
    return s * kept[1][0]
