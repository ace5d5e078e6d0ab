"""Derivatives of recursive functions: what they lend (runtime/recursion/by_reference.py), and circles of several."""

import math
import re
import threading

import numba
import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.driver.emit import emit

X = np.array([0.5, 1.2, -0.8, 0.3, 2.0])
LEFT, RIGHT = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])


@njit
def tree(left, right, x, i):
    if left[i] < 0:
        return x[i]
    return tree(left, right, x, left[i]) * x[i] + math.sin(tree(left, right, x, right[i]))


@njit
def one(x, i):
    return 1.0 if i == 0 else one(x, i - 1) * x[i]


@njit
def writes(x, y, i):
    """Some arrays are written to on the way down and on the way up."""
    if i == len(x):
        return y[0]
    y[i] *= x[i]
    s = writes(x, y, i + 1)
    y[i] = math.sin(y[i]) + s
    return s * y[i]


@njit
def swaps(x, y, z, i):
    """Two arrays change places, one stays."""
    return x[0] * z[0] if i == 0 else math.exp(-swaps(y, x, z, i - 1)) * y[i] + z[i]


@njit
def slices(x, y):
    """One array gets shorter."""
    return y[0] if len(x) == 0 else x[0] * slices(x[1:], y) + y[1] * y[1]


@njit
def pair(x, c, i):
    """Several results, numbers among the arguments."""
    if i == 0:
        return c, x[0]
    a, b = pair(x, c * 0.5, i - 1)
    return a * x[i], b + c * a


@njit
def even(x, i):
    return 1.0 if i == 0 else odd(x, i - 1) * x[i] + (even(x, i - 2) if i > 2 else 0.0)


@njit
def odd(x, i):
    return x[0] if i == 0 else even(x, i - 1) + math.sin(x[i])


@njit
def sines(x, n):
    if n == 0:
        return 1.0
    return math.sin(x) * sums(x, n - 1)


@njit
def sums(x, n):
    if n == 0:
        return 0.3
    return x + sines(x, n - 1)


@njit
def first(x, n):
    return x if n <= 0 else second(x * 1.1, n - 1)


@njit
def second(x, n):
    return 2.0 * x if n <= 0 else third(x, n - 1) * x


@njit
def third(x, n):
    return 3.0 if n <= 0 else first(x, n - 1) + math.cos(x)


@njit
def inside(x, i):
    """A recursion whose iterations call another recursion on an array that the caller computes."""
    if i == 0:
        return x[1]
    y = x * x[i]
    return inside(x, i - 1) + one(y, i) * tree(LEFT, RIGHT, y, 0)


@njit
def of_tree(x, left, right):
    return tree(left, right, x, 0)


@njit
def of_writes(x):
    y = x * x
    return writes(x, y, 0) + np.sum(y)


@njit
def of_swaps(x, c):
    y, z = x * c, x + c
    return swaps(x, y, z, 4)


@njit
def of_slices(x):
    return slices(x, x * 2.0) + slices(x[::2], x)


@njit
def of_pair(x):
    a, b = pair(x, x[2], 4)
    return a * b


@njit
def of_even(x):
    return even(x, 4) * odd(x, 3)


@njit
def of_aliases(x):
    """A recursion in which other arguments are one array in every second call."""
    y = x * 0.5
    return swaps(x, y, x, 4)


@njit
def of_sines(x):
    return sines(x, 5)


@njit
def of_three(x):
    return first(x, 7) * second(x, 5)


@njit
def of_inside(x):
    return inside(x, 3)


PROGRAMS = {
    of_tree: (X, LEFT, RIGHT),
    one: (X, 4),
    of_writes: (X,),
    of_swaps: (X, 0.5),
    of_slices: (X,),
    of_pair: (X,),
    of_even: (X,),
    of_aliases: (X,),
    of_sines: (0.5,),
    of_three: (0.5,),
    of_inside: (X,),
}


def arguments(f):
    """New arguments, and tangents for them."""
    args = tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in PROGRAMS[f])
    return args, (np.cos(args[0]), *(0.5 if isinstance(x, float) else None for x in args[1:]))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_are_those_of_the_tape(f):
    (args, tangents), plain = arguments(f), twin(f)
    expected = dr.value_and_grad(plain)(*args)
    assert_same(dr.value_and_grad(f)(*args), expected)
    assert_same(dr.jvp(f, args, tangents)[1], dr.jvp(plain, args, tangents)[1])


#: Recursion with two calls, with one, with arrays that get shorter, with several results, and in a circle.
SECOND = of_tree, one, of_slices, of_pair, of_sines


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=[] if f in SECOND else [pytest.mark.slow], id=f.__name__) for f in PROGRAMS],
)
def test_second_derivatives_are_those_of_the_tape(f):
    (args, tangents), plain = arguments(f), twin(f)
    assert_same(dr.hvp(f)(args[0], tangents[0], *args[1:]), dr.hvp(plain)(args[0], tangents[0], *args[1:]))


@pytest.mark.parametrize(
    ("f", "lent"),
    [
        (of_tree, {"left, right, x", "left, right, x, d_x"}),
        (one, {"x,", "x, d_x"}),
        (of_swaps, {"z,", "z, d_z"}),
        (of_writes, {"x, y", "x, y, d_x, d_y"}),
        (of_even, set()),  # another function calls it
        (of_slices, set()),  # it makes views, and numba counts references
    ],
)
def test_what_is_lent(f, lent):
    source = emit(f, "grad", 0, tuple(numba.typeof(x) for x in PROGRAMS[f])).source
    assert set(re.findall(r"runtime\.lend\(\((.*)\)\)", source)) == lent


def test_threads_have_their_own():
    gradient, plain = dr.grad(of_tree), dr.grad(twin(of_tree))
    found = {}

    def work(k):
        found[k] = [gradient(X * (1 + k + 0.1 * n), LEFT, RIGHT) for n in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        assert_same(found[k][-1], plain(X * (1 + k + 4.9), LEFT, RIGHT))
