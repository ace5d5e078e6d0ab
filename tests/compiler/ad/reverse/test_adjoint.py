"""The adjoint of branches and of whole arrays, by the reference evaluator and by compiled code."""

import math

import numpy as np
import pytest
from numba import njit
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr


@njit
def turned(x, y):
    s = math.sin(x)
    if y > 0.0:
        c = math.cos(x)
        s = s * c
    return s


@pytest.mark.parametrize(("y", "slope"), [(1.0, math.cos(1.4)), (-1.0, math.cos(0.7))])
def test_a_cosine_of_a_branch_is_no_partial_outside_of_it(y, slope):
    """The partial of the sine is a cosine, which the branch has computed only if it ran."""
    _, found = gradient(turned, (0.7, y), (0,))
    assert_same(np.array(found), np.array([slope]), rtol=1e-14)


@njit
def of_whole_arrays(x, y):
    return np.max(x) * np.dot(x, y)


def test_the_adjoint_of_a_maximum_and_a_product():
    x, y = np.array([0.3, 1.2, -0.7]), np.array([1.5, -0.4, 0.6])
    _, (d_x, d_y) = gradient(of_whole_arrays, (x, y), (0, 1))
    assert_same(d_x, 1.2 * y + np.array([0.0, x @ y, 0.0]), rtol=1e-14)
    assert_same(d_y, 1.2 * x, rtol=1e-14)


def test_compiled_code_has_the_derivatives_of_the_branch_that_ran():
    for y, second in ((1.0, -2.0 * math.sin(1.4)), (-1.0, -math.sin(0.7))):
        assert_same(dr.grad(turned)(0.7, y), dr.grad(turned.py_func)(0.7, y), rtol=1e-14)
        assert_same(dr.jvp(turned, (0.7, y), (1.0, 0.0))[1], dr.grad(turned.py_func)(0.7, y), rtol=1e-14)
        assert_same(dr.grad(dr.grad(turned))(0.7, y), second, rtol=1e-14)
