"""Constructs other than plain statements: prange, indices of arrays, inner functions, match."""

import enum
import math

import numba
import numpy as np
from numba import literal_unroll, njit, prange
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 1.1]])


@case(A, M)
@njit
def loops_in_series(a, m):
    """prange without parallel=True is range: what is carried from round to round is carried."""
    s = 1.0
    for i in prange(len(a)):
        s = s * 0.5 + a[i] * s
    for i in numba.prange(1, m.shape[0]):
        for j in prange(0, 3, 2):
            if j > i:
                continue
            m[i, j] *= s
            s += m[i, j] * i
    return s


@case(M)
@njit
def indices_of_an_array(m):
    """np.ndindex of a shape and of ints, np.ndenumerate; continue; the loop's variables afterwards; no round."""
    s = 0.0
    for i, j in np.ndindex(m.shape):
        if i == j:
            continue
        m[i, j] += s
        s += m[i, j] * m[j, i] * (i + 2)
    for k, c in np.ndindex(2, 3):
        s += m[k, c] * s * 0.1
    for k in np.ndindex(0, 3):
        s += 100.0 * k[0]
    for (p, q), x in np.ndenumerate(m):
        s += x * x * (p + 3 * q)
    return s * i * (j + c) * x


@case(0.7, A)
@njit
def functions_inside(x, a):
    """With defaults, branches and early returns, names of their own, and variables as they are now."""
    k, u = 3.0, 0.5

    def square(t, by=2.0):
        u = t * t
        return u * by + k

    def sign(t):
        if t > 0.0:
            return t * x
        if t < -1.0:
            return -t * t
        return u

    def both(t):
        return square(sign(t), t) - square(t)

    cube = lambda t: t * t * t + x  # noqa: E731
    s = square(x) + square(a[0], a[1])
    for i in range(len(a)):
        s += sign(a[i]) * cube(a[i])
    return s * both(a[3]) + u * k + (lambda u: u * a[0])(s)


@case(0.7, A)
@njit
def functions_of_functions(x, a):
    """A function inside that gets another one, and one of the module's; one that changes an array."""

    def twice(f, t):
        return f(f(t))

    def scale(v, by):
        for k in range(len(v)):
            v[k] *= by
        v[0] += x

    def inner(t):
        def more(x):
            return x * t

        return more(t) + more(x)

    s = twice(inner, x) + twice(math.sin, a[0])
    scale(a, x)
    scale(a, s)
    while inner(s) < 10.0:
        s = s + inner(x)
    return np.sum(a) * s + (inner(x) if s > 0.0 else inner(2.0))


@case(0.7, 1)
@case(0.7, 3)
@case(0.7, 12)
@case(0.7, -1)
@njit
def match_on_numbers(x, k):
    """A match on numbers: single ones, alternatives, names, guards, and a default."""
    s = 0.0
    for i in range(3):
        match k + i:
            case 0:
                continue
            case 1:
                y = x * x
            case 2 | 3:
                y = math.sin(x) * i
            case n if n > 10:
                y = x / n
                break
            case _:
                y = x
        s += y * y
    match k:
        case 1:
            return s
    return s * x


@case(0.7, 0.0, 2, smooth=False)
@case(0.0, 0.3, 0, smooth=False)
@njit
def one_of_two_numbers(x, y, n):
    """`or` and `and` of numbers, in values and in conditions; what comes first is computed once."""
    a = x or 2.0 * y or 3.0
    b = (y and x * 2.0) + (n or 4) * x
    c = a * b > 1.0 or not (x and y)
    if (n and x) or (y and n > 1):
        a = a * x + b
    return a * b + (x * x if c else y * y)


class Kind(enum.Enum):
    ROUND = 1
    SQUARE = 2


@case(0.7, 2, Kind.ROUND)
@case(0.7, (2.0, 0.3), Kind.SQUARE)
@njit
def by_type_and_kind(x, size, kind):
    """isinstance of arguments, and members of an Enum."""
    area = x
    if isinstance(size, (int, float)):
        area = size * size * x
    elif isinstance(size, tuple):
        area = size[0] * size[1] * x
    if kind == Kind.ROUND:
        return area * x
    return area if kind is not Kind.SQUARE else area * area


@case(0.7, A, M)
@njit
def an_unrolled_loop(x, a, m):
    """literal_unroll over arrays of several types, with a branch."""
    y = x * a[0]
    s = 1.0 + y
    for v in literal_unroll((a, m, a[::2])):
        s += np.sum(v * v) * y
        if s > 10.0:
            s *= x
    return s
