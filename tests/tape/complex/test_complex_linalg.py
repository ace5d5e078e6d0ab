"""numpy.linalg of complex matrices under differentiation: values, and derivatives of both modes and of order 2.

The oracle is that of test_complex.py: dr.check and dr.check_grads, by central differences of the real and the imaginary
parts. Vectors are compared as LAPACK turns them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualrev as dr

M = np.array([[0.4, -0.7, 1.3], [0.9, 0.2, -0.5]])
K = np.array([[0.5 + 1.0j, -0.3j, 2.0 - 0.4j], [1.5, 0.2 + 0.7j, -1.0j], [0.3j, -0.8, 1.0 + 1.0j]])
TALL = np.vstack([K, [[0.3, 1.0 - 0.2j, 0.5j], [-1.0j, 0.4, 0.6 + 0.6j]]])


def parts(z):
    """A complex value, or a tuple, as real arrays."""
    if isinstance(z, tuple):
        return [parts(x) for x in z if np.ndim(x) or not isinstance(x, (int, np.integer))]
    return np.stack([np.real(z), np.imag(z)])


def correct(f, *args):
    """The value, and all derivatives of order 1 and 2."""
    dr.check(f, *args)
    dr.check_grads(f, args)


def turned(x):
    """An array that is complex all over."""
    return (x + 0.3) * np.exp(1j * x) + 0.2


def square(z):
    """A matrix without symmetry."""
    return K + z[0] + z[1][:, None] * 1j


def tall(z):
    """A matrix with more rows than columns."""
    return TALL * z[0] + 0.5 * z[1]


def hermitian(z):
    """Positive definite."""
    a = square(z)
    return a @ a.conj().T + np.eye(3)


ORDERS = (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")
FUNCTIONS = {
    "solve": lambda z: np.linalg.solve(K + z[0], z[1]) + np.linalg.solve(K, z.T)[:, 0],
    "solve of real ones": lambda z: np.linalg.solve(K.real + z[0].real, z[1]) + np.linalg.solve(square(z), M[0]),
    "inv": lambda z: np.linalg.inv(K * z[0]) + np.linalg.matrix_power(K + z[0], 3) + np.linalg.matrix_power(K, -1),
    "matrix_power": lambda z: np.linalg.matrix_power(square(z), -2) + np.linalg.matrix_power(square(z), 0),
    "det": lambda z: np.linalg.det(K * z[0] + z[1]) + np.linalg.det(np.stack([K + z[0], K - 2j])),
    "slogdet": lambda z: tuple(np.linalg.slogdet(square(z))),
    "multi_dot": lambda z: np.linalg.multi_dot([z, K, z.T]),
    "cholesky": lambda z: np.linalg.cholesky(hermitian(z)),
    "upper cholesky": lambda z: np.linalg.cholesky(hermitian(z), upper=True),
    "eigh": lambda z: tuple(np.linalg.eigh(square(z))),
    "eigh of the upper triangle": lambda z: tuple(np.linalg.eigh(square(z), "U")),
    "eigvalsh": lambda z: np.linalg.eigvalsh(square(z)) + np.linalg.eigvalsh(square(z), "U"),
    "svd": lambda z: tuple(np.linalg.svd(square(z))),
    "svd of a tall matrix": lambda z: tuple(np.linalg.svd(tall(z), full_matrices=False)),
    "svd of a wide matrix": lambda z: tuple(np.linalg.svd(tall(z).T, full_matrices=False)),
    "svd of a Hermitian matrix": lambda z: tuple(np.linalg.svd(hermitian(z) - 2.0 * np.eye(3), hermitian=True)),
    "singular values": lambda z: np.linalg.svd(tall(z), compute_uv=False) + np.linalg.svdvals(square(z)),
    "qr": lambda z: (*np.linalg.qr(tall(z)), np.linalg.qr(square(z), "r")),
    "qr of a wide matrix": lambda z: (*np.linalg.qr(tall(z).T), np.linalg.qr(tall(z).T, "r")),
    "pinv": lambda z: np.linalg.pinv(tall(z)) + np.linalg.pinv(tall(z).T).T,
    "lstsq": lambda z: tuple(np.linalg.lstsq(tall(z), np.outer(TALL[:, 0], z[1]))),
    "lstsq of a real right side": lambda z: np.linalg.lstsq(tall(z), TALL[:, 1].real)[0],
    "cond": lambda z: np.stack([np.linalg.cond(square(z), p) for p in (None, 2, -2, 1, -np.inf, "fro", "nuc")]),
    "norm": lambda z: np.stack(
        [np.linalg.norm(tall(z), p) for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")]
    ),
    "norm of vectors": lambda z: np.stack([np.linalg.norm(z, p, axis=0) for p in (None, 2, 1, 3, np.inf, -np.inf, 0)]),
    "norm of several": lambda z: np.linalg.norm(np.stack([z, z * 1j + 1.0]), 2, axis=(0, 2), keepdims=True),
    "matrix_norm": lambda z: np.linalg.matrix_norm(np.stack([z, z * z]), ord="nuc") + np.linalg.matrix_norm(z),
    "tensorsolve": lambda z: np.linalg.tensorsolve(square(z)[:, None, None], z[:1].T),
    "tensorinv": lambda z: np.linalg.tensorinv(square(z)[None], 2),
}
#: Of matrices whose first axes are those of a stack: what is made of one matrix, and of which.
STACKED = {
    "solve": (lambda a: np.linalg.solve(a, K), square),
    "inv": (np.linalg.inv, square),
    "det": (np.linalg.det, square),
    "slogdet": (lambda a: tuple(np.linalg.slogdet(a)), square),
    "cholesky": (np.linalg.cholesky, hermitian),
    "eigh": (lambda a: tuple(np.linalg.eigh(a)), square),
    "svd": (lambda a: tuple(np.linalg.svd(a, full_matrices=False)), tall),
    "qr": (lambda a: tuple(np.linalg.qr(a)), tall),
    "pinv": (np.linalg.pinv, tall),
    "singular values": (np.linalg.svdvals, tall),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f = FUNCTIONS[name]
    correct(lambda x: parts(f(turned(x))), M)


@pytest.mark.parametrize("name", STACKED)
def test_of_stacks(name):
    """As of one matrix after the other."""
    f, matrix = STACKED[name]

    def listed(z):
        return list(z) if isinstance(z, tuple) else [z]

    def stacked(x):
        made = f(np.stack([matrix(turned(x)), matrix(turned(0.7 * x))]))
        return [parts(u) for u in listed(made)]

    def one_by_one(x):
        both = [listed(f(matrix(turned(u)))) for u in (x, 0.7 * x)]
        return [parts(np.stack(us)) for us in zip(*both, strict=True)]

    for jacobian in (dr.jacrev, dr.jacfwd):
        for found, expected in zip(jacobian(stacked)(M), jacobian(one_by_one)(M), strict=True):
            assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


TURNING = np.array([[0.0, 1.0, 0.2], [-1.0, 0.3, 0.4], [0.1, 0.2, 0.5]])


def test_eigenvalues():
    """Complex ones of a real matrix, with vectors as LAPACK scales them; of a complex one; of several matrices."""
    correct(lambda a: parts(np.linalg.eig(a)[0]), TURNING)
    correct(lambda a: parts(np.linalg.eig(a)[1]), TURNING)
    correct(lambda a: parts(np.linalg.eigvals(a + 1j * a.T)), TURNING)
    correct(lambda a: parts(np.linalg.eig(a + 1j * a.T)[1]), TURNING)
    correct(lambda a: parts(np.linalg.eigvals(np.stack([a, a.T + 0.1]))), TURNING)
    quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert_allclose(dr.grad(lambda a: np.abs(np.linalg.eigvals(a)[0]))(quarter_turn), 0.5 * quarter_turn, atol=1e-15)


def test_vectors_that_lapack_turns_by_no_rule():
    """Results that depend on LAPACK's arbitrary phase of a vector have NaN derivatives in reverse mode."""
    blocks = np.array([[1.0, 0.5j, 0.0], [-0.5j, 2.0, 0.0], [0.0, 0.0, 4.0]])

    def of_turns(x):
        return np.linalg.eigh(blocks + 1j * np.diag(x, -1))[1][2, 2].imag

    assert np.isnan(dr.grad(of_turns)(np.zeros(2))[1])

    def filled(x):
        """A matrix whose vectors are turned by x, and a value that is not."""
        v = np.linalg.eigh(blocks + x[:3, None] * x[3:])[1]
        return np.abs(v) ** 2 @ np.array([1.0, 2.0, 3.0]), np.linalg.svd(blocks @ v, hermitian=False)[1]

    x = np.zeros(6)
    x[0] = 0.3
    for mode in (dr.jacrev, dr.jacfwd):
        size, s = mode(filled)(x)
        assert np.all(np.isfinite(size))
        assert_allclose(s, 0.0, atol=1e-12)
    dr.check_grads(lambda x: parts(filled(x)[0]), (x + 0.01 * np.arange(6),))


