"""Constructs without derivatives inside of differentiated code: strings, sets, dicts, try blocks, unknown calls."""

import heapq
import random

import numba
import numpy as np
from numba import njit, objmode, types
from numba.extending import overload
from numba.typed import Dict
from support.case import case

A = np.array([0.5, 1.2, -0.8, 2.0])
K = np.array([2, 0, 1, 2])
TABLE = np.array([0.5, 1.5, 2.5])


def table():
    made = Dict.empty(types.int64, types.float64)
    made[0], made[2] = 0.6, 1.7
    return made


PRICES = table()


@case(0.7, 3)
@case(0.7, 12)
@njit
def strings_are_made(x, k):
    """Joined, formatted, split, gone over, looked into; a number of one is needed in the reverse sweep."""
    s = "ab" + str(k)
    t = f"v {k} of {s}"
    n, y = 0, x
    for c in t:
        if c == "b":
            n += ord(c)
        y = y * x + 0.01 * n
    for p in "-".join(["a", s]).split("-"):
        y = y * x * len(p)
    if s.upper().startswith("AB1") and b"ab"[1] == 98 and repr(k) == "12":
        y = y * 2.0
    return y * n * len(t) if t else x


@case(0.7, K, 1)
@njit
def sets_are_made(x, ks, k):
    """Sets that change between the operations that depend on them."""
    seen, odd = set(), {1, k}
    s = {1, 2, 7}
    y = x
    for i in range(len(ks)):
        if ks[i] not in seen:
            seen.add(ks[i])
            y = np.sin(y * x) * len(seen)
        else:
            y = y * 3.0 * x
        while len(odd) < 3 and i not in odd:
            odd.add(i)
            y *= x + len(odd)
    for q in s | {2, 3}:
        y += x * q * y
    return y * len(s & seen)


@case(0.7, K)
@njit
def dicts_are_made(x, ks):
    """Counted in, gone over, popped from, deleted from; two names of one, and pairs as keys."""
    counts = {ks[0]: 0}
    again = counts
    for i in range(len(ks)):
        n = again.get(ks[i], 0)
        counts[ks[i]] = n + 1
    y = x
    for k, v in again.items():
        y = y * x + k * v
    del counts[0]
    pairs = {(0, 0): 1.5}
    pairs[1, 2] = 0.5
    pairs[1, 2] += 1.5
    squares = {ks[0]: 0}
    for q in range(3):
        squares[q] = q * q
    for k in range(9):
        if k in squares:
            y += x * k
    return y * y * pairs[1, 2] * squares.pop(2) * len(again) * len(squares)


@njit
def priced(x, prices, k):
    if k not in prices:
        return x
    return x * x * prices[k]


@njit
def named(x, name, k):
    if k == 0:
        return x * len(name)
    return x * named(x, name + "ab", k - 1) + (x if name.endswith("b") else 1.0)


@case(0.7, 0.4, PRICES, argnums=(0, 1))
@njit
def containers_are_passed_on(x, y, prices):
    """To functions, to recursive ones; an argument that nobody differentiates."""
    s = (prices, "q")
    for k in range(3):
        y = np.sin(y) * priced(x, s[0], k) + priced(y, prices, k)
    return y * named(x, s[1], 2)


@case(A, 2, K)
@case(A, 7, K)
@njit
def blocks_stay_whole(a, k, ks):
    """try blocks that assign discrete or constant values, in a loop and in branches."""
    y, q = a[0], 1
    for i in range(len(ks)):
        try:
            if k > 5:
                raise ValueError("large")
            q = k + i
        except Exception:
            q += 2
        else:
            q += ks[i]
        finally:
            k += 1
        y = y * a[1] + q
        a[2] = y * a[3]
    if k > 6:
        with objmode(z="float64"):
            z = 2.5 * k
        y *= z * a[1]
    with objmode():
        str(q)
    return y * y * a[2] * q


@case(0.7, 4)
@njit
def lists_stay_lists(x, k):
    """Lists of strings and ints, changed by functions that take arrays nowhere else."""
    s = [3, 1, 2]
    heapq.heapify(s)
    y = x * heapq.heappop(s)
    heapq.heappush(s, k)
    words = [c + "x" for c in "abc"]
    words.append("d")
    steps = list(range(k))
    steps.reverse()
    w = np.array([1, 2, 3])
    random.seed(3)
    random.shuffle(w)
    for i in range(k):
        y = y * x + steps[i]
        w[i % 3] += i
    it = iter(range(3))
    n = next(it) + next(it)
    return y * len(words) * len(s) * s[-1] + n * x * w.sum() if "d" in words and words[0] == "ax" else y


def doubled(n):
    return 2 * n


@overload(doubled)
def _doubled(n):
    return lambda n: n + n


@case(A, 3)
@njit
def unknown_calls_of_what_is_discrete(a, k):
    """Calls of an overload, of functions that return numbers, and of slices."""
    s = slice(1, k)
    b = a[s] * a[0]
    a[slice(0, 2)] = b
    n = doubled(k) + len(np.broadcast_shapes((3, 1), (1, k))) + sorted(np.array([3, 1, 2]))[1]
    return np.sum(a * a) * n + numba.get_num_threads() * 0.0 + a.itemsize * a[0] + hash(chr(97)) * 0.0
