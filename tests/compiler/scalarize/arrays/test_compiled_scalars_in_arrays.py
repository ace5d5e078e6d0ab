"""Arrays without axes: numba's arithmetic of them gives plain numbers, which have their derivatives."""

import math

import numpy as np
import pytest
from numba import njit
from support.checks import agrees

pytestmark = pytest.mark.usefixtures("unoptimized")

POINT = np.array(0.7)


@njit
def where_of_numbers(x):
    return np.where(x > 0.5, x * x, 3.0 * x) * x


@njit
def operators(a, x):
    y = a * x + (x - a) / (a + 2.0) - -a
    return y * (a**2 + a * a)


@njit
def functions(a, x):
    return np.sin(a) * np.maximum(a, 0.1) + np.square(a) + np.reciprocal(a) + np.hypot(x, a) + np.abs(a)


@njit
def made_inside(x):
    a = np.zeros(())
    a[()] = x
    b = np.where(x > 0.5, np.sqrt(x), a)
    a *= 3.0
    return a * math.sin(x) + b * a


@njit
def beside_arrays(a, v):
    w = v * (a * 2.0) + a
    return np.sum(w) * np.sum(a) + np.max(a) * a


@njit
def reduced_to_one(v):
    return np.sum(v, 0) * v[0] + v.sum(axis=0)


@pytest.mark.parametrize(
    ("f", "primals"),
    [
        (where_of_numbers, (0.7,)),
        (where_of_numbers, (0.3,)),
        (operators, (POINT, 0.4)),
        (functions, (POINT, 0.4)),
        (made_inside, (0.7,)),
        (beside_arrays, (POINT, np.array([0.3, -0.2]))),
        (reduced_to_one, (np.array([0.3, -0.2]),)),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_number_that_is_computed_from_an_array_without_axes(f, primals):
    agrees(f, *primals)
