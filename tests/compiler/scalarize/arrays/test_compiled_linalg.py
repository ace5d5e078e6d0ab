"""np.linalg in numba functions: factors and systems by LAPACK, with a rule for each mode; the oracle is differences.

The rules themselves are compared with those of the tape by tests/rules/test_table_of_functions.py, without compiling.
"""

import math
import re

import numba
import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same, differences

import dualrev as dr
from dualrev.rules.library.linalg.systems import solve, solve_each

pytestmark = pytest.mark.usefixtures("unoptimized")

SQUARE = np.array([[2.5, -1.2, 0.8], [1.5, 3.3, -0.7], [0.2, 0.9, 2.1]])
TALL = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 2.1], [-0.4, 0.6, 1.3]])
UNEVEN = np.array([[2.5, 0.4, 0.1], [0.3, 1.2, 0.2], [0.5, -0.1, -0.7]])
SYMMETRIC = SQUARE @ SQUARE.T
VT = np.linalg.svd(TALL, False)[2]
#: With complex eigenvalues.
TURNING = np.array([[0.0, 1.0, 0.2], [-1.0, 0.3, 0.4], [0.1, 0.2, 0.5]])
#: Whether all of numpy's are complex numbers, and numba's with them.
COMPLEX_EIGENVALUES = np.iscomplexobj(np.linalg.eigvals(np.eye(2)))
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
def not_symmetric(a, b):
    """With real eigenvalues, which are complex numbers with numpy 2.5."""
    w, v = np.linalg.eig(a)
    return np.sum(v.real**3 * w.real) + np.sum(np.linalg.eigvals(a).real ** 3 * b[0])


@njit
def singular(t, c):
    """Singular values and vectors: thin ones, and full ones where the vectors that complete the basis are not used."""
    u, s, vt = np.linalg.svd(t, full_matrices=False)
    total = np.sum(u.T * s.reshape(-1, 1) * c) + np.sum(vt**3)
    u, s, vt = np.linalg.svd(t.T)
    total += np.sum(u**3) + np.sum(vt[:3] * c) + s[1] ** 2 + np.linalg.norm(t, 2) * np.linalg.norm(t, -2)
    return total + np.linalg.cond(t) + np.linalg.cond(t[:3], 1) + np.linalg.cond(t[:3], -2) * np.linalg.matrix_rank(t)


@njit
def orthogonal(t, c):
    """QR factorisations of a tall and of a wide matrix."""
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


@njit
def some(a, b):
    """Several results, and several arguments."""
    w, v = np.linalg.eigh(a)
    return np.sum(np.linalg.solve(a, b) * v[0] * w) * np.linalg.matrix_rank(a)


SLOW = [(systems, (SQUARE, B)), (symmetric, (SYMMETRIC,)), (singular, (TALL, C)), (orthogonal, (TALL, C))]
SLOW += [(least, (TALL, B, C)), (not_symmetric, (UNEVEN, B))]
every = pytest.mark.parametrize(
    ("f", "args"),
    [
        pytest.param(some, (SYMMETRIC, B), id="some"),
        *(pytest.param(f, args, id=f.__name__, marks=pytest.mark.slow) for f, args in SLOW),
    ],
)


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
    return w[k] * np.sum(v[:, k] * v[:, k])


@njit
def inverse(a, k):
    return np.linalg.inv(a)[k, k]


@pytest.mark.parametrize("f", [pytest.param(spectrum, marks=pytest.mark.slow), inverse], ids=["spectrum", "inverse"])
def test_products_with_the_hessian(f):
    t = tangents((SYMMETRIC,))[0]
    slope = differences(lambda x: dr.grad(f)(x, 1), (SYMMETRIC,), (t,))
    assert_same(dr.hvp(f)(SYMMETRIC, t, 1).ravel(), slope, rtol=1e-7, floor=1e-9)


def matrix_exponential(a):
    """By eigenvectors: where two eigenvalues are equal, the cotangents of the vectors do not tell its derivative."""
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.T


ALMOST_EQUAL = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0] @ np.diag([1.0, 1.0, 2.0])
ALMOST_EQUAL = ALMOST_EQUAL @ np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0].T  # by a rounding error
DEPENDENT = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])  # the third column, up to a rounding error


@njit
def dependent(a):
    return np.linalg.qr(a)[0][0, 2]


@njit
def exponential(a, c):
    w, v = np.linalg.eigh(a)
    return np.sum(((v * np.exp(w)) @ v.T) * c)


def test_degenerate_matrices_in_numba_functions():
    """NaN and no number, as on the tape; what does not turn the vectors of a repeated eigenvalue has a derivative."""
    assert np.isnan(dr.grad(dependent)(DEPENDENT)).all()
    slope = dr.grad(exponential)
    for a, c in ((np.eye(3), np.arange(9.0).reshape(3, 3)), (ALMOST_EQUAL, np.arange(9.0).reshape(3, 3))):
        assert np.isnan(slope(a, c)).any()
    np.testing.assert_allclose(slope(np.eye(3), np.eye(3)), np.exp(1.0) * np.eye(3), atol=1e-14)


