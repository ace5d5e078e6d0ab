"""np.linalg.pinv and lstsq with an rcond that cuts away singular values that are far from 0, compiled and traced."""

import numpy as np
import pytest
from numba import njit

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def of_pinv(a, c, cuts):
    return np.sum(c * np.linalg.pinv(a, 0.5 if cuts else 1e-15))


@njit
def of_lstsq(a, c, cuts):
    return np.sum(np.linalg.lstsq(a, c[0].copy(), 0.5 if cuts else -1.0)[0] ** 2)


FUNCTIONS = [of_pinv, of_lstsq]
TWICE = [of_pinv.py_func, of_lstsq, of_lstsq.py_func]
SINGULAR_VALUES = {
    (3, 2): [1.0, 0.4],
    (2, 3): [1.0, 0.4],
    (4, 3): [1.0, 1.0, 0.3],
    (3, 4): [1.0, 0.3, 0.3],
    (4, 4): [2.0, 1.5, 0.9, 0.1],
    (5, 5): [3.0, 3.0, 1.0, 1.0, 0.0],
    (2, 2): [1.0, 0.3],
}
DISTINCT = [(3, 2), (2, 3), (4, 4), (2, 2)]


def inputs(shape, kind=float):
    """A matrix with the singular values, one to weigh its inverse by, and a direction."""
    rng = np.random.default_rng(sum(shape))
    m, n = shape

    def normal(*shape):
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind is complex else 0.0)

    u, v = (np.linalg.qr(normal(size, min(shape)))[0] for size in shape)
    return (u * SINGULAR_VALUES[shape]) @ v.conj().T, normal(n, m), normal(m, n)


def slope(f, a, t):
    """The derivative of f along t, by differences of fourth order."""
    h = 1e-3
    return (8.0 * (f(a + h * t) - f(a - h * t)) - (f(a + 2 * h * t) - f(a - 2 * h * t))) / (12.0 * h)


@pytest.mark.parametrize("shape", SINGULAR_VALUES, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_and_directions(f, shape):
    a, c, t = inputs(shape)
    expected = slope(lambda a: f(a, c, 1), a, t)
    for g in (f, f.py_func):
        assert np.sum(dr.grad(g)(a, c, 1) * t) == pytest.approx(expected, rel=1e-7, abs=1e-8)
        found = dr.jvp(g, (a, c, 1), (t, np.zeros_like(c), None))[1]
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("shape", DISTINCT, ids=str)
@pytest.mark.parametrize("f", TWICE, ids=["pinv traced", "lstsq", "lstsq traced"])
def test_second_derivatives(f, shape):
    a, c, t = inputs(shape)
    expected = slope(lambda a: np.sum(dr.grad(f)(a, c, 1) * t), a, t)
    if f is of_lstsq:
        forward = np.tensordot(dr.hessian(f)(a, c, 1), t)
    else:
        _, forward = dr.jvp(dr.grad(f), (a, c, 1), (t, np.zeros_like(c), None))
    assert np.sum(forward * t) == pytest.approx(expected, rel=1e-7)


def by_the_normal_equations(a, b):
    x = np.linalg.solve(a.T @ a, a.T @ b)
    return np.sum(x**2)


@pytest.mark.parametrize("a", [np.eye(3, 2), np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])])
def test_second_derivatives_of_lstsq_with_orthogonal_columns(a):
    """A design with equal singular values, none of which is cut, as a factorial experiment has it."""
    b = np.array([1.0, 2.0, -0.5, 0.7])[: len(a)]
    expected = dr.hessian(by_the_normal_equations)(a, b)
    np.testing.assert_allclose(dr.hessian(of_lstsq)(a, b[None], 0), expected, atol=1e-12)


@pytest.mark.parametrize("shape", SINGULAR_VALUES, ids=str)
def test_complex_matrices(shape):
    a, c, t = inputs(shape, complex)

    def f(a):
        return np.sum(np.real(c * np.linalg.pinv(a, 0.5)))

    expected = slope(f, a, t)
    assert dr.jvp(f, (a,), (t,))[1] == pytest.approx(expected, rel=1e-7)
    assert np.real(np.sum(dr.grad(f)(a) * t)) == pytest.approx(expected, rel=1e-7)


def test_each_matrix_of_a_stack_by_its_own_cut():
    (a, c, t), least = inputs((3, 2)), np.array([0.5, 0.1])

    def f(a):
        return np.sum(c * np.linalg.pinv(np.stack([a, 2.0 * a]), least))

    assert np.sum(dr.grad(f)(a) * t) == pytest.approx(slope(f, a, t), rel=1e-7)
