"""Operations of lists, and lists of tuples, of arrays and of lists."""

import numpy as np
from numba import njit
from support.case import case, raises

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])


@case(A, 0.7, smooth=False)
@njit
def methods_of_lists(a, x):
    """Methods of lists: indices in the middle, sorting, searching, copies, del and +=."""
    ys = [a[0], x, a[1] * x]
    ys.insert(1, a[2] * x)
    ys.insert(-9, a[3])
    s = ys.pop(2) * ys.pop(-2)
    zs = ys.copy()
    zs.sort()
    zs.reverse()
    ws = zs + [x, x * x]  # noqa: RUF005
    ws += [a[0]]
    ks = [3, 1, 2]
    ks.remove(1)
    if x in ws and 5 not in ks:
        s += ks.count(3) + ks.index(2) * x
    del ws[0]
    return s * max(ws) * min(a) + (ws * 2)[-2] * zs[1] + sum(sorted(ws, reverse=True)[:2]) * list(range(4))[2]


@case(A, 0.7)
@njit
def lists_of_tuples(a, x):
    """Lists of tuples that grow, from nothing and from a comprehension; each position has its type."""
    s = []
    for i in range(len(a)):
        s.append((a[i] * x, i))
    s.insert(1, (x * x, 7))
    u, k = s.pop()
    s[0] = (x, 3)
    w = [(q * x, 1) for q in a if q > 0.0]
    r = u * k + w[-1][0] * len(w)
    for p, i in s[1:]:
        r += p * p * i
    return r


@njit
def _moved(u, x):
    return u * x + np.sin(u)


@case(A, 0.7)
@njit
def lists_of_arrays(a, x):
    """An item is the array that was put there, if the list has one length; lists that grow have none that change."""
    parts = [a[: k + 1] * x for k in range(2)]
    rows, b = [[x, a[0]], [a[1], x * x]], np.zeros(2)
    both = [a, b]
    rows[1][0] *= x
    b[0] = x * a[1]
    both[1][1] = x
    s = [a * x, a[:2] * x]
    u = a[:3] * 2.0
    for _ in range(2):
        u = _moved(u, x)
        s.append(u)
    s.insert(1, both[1] * a[3])
    r = rows[1][0] * rows[0][1] + both[1][0] * b[1]
    for h in s:
        r += h[0] * h[-1]
    for k in range(2):
        r += both[k][1] * len(both[k])
    return r + s.pop()[1] * len(s) * parts[1][0]


@case(A, 0.7)
@njit
def returns_from_loops_inside(a, x):
    """Returns of an inner function: from two nested loops, and after them."""

    def root(c):
        for i in range(9):
            for j in range(3):
                if c * i > 1.0 + j * j:
                    return c * c * i
        return -c

    return root(x) * root(0.01 * x) + root(a[3]) * a[0]


@raises(ValueError, A, 0.7)
@njit
def what_a_list_does_not_have(a, x):
    ys = [x, a[0]]
    a[0] = 5.0
    ys.remove(3.0)
    return ys[0]


@raises(IndexError, A, 2)
@njit
def an_index_behind_a_list_of_arrays(a, k):
    ys = [a, a * 2.0]
    a[0] = 5.0
    return ys[k][0]


@case(A, 0.7)
@njit
def dicts_of_floats(a, x):
    """With ints and strings as keys; made in loops, of others, and anew; asked for, gone over, in conditions."""
    s = 0.0
    for i in range(3):
        d = {}
        d[i] = a[i] * x
        if i == 1:
            d = {}
            d[5] = x
        else:
            d[0] = a[i] * a[i]
            d[0] += x
        for k, v in d.items():
            s += v * v * (k + 1)
        s = s * d.get(0, s) + d.get(77, 1)
        for j, v in enumerate(d.values()):
            s += j * v
    squares = {k: a[k] * x for k in range(4)}
    squares = {k: squares[k] * squares[3] for k in range(4)}
    named = {"a": x, "b": x * x}
    if "c" not in named and named["a"] > 0.0:
        named["c"] = named["a"] * squares[1]
    named["a"] = 3.0
    return s + squares[2] * named["c"] * named["a"] + len(named) * x


@case(A, 0.7)
@njit
def keys_that_are_gone_over(a, x):
    """Whole numbers, which are no places, and strings; the values are asked for, or not."""
    d = {7: x, 0: a[0], 1: x * x}
    s = 1.0
    for k in d:
        s = s * x + k
    for j, k in enumerate(d):
        s += j * k * x
    for i, k in zip(range(2), d):  # noqa: B905 - numba has no `strict`
        s += d[k] * i
    named = {"a": x, "bc": a[1] * x}
    named["d"] = s
    for name in named:
        s += named[name] * len(name)
    return s * sum([k * x for k in d])


@raises(KeyError, A, 2)
@njit
def a_key_that_a_dict_does_not_have(a, k):
    d = {1: a[1]}
    d[3] = a[0] * a[1]
    a[0] = 5.0
    return d[k]
