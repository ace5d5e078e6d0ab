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
from oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError

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
