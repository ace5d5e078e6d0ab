"""dualrev.scipy of complex matrices under differentiation: SciPy's values, and the derivatives of differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualrev as dr
from dualrev.scipy import linalg, special

K = np.array([[2.5 + 1.0j, -0.3j, 1.0 - 0.4j], [0.5, 2.2 + 0.7j, -1.0j], [0.3j, -0.8, 3.0 + 1.0j]])
B = np.array([[0.3, 1.0 - 0.2j], [-1.0j, 0.4], [0.6 + 0.6j, -0.7]])
M = np.array([[0.4, -0.7], [0.9, 0.2]])


def square(x):
    """A matrix without symmetry."""
    return K + np.exp(1j * x[0, 0]) * x[0, 1] + 1j * np.outer(K[0], K[1]) * x[1, 0] ** 2 * 0.1


def hermitian(x):
    """Positive definite."""
    a = square(x)
    return a @ a.conj().T + np.eye(3)


def right(x):
    return B * (x[1, 1] + 1j * x[0, 0]) + x[0, 1]


CASES = {
    "inv": lambda x: linalg.inv(square(x)),
    "det": lambda x: linalg.det(square(x)),
    "solve": lambda x: linalg.solve(square(x), right(x)) + linalg.solve(K.real * x[0, 0], right(x)),
    "solve, Hermitian": lambda x: linalg.solve(hermitian(x), right(x), lower=True, assume_a="her"),
    "solve, positive definite": lambda x: linalg.solve(hermitian(x), right(x)[:, 0], assume_a="pos"),
    "solve, symmetric": lambda x: linalg.solve(square(x) + square(x).T, right(x), assume_a="sym"),
    "solve_triangular": lambda x: linalg.solve_triangular(square(x), right(x), lower=True),
    "solve_triangular, transposed": lambda x: linalg.solve_triangular(square(x), right(x), trans=1),
    "solve_triangular, adjoint": lambda x: linalg.solve_triangular(square(x), right(x), "C", unit_diagonal=True),
    "cholesky": lambda x: linalg.cholesky(hermitian(x)) + linalg.cholesky(hermitian(x), lower=True).T,
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(hermitian(x)), right(x)),
    "cho_solve, lower": lambda x: linalg.cho_solve(linalg.cho_factor(hermitian(x), lower=True), right(x)),
    "expm": lambda x: linalg.expm(square(x) / 4.0) + linalg.expm(1j * K.real * x[0, 0]),
    "expm of several": lambda x: linalg.expm(np.stack([square(x), hermitian(x) * 0.5j]) / 4.0),
    "sqrtm": lambda x: linalg.sqrtm(square(x)),
    "sqrtm of a real matrix": lambda x: linalg.sqrtm(x - 2.0 * np.eye(2)),
    "solve_sylvester": lambda x: linalg.solve_sylvester(square(x), hermitian(x), square(x).T),
    "solve_sylvester of real ones, too": lambda x: linalg.solve_sylvester(square(x), x @ x.T, right(x)),
    "solve_continuous_lyapunov": lambda x: linalg.solve_continuous_lyapunov(square(x), hermitian(x)),
    "eigh": lambda x: linalg.eigh(hermitian(x), eigvals_only=True) + linalg.eigvalsh(square(x), lower=False),
    "eigh, generalized": lambda x: linalg.eigvalsh(square(x), hermitian(x)),
    "svd": lambda x: linalg.svd(square(x))[0] * linalg.svdvals(right(x))[0],
    "qr": lambda x: linalg.qr(right(x), mode="economic")[0],
    "pinv": lambda x: linalg.pinv(right(x)),
    "lstsq": lambda x: linalg.lstsq(right(x), square(x)[0])[0],
    "norm": lambda x: linalg.norm(square(x), 2) + linalg.norm(right(x)) + linalg.norm(right(x), 1),
    "toeplitz": lambda x: linalg.toeplitz(square(x)[0]) + linalg.toeplitz(square(x)[0], square(x)[1]),
    "circulant": lambda x: linalg.circulant(square(x)[0]),
    "block_diag": lambda x: linalg.block_diag(square(x), right(x), x),
}


@pytest.mark.parametrize("name", CASES)
def test_of_complex_matrices(name):
    def f(x):
        made = CASES[name](x)
        return np.stack([np.real(made), np.imag(made)])

    dr.check(f, M)
    of_its_own = name.startswith(("solve_triangular", "solve_sylvester", "expm", "sqrtm"))  # not only numpy's rule
    dr.check_grads(f, (M,), order=2 if of_its_own else 1)


def test_sylvester_of_a_real_matrix_with_complex_eigenvalues():
    """Where SciPy's own answer solves no equation: its Schur form has blocks that the complex routine does not read."""
    y, t = dr.jvp(lambda x: linalg.solve_sylvester(K, x, B), (M,), (np.eye(2),))
    assert_allclose(K @ y + y @ M, B, atol=1e-12)
    assert_allclose(K @ t + t @ M, -y, atol=1e-12)


def test_the_vectors_of_a_generalised_problem():
    """v^H a v = diag(w), v^H b v = 1: also of neighbours."""

    def products(x):
        a, b = hermitian(x), hermitian(2.0 * x)
        w, v = linalg.eigh(a, b)
        return [v.conj().T @ a @ v - np.diag(w), v.conj().T @ b @ v - np.eye(3)]

    for u in (*dr.jvp(products, (M,), (M,))[0], *dr.jvp(products, (M,), (M,))[1]):
        assert_allclose(u, 0.0, atol=1e-11)


@pytest.mark.parametrize("name", ["erf", "erfc", "erfi", "erfcx", "wofz", "dawsn", "exp1", "expi"])
def test_special_functions_of_complex_numbers(name):
    def f(x):
        made = getattr(special, name)(x[0] * 1j + x[1] + 0.3)
        return np.stack([made.real, made.imag])

    dr.check(f, M)
    dr.check_grads(f, (M,))


def test_logarithms_of_sums():
    def f(x):
        z = 1j * x + x[0]
        return special.logsumexp(z) + special.logsumexp(z, axis=0)[1] + special.logsumexp(x, 1, z, keepdims=True)[0, 0]

    dr.check(lambda x: [f(x).real, f(x).imag], M)
    dr.check_grads(lambda x: [f(x).real, f(x).imag], (M,))
    with pytest.raises(dr.UnsupportedError, match="return_sign of complex"):
        dr.grad(lambda x: special.logsumexp(1j * x, return_sign=True)[0].real)(M)