def test_degenerate_matrices():
    """Results that depend on undetermined vectors have infinite or NaN derivatives, never finite ones."""
    assert dr.grad(spectrum)(np.eye(3), 1)[1, 1] == pytest.approx(1.0)
    for f, a in (
        (lambda a: np.linalg.eigh(a)[1][0, 1], np.eye(3)),
        (lambda a: np.linalg.svd(a)[0][0, 1], np.eye(3)),
        (lambda a: np.linalg.svd(a)[0][0, 3], TALL),
        (lambda a: np.linalg.slogdet(a)[1], np.zeros((2, 2))),
        (matrix_exponential, np.eye(2)),
        (matrix_exponential, ALMOST_EQUAL),
        (lambda a: np.linalg.svd(a)[0] @ np.linalg.svd(a)[2], ALMOST_EQUAL),
        (lambda a: np.linalg.qr(a)[0][0, 2], DEPENDENT),
    ):
        f = f if np.ndim(f(a)) == 0 else lambda a, f=f: np.sum(f(a) * np.arange(float(a.size)).reshape(a.shape))
        assert not np.isfinite(dr.grad(f)(a)).all()
    assert_same(dr.grad(lambda a: np.sum(np.linalg.svd(a)[1]))(TALL), np.linalg.svd(TALL, False)[0] @ VT, rtol=1e-12)


@njit
def with_roots(t, values, direction):
    """A matrix with the roots of the singular values, moved in a direction."""
    u, s, vt = np.linalg.svd(np.diag(values) + t * direction, False)
    return np.dot(u * np.sqrt(s), vt)


def test_a_direction_that_turns_equal_singular_vectors_against_each_other():
    values, direction = np.array([2.0, 1.0, 1.0]), np.array([[0.0, 1.0, -0.5], [-1.0, 0.0, 2.0], [0.5, -2.0, 0.0]])
    _, slope = dr.jvp(with_roots, (0.0, values, direction), (1.0, 0.0 * values, 0.0 * direction))
    expected = (with_roots(1e-5, values, direction) - with_roots(-1e-5, values, direction)) / 2e-5
    np.testing.assert_allclose(slope, expected, atol=1e-8)


def test_what_numba_raises():
    for call in (spectrum, dr.grad(spectrum)):
        with pytest.raises(np.linalg.LinAlgError, match="must be square"):
            call(TALL, 1)
        with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
            call(SQUARE * math.nan, 1)


@njit
def single(a, b):
    w, v = np.linalg.eigh(a)
    return np.sum(np.linalg.solve(a, b) * v[0]) + w[2] * np.linalg.det(a)


@pytest.mark.slow
def test_single_precision():
    args = SYMMETRIC.astype(np.float32), B.astype(np.float32)
    gradient = dr.grad(single, (0, 1))(*args)
    assert all(x.dtype == np.float32 for x in gradient)
    t = tangents((SYMMETRIC, B))
    slope = float(differences(single, (SYMMETRIC, B), t)[0])
    assert_same(sum(float(np.sum(g * x)) for g, x in zip(gradient, t, strict=True)), slope, rtol=1e-4)


# Systems, without numba's own function


@njit
def numbas(a, b):
    return np.linalg.solve(a, b)


LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "A": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_systems_are_solved_as_numba_solves_them(layout, n):
    rng = np.random.default_rng(n)
    a, b = LAYOUTS[layout](3.0 * np.eye(n) + rng.normal(size=(n, n))), rng.normal(size=(n, 3))
    for x, given in ((solve(a, b[:, 0].copy()), b[:, 0].copy()), (solve_each(a, b), b)):
        assert x.flags.c_contiguous
        assert np.array_equal(x, numbas(a, given))


WRONG = {
    "singular": (np.ones((2, 2)), np.ones(2)),
    "sizes": (np.eye(2), np.ones(3)),
    "NaN": (np.array([[1.0, np.nan], [0.0, 1.0]]), np.ones(2)),
    "infinite": (np.eye(2), np.array([np.inf, 1.0])),
}


@pytest.mark.parametrize("case", WRONG)
def test_systems_that_have_no_solution_raise_numbas_errors(case):
    with pytest.raises(np.linalg.LinAlgError) as expected:
        numbas(*WRONG[case])
    with pytest.raises(np.linalg.LinAlgError, match=re.escape(str(expected.value))):
        solve(*WRONG[case])


def test_no_system_with_other_sides_than_numbas():
    with pytest.raises(np.linalg.LinAlgError):
        solve(np.ones((2, 3)), np.ones(2))  # numba reads beyond the matrix
    with pytest.raises(numba.TypingError, match="homogeneous dtypes"):
        solve(np.eye(2, dtype=np.float32), np.ones(2))


