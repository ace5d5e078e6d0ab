"""Memory that an exception leaves behind, and that numba never frees (bridge/numba_ext/exception_cleanup.py)."""

import numba
import numpy as np
import pytest
from numba import njit, prange
from numba.core.compiler import Compiler
from numba.core.runtime import _nrt_python, rtsys
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.bridge.numba_ext.exception_cleanup import release_at_exceptions

X, T = np.array([0.3, 0.5, 0.7]), np.array([1.0, -2.0, 3.0])


@njit
def recurses(x, n, z):
    y = x * 2.0
    if n == 0:
        if z == 0.0:
            raise ValueError("no")
        return np.sin(y[0])
    return recurses(y, n - 1, z) * y[1]


@njit
def hands_on(x, n, z):
    """A recursion that makes nothing, over an array of its caller."""
    return x[0] * (1.0 / z) if n == 0 else hands_on(x, n - 1, z) * x[1]


@njit
def even(x, n, z):
    y = x * 1.1
    if n == 0:
        if z == 0.0:
            raise ValueError("no")
        return np.sin(y[0])
    return odd(y, n - 1, z) * y[1]


@njit
def odd(x, n, z):
    y = np.sin(x)
    if n == 0:
        return y[1]
    y[0] *= y[1]
    return even(y, n - 1, z) * y[1]


@njit
def pair(x, n, z):
    """Arrays are returned on the way up, and one call fails there."""
    y = x * 1.5
    if n == 0:
        return y, x
    a, b = pair(y, n - 1, z)
    if n == 3 and z == 0.0:
        raise ValueError("no")
    return a * b, y


@njit
def of_pair(x, n, z):
    a, b = pair(x, n, z)
    return a[0] * b[1]


@njit
def step(x, k, z):
    y = np.sin(x)
    for i in range(len(y)):
        y[i] *= y[i - 1]
    if k == 3 and z == 0.0:
        raise ValueError("no")
    return y


@njit
def loops(x, n, z):
    s = 0.0
    for k in range(n):
        w = step(x * (s + 1.0), k, z)
        rows = [w, step(w, k, z)]
        s += rows[0][0] * rows[1][1]
    return s


@njit(parallel=True)
def in_threads(x, n, z):
    s, y = 0.0, x * 2.0
    for k in prange(n):
        s += step(y, k, z)[0]
    return s


@njit(boundscheck=True)
def reads(x, n, z):
    y = x * x
    return y[n if z == 0.0 else 0] * y[1]


PROGRAMS = {recurses: 6, hands_on: 6, even: 6, of_pair: 6, loops: 6, in_threads: 6, reads: 9}
TRANSFORMS = {
    "grad": lambda f: dr.grad(f),
    "jvp": lambda f: lambda x, n, z: dr.jvp(f, (x, n, z), (T, None, 0.0))[1],
    "hvp": lambda f: lambda x, n, z: dr.hvp(f)(x, T, n, z),
    "hessian": lambda f: dr.hessian(f),
    "jacobian": lambda f: dr.jacobian(f),
    "jacfwd": lambda f: dr.jacfwd(f),
}
CASES = [(f, name) for f in PROGRAMS for name in ("grad", "jvp")]
CASES += [(f, name) for f in (recurses, loops) for name in ("hvp", "jacobian", "jacfwd")]
CASES += [(recurses, "hessian")]
CASES += [pytest.param(even, name, marks=pytest.mark.slow) for name in ("hvp", "jacobian", "jacfwd")]


@pytest.fixture
def pieces():
    """How many pieces of memory a call leaves behind that raises, after one to compile it."""

    def left(call):
        for _ in range(2):
            before = rtsys.get_allocation_stats()
            with pytest.raises((ValueError, ZeroDivisionError, IndexError)):
                call()
            after = rtsys.get_allocation_stats()
        return after.alloc - before.alloc - (after.free - before.free)

    _nrt_python.memsys_enable_stats()
    yield left
    _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize(("f", "name"), CASES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_derivative_that_raises_leaves_nothing_behind(f, name, pieces):
    derivative, n = TRANSFORMS[name](f), PROGRAMS[f]
    assert pieces(lambda: derivative(X, n, 0.0)) == 0
    assert_same(derivative(X, 4, 2.0), TRANSFORMS[name](twin(f))(X, 4, 2.0), rtol=1e-9, floor=1e-12)
    assert pieces(lambda: derivative(X, n, 0.0)) == 0


def test_numba_itself_loses_what_a_function_has_made(pieces):
    """If numba has learned to free it, docs/numba/limits.md says something else than is true."""
    assert pieces(lambda: recurses(X, 6, 0.0)) == 6
    assert pieces(lambda: dr.vjp(recurses, X, 6, 0.0)) == 6  # which runs the function itself first


def compilers(*functions, called=()):
    release_at_exceptions(list(functions), called)
    return [f._compiler.pipeline_class is not Compiler for f in functions]


def test_functions_that_cannot_raise_are_compiled_as_ever():
    scope = {"njit": numba.njit}
    exec(
        "@njit\ndef fails(x):\n    raise ValueError('no')\n"
        "@njit\ndef calls(x):\n    return fails(x)\n"
        "@njit\ndef calls_both(x):\n    return plain(x) + calls(x)\n"
        "@njit\ndef asks(x):\n    return user(x)\n"
        "@njit\ndef plain(x):\n    return x\n"
        "@njit(boundscheck=True)\ndef bounded(x):\n    return x[0]\n",
        scope,
    )
    functions = [scope[name] for name in ("calls_both", "calls", "fails", "asks", "plain", "bounded")]
    assert compilers(*functions, called={"user"}) == [True, True, True, True, False, True]
