"""Factorizations, functions and equations of matrices, and matrices of a pattern, of dualrev.scipy.linalg."""

import numpy as np
import pytest
import scipy.linalg
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.scipy import linalg

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 4)) + np.diag([3.0, 1.0, -2.0, 5.0])
B = RNG.normal(size=(4, 2))
TALL, WIDE = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4))
S = A @ A.T / 10.0 + np.eye(4)
V = np.array([1.5, -0.7, 2.0, 0.4])
BAND = np.array([[0.0, 0.3, -0.2, 0.5], [3.0, 2.0, 4.0, 2.5]])
I = 1.0j * RNG.normal(size=(4, 4))  # noqa: E741 - an imaginary part


def upper(a):
    return np.triu(a) + np.diag([0.0, 2.0, 5.0, 9.0])  # with real and distinct eigenvalues


#: Functions that return an array or a tuple of arrays, and their arguments.
CASES = {
    "lu": (linalg.lu, (A,)),
    "lu, tall": (linalg.lu, (TALL,)),
    "lu, wide": (lambda a: linalg.lu(a, permute_l=True), (WIDE,)),
    "lu, indices": (lambda a: linalg.lu(a, p_indices=True)[1:], (A,)),
    "lu_factor": (lambda a: linalg.lu_factor(a)[0], (A,)),
    "lu_solve": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, B)),
    "lu_solve, transposed": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), (A, V)),
    "lu, complex": (lambda a: [u.real + 2.0 * u.imag for u in linalg.lu(a + I)[1:]], (A,)),
    "lu_solve, adjoint": (lambda a: abs(linalg.lu_solve(linalg.lu_factor(a + I), V, 2)), (A,)),
    "schur": (lambda a: linalg.schur(upper(a) + 0.1 * S), (A,)),
    "schur, complex": (lambda a: abs(linalg.schur(a, "complex")[0])[np.triu_indices(4)], (A,)),
    "polar": (linalg.polar, (TALL,)),
    "polar, wide": (lambda a: linalg.polar(a, "left"), (WIDE,)),
    "polar, other sides": (lambda a, b: (*linalg.polar(a, "left"), *linalg.polar(b)), (TALL, WIDE)),
    "orthogonal_procrustes": (linalg.orthogonal_procrustes, (TALL, TALL[::-1] ** 2)),
    "qr, pivoting": (lambda a: linalg.qr(a, mode="economic", pivoting=True)[:2], (TALL,)),
    "eigvals": (lambda a: (lambda w: np.sort(w.real + 0.3 * abs(w.imag)))(linalg.eigvals(a)), (A,)),
    "eigvals, generalized": (lambda a, b: abs(linalg.eigvals(a, b)), (A, S)),
    "eig": (lambda a: [abs(u) for u in linalg.eig(a)], (A,)),
    "eigh_tridiagonal": (linalg.eigh_tridiagonal, (V, V[:3] ** 2)),
    "eigh_tridiagonal, some": (lambda d, e: linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 2)), (V, V[1:])),
    "eigvalsh_tridiagonal": (
        lambda d, e: linalg.eigvalsh_tridiagonal(d, e, select="v", select_range=(0.0, 9.0)),
        (V, V[1:]),
    ),
    "logm": (linalg.logm, (S,)),
    "logm, complex": (lambda a: linalg.logm(a).imag, (np.diag([-2.0, 1.0]) + 0.1 * A[:2, :2],)),
    "fractional_matrix_power": (linalg.fractional_matrix_power, (S, 0.7)),
    "fractional_matrix_power, constant": (lambda a: linalg.fractional_matrix_power(a, -1.3), (S,)),
    "fractional_matrix_power, exponent": (lambda t: linalg.fractional_matrix_power(S, t), (0.7,)),
    **{name: (getattr(linalg, name), (A / 4.0,)) for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")},
    "sinm, complex": (lambda a: abs(linalg.sinm(a / 4.0 + I / 4.0)), (A,)),
    "solve_discrete_lyapunov": (linalg.solve_discrete_lyapunov, (A / 8.0, A @ S)),
    "solve_discrete_lyapunov, complex": (lambda a: abs(linalg.solve_discrete_lyapunov((a + I) / 9.0, S)), (A,)),
    "solve_continuous_are": (
        lambda a, b, q, r: linalg.solve_continuous_are(a, b, q + q.T, r + r.T),
        (A, B, S, S[:2, :2]),
    ),
    "solve_discrete_are": (lambda a, b, q, r: linalg.solve_discrete_are(a, b, q + q.T, r + r.T), (A, B, S, S[:2, :2])),
    "solveh_banded": (linalg.solveh_banded, (BAND, B)),
    "solveh_banded, lower": (lambda ab, b: linalg.solveh_banded(ab, b, lower=True), (BAND[::-1, ::-1], V)),
    "cholesky_banded": (linalg.cholesky_banded, (BAND,)),
    "cholesky_banded, lower": (lambda ab: linalg.cholesky_banded(ab, lower=True), (BAND[::-1, ::-1],)),
    "cho_solve_banded": (lambda c, b: linalg.cho_solve_banded((c, False), b), (BAND, V)),
    "cho_solve_banded, lower": (lambda c, b: linalg.cho_solve_banded((c, True), b), (BAND[::-1, ::-1], B)),
    "solve_toeplitz": (lambda c, r, b: linalg.solve_toeplitz((c, r), b), (V, V**2, B)),
    "solve_toeplitz, symmetric": (linalg.solve_toeplitz, (V, V[::-1])),
    "matmul_toeplitz": (linalg.matmul_toeplitz, (V, B)),
    "solve_circulant": (linalg.solve_circulant, (V, V[::-1])),
    "pinvh": (linalg.pinvh, (S,)),
    "hankel": (linalg.hankel, (V,)),
    "hankel, a row": (linalg.hankel, (V, V[:2] ** 2)),
    "leslie": (linalg.leslie, (V, V[:3])),
    "convolution_matrix": (lambda a: linalg.convolution_matrix(a, 3, mode="same"), (V,)),
    "companion": (linalg.companion, (V,)),
    "khatri_rao": (linalg.khatri_rao, (TALL, WIDE[:, :3])),
}


