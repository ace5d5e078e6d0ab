"""Integrals of dualrev.scipy.integrate: under the integral sign, and of samples."""

import ctypes

import numpy as np
import pytest
import scipy.integrate
from numba import njit
from scipy import LowLevelCallable
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from dualrev.errors import UnsupportedError
from dualrev.scipy import integrate

P = np.array([1.3, 0.7])
quad = integrate.quad


@njit
def wave(x, p):
    return np.exp(-p[0] * x) * np.sin(p[1] * x)


def damped(x, a, b):
    return dm.exp(-a * x) * dm.sin(b * x)


QUADS = {
    "limits": (lambda a, b: quad(lambda x: dm.exp(-x * x), a, b)[0], (0.2, 1.1), 2),
    "captured numbers": (lambda p: quad(lambda x: damped(x, p[0], p[1]), 0, 2)[0], (P,), 2),
    "a captured array": (lambda p: quad(lambda x: np.sum(np.exp(-p * x) * p), 0, 2)[0], (P,), 2),
    "args and limits": (lambda a, p: quad(damped, a * p[0], 2.0 * a, (p[0], p[1]))[0], (0.8, P), 2),
    "an infinite limit": (lambda a, p: quad(lambda x: dm.exp(-p[0] * x) / (1 + p[1] * x), a, np.inf)[0], (0.2, P), 1),
    "a constant integrand": (lambda p: quad(lambda x: p[0], 0, p[1])[0], (P,), 2),
    "points at a kink": (lambda p: quad(lambda x: abs(x - 0.5) * p[0] ** 2, 0, 2, points=[0.5])[0], (P,), 2),
    "weight cos": (lambda b: quad(lambda x: dm.exp(-b * x), 0.1, b, weight="cos", wvar=3.0)[0], (2.0,), 2),
    "weight alg": (lambda p: quad(lambda x: dm.exp(-p[0] * x), 0, 2, weight="alg", wvar=(-0.5, -0.5))[0], (P,), 2),
    "weight cauchy": (lambda p: quad(lambda x: dm.exp(-p[0] * x), 0, 2, weight="cauchy", wvar=1.0)[0], (P,), 2),
    "full_output": (lambda a: quad(lambda x: dm.exp(a * x), 0, a, full_output=True)[0], (0.9,), 2),
    "complex_func": (
        lambda a: (lambda z: z.real * z.imag)(quad(lambda x: np.exp((1j + a) * x), 0, a, complex_func=True)[0]),
        (0.9,),
        2,
    ),
    "a numba function": (lambda p: quad(wave, 0, 2, args=(p,))[0], (P,), 2),
    "fixed_quad": (lambda a, p: integrate.fixed_quad(lambda x: np.exp(-p[0] * x), a, 2, n=4)[0], (0.1, P), 2),
    "quad_vec": (
        lambda a, p: np.sum(integrate.quad_vec(lambda x: np.exp(-p * x) * np.arange(1.0, 3.0), a, 2)[0] ** 2),
        (0.1, P),
        1,
    ),
}


@pytest.mark.parametrize("name", QUADS)
def test_quad(name):
    f, args, order = QUADS[name]
    dr.check_grads(f, args, order=order)


def test_integrands_that_capture_numbers_at_some_points_only():
    slope = dr.grad(lambda p: quad(lambda x: p[0] * x if x < 1.0 else p[1] * x * x, 0, 2, points=[1.0])[0])(P)
    assert_same(slope, np.array([0.5, 7.0 / 3.0]), rtol=1e-9)
    moved = dr.grad(lambda p: quad(lambda x: abs(x - p[0]) * p[1], 0, 2)[0])(P)
    assert_same(moved, np.array([2.0 * (P[0] - 1.0) * P[1], (P[0] ** 2 + (2.0 - P[0]) ** 2) / 2.0]), rtol=1e-7)
    assert dr.grad(lambda a: quad(lambda x: x, 0.0, 1.0)[0] * a)(2.0) == 0.5


def test_a_singular_integrand():
    """The integral of x**(a - 1) over 0..1 is 1 / a."""
    f = lambda a: quad(lambda x: x ** (a - 1.0), 0, 1)[0]  # noqa: E731
    assert_same(dr.grad(f)(0.8), -1.0 / 0.8**2, rtol=1e-7)
    assert_same(dr.grad(dr.grad(f))(0.8), 2.0 / 0.8**3, rtol=1e-6)


