"""Jacobians and Hessians of complex values and by complex arguments, with JAX's conventions."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose

import dualrev as dr

X = np.array([0.4, -0.7, 1.3])
C = np.array([0.5 + 1.0j, -0.3j, 2.0 - 0.4j])
STEP = 1e-6
modes = pytest.mark.parametrize("jacobian", [dr.jacrev, dr.jacfwd, dr.jacobian])


def by_differences(f, z, direction):
    """The derivatives of all values by steps of every element in this direction of the plane."""
    steps = direction * STEP * np.eye(len(z))
    return np.stack([(f(z + step) - f(z - step)) / (2.0 * STEP) for step in steps], axis=-1)


def waves(x):
    return np.fft.fft(x * x) * np.exp(1j * x[0])


def sizes(z):
    return np.abs(np.fft.fft(z * z))[:2]


def cubes(z):
    return np.fft.fft(z**3)[:2] * np.exp(z[0])


@modes
def test_of_complex_values(jacobian):
    made = jacobian(waves)(X)
    assert made.dtype == complex
    assert_allclose(made, by_differences(waves, X, 1.0), rtol=1e-7, atol=1e-8)


@modes
def test_by_complex_arguments(jacobian):
    """df/dx - i df/dy, as the gradient."""
    expected = by_differences(sizes, C, 1.0) - 1j * by_differences(sizes, C, 1j)
    assert_allclose(jacobian(sizes)(C), expected, rtol=1e-7, atol=1e-8)
    assert_allclose(jacobian(lambda z: sizes(z)[0])(C), dr.grad(lambda z: sizes(z)[0])(C))


@modes
def test_of_holomorphic_functions(jacobian):
    made = jacobian(cubes, holomorphic=True)(C)
    assert_allclose(made, by_differences(cubes, C, 1.0), rtol=1e-7, atol=1e-8)
    assert type(jacobian(lambda z: z**3, holomorphic=True)(1.0 + 1.0j)) is complex
    assert jacobian(lambda z: z * z, holomorphic=True)(C.astype(np.complex64)).dtype == np.complex64
    polynomial = jacobian(lambda z, n: z**n, holomorphic=True)
    assert_allclose(polynomial(2.0 + 1.0j, 3), 3.0 * (2.0 + 1.0j) ** 2)


@modes
def test_of_nested_data(jacobian):
    made = jacobian(lambda p: {"u": p["a"] * 1j * p["b"], "v": [p["a"]]})({"a": X, "b": 2.0})
    assert_allclose(made["u"]["a"], 2j * np.eye(3))
    assert_allclose(made["u"]["b"], 1j * X)
    assert_allclose(made["v"][0]["a"], np.eye(3))
    assert made["v"][0]["a"].dtype == float
    by_both = jacobian(lambda z, x: (abs(z) * x, x), argnums=(0, 1))(3.0 + 4.0j, 10.0)
    assert_allclose(by_both[0], (6.0 - 8.0j, 5.0))
    assert by_both[1] == (0, 1.0)
    made, aux = jacobian(lambda z, w: ([z * w], "aux"), (0, 1), has_aux=True, holomorphic=True)(1.0 + 2.0j, C)
    assert aux == "aux"
    assert_allclose(made[0][0], C)
    assert_allclose(made[0][1], (1.0 + 2.0j) * np.eye(3))


def test_hessians():
    assert_allclose(dr.hessian(lambda x: np.sum(1j * x**3))(X), np.diag(6j * X))
    assert_allclose(dr.hessian(lambda z: np.sum(z**3) * z[0], holomorphic=True)(C)[1:, 1:], np.diag(6 * C[1:] * C[0]))
    assert dr.hessian(lambda z: z**3, holomorphic=True)(1.0 + 2.0j) == pytest.approx(6.0 + 12.0j)


def test_inside_of_another_derivative():
    def size(s):
        return np.sum(np.abs(dr.jacrev(lambda z: z**3 * s, holomorphic=True)(C * s)) ** 2)

    dr.check_grads(size, (1.3,))
    dr.check_grads(lambda x: dr.jacfwd(waves)(x).imag, (X,), order=1)


@njit
def compiled(z):
    return abs(z * z)


@pytest.mark.parametrize(
    ("derivative", "words"),
    [
        (lambda: dr.jacobian(lambda z: z * z)(C), r"test_complex_jacobians\.py.*holomorphic=True if it is"),
        (lambda: dr.jacfwd(lambda z: {"a": z, "b": abs(z)})(C), "complex values by complex arguments"),
        (lambda: dr.hessian(lambda z: np.sum(np.abs(z)))(C), r"gradient of a real function is not.*holomorphic=True"),
        (lambda: dr.jacrev(lambda x: 1j * x, holomorphic=True)(X), "a real argument"),
        (lambda: dr.jacfwd(lambda z: np.abs(z), holomorphic=True)(C), "a real value"),
        (lambda: dr.jacrev(lambda z: (z, 2.0 * z.real), holomorphic=True)(C), "a real value"),
        (lambda: dr.hessian(lambda z: np.sum(np.abs(z)), holomorphic=True)(C), "a real value"),
        (lambda: dr.jacobian(lambda z: z * z.conj(), holomorphic=True)(C), "not holomorphic here"),
        (lambda: dr.jacobian(lambda z: z.real + 0j, holomorphic=True)(2.0 + 1.0j), "not holomorphic here"),
        (lambda: dr.jacobian(lambda z: 1e8 * z[0] + z[1].conj(), holomorphic=True)(C), "not holomorphic here"),
        (lambda: dr.jacrev(compiled)(1.0 + 2.0j), "of complex arguments only grad"),
        (lambda: dr.jacrev(compiled, holomorphic=True)(1.0 + 2.0j), r"compiled\.py_func"),
    ],
)
def test_what_is_refused(derivative, words):
    with pytest.raises(dr.UnsupportedError, match=words):
        derivative()