def weighed(made):
    parts = made if isinstance(made, (tuple, list)) else (made,)
    return sum(np.sum(u * np.cos(np.arange(float(np.size(u)))).reshape(np.shape(u))) for u in parts)


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_scipys_and_the_derivatives_are_those_of_differences(name):
    f, args = CASES[name]
    dr.check(lambda *args: weighed(f(*args)), *args)
    dr.check_grads(lambda *args: weighed(f(*args)), args, order=2)


def test_values_have_the_bits_of_scipy():
    for name in ("lu", "polar", "logm", "solve_circulant", "matmul_toeplitz", "hankel"):
        f, args = CASES[name]
        expected = getattr(scipy.linalg, name)(*args)
        found = f(*args)
        made = []
        dr.grad(lambda x, f=f, args=args, made=made: (made.append(f(x, *args[1:])), np.sum(x))[1])(args[0])
        traced = [dr.value(u) for u in (made[0] if isinstance(made[0], tuple) else made)]
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = found if isinstance(found, tuple) else (found,)
        for value, ours, theirs in zip(traced, found, expected, strict=True):
            assert_same(ours, theirs, rtol=0.0)
            assert_same(np.asarray(value, dtype=theirs.dtype), theirs, rtol=0.0 if name != "hankel" else 1e-15)


def test_questions_about_a_matrix_are_constants():
    found = []
    dr.grad(lambda a: (found.append((linalg.issymmetric(a), linalg.bandwidth(a))), np.sum(a))[1])(np.eye(3))
    assert found == [(True, (0, 0))]


REFUSED = {
    "complex eigenvalues": (
        lambda a: linalg.schur(np.array([[0.0, 1.0], [-1.0, 0.0]]) * a)[0].sum(),
        "output='complex'",
    ),
    "null_space": (lambda a: linalg.null_space(TALL.T * a).sum(), "the projection on the null space"),
    "orth": (lambda a: linalg.orth(TALL * a).sum(), "the projection on the range"),
    "lu_factor": (lambda a: linalg.lu_factor(TALL * a)[0].sum(), "scipy.linalg.lu"),
    "left=True": (lambda a: linalg.eig(A * a, left=True)[0].real.sum(), "eig(a.T) for left=True"),
    "e, s": (lambda a: linalg.solve_continuous_are(A * a, B, S, np.eye(2), e=S).sum(), "the equation of a, b, q and r"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    f, cure = REFUSED[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(1.3)
    assert name in str(refused.value)
    assert cure in str(refused.value)
    assert "test_scipy_matrices.py:" in str(refused.value)


def test_projections_that_refusals_name():
    dr.check_grads(lambda a: weighed(np.eye(3) - linalg.pinv(a) @ a), (WIDE[:2, :3],), order=2)
