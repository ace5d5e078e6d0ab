"""Compiled gradients of whole programs, beside differences and the tape."""

import numpy as np
import pytest
from compiled.programs import euler, filtered, roots
from compiled.twin import twin
from numba import njit
from oracle import assert_same, differences

import dualrev as dr

OBSERVATIONS = np.array([0.3, -1.1, 0.8, 2.0, -0.4])


def gas():
    """A shock tube, with some noise in it."""
    u = np.array(
        [[1.0, 0.1, 2.5], [1.1, 0.2, 2.4], [0.9, 0.1, 2.6], [0.3, 0.05, 0.4], [0.2, 0.1, 0.3], [0.25, 0.0, 0.4]]
    )
    return u + 0.01 * np.sin(np.arange(18.0)).reshape(6, 3)


@njit
def likelihood(theta, seed):
    return filtered(theta, OBSERVATIONS, 20, seed)


def check(f, args, directions, rtol):
    """The gradient by the first arguments, with differences in one direction."""
    fresh = lambda: [x.copy() if isinstance(x, np.ndarray) else x for x in args]  # noqa: E731
    numbers = tuple(range(len(directions)))
    y, gradients = dr.value_and_grad(f, numbers)(*fresh())
    assert_same(y, f(*fresh()), rtol=1e-13)

    def along(*some):
        return f(*[x.copy() if isinstance(x, np.ndarray) else x for x in (*some, *args[len(some) :])])

    slope = float(differences(along, tuple(args[: len(directions)]), directions)[0])
    total = sum(float(np.sum(g * t)) for g, t in zip(gradients, directions, strict=True))
    assert_same(total, slope, rtol=rtol)
    return gradients


def test_root_finders():
    gradients = check(roots, (0.8, 1.3), (1.0, -0.6), 1e-6)
    assert_same(gradients, dr.grad(twin(roots), (0, 1))(0.8, 1.3), rtol=1e-8, types=False)


def test_a_particle_filter():
    check(likelihood, (np.array([0.2, 1.1, -0.7]), 3), (np.array([0.7, -0.4, 1.0]),), 1e-6)


@pytest.mark.slow
def test_a_finite_volume_method():
    (found,) = check(euler, (gas(), 3, 0.4), (np.cos(np.arange(18.0)).reshape(6, 3),), 1e-6)
    expected = dr.grad(lambda u: twin(euler)(dr.numpy.array(u), 3, 0.4))(gas())
    assert_same(found, expected, rtol=1e-9, floor=1e-9)
