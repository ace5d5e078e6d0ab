"""Tuples, nested tuples and named tuples: as arguments, results and locals."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from support.case import case


class Body(NamedTuple):
    mass: float
    position: np.ndarray
    name: int


class Pair(NamedTuple):
    first: float
    second: float


class Model(NamedTuple):
    weights: np.ndarray
    bias: Pair
    extra: tuple


BODY = Body(1.5, np.array([0.3, -0.7, 1.1]), 7)
MODEL = Model(np.array([[0.5, -0.2], [0.1, 0.8]]), Pair(0.3, -0.4), (np.array([1.0, 2.0], np.float32), 2, 0.5))


@case((0.5, -1.2, 0.8), 2)
@njit
def tuples(t, k):
    """Unpacking, elements, a loop over a tuple, an index computed at run time, parts, and + of tuples."""
    a, b, c = t
    s = a * t[1] + t[-1]
    for x in t:
        s = s * 0.5 + x * x
    for i in range(len(t)):
        s += t[i] * t[(i + k) % 3]
    u = (s, a) + t[1:]  # noqa: RUF005 - numba has no stars in tuples of this kind
    p, (q, r) = u[0], (u[1] * b, u[3])
    if p in u:
        p += 1.0
    for i, x in enumerate(u):
        s += i * x
    return s + p * q * r * c


@case(((0.5, (1.5, 3)), np.array([0.3, 0.9])), (1, 2.5))
@njit
def nested_tuples(data, other):
    """Floats, ints and an array at several depths; the gradient has None for the ints."""
    (x, (y, n)), a = data
    k, z = other
    a[0] *= x
    return x * y**n + a[k] * z + data[0][0] * a[0] + data[0][1][1] * z * k


@case(BODY, 2.0)
@njit
def named_tuples(body, g):
    """Fields by name, by place and unpacked; a new one made of them."""
    mass, position, _ = body
    moved = Body(mass * 2.0, position + g, body.name)
    moved.position[0] = body.mass * moved.mass
    energy = body.mass * g * body.position[2] + 0.5 * moved[0] * np.sum(moved.position**2)
    return energy * position[1] + body.name * moved.mass


@case(MODEL, np.array([0.7, -1.1]))
@njit
def a_named_tuple_of_everything(model, x):
    """A named tuple of an array, a named tuple, and a tuple with float32, an int and a float."""
    h = model.weights @ x + model.bias.first
    extra, n, scale = model.extra
    for i in range(2):
        h[i] = math.tanh(h[i] * scale) * extra[i]
    return h[0] * h[1] + n * model.bias.second


@njit
def _step(state, dt):
    return Pair(state.first + dt * state.second, state.second - dt * math.sin(state.first))


@njit
def _polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@case(Pair(0.4, 1.2), 0.1, 6)
@njit
def tuples_carried_by_a_loop(state, dt, n):
    """A state as a named tuple, and a pair of floats whose places are exchanged."""
    pair = (state.first, dt)
    for k in range(n):
        state = _step(state, dt)
        if k % 2 == 0:
            pair = (pair[1], pair[0] * state.second)
    r, angle = _polar(*state)
    return r * angle + pair[0] * pair[1]


@case(0.6, np.array([1.0, -0.5, 2.0]))
@njit
def a_result_of_everything(x, a):
    """A named tuple with an array, ints, and a part of the argument in a tuple."""
    b = a * x
    if x > 0.5:
        best = (b[0], 1)
    else:
        best = (x, 2)
    return Body(x * best[0], b, 3), (best, (a[1:], x * x), True)


@case(0.6, -0.2, 4)
@njit
def swaps_in_a_loop(x, y, n):
    """Fibonacci's exchange, three names in a circle, and the least and the greatest so far."""
    a, b, c = x, y, x * y
    low, high = x, x
    for _ in range(n):
        a, b = b, a + b * x
        a, b, c = c, a, b
        low, high = min(low, c), max(high, a)
    return a * b * c + low * high


@case((np.array([0.5, 1.0]), np.array([-0.3, 0.8])), 1)
@njit
def arrays_in_tuples(arrays, k):
    """Arrays of a tuple, chosen by an index computed at run time, read and written."""
    total = 0.0
    for a in arrays:
        total += a[0] * a[1]
    chosen = arrays[k]
    chosen[0] = chosen[1] * total
    both = (chosen, arrays[0] * 2.0)
    for i in range(2):
        both[i][1] += both[1 - i][0] * both[i][0]
    return both[0][1] * both[1][1] + arrays[1][1] * arrays[1][0]


@case((), 0.5)
@njit
def an_empty_tuple(t, x):
    s = x * len(t)
    for _ in range(len(t)):
        s += 1.0
    return s + x * x


@case((0.7, 2.0, -0.4), np.array([0, 2]))
@njit
def conditions_on_chosen_parts(t, places):
    """Parts that are chosen at run time in conditions: guarded, nested, of named tuples and of lists."""
    pairs, pair, s = ((t[0], t[1]), (2.0, t[0])), Pair(t[1], t[2]), 0.1
    for i in range(5):
        if i < 3 and t[i] < 1.0:
            s += t[i] * t[0]
        if i < 2:
            if pairs[i] < pairs[1 - i] or t[places[i]] < pair[i]:
                s += pairs[i][0] * t[1] * s
            if pairs[i][1 - i] != pairs[i][i] and 2.0 in pairs[i] and not [t[1], s][i] > t[i - 1]:
                s = s * t[2] + pair[i]
            while pair[i] > s:
                s += t[1]
    return s
