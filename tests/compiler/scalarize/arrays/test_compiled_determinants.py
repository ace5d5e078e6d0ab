"""Derivatives of np.linalg.det at matrices whose singular vectors have none: singular or orthogonal ones."""

import itertools

import numpy as np
import pytest
from numba import njit

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def determinant(a):
    return np.linalg.det(a)


def partial(a, *places):
    """A derivative of det by entries: the signed determinant without their rows and columns; by Leibniz' formula."""
    n, fixed = len(a), dict(places)
    if len(fixed) < len(places) or len(set(fixed.values())) < len(places):
        return 0.0
    total = 0.0
    for columns in itertools.permutations(range(n)):
        if all(columns[i] == j for i, j in fixed.items()):
            swaps = sum(columns[p] > columns[q] for p in range(n) for q in range(p + 1, n))
            total += (-1) ** swaps * np.prod([a[i, columns[i]] for i in range(n) if i not in fixed])
    return total


def derivatives(a, order):
    """All derivatives of det of an order."""
    n = len(a)
    places = list(itertools.product(range(n), repeat=2))
    made = [partial(a, *chosen) for chosen in itertools.product(places, repeat=order)]
    return np.reshape(made, (n, n) * order)


def low_rank(n, rank):
    """A matrix of a rank."""
    rng = np.random.default_rng(10 * n + rank)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))


MATRICES = {
    "regular": low_rank(3, 3),
    "singular": low_rank(3, 2),
    "of rank 1": low_rank(3, 1),
    "zero": np.zeros((3, 3)),
    "two equal singular values": np.diag([1.0, 1.0, 0.0]),
    "a reflection": np.eye(4)[[1, 0, 2, 3]],
    "two zeros": np.diag([1.0, 1.0, 0.0, 0.0]),
    "nearly singular": low_rank(3, 2) + 1e-9 * np.eye(3),
    "2 x 2": low_rank(2, 1),
    "1 x 1": np.zeros((1, 1)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_second_derivatives_of_determinants(name):
    a = MATRICES[name]
    expected = derivatives(a, 2)
    for of, inside in ((dr.jacfwd, dr.grad), (dr.jacrev, dr.grad), (dr.jacfwd, dr.jacfwd)):
        np.testing.assert_allclose(of(inside(determinant))(a), expected, atol=1e-12)


@pytest.mark.parametrize("f", [determinant.py_func, pytest.param(determinant, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MATRICES)
def test_third_derivatives_of_determinants(name, f):
    a = MATRICES[name]
    np.testing.assert_allclose(dr.jacfwd(dr.hessian(f))(a), derivatives(a, 3), atol=1e-12)
