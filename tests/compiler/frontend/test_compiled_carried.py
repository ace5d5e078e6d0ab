"""Variables that are first bound inside of a branch of a loop: optimize/initial_values.py."""

import contextlib

import numpy as np
import pytest
from fuzzing.running import Discarded
from fuzzing.variants import check, numbered
from numba import njit, prange
from programs.generators.carried import program
from support.oracle import assert_same

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")

A = np.array([0.7, -0.4, 1.2, 0.3])


@njit
def powers(x, n):
    s = 0.0
    for i in range(n):
        if i == 0:
            z = x
        else:
            z = z * 0.5 * x
        s += z * z
    return s


@njit
def chain(x, n):
    s = 0.0
    for i in range(n):
        if i == 0:
            z = x
        elif n > 1:
            z = z * chain(x * z, n - 1)
        s += z * powers(z, n)
    return s


def test_in_callees_and_recursion():
    assert_same(dr.grad(chain)(0.7, 3), dr.grad(chain.py_func)(0.7, 3), rtol=1e-12)


def test_second_derivatives():
    assert_same(dr.hessian(powers)(1.3, 4), dr.hessian(powers.py_func)(1.3, 4), rtol=1e-12)
    assert_same(dr.hvp(powers)(1.3, 2.0, 4), 2.0 * dr.hessian(powers.py_func)(1.3, 4), rtol=1e-12)


def test_in_single_precision():
    @njit
    def f(x, n):
        s = np.float32(0.0)
        for i in range(n):
            if i == 0:
                z, k = x, np.int32(2)
            else:
                z, k = z * np.float32(0.5) * x, np.int32(k + 1)
            s += z * z * k
        return s

    found = dr.grad(f)(np.float32(1.3), 4)
    assert_same(float(found), dr.grad(f.py_func)(1.3, 4), rtol=1e-5)


@njit(parallel=True)
def private(a, n):
    """Each iteration of the parallel loop binds its variables in an inner loop, before it reads them."""
    s, out = 0.0, np.zeros(len(a))
    for i in prange(len(a)):
        for j in range(n):
            t = a[i] * j
            s += t * t
        k = 0
        while k < n:
            w = t * k
            k += 1
            m = k
        out[i] = t * a[i] + w * w * m
    return s + np.sum(out * out)


@njit(parallel=True)
def chosen(a, n):
    out = np.zeros(len(a))
    for i in prange(len(a)):
        for j in range(n):
            t = a[i]
            if a[i] * j > 0.3:
                t = a[i] * j
                break
        out[i] = t * a[i]
    return np.sum(out * out)


@pytest.mark.parametrize("f", [private, chosen])
def test_in_parallel_loops(f):
    assert_same(f(A, 4), float(f.py_func(A, 4)), rtol=1e-12)
    assert_same(dr.grad(f)(A, 4), dr.grad(f.py_func)(A, 4), rtol=1e-12)
    assert_same(dr.jvp(f, (A, 4), (A, None)), dr.jvp(f.py_func, (A, 4), (A, None)), rtol=1e-12, types=False)


@pytest.mark.parametrize("number", range(3))
def test_random_programs(number):
    check(numbered("few", number, 8, ["plain", "core", "product"], "carried"))


def test_programs_differ_and_read_no_name_without_a_value():
    assert program(3) == program(3) != program(4)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["plain", "core", "product", "hessian", "names", "special"])
def test_many_random_programs(variant):
    for number in range(30):
        with contextlib.suppress(Discarded):
            check(numbered("many", number, 12, [variant], "carried"))