def test_second_derivatives_of_eigenvalues_do_not_depend_on_vectors():
    """Second derivatives of a diagonal matrix's eigenvalues equal perturbation theory's 2 |da|**2 / gap."""

    def lowest(z):
        return np.linalg.eigvalsh(np.array([[1.0, 0.0], [0.0, 3.0]]) + z * np.array([[0.0, 0.0], [1.0, 0.0]]))[0]

    assert_allclose(dr.hessian(lambda x: lowest(x[0] + 1j * x[1]))(np.zeros(2)), -np.eye(2))
    # the square of the sum of two singular values is the sum of all squares and twice |det|: 9 + 17 x**2 / 2 + ...
    assert_allclose(dr.hessian(lambda x: np.linalg.norm(np.diag([2.0, 1.0]) + 1j * x, "nuc"))(0.0), 17.0 / 6.0)


def test_repeated_singular_values_have_vectors_without_derivatives():
    two = np.array([[0.0, 2.0j], [2.0, 0.0]])
    assert not np.all(np.isfinite(dr.grad(lambda x: np.linalg.svd(two + x)[0][0, 1].real)(np.ones((2, 2)) * 0.0)))
    assert_allclose(dr.grad(lambda x: np.sum(np.linalg.svd(two * x)[1]))(3.0), 4.0)


