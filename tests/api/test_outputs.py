"""`outputs`: what a function writes into its arguments is its value, on the tape and compiled."""

import pickle

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same, differences
from support.twin import twin

import dualrev as dr
from dualrev.errors import OutputError, OutputNumberError, ScalarError

FACTOR = 2.0


@njit
def step(u, rate, out, total, n=3):
    """Writes to three arguments, one of them is no output; rebinds a parameter; returns early, and another value."""
    for i in range(n):
        if i == len(u):
            return 1
        out[i] = FACTOR * u[i] * u[i] * rate + out[i] * out[i - 1]
        total[0] += out[i] * u[0]
        u[i] = 0.0
    out = out * 2.0
    out[0] = 5.0
    return 0


def arguments():
    return np.array([0.5, -1.2, 0.8, 0.3]), 0.7, np.array([1.0, 2.0, 3.0, 0.5]), np.ones(1)


def by_hand(u, rate, out, total):
    u, out, total = (x.copy() for x in (u, out, total))
    step.py_func(u, rate, out, total)
    return out, total


both = pytest.mark.parametrize("f", [step, twin(step)], ids=["compiled", "tape"])


@both
def test_the_pullback_and_the_tangent_are_those_of_differences(f):
    args, tangents = arguments(), (np.array([1.0, 0.3, -0.4, 2.0]), 0.6, np.array([0.1, 0.7, -1.0, 2.0]), np.ones(1))
    expected = differences(by_hand, args, tangents)
    y, pullback = dr.vjp(f, *args, outputs=(2, 3))
    assert_same(y, by_hand(*arguments()), rtol=1e-14)
    found, dy = dr.jvp(f, arguments(), tangents, outputs=(2, -1))
    assert_same((found, np.concatenate(dy)), (y, expected), rtol=1e-7)
    ct = np.array([0.3, -1.0, 2.0, 0.4]), np.array([0.9])
    total = sum(float(np.sum(g * t)) for g, t in zip(pullback(ct), tangents, strict=True))
    assert_same(total, float(np.concatenate(ct) @ expected), rtol=1e-7)
    assert_same(pullback(ct), pullback(ct), rtol=0.0)


def test_jacobians_are_those_of_the_tape():
    found = dr.jacfwd(step, (0, 1), outputs=(3, 2))
    assert_same(found(*arguments()), dr.jacrev(twin(step), (0, 1), outputs=(3, 2))(*arguments(), 3), rtol=1e-13)
    assert dr.jacfwd(step, (0, 1), outputs=(3, 2)) is found
    doubles = dr.jacobian(double, outputs=1)
    assert_same(pickle.loads(pickle.dumps(doubles))(np.ones(2), np.ones(2)), 2.0 * np.eye(2), rtol=0.0)


def double(u, out):
    out[:] = u + u


def test_a_change_of_what_is_frozen_is_known():
    global FACTOR
    before = dr.vjp(step, *arguments(), outputs=2)[0]
    FACTOR = 3.0
    step.recompile()
    try:
        assert_same(dr.vjp(step, *arguments(), outputs=2)[0], by_hand(*arguments())[0], rtol=1e-14)
        assert before[0] != by_hand(*arguments())[0][0]
    finally:
        FACTOR = 2.0
        step.recompile()


@both
@pytest.mark.parametrize("outputs", [1, 7, (2, 2), (), "out"])
def test_outputs_that_cannot_be_written_to(f, outputs):
    with pytest.raises(OutputNumberError, match=r"outputs"):
        dr.vjp(f, *arguments(), outputs=outputs)


@pytest.mark.parametrize("transform", [dr.jacobian, dr.jacfwd, dr.jacrev])
def test_a_number_is_no_output_of_a_jacobian(transform):
    with pytest.raises(OutputNumberError, match=r"argument 1, which has numba type float64, .* Name an array"):
        transform(step, outputs=1)(*arguments())
    with pytest.raises(OutputNumberError, match=r"argument 4, which"):
        transform(step, outputs=(2, -1))(*arguments())


@njit
def nothing(u):
    u[0] = 1.0


@pytest.mark.parametrize("f", [nothing, nothing.py_func], ids=["compiled", "tape"])
def test_errors_say_that_there_are_outputs(f):
    with pytest.raises((ScalarError, OutputError), match="outputs"):
        dr.grad(f)(np.ones(2))
    with pytest.raises(OutputError, match="outputs"):
        dr.vjp(f, np.ones(2))
    with pytest.raises(TypeError, match="has_aux"):
        dr.vjp(f, np.ones(2), outputs=0, has_aux=True)