def test_values_are_those_of_scipy():
    made = []
    dr.grad(lambda a: made.append(quad(lambda x: dm.exp(-a * x), 0, a)) or made[-1][0])(0.7)
    expected = scipy.integrate.quad(lambda x: np.exp(-0.7 * x), 0, 0.7)
    assert (dr.value(made[0][0]), made[0][1]) == expected
    assert quad(lambda x: np.exp(-0.7 * x), 0, 0.7) == expected
    value = scipy.integrate.dblquad(lambda y, x: x * y * y, 0, 2, 0, lambda x: x)
    assert integrate.dblquad(lambda y, x: x * y * y, 0, 2, 0, lambda x: x) == value
    assert type(value[0]) is float


#: Integrals of several variables, and their gradients in closed form.
SEVERAL = {
    "dblquad": (
        lambda a, b: integrate.dblquad(lambda y, x: a * x * y, 0, 1, 0, b)[0],
        lambda a, b: (b * b / 4.0, a * b / 2.0),
    ),
    "limits that are functions": (
        lambda a, b: integrate.dblquad(lambda y, x: a * x * y, 0, b, 0, lambda x: a * x)[0],
        lambda a, b: (3.0 * a**2 * b**4 / 8.0, a**3 * b**3 / 2.0),
    ),
    "an infinite limit": (
        lambda a, b: integrate.dblquad(lambda y, x: dm.exp(-a * y), 0, 1, b, np.inf)[0],
        lambda a, b: (-np.exp(-a * b) * (b / a + 1.0 / a**2), -np.exp(-a * b)),
    ),
    "nquad": (
        lambda a, b: integrate.nquad(lambda x, y, c: c * x * y * b, [[0, 1], [0, 2]], (a,), opts={"epsrel": 1e-6})[0],
        lambda a, b: (b, a),
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_variables(name):
    f, slopes = SEVERAL[name]
    found = dr.grad(f, (0, 1))(1.3, 0.7)
    assert_same(np.array(found), np.array(slopes(1.3, 0.7)), rtol=1e-7)
    assert_same(dr.jvp(f, (1.3, 0.7), (1.0, 2.0))[1], found[0] + 2.0 * found[1], rtol=1e-9)


def test_three_variables():
    def volume(a):
        return integrate.tplquad(lambda z, y, x: a * x * y * z, 0, 1, 0, 1, 0, 2)[0]

    assert_same(dr.grad(volume)(3.0), 0.5, rtol=1e-9)


def test_a_second_derivative_of_a_double_integral():
    f = lambda a: integrate.dblquad(lambda y, x: dm.exp(a * x) * y, 0, 1, 0, a)[0]  # noqa: E731
    # (exp(a) - 1) a / 2
    assert_same(dr.grad(dr.grad(f))(0.7), float(np.exp(0.7) * 1.35), rtol=1e-7)


def _of_pointer(a):
    pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x)
    return quad(LowLevelCallable(pointer), 0, a)[0]


REFUSED = {
    "wvar": lambda a: quad(lambda x: x, 0, 1, weight="cos", wvar=a)[0],
    "weight='alg' and limits": lambda a: quad(lambda x: x, 0, a, weight="alg", wvar=(0, 0))[0],
    "LowLevelCallable": _of_pointer,
    "a complex function": lambda a: abs(integrate.quad_vec(lambda x: a * x * 1j + np.zeros(2), 0, 1)[0][0]),
    "nquad with points": lambda a: integrate.nquad(lambda x: x, [[0, a]], opts={"points": [0.1]})[0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(REFUSED[name])(0.7)
    assert name in str(refused.value)
    assert "test_scipy_integrals.py:" in str(refused.value)


RNG = np.random.default_rng(0)
Y, X = RNG.normal(size=(2, 5)), np.cumsum(RNG.random(5) + 0.1)
SAMPLES = ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"]


def weighed(z):
    return np.sum(np.sin(z) * np.arange(1.0, 1.0 + np.shape(z)[-1]))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_samples(name, n):
    f, more = getattr(integrate, name), {"initial": 0.0} if name.startswith("cum") else {}
    dr.check_grads(lambda y, x: weighed(f(y, x=x, **more)), (Y[:, :n], X[:n]), order=2)
    dr.check_grads(lambda y, d: weighed(f(y, dx=d, axis=0)), (Y[:, :n].T, 0.3), order=1)
    dr.check_grads(lambda x: weighed(f(Y[:, :n], x=x * np.ones((2, 1)))), (X[:n],), order=1)
    value = dr.vjp(lambda y: f(y, x=X[:n]), Y[:, :n])[0]
    assert_same(value, getattr(scipy.integrate, name)(Y[:, :n], x=X[:n]), rtol=0.0)


def test_romb_and_complex_samples():
    dr.check_grads(lambda y, d: weighed(integrate.romb(y, d)), (Y, 0.3), order=2)
    dr.check_grads(lambda y: abs(integrate.simpson(y * (1.0 + 2.0j), x=X)[0]), (Y,), order=2)
    assert integrate.trapezoid([1, 2]) == 1.5
