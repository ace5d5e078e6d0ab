"""Small numba functions, and hand-written numba functions that return their derivatives, for bench/calls.py."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True)
class Program:
    """A numba function, arguments of it, and the hand-written value and gradient: the floor of a call.

    `options` are those of `dr.grad`; `by_name` are arguments passed by keyword.
    """

    name: str
    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    by_name: dict[str, Any] = field(default_factory=dict)


class Point(NamedTuple):
    """Two coordinates."""

    a: float
    b: float


@njit
def square(x):
    """One float."""
    return x * x


@njit
def square_by_hand(x):
    """Value and gradient of `square`."""
    return x * x, 2.0 * x


@njit
def fused(x, y, z):
    """Three floats."""
    return x * y + z


@njit
def fused_by_hand(x, y, z):
    """Value and gradients of `fused`."""
    return x * y + z, (y, x, 1.0)


@njit
def scaled(x, by=3.0):
    """Two floats, one with a default."""
    return by * x * x


@njit
def scaled_by_hand(x, by=3.0):
    """Value and gradient of `scaled`."""
    return by * x * x, 2.0 * by * x


@njit
def squares(x):
    """A sum over an array."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * x[k]
    return total


@njit
def squares_by_hand(x):
    """Value and gradient of `squares`."""
    total, d_x = 0.0, np.empty_like(x)
    for k in range(x.size):
        total += x[k] * x[k]
        d_x[k] = 2.0 * x[k]
    return total, d_x


@njit
def temporary(x):
    """An array expression, which makes an array."""
    return np.sum(np.sin(x) * x)


@njit
def temporary_by_hand(x):
    """Value and gradient of `temporary`, which makes the same arrays."""
    s = np.sin(x)
    return np.sum(s * x), np.cos(x) * x + s


@njit
def recorded(x):
    """A loop that overwrites a number: each iteration is recorded."""
    y = x[0]
    for k in range(x.size):
        y = np.sin(y) * x[k]
    return y


@njit
def recorded_by_hand(x):
    """Value and gradient of `recorded`."""
    before, d_x = np.empty_like(x), np.empty_like(x)
    y = x[0]
    for k in range(x.size):
        before[k] = y
        y = np.sin(y) * x[k]
    d_y = 1.0
    for k in range(x.size - 1, -1, -1):
        d_x[k] = d_y * np.sin(before[k])
        d_y *= np.cos(before[k]) * x[k]
    d_x[0] += d_y
    return y, d_x


@njit
def weighted(x, y, by):
    """Two arrays and a float."""
    total = 0.0
    for k in range(x.size):
        total += by * x[k] * y[k]
    return total


@njit
def weighted_by_hand(x, y, by):
    """Value and gradients of `weighted`."""
    total, d_x, d_y = 0.0, np.empty_like(x), np.empty_like(y)
    for k in range(x.size):
        total += x[k] * y[k]
        d_x[k] = by * y[k]
        d_y[k] = by * x[k]
    return by * total, (d_x, d_y, total)


@njit
def first_squares(count, x):
    """An int and an array."""
    total = 0.0
    for k in range(count):
        total += x[k] * x[k]
    return total


@njit
def first_squares_by_hand(count, x):
    """Value and gradient of `first_squares`."""
    total, d_x = 0.0, np.zeros_like(x)
    for k in range(count):
        total += x[k] * x[k]
        d_x[k] = 2.0 * x[k]
    return total, d_x


@njit
def of_tuple(t):
    """A tuple of floats."""
    return t[0] * t[1] + t[2]


@njit
def of_tuple_by_hand(t):
    """Value and gradient of `of_tuple`."""
    return t[0] * t[1] + t[2], (t[1], t[0], 1.0)


@njit
def of_point(p):
    """A named tuple."""
    return p.a * p.b


@njit
def of_point_by_hand(p):
    """Value and gradient of `of_point`."""
    return p.a * p.b, Point(p.b, p.a)


@njit
def matrix_squares(m):
    """A sum over a matrix."""
    total = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            total += m[i, j] * m[i, j]
    return total


@njit
def matrix_squares_by_hand(m):
    """Value and gradient of `matrix_squares`."""
    total, d_m = 0.0, np.empty_like(m)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            total += m[i, j] * m[i, j]
            d_m[i, j] = 2.0 * m[i, j]
    return total, d_m


@njit
def of_records(r):
    """A sum over an array of records."""
    total = 0.0
    for k in range(r.size):
        total += r[k].a * r[k].b
    return total


@njit
def of_records_by_hand(r):
    """Value and gradient of `of_records`."""
    total, d_r = 0.0, np.empty_like(r)
    for k in range(r.size):
        total += r[k].a * r[k].b
        d_r[k].a = r[k].b
        d_r[k].b = r[k].a
    return total, d_r


@njit
def with_aux(x):
    """A value, and an auxiliary one."""
    return x[0] * x[1], x[0]


@njit
def with_aux_by_hand(x):
    """Value and gradient of `with_aux`."""
    d_x = np.zeros_like(x)
    d_x[0], d_x[1] = x[1], x[0]
    return (x[0] * x[1], x[0]), d_x


_X, _RECORD = np.arange(1.0, 6.0), np.dtype([("a", np.float64), ("b", np.float64)])
PROGRAMS = (
    Program("a float", square, square_by_hand, (3.0,)),
    Program("three floats, by all", fused, fused_by_hand, (3.0, 2.0, 1.0), {"argnums": (0, 1, 2)}),
    Program("a float and a keyword", scaled, scaled_by_hand, (3.0,), {}, {"by": 2.0}),
    Program("an array of 5", squares, squares_by_hand, (_X,)),
    Program("an array of 5, with temporaries", temporary, temporary_by_hand, (_X,)),
    Program("an array of 5, with a tape", recorded, recorded_by_hand, (_X,)),
    Program("two arrays and a float, by all", weighted, weighted_by_hand, (_X, _X + 1.0, 2.0), {"argnums": (0, 1, 2)}),
    Program("an int and an array", first_squares, first_squares_by_hand, (4, _X), {"argnums": 1}),
    Program("a tuple of floats", of_tuple, of_tuple_by_hand, ((3.0, 2.0, 1.0),)),
    Program("a named tuple", of_point, of_point_by_hand, (Point(3.0, 2.0),)),
    Program("a matrix", matrix_squares, matrix_squares_by_hand, (np.ones((2, 3)),)),
    Program("records", of_records, of_records_by_hand, (np.ones(3, _RECORD),)),
    Program("an array of 5, has_aux", with_aux, with_aux_by_hand, (_X,), {"has_aux": True}),
)
