"""Ways to write what has another form, too: constants of types, lists of places, names that are declared."""

import linecache
import re

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.rules.library.linalg.products import cross_each

pytestmark = pytest.mark.usefixtures("unoptimized")

PLACES, FACTOR = (1, 3), 2.5
X = np.array([3.0, 1.0, 2.0, 5.0, 4.0])


@njit
def limits(x):
    """Constants of single precision stay so: their product is one of single precision."""
    info = np.finfo(np.float32)
    whole = np.iinfo(np.int8)
    small = np.float32(x[0]) * info.eps * np.float32(1e7)
    tiny = x[1] * np.finfo(np.float32).tiny * 1e38 + x[2] * np.finfo(np.float32).resolution * 1e6
    largest = np.finfo(np.float64).max
    for u in x:
        if u < largest:
            largest = u
    ints = x[3] * np.iinfo(np.uint8).max + x[4] * whole.max + np.iinfo(np.int16).bits * x[0] + info.bits * x[1]
    return small * 1.0 + tiny + largest * largest + ints


@njit
def named(x):
    info = np.finfo(np.float32)
    y = x[0] * info.eps
    return y * 1e7 + np.minimum(x[1], info.max)


@njit
def limits_by_type(x):
    """Objects that numba knows by the type of the argument; one name for several, several names for one."""
    y = x.astype(np.float32)
    f = np.finfo(x.dtype)
    if x[0] > 1.0:
        g = f
    else:
        g = np.finfo(np.float64)
    s = np.sum(x * x) * g.eps * 1e16 + np.finfo(y.dtype).eps * np.float32(1e7) * x[1]
    for i in range(2):
        k = np.iinfo(np.arange(2)[i]).bits
        s += x[i] * x[0] * k + np.finfo(y[0]).tiny
    return s * np.finfo(type(s)).bits


@njit
def parted(x):
    k, n = 1, 3
    return np.partition(x, [k, n])[n] * x[0] + x[np.argpartition(x, PLACES)[1]] * 2.0


@njit
def declared(x):
    global FACTOR
    k = x[1] * 2.0

    def inner(t):
        nonlocal k
        return t * k * FACTOR

    return inner(x[0]) + inner(x[2])


@njit
def of_several_types(x):
    model = {"weights": np.outer(x, x), "bias": x * 2.0, "scale": x[0], "power": 3}
    y = model["weights"] @ model["bias"] * model["scale"]
    return np.sum(y) * model["power"]


@njit
def at_places(x):
    """np.ndenumerate with one name for the index, `break`, and `else`."""
    m, s = np.outer(x, x), 0.0
    for k, v in np.ndenumerate(m):
        s += v * m[k] * (k[1] + 1)
        if k[0] == 2:
            break
    for (i, j), v in np.ndenumerate(m):
        if v < 0.0:
            break
        s += v * (i - j)
    else:
        s *= x[0]
    return s


@njit
def starred(x):
    t = (x[0], x[1])
    u = (*t, x[2] * x[0], 3, *(x[3], t[1]))
    v = (1.0, *u)
    w = (*t,)
    return (u[2] * u[4] + u[5]) * v[1] * len(v) * w[1]


def test_partitions_have_derivatives_in_core():
    """Numba compiles its partitions for seconds."""
    plain = parted.py_func
    slope = np.array([(plain(X + 1e-5 * e) - plain(X - 1e-5 * e)) / 2e-5 for e in np.eye(len(X))])
    np.testing.assert_allclose(gradient(parted, (X,), (0,))[1][0], slope, rtol=1e-6)


SLOW = pytest.param(parted, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "f",
    [starred, limits, named, limits_by_type, SLOW, declared, of_several_types, at_places],
    ids=lambda f: f.__name__,
)
def test_derivatives_and_values_are_those_of_the_function(f):
    h = 1e-2 if f in (limits, named) else 1e-5  # of numbers in single precision
    slope = np.array([(f(X + h * e) - f(X - h * e)) / (2.0 * h) for e in np.eye(len(X))])
    value, gradient = dr.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4 if f in (limits, named) else 1e-6)
    if f is not parted:  # numba compiles its partitions for seconds
        assert_same(dr.jvp(f, (X,), (X,))[1], float(gradient @ X), rtol=1e-9 if f not in (limits, named) else 1e-6)


def test_constants_have_the_types_of_numba():
    @njit
    def f(x):
        return np.finfo(np.float32).eps * np.float32(x)

    value, slope = dr.jvp(f, (np.float32(3.0),), (np.float32(1.0),))
    assert value == f(np.float32(3.0))
    assert slope == np.finfo(np.float32).eps


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("i = np.finfo(np.float32)\n    j = i\n    return x * j.eps", "i = np.finfo(np.float32) as a value"),
        ("k = x\n    def g():\n        nonlocal k\n        k = k * x\n        return k\n    return g()", "`nonlocal`"),
    ],
)
def test_what_is_no_constant_is_refused(body, words):
    text = f"def f(x):\n    {body}\n"
    linecache.cache[words] = len(text), None, text.splitlines(keepends=True), words
    space = {"np": np}
    exec(compile(text, words, "exec"), space)
    with pytest.raises(UnsupportedError, match=re.escape(words)):
        dr.grad(njit(space["f"]))(2.0)


@njit
def crossed(m):
    return np.sum(np.cross(m, m[1]) ** 2)


def test_a_vector_or_a_single_row_is_crossed_with_each_row():
    m = np.array([[1.0, -0.5, 0.3], [0.2, 0.7, 1.1]])
    value, gradient = dr.value_and_grad(crossed)(m)
    assert value == pytest.approx(crossed(m), rel=1e-13)
    np.testing.assert_allclose(gradient, dr.grad(crossed.py_func)(m), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cross_each(m[:1], m), np.cross(m[:1], m), rtol=1e-14)
    np.testing.assert_allclose(cross_each(m, m[1:]), np.cross(m, m[1:]), rtol=1e-14)
