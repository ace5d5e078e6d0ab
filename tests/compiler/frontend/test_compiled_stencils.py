"""numba stencils of differentiated arrays are derived as loops: compared with differences, and with numba's values."""

import math

import numpy as np
import pytest
from numba import njit, stencil
from support.checks import check

import dualrev as dr

A = np.array([0.5, 1.2, -0.8, 2.0, 0.3, 0.9])
M = np.arange(20.0).reshape(4, 5) * 0.13 + 0.2
SCALE = 2.0


@stencil
def smooth(u):
    return 0.25 * u[-1] + 0.5 * u[0] * u[1]


@stencil(cval=1.5)
def mixed(u, v, w):
    """Two arrays, and a number that gets another value; the margin is not 0."""
    w = 0.5 * w
    s = u[-1, 0] * w
    for k in range(2):
        s += v[0, 1] * math.sin(u[1, 1] * k)
    return s


@stencil(neighborhood=((-2, 0),))
def before(u):
    s = 0.0
    for k in range(-2, 1):
        s += u[k] * (k + 3)
    if s > 3.0:
        return s * 2.0
    return s


@stencil(standard_indexing=("t",))
def weighted(u, t):
    return u[0] * t[0] + u[-1] * t[1]


@njit
def of_stencils(x, a, m):
    y = a * x
    for _ in range(2):
        y = weighted(y, a) + before(y)
    return np.sum(smooth(y) * a) + np.sum(mixed(m * x, m, x)[:, ::2] * x)


def test_stencils():
    check(of_stencils, (0.7, A, M[:, ::-1].copy()), (0, 1, 2))


@njit
def of_too_small_arrays(x, m):
    return np.sum(mixed(M, m, x))


@stencil
def scaled(u):
    return SCALE * u[1]


@stencil
def neighbours(u):
    return u[-1] + u[1]


@njit
def of_a_global(a):
    return np.sum(scaled(a))


@njit
def of_single_precision(a):
    return np.sum(neighbours(a))


def test_what_stencils_refuse():
    for f in (of_too_small_arrays, dr.grad(of_too_small_arrays)):
        with pytest.raises(ValueError, match="Secondary stencil array has some dimension smaller"):
            f(0.7, M[:3])
    with pytest.raises(
        dr.errors.UnsupportedError, match=r"scaled\(a\)\)`: .* stencil scaled .* frozen the global SCALE"
    ):
        dr.grad(of_a_global)(A)
    with pytest.raises(dr.errors.UnsupportedError, match="its kernel gives float32"):
        dr.grad(of_single_precision)(A.astype(np.float32))