@pytest.mark.parametrize("turn", [1.0, 1.0j], ids=["real", "complex"])
@pytest.mark.parametrize("values", [(2.0, 2.0, 1.0), (2.0, 1.0, 1.0), (1.0, 1.0, 1.0)], ids=str)
def test_a_direction_that_turns_equal_singular_vectors_against_each_other(values, turn):
    """It leaves the singular values equal: so what both vectors make has its derivative, in forward mode."""
    direction = np.array([[0.0, 1.0, -0.5], [-1.0, 0.0, 2.0], [0.5, -2.0, 0.0]])

    def polar(t):
        u, _, vh = np.linalg.svd(turn * np.diag(values) + turn * t * direction)
        return parts(u @ vh)

    def roots(t):
        u, s, vh = np.linalg.svd(turn * np.diag(values) + turn * t * direction)
        return parts((u * np.sqrt(s)) @ vh)

    for f in (polar, roots):
        assert_allclose(dr.jvp(f, (0.0,), (1.0,))[1], (f(1e-5) - f(-1e-5)) / 2e-5, atol=1e-8)


def test_vectors_that_complete_a_basis():
    assert np.all(np.isnan(dr.grad(lambda x: np.linalg.svd(TALL * x[0])[0][0, 3].real)(M)[0]))
    correct(lambda x: parts(tuple(u[..., :3] for u in np.linalg.svd(tall(turned(x))))), M)


@pytest.mark.parametrize("name", ["svd", "full svd", "wide svd", "svd of symmetric matrices"])
def test_singular_vectors_of_stacks_of_real_matrices(name):
    tall = np.array([[0.5, -1.0, 0.2], [2.0, 0.3, 1.4], [0.1, 0.7, -0.6], [1.2, -0.4, 0.9]])
    f, matrix = {
        "svd": (lambda a: np.linalg.svd(a, full_matrices=False), tall),
        "full svd": (lambda a: np.linalg.svd(a), tall[:3]),
        "wide svd": (lambda a: np.linalg.svd(a, False), tall.T),
        "svd of symmetric matrices": (lambda a: np.linalg.svd(a + a.mT, hermitian=True), tall[:3]),
    }[name]
    correct(lambda x: list(f(np.stack([matrix * x[0], matrix + np.outer(matrix[:, 0], matrix[0]) * x[1]]))), M[0])


def test_what_is_refused():
    for a in (TALL, TALL.T):
        with pytest.raises(dr.UnsupportedError, match=r"numpy\.linalg\.qr.*mode='reduced' or mode='r'"):
            dr.grad(lambda x, a=a: np.linalg.qr(a * x, "complete")[0][0, 0].real)(1.0)