# Results beside others, in one variable


@njit
def into_an_argument(m, i, v):
    """Results of inv and solve in variables whose numba type has any layout."""
    if m.shape[0] > 2:
        i = np.linalg.inv(m)
        v = np.linalg.solve(m, v[::2])
    return np.sum(i * m.T * i) + np.sum(v * v)


@pytest.mark.parametrize("n", [2, 3])
def test_a_variable_may_hold_a_result_and_an_argument(n):
    m, rest = SQUARE[:n, :n].copy(), (SYMMETRIC[:n, :n].copy(), np.arange(6.0))
    d, zeros = np.outer(m[0], m[1]), tuple(map(np.zeros_like, rest))
    slope = float(differences(lambda m: into_an_argument(m, *rest), (m,), (d,))[0])
    assert_same(float(np.sum(dr.grad(into_an_argument)(m, *rest) * d)), slope, rtol=1e-6)
    assert_same(dr.jvp(into_an_argument, (m, *rest), (d, *zeros))[1], slope, rtol=1e-6)


@njit
def curved(t, s):
    q, r = np.linalg.qr(t)
    w, v = np.linalg.eigh(s)
    return np.sum(q**3) + np.sum(r * r) + np.sum(w**3) + v[0, 0] ** 2 + np.spacing(t[0, 0]) * np.sum(np.spacing(s))


@pytest.mark.slow
def test_factors_have_second_derivatives():
    """Their own tests for lost digits are no obstacle."""
    d = np.outer(TALL[:, 0], TALL[0])
    curve = differences(lambda t: dr.grad(curved)(t, SYMMETRIC), (TALL,), (d,))
    assert_same(dr.hvp(curved)(TALL, d, SYMMETRIC).ravel(), curve, rtol=1e-5)


@njit
def of_a_complex_matrix(a):
    w, v = np.linalg.eig(a + 1.0j * a.T * a)
    s = np.sum(w.real**2 * w.imag) + np.sum(v.real**2 * a) + np.sum(v.imag**3)
    return s + np.linalg.eigvals(a + 2.0j * a.T)[0].imag


@njit
def of_a_real_matrix(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(w)) + np.sum(v.imag**2 * v.real * a) + np.abs(np.linalg.eigvals(a * a[1, 1])[0])


def test_complex_eigenvalues():
    """Complex eigenvalues, and LAPACK's eigenvectors, whose largest component is real."""
    d = np.cos(np.arange(9.0)).reshape(3, 3)
    for f, of in [(of_a_complex_matrix, SQUARE)] + [(of_a_real_matrix, TURNING)] * COMPLEX_EIGENVALUES:
        value, gradient = dr.value_and_grad(f)(of)
        assert value == f(of)
        assert_same(float(np.sum(gradient * d)), float(differences(f, (of,), (d,))[0]), rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("f", [of_a_complex_matrix, of_a_real_matrix])
def test_complex_eigenvalues_in_forward_mode_and_to_order_2(f):
    d = np.cos(np.arange(9.0)).reshape(3, 3)
    if f is of_a_real_matrix and not COMPLEX_EIGENVALUES:
        with pytest.raises(ValueError, match="domain change"):
            dr.grad(f)(TURNING)
        return
    assert_same(dr.jvp(f, (TURNING,), (d,))[1], float(differences(f, (TURNING,), (d,))[0]), rtol=1e-7)
    curve = differences(dr.grad(f), (TURNING,), (d,))
    assert_same(dr.hvp(f)(TURNING, d).ravel(), curve, rtol=1e-5, floor=1e-7)


@njit
def of_data(x, a, z):
    w, v = np.linalg.eig(z)
    return x * np.abs(w[0]) + x * v[0, 0].real * np.linalg.eigvals(a)[0].real + x * np.linalg.eig(a)[0][1].real


def test_eigenvalues_of_data_are_numbas():
    a = SYMMETRIC.astype(np.float32)
    z = a + np.complex64(1j) * a.T * a
    assert z.dtype == np.complex64
    assert dr.value_and_grad(of_data)(0.5, a, z) == (of_data(0.5, a, z), pytest.approx(of_data(1.0, a, z)))


@njit
def determinant_of_complex(x, a):
    return np.linalg.det(a * (x + 1.0j)).real


def test_other_functions_of_complex_matrices_are_the_tapes():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    with pytest.raises(dr.UnsupportedError, match=r"np\.linalg\.det .*complex.*Write dr\.grad\(f\.py_func\)"):
        dr.grad(determinant_of_complex)(1.5, a)
    assert dr.grad(determinant_of_complex.py_func)(1.5, a) == pytest.approx(3.0 * np.linalg.det(a))
