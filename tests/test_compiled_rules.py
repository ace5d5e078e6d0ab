"""stop_gradient, custom_vjp, custom_jvp and checkpoint in numba functions: the same as the tape does with f.py_func."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from oracle import assert_same

import dualrev as dr


class Pair(NamedTuple):
    number: float
    array: np.ndarray
    count: int


def same(found, expected):
    """Equal numbers in equal structures."""
    assert type(found) is type(expected) or np.isscalar(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is not None:
        assert_same(np.asarray(found), np.asarray(expected), rtol=1e-10, floor=1e-11)


# stop_gradient


@njit
def with_constants(x, v, p):
    y = dr.stop_gradient(x) * x
    w = dr.stop_gradient(v * x)
    w[0] = 2.0
    z = dr.stop_gradient((x, v, p))
    v[1] = 3.0  # z has copies
    total = 0.0
    for i in range(len(v)):
        total += w[i] * v[i] + z[2].array[i] * p.array[i] * p.number * z[2].number * z[2].count + z[1][i] * z[0] * x
    if dr.stop_gradient(x) > 0.0:
        total += np.sin(dr.stop_gradient(x) * x)
    x = dr.stop_gradient(x)
    return y + total * x


def constants():
    return 0.7, np.array([1.0, 2.0, 3.0]), Pair(1.5, np.array([0.3, 0.2, 0.1]), 2)


def test_constants_are_constants_in_both_modes():
    twin = with_constants.py_func

    def of_tape(x, v, p):
        return twin(x, dr.numpy.array(v), p)

    assert with_constants(*constants()) == twin(*constants())
    same(
        dr.value_and_grad(with_constants, (0, 1, 2))(*constants()), dr.value_and_grad(of_tape, (0, 1, 2))(*constants())
    )
    tangents = 1.0, np.ones(3), Pair(0.5, np.ones(3), None)
    same(dr.jvp(with_constants, constants(), tangents), dr.jvp(of_tape, constants(), tangents))


def test_constants_are_constants_in_second_derivatives():
    @njit
    def f(x, v):
        return x * x * dr.stop_gradient(x * v[0]) * np.sum(dr.stop_gradient(v) * v * v)

    args = 0.7, np.array([1.0, 2.0, 3.0])
    same(dr.hessian(f, (0, 1))(*args), dr.hessian(f.py_func, (0, 1))(*args))
    same(dr.hvp(f)(0.7, 1.0, args[1]), dr.hvp(f.py_func)(0.7, 1.0, args[1]))


def test_constants_are_values_in_numba_functions_that_are_not_differentiated():
    @njit
    def f(x):
        return dr.stop_gradient(x)

    a, counts = np.ones(2, np.float32), np.arange(3)
    made = f((1, True, None, a, Pair(2.0, a, 3), counts))
    assert made[:3] == (1, True, None)
    assert made[3].dtype == np.float32
    assert not np.shares_memory(made[3], a)
    assert type(made[4]) is Pair
    assert not np.shares_memory(f.py_func(a), a)
