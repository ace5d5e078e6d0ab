"""Functions and methods that numba has from `overload` and `overload_method`: gradients against differences."""

import math

import numpy as np
import pytest
from numba import njit, types
from numba.extending import overload, overload_method

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")


def weighed(x, k=2):
    raise NotImplementedError


@njit
def square(x):
    return x * x


@overload(weighed)
def _weighed(x, k=2):
    if isinstance(x, types.Array):
        n = x.ndim + 1

        def of_array(x, k=2):
            s = 0.0
            for u in x:
                s += u**k * n
            return s

        return of_array
    if isinstance(x, types.Float):
        return lambda x, k=2: math.sin(x) * square(x) ** k
    return None


@overload_method(types.Float, "scaled")
def _scaled(x, by=3.0):
    return lambda x, by=3.0: x * x * by


@overload_method(types.Array, "energy")
def _energy(a, b):
    def energy(a, b):
        return np.sum(a * a * b)

    return energy


@njit
def everything(x):
    return weighed(x) * weighed(x[0], 3) + weighed(x[1], k=1) * x[0].scaled() + x.energy(x[1]).scaled(by=x[0])


def test_implementations_are_differentiated():
    """By types; with keywords and defaults; in both modes, and twice."""
    x = np.array([1.3, 0.7])
    steps = np.eye(2) * 1e-6
    slopes = [(everything(x + e) - everything(x - e)) / 2e-6 for e in steps]
    value, gradient = dr.value_and_grad(everything)(x)
    np.testing.assert_allclose(value, everything(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7)
    np.testing.assert_allclose(dr.jvp(everything, (x,), (steps[0] * 1e6,))[1], gradient[0], rtol=1e-12)
    rows = [(dr.value_and_grad(everything)(x + e)[1] - dr.value_and_grad(everything)(x - e)[1]) / 2e-6 for e in steps]
    np.testing.assert_allclose(dr.hessian(everything)(x), rows, rtol=1e-6)


def test_nothing_of_a_method_is_kept(tmp_path, monkeypatch):
    """A hash of the function does not tell what numba has for its methods."""

    @njit
    def f(x):
        return x.scaled()

    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="not cached: it depends on the implementation of an overload"):
        assert dr.grad(f)(2.0) == 12.0
    assert not list(tmp_path.glob("*.py"))
