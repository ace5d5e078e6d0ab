"""np.linalg in numba functions: factors and systems by LAPACK, with a rule for each mode; the oracle is differences."""

import math

import numpy as np
import pytest
from numba import njit
from oracle import assert_same, differences

import dualrev as dr

SQUARE = np.array([[2.5, -1.2, 0.8], [1.5, 3.3, -0.7], [0.2, 0.9, 2.1]])
TALL = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 2.1], [-0.4, 0.6, 1.3]])
SYMMETRIC = SQUARE @ SQUARE.T
B, C = np.array([0.7, -0.4, 1.1]), np.array([0.2, 1.4, -0.9, 0.5])


@njit
def systems(a, b):
    x = np.linalg.solve(a, b)
    sign, logarithm = np.linalg.slogdet(a)
    s = np.sum(x * b) + np.sum(np.linalg.solve(a, a.T * b) ** 2) + np.linalg.det(a) * sign * logarithm
    return s + np.sum(np.linalg.inv(a) * a) + np.sum(np.linalg.matrix_power(a, 5) * np.linalg.matrix_power(a, -3))


@njit
def symmetric(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v**3 * w) + np.sum(np.linalg.eigvalsh(a) ** 3) + np.sum(np.linalg.cholesky(a) ** 3)


@njit
def singular(t, c):
    """Thin ones, and all vectors of a matrix that is not square, of which those that complete a basis are not used."""
    u, s, vt = np.linalg.svd(t, full_matrices=False)
    total = np.sum(u.T * s.reshape(-1, 1) * c) + np.sum(vt**3)
    u, s, vt = np.linalg.svd(t.T)
    total += np.sum(u**3) + np.sum(vt[:3] * c) + s[1] ** 2 + np.linalg.norm(t, 2) * np.linalg.norm(t, -2)
    return total + np.linalg.cond(t) + np.linalg.cond(t[:3], 1) + np.linalg.cond(t[:3], -2) * np.linalg.matrix_rank(t)


@njit
def orthogonal(t, c):
    """Of a tall matrix and of a wide one."""
    q, r = np.linalg.qr(t)
    total = np.sum(q.T * c) + np.sum(r * r * c[:3])
    q, r = np.linalg.qr(t.T)
    return total + np.sum(q**3) + np.sum(r * c)


@njit
def least(t, b, c):
    """With too many equations, and with too few."""
    x, squares, rank, s = np.linalg.lstsq(t, c)
    y, none, _, _ = np.linalg.lstsq(t.T, b)
    z = np.linalg.lstsq(t, np.outer(c, b))[0]
    total = np.sum(x**2) + squares[0] * rank + s[1] ** 2 + np.sum(y**3) + np.sum(z**3) + len(none)
    return total + np.sum(np.linalg.pinv(t) * c) + np.sum(np.linalg.pinv(t.T, 1e-12) ** 2)


ALL = [(systems, (SQUARE, B)), (symmetric, (SYMMETRIC,)), (singular, (TALL, C)), (orthogonal, (TALL, C))]
ALL += [(least, (TALL, B, C))]
every = pytest.mark.parametrize(("f", "args"), ALL, ids=[f.__name__ for f, _ in ALL])


def tangents(args):
    rng = np.random.default_rng(2)
    return tuple(rng.normal(size=x.shape) * 0.1 for x in args)


@every
def test_the_gradient_is_that_of_differences(f, args):
    y, gradient = dr.value_and_grad(f, tuple(range(len(args))))(*args)
    assert_same(y, f(*args), rtol=1e-13)
    slope = float(differences(f, args, tangents(args))[0])
    assert_same(sum(float(np.sum(g * t)) for g, t in zip(gradient, tangents(args), strict=True)), slope, rtol=1e-7)


@every
def test_forward_mode_is_that_of_differences(f, args):
    y, slope = dr.jvp(f, args, tangents(args))
    assert_same((y, slope), (f(*args), float(differences(f, args, tangents(args))[0])), rtol=1e-7)


@pytest.mark.slow
@every
def test_second_derivatives_are_those_of_differences(f, args):
    t = tangents(args)
    slope = differences(lambda x: dr.grad(f)(x, *args[1:]), args[:1], t[:1])
    assert_same(dr.hvp(f)(args[0], t[0], *args[1:]).ravel(), slope, rtol=1e-6, floor=1e-7)


@njit
def spectrum(a, k):
    w, v = np.linalg.eigh(a)
    return w[k] * np.sum(v[:, k] * v[:, k]) + np.linalg.det(a)


def test_the_product_with_the_hessian_of_an_eigenvalue():
    t = tangents((SYMMETRIC,))[0]
    slope = differences(lambda x: dr.grad(spectrum)(x, 1), (SYMMETRIC,), (t,))
    assert_same(dr.hvp(spectrum)(SYMMETRIC, t, 1).ravel(), slope, rtol=1e-7, floor=1e-9)


# Degenerate cases


@njit
def determinant(a):
    return np.linalg.det(a)


@njit
def vector(a):
    return np.linalg.eigh(a)[1][0, 0]


@njit
def completed(t):
    return np.linalg.svd(t)[0][0, 3]


@njit
def volume(a):
    return np.linalg.slogdet(a)[1]


def test_degenerate_matrices():
    """Those of a determinant are exact; what has no derivative is infinite, or NaN, and never a number."""
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.5, -1.0]])
    cofactors = np.array([[-7.0, 8.0, -3.0], [3.5, -4.0, 1.5], [0.0, 0.0, 0.0]])
    assert_same(dr.grad(determinant)(singular), cofactors, rtol=1e-12, floor=1e-12)
    assert_same(dr.grad(determinant)(np.zeros((3, 3))), np.zeros((3, 3)), rtol=0.0)
    assert dr.grad(spectrum)(np.eye(3), 1)[1, 1] == pytest.approx(2.0)
    assert not np.isfinite(dr.grad(vector)(np.eye(3))).all()
    assert np.isnan(dr.grad(completed)(TALL)).all()
    assert np.isnan(dr.grad(volume)(np.zeros((2, 2)))).all()


@pytest.mark.parametrize(
    ("f", "a", "error"),
    [
        (determinant, np.ones((2, 3)), "must be square"),
        (volume, np.full((2, 2), math.nan), "infs or NaNs"),
    ],
)
def test_what_numba_raises(f, a, error):
    for call in (f, dr.grad(f)):
        with pytest.raises(np.linalg.LinAlgError, match=error):
            call(a)


@njit
def single(a, b):
    w, v = np.linalg.eigh(a)
    return np.sum(np.linalg.solve(a, b) * v[0]) + w[2] * np.linalg.det(a)


def test_single_precision():
    args = SYMMETRIC.astype(np.float32), B.astype(np.float32)
    gradient = dr.grad(single, (0, 1))(*args)
    assert all(x.dtype == np.float32 for x in gradient)
    t = tangents((SYMMETRIC, B))
    slope = float(differences(single, (SYMMETRIC, B), t)[0])
    assert_same(sum(float(np.sum(g * x)) for g, x in zip(gradient, t, strict=True)), slope, rtol=1e-4)
