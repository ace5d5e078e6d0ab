"""Branches whose conditions are constants: frontend/typing/pruned_branches.py, optimize/constant_folding.py."""

import math

import numba
import numpy as np
import pytest
from numba import njit, prange
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.driver.emit import expanded_function
from dualrev.compiler.ir.core.interpret import run
from dualrev.compiler.ir.core.nodes import If
from dualrev.compiler.ir.core.traverse import statements

A = np.array([1.3, 0.7])
MODE = "exact"


@njit
def folded_by_python(x):
    """Numba sees through `or` after SSA only, and finds no type for what the dead side assigns."""
    x *= x
    if 1 * 3 + 0 in {2, 1, 4}:
        y = x**2
    else:
        y = x * 3.0
    if 2.0**3 in (1, 2, 4):
        y = y**2 * x
    elif -3 in (3, 4, 5) or 7 // 2 in (1, 2, 4):
        y = y**3 * x
    return np.tanh(y)


@njit
def by_cases(x, k):
    if k in (1, 2, 4):
        y = x**2
    else:
        y = x**3
    return np.tanh(y) * y


@njit
def through_calls(x):
    return by_cases(x, 3) * by_cases(x * x, 1)


@njit
def of_types(a):
    if a.ndim in (2, 3, 4):
        y = a[0] ** 2
    else:
        y = a[0] ** 3
    t, u = (y, y * y), (1, 2, 3)
    if len(t) in (1, 3, 4) or u[1] in (1, 3, 4):
        y = t[0] ** 2 * a[1]
    else:
        y = t[1] ** 3 * a[1]
    return np.tanh(y)


@njit
def of_names(x):
    """A name has other constants in other places; on some paths, in loops, it is none."""
    n, up, w, name = 3, True, None, "left"
    s = 0.0
    for i in range(4):
        if n in (1, 2, 4):
            y = x**2 * i
        else:
            y = x**3 * i
        n = 4 if n == 3 else 3
        k = 2
        if k in (1, 3, 4) or not up:
            y = y**2
        k += 1
        if k in (2, 4, 5) and w is None:
            y = np.sin(y)
        s += np.tanh(y) * y
    m = 3
    if s > 0.1:
        if m in (1, 2, 4):
            s = s * s
        else:
            s = s**3
    else:
        m = 7
    if m in (7, 8, 9):
        s = s * s * s
    while name in ("up", "down", "right"):
        s = s * s * x
        if s > 3.0:
            break
    while True:
        s = s * x
        if name in ("up", "left", "right") and s < 0.1:
            return s * s
    return s


@njit
def leaves_early(x):
    n, a = 3, 0.5
    if n in (1, 2, 4):
        return x**4.5
    y = x**3
    for i in range(3):
        if 2.0 * a < 0.9 and n == 3:
            return y * i
        y = y * x + np.sin(y)
        if i in (1, 2, 4) and y > 0.5:
            return y * y
    return np.tanh(y)


@njit
def of_other_types(x, w=None):
    """Branches that are never taken, with values of other types or with unknown calls."""
    n = 3
    if n == 2:
        y = (x, x)
    elif w is not None:
        y = w[0]
    else:
        y = x * x
    if MODE == "fast":
        y = len({x, x * x})
    if n != 3:
        return x, x
    z = (x, y) if n == 2 else y * x
    for _ in range(2):
        while n == 4:
            z = (z,)
            break
        z = z * y
    return np.tanh(z)


@pytest.mark.parametrize("f", [folded_by_python, through_calls, of_types, of_names, leaves_early, of_other_types])
def test_orders_and_modes(f):
    x = A if f is of_types else 0.7
    expected = dr.grad(f.py_func)(x)
    assert_same(dr.value_and_grad(f)(x), (f(x), expected), rtol=1e-12, types=False)
    direction = np.array([0.4, -1.0]) if f is of_types else 1.0
    assert_same(dr.jvp(f, (x,), (direction,))[1], np.dot(expected, direction), rtol=1e-12, types=False)
    assert_same(dr.hessian(f)(x), dr.hessian(f.py_func)(x), rtol=1e-11, types=False)


def test_in_threads():
    @njit(parallel=True)
    def f(x, a):
        s = 0.0
        for i in prange(len(a)):
            k = 3
            if k in (1, 2, 4):
                y = x**2 * a[i]
            else:
                y = x**3 * a[i]
            s += np.tanh(y) * y
        return s

    assert_same(dr.grad(f)(0.7, A), dr.grad(f.py_func)(0.7, A), rtol=1e-12, types=False)


def test_a_side_that_is_not_taken_is_not_differentiated():
    for transform in ("value_and_grad", "jvp", "hessian"):
        assert "4.5" not in dr.derivative_source(leaves_early, 0.7, transform=transform)


@njit
def arithmetic(n):
    big, zero, half = 2**62, 0, 0.5
    s = 0
    if big + big > 0:  # it may overflow
        s += 1
    if zero == 0 or n // zero > 1:
        s += 2
    if half / 2.0 < 0.3 and -half < 0.0 and ~zero == -1:
        s += 4
    if math.nan == math.nan:
        s += 16
    for i in range(n):
        if zero:
            s += 32
        zero = i
    return s * 1.0


def test_what_folding_leaves_means_the_same():
    f = expanded_function(arithmetic, (numba.int64,))
    assert sum(isinstance(s, If) for s in statements(f.body)) == 2  # the first one, and that in the loop
    for n in range(1, 7):
        assert run(f, (n,)) // 2 == arithmetic(n) // 2


@njit
def modulus_beside_a_constant(d):
    """The modulus has powers of 1.5 for a pair of zeros: of the imaginary part, which is a literal here."""
    return np.sum(np.abs(np.conj(d + 0.5j)))


@njit
def power_of_a_negative_literal(x):
    y = -0.5
    return (y**1.5) * x if x > 3.0 else x * x


def test_a_power_of_literals_is_no_complex_number():
    """Python computes it when it compiles emitted text, and numba had no type for what was assigned."""
    assert_same(dr.hvp(modulus_beside_a_constant)(A, np.ones(2)), 0.25 / np.hypot(A, 0.5) ** 3, rtol=1e-12)
    assert_same(dr.hvp(power_of_a_negative_literal)(2.0, 1.0), 2.0)
    assert dr.grad(power_of_a_negative_literal)(2.0) == 4.0
    assert math.isnan(dr.grad(power_of_a_negative_literal)(4.0))
