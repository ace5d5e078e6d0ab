"""Gradients of whole programs, in core and compiled, beside differences and the tape.

Numba compiles these programs, and their gradients, for many seconds: most tests run core by its evaluator, and compare
with the same program in plain Python.
"""

import numpy as np
import pytest
from numba import njit
from programs.finite_volume import euler
from programs.particle_filter import summary
from programs.root_finders import of_one_unknown, roots
from support.incore import gradient
from support.oracle import assert_same, differences
from support.twin import twin

import dualrev as dr

OBSERVATIONS = np.array([0.3, -1.1, 0.8, 2.0, -0.4, 0.1])
THETA = np.array([0.2, 1.1, -0.7, -0.3])
FILTERS = [
    (OBSERVATIONS, 20, "systematic", False, 3),
    (OBSERVATIONS, 20, "residual", True, 3),
    (OBSERVATIONS, 20, "stratified", True, 3),
    (OBSERVATIONS, 20, "multinomial", False, 3),
]
FLOWS = [
    (3, 0.4, "minmod", "HLLC", "open", 0.0),
    (3, 0.4, "van Leer", "Rusanov", "walls", 0.1),
    (3, 0.4, "none", "HLLC", "periodic", 0.05),
]
DIRECTION = np.cos(np.arange(18.0)).reshape(6, 3)


def gas():
    """A shock tube, with some noise in it."""
    u = np.array(
        [[1.0, 0.1, 2.5], [1.1, 0.2, 2.4], [0.9, 0.1, 2.6], [0.3, 0.05, 0.4], [0.2, 0.1, 0.3], [0.25, 0.0, 0.4]]
    )
    return u + 0.01 * np.sin(np.arange(18.0)).reshape(6, 3)


def fresh(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def slope_of(f, args, directions):
    """The slope of f in a direction of its first arguments, by differences."""

    def along(*some):
        return f(*fresh((*some, *args[len(some) :])))

    return float(differences(along, tuple(args[: len(directions)]), directions)[0])


def check(f, args, directions, rtol=1e-6):
    """The gradient by the first arguments, with differences in one direction."""
    numbers = tuple(range(len(directions)))
    y, gradients = dr.value_and_grad(f, numbers)(*fresh(args))
    assert_same(y, f(*fresh(args)), rtol=1e-13)
    total = sum(float(np.sum(g * t)) for g, t in zip(gradients, directions, strict=True))
    assert_same(total, slope_of(f, args, directions), rtol=rtol)
    return gradients


@njit
def roots_of_one_unknown(x, y):
    """`roots` without the two equations, whose linear algebra the evaluator does not run."""
    return of_one_unknown(x, y)[0]


def test_root_finders_in_core():
    plain, args = twin(roots_of_one_unknown), (0.8, 1.3)
    _, found = gradient(roots_of_one_unknown, args, (0, 1))
    assert_same(float(found[0] - 0.6 * found[1]), slope_of(plain, args, (1.0, -0.6)), rtol=1e-6)
    assert_same(tuple(map(float, found)), dr.grad(plain, (0, 1))(*args), rtol=1e-6, types=False)


@pytest.mark.slow
def test_root_finders():
    gradients = check(roots, (0.8, 1.3), (1.0, -0.6))
    assert_same(gradients, dr.grad(twin(roots), (0, 1))(0.8, 1.3), rtol=1e-6, types=False)


@pytest.mark.parametrize("options", FILTERS, ids=lambda options: options[2])
def test_a_particle_filter_in_core(options):
    """The tape draws the same numbers, and so does numba (test_a_particle_filter)."""
    direction = np.array([0.7, -0.4, 1.0, 0.2])
    _, (found,) = gradient(summary, (THETA, *options), (0,))
    assert_same(float(found @ direction), slope_of(twin(summary), (THETA, *options), (direction,)), rtol=1e-6)
    assert_same(found, dr.grad(twin(summary))(THETA, *options), rtol=1e-9)


@pytest.mark.parametrize("options", FLOWS, ids=lambda options: options[3])
def test_a_finite_volume_method_in_core(options):
    plain = twin(euler)
    _, (found,) = gradient(euler, (gas(), *options), (0,))
    assert_same(float(np.sum(found * DIRECTION)), slope_of(plain, (gas(), *options), (DIRECTION,)), rtol=1e-6)
    expected = dr.grad(lambda u: twin(euler)(dr.numpy.array(u), *options))(gas())
    assert_same(found, expected, rtol=1e-9, floor=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", FILTERS[:2], ids=lambda options: options[2])
def test_a_particle_filter(options):
    check(summary, (THETA, *options), (np.array([0.7, -0.4, 1.0, 0.2]),))


@pytest.mark.slow
def test_a_finite_volume_method():
    check(euler, (gas(), *FLOWS[1]), (DIRECTION,))
