"""Arrays that are handed to functions, and new ones that these return: the reverse sweep makes their shadows where the
forward sweep does not ask for them (analysis/memory/shadow_flow.py)."""

import re

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same, flat
from support.twin import twin

import dualrev as dr


@njit
def smooth(x, out):
    for i in range(1, len(x)):
        out[i] = x[i] * x[i - 1]
    out[0] = 2.0 * x[0]


@njit
def smoothed(x):
    out = np.empty(len(x))
    smooth(x, out)
    return out


@njit
def in_rounds(x, w):
    """A new array in each iteration, made by a function whose callee fills it."""
    s = 0.0
    for k in range(3):
        y = smoothed(x)
        z = smoothed(y)
        s += y[k] * z[k + 1] * w[k]
    return s


@njit
def without(x, k):
    made = np.empty(len(x) - 1)
    for i in range(len(x)):
        if i < k:
            made[i] = x[i]
        elif i > k:
            made[i - 1] = x[i]
    return made


@njit
def permanent(x, w):
    """It calls itself with new arrays."""
    if len(x) == 1:
        return x[0] * w[0]
    s = 0.0
    for k in range(len(x)):
        s += x[k] * w[len(x) - 1] * permanent(without(x, k), w)
    return s


@njit
def half(x, w, turn):
    """Two functions that call each other, with an array that both may change."""
    if len(x) == 1:
        return x[0] * w[0]
    y = without(x, turn % len(x))
    y[0] *= w[1]
    return other_half(y, w, turn + 1) + x[0]


@njit
def other_half(x, w, turn):
    if len(x) == 1:
        return x[0] * w[1]
    x[-1] += w[2] * x[0]
    return half(without(x, 0), w, turn) * x[-1]


@njit
def in_turns(x, w):
    return half(x, w, 1) + half(w, x, 2)


@njit
def same(x):
    return x


@njit
def tail(x):
    return x[1:]


@njit
def either(x, k):
    if k > 1:
        made = np.zeros(len(x))
        made[0] = x[1]
    else:
        made = x * 2.0
    return made


@njit
def pair(x):
    y = x * x
    return y, y


@njit
def two(x):
    return x * x, np.sin(x)


@njit
def moving(x, w):
    """Results that are arguments, views of them, one array twice, or one of several."""
    s = 0.0
    for k in range(3):
        y = smoothed(x)
        a = same(y)
        a[0] += w[k]
        b = tail(smoothed(w))
        b[0] *= x[k]
        c, d = pair(x)
        c[1] += w[0]
        e, g = two(w)
        h = either(x, k)
        h[1] += w[k]
        s += y[0] * b[0] + d[1] * e[k] + g[0] * h[1] + h[0] * b[1]
    return s


@njit
def last_of(x, w):
    """An array that the next iteration and code after the loop read."""
    y = smoothed(x)
    s = 0.0
    for k in range(3):
        z = smoothed(y)
        s += np.sum(z) * w[k]
        y = z
    return s + y[0] + z[1]


@njit
def twice(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] * y[len(y) - 1 - i]


@njit
def handed_twice(x, w):
    """One array as two arguments of a call, and as source and target of another."""
    s = 0.0
    for k in range(3):
        y = smoothed(x)
        z = np.empty(len(x))
        twice(y, y, z)
        s += z[k] * w[k]
        v = smoothed(w)
        smooth(v, v)
        s += v[k]
    return s


@njit
def views_of_it(x, w):
    """Views of a new array, at one place and at places that are known at run time only."""
    s = 0.0
    for k in range(3):
        y = smoothed(x)
        v = y[1:]
        u = v if w[k] > 0.0 else y[:-1]
        smooth(u, v)
        s += np.sum(v) * w[k] + u[0]
    return s


@njit
def ends_early(x, w):
    s, k = 0.0, 0
    while s < 4.0 and k < 5:
        y = smoothed(x)
        k += 1
        if y[k % 4] > 1.0:
            continue
        z = smoothed(y)
        s += z[0] * w[k % 5] + y[1]
        if s > 3.0:
            return s * y[2]
    return s


@njit
def overwritten(x, w):
    """The caller changes the array before and after it hands it on."""
    s = 0.0
    for k in range(3):
        y = smoothed(x)
        y[0] = w[k]
        z = smoothed(y)
        y[1] = 0.0
        s += z[1] * y[0] + y[1]
        y[:] = 3.0
        s += y[2] * z[0]
    return s


@njit
def whole(x, w):
    """Products and copies, at the top: arrays that live as long as the call."""
    y = smoothed(x)
    z = np.dot(np.outer(y, w), smoothed(w))
    return np.sum(np.sin(z)) + np.max(y)


PROGRAMS = [
    *[in_rounds, permanent, in_turns, moving, last_of, handed_twice],
    *[views_of_it, ends_early, overwritten, whole],
]
X, W = np.array([0.7, 1.3, -0.4, 0.9, 0.2]), np.array([1.1, -0.6, 0.8, 0.5, 1.7])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_tape(f):
    _, found = gradient(f, (X.copy(), W.copy()), (0, 1))
    assert_same(flat(tuple(found)), flat(dr.grad(twin(f), (0, 1))(X.copy(), W.copy())), rtol=1e-12)


def test_a_recursive_function_makes_no_shadows_on_its_way_forward():
    text = dr.derivative_source(permanent, X.copy(), W.copy())
    forward = re.search(r"def permanent_forward\(.*?\n\n", text, re.DOTALL).group()
    assert forward.startswith("def permanent_forward(x, w, tape):")
    assert "zeros" not in forward
    assert forward.count("runtime.keep(") == 1  # the array: its elements are read
    assert "without_forward" not in text  # the user's function does all


@pytest.mark.parametrize("f", [permanent, moving, views_of_it])
def test_compiled_and_second_derivatives(f):
    x, w = X[:4].copy() if f is permanent else X.copy(), W.copy()
    assert_same(dr.grad(f)(x, w), dr.grad(twin(f))(x.copy(), w.copy()), rtol=1e-11)
    v = np.cos(x)
    assert_same(dr.hvp(f)(x, v, w), dr.hvp(twin(f))(x.copy(), v, w.copy()), rtol=1e-10)
