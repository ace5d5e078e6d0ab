"""Functions of scipy.special that numba code calls: by their addresses, and by overloads as those of numba-scipy."""

import ctypes
import math

import numpy as np
import pytest
import scipy.special
import scipy.special.cython_special
from numba import njit
from numba.extending import get_cython_function_address, overload
from numba.types import WrapperAddressProtocol, float64
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.frontend.reading.callables import special_name
from dualrev.errors import UnsupportedError
from dualrev.rules.library.rule_definitions import rule_of
from dualrev.rules.library.special import SPECIAL, addresses, with_rule
from dualrev.rules.scipy import UNKNOWN, lines

pytestmark = pytest.mark.usefixtures("unoptimized")

MODULE, FUNCTION = "scipy.special.cython_special", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


class Pointer(WrapperAddressProtocol):
    """An address with a signature: numba's protocol."""

    def __init__(self, name):
        self.name = name

    def __wrapper_address__(self):
        return get_cython_function_address(MODULE, self.name)

    def signature(self):
        return float64(float64)


erf = FUNCTION(get_cython_function_address(MODULE, "__pyx_fuse_1erf"))
gamma = FUNCTION(get_cython_function_address(MODULE, "__pyx_fuse_1gamma"))
psi = FUNCTION(get_cython_function_address(MODULE, "__pyx_fuse_1psi"))
erfc, gammaln = Pointer("__pyx_fuse_1erfc"), Pointer("gammaln")
erfi = FUNCTION(get_cython_function_address(MODULE, "__pyx_fuse_1erfi"))
logistic = FUNCTION(get_cython_function_address(MODULE, "__pyx_fuse_0expit"))


@overload(scipy.special.expit)
def _(x):
    return lambda x: logistic(x)


@njit
def special(a, x):
    s = 0.0
    for k in range(len(a)):
        s += erf(a[k]) * gamma(a[k] + 1.0) + psi(a[k] * x) * erfc(x)
    return s + gammaln(a[0]) * scipy.special.expit(x * a[1]) + erf(2)


def on_the_tape(a, x):
    f = scipy.special
    s = np.sum(f.erf(a) * f.gamma(a + 1.0) + f.psi(a * x) * f.erfc(x))
    return s + f.gammaln(a[0]) * f.expit(x * a[1]) + math.erf(2.0)


def test_the_derivatives_are_those_of_the_tape():
    a, x = np.array([0.5, 1.2, 2.3]), 0.7
    y, gradient = dr.value_and_grad(special, (0, 1))(a, x)
    assert y == special(a, x)
    assert_same((y, gradient), dr.value_and_grad(on_the_tape, (0, 1))(a, x), rtol=1e-13, types=False)
    p = np.array([1.0, -0.5, 0.3])
    assert_same(dr.jvp(special, (a, x), (p, 2.0)), (y, float(gradient[0] @ p + 2.0 * gradient[1])), rtol=1e-13)
    assert_same(dr.hvp(special)(a, p, x), dr.hvp(on_the_tape)(a, p, x), rtol=1e-12)


def pointer(name):
    """A function of doubles, as users get it."""
    found = next(a for a in addresses() if a.name == name)
    return ctypes.CFUNCTYPE(*[ctypes.c_double] * (found.arity + 1))(found.address)


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_every_function_has_the_rule_of_the_tape(name):
    """Every function's compiled rule, run as Python code, has the tape's partial derivatives in both modes."""
    f = pointer(name)
    assert special_name(f) == name
    line = lines().get(name)
    xs = [low + 0.37 * (high - low) for low, high in (line.domain if line else ((0.1, 3.0),))]
    rule, y, unknown = rule_of(with_rule(f, name)), f(*xs), UNKNOWN.get(name, ())
    backwards = rule.bwd.py_func((*xs, y), 2.0)
    for k in range(len(xs)):
        if k in unknown:
            assert backwards[k] is None
            continue
        expected = dr.grad(lambda x, k=k: getattr(scipy.special, name)(*xs[:k], x, *xs[k + 1 :]))(xs[k])
        assert_same(float(backwards[k] or 0.0), 2.0 * expected, rtol=1e-13)  # None of gammasgn: it does not move
        tangents = tuple(3.0 if j == k else None for j in range(len(xs)))
        assert_same(float(rule.push.py_func(tuple(xs), y, tangents)), 3.0 * expected, rtol=1e-13)


kv, betaln, ndtri, xlogy, i0, gammainc = map(pointer, ("kv", "betaln", "ndtri", "xlogy", "i0", "gammainc"))


@njit
def several(a, x, n):
    """Orders that are ints and floats, and functions whose derivatives are others."""
    return xlogy(n - 1.0, a[0]) + kv(n, a[0]) * betaln(a[0], a[1]) + ndtri(x) * i0(x * a[1]) + gammainc(1.5, a[1] * x)


def several_on_the_tape(a, x, n):
    f = scipy.special
    y = f.kv(n, a[0]) * f.betaln(a[0], a[1]) + f.ndtri(x) * f.i0(x * a[1]) + f.gammainc(1.5, a[1] * x)
    return y + f.xlogy(n - 1.0, a[0])


def test_several_arguments():
    a, x, p = np.array([0.8, 1.7]), 0.3, np.array([0.4, -1.0])
    y, gradient = dr.value_and_grad(several, (0, 1))(a, x, 1)
    assert y == several(a, x, 1)
    assert_same((y, gradient), dr.value_and_grad(several_on_the_tape, (0, 1))(a, x, 1), rtol=1e-12, types=False)
    assert_same(dr.jvp(several, (a, x, 1), (p, 2.0, None)), (y, float(gradient[0] @ p + 2.0 * gradient[1])), rtol=1e-12)
    assert_same(dr.hvp(several)(a, p, x, 1), dr.hvp(several_on_the_tape)(a, p, x, 1), rtol=1e-11)


@njit
def entropy(x, y):
    return xlogy(x, y)


def test_an_infinite_partial_by_what_does_not_move():
    """0 log 0 has the partial derivatives -inf and 0: only the second one is asked for."""
    assert dr.jvp(entropy, (0.0, 0.0), (0.0, 1.0)) == (0.0, 0.0)
    assert dr.grad(entropy, 1)(0.0, 0.0) == 0.0
    assert dr.jvp(entropy, (0.0, 0.0), (1.0, 0.0)) == (0.0, -math.inf)


@njit
def by_its_order(v, x):
    return kv(v * v, x)


@pytest.mark.parametrize("derivative", [lambda f: dr.grad(f)(1.5, 0.3), lambda f: dr.jvp(f, (1.5, 0.3), (1.0, 0.0))])
def test_an_order_has_no_derivative(derivative):
    with pytest.raises(UnsupportedError, match=r"`return kv\(v \* v, x\)`.*scipy\.special\.kv by its first argument"):
        derivative(by_its_order)


@njit
def unknown(x):
    return erfi(x) * x


def test_another_function_in_c_is_refused():
    with pytest.raises(UnsupportedError, match=r"`return erfi\(x\) \* x`.*in C.*Write .*custom_jvp"):
        dr.grad(unknown)(0.5)


@njit
def not_overloaded(x):
    return scipy.special.erfinv(x) * x


def test_a_function_that_numba_does_not_compile_is_refused():
    with pytest.raises(UnsupportedError, match=r"scipy.special.erfinv|erfinv"):
        dr.grad(not_overloaded)(0.5)
