"""`f.py_func` of a numba function on the tape: numpy's constructors and Python's math mean dualrev's, whoever calls it.

The derivatives are those of the compiled function.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numba import njit

import dualrev as dr

X = np.array([0.5, 1.0, 2.0])
ROWS = np.stack([X, X[::-1]])


@njit
def inner(u):
    w = np.zeros(2)
    w[0], w[1] = u[0] * u[1], math.sin(u[0])
    return w


@njit
def table(u, c=2.0):
    """A table that is filled element by element, and what another function makes of one."""
    w = np.zeros((3, 2))
    for i in range(3):
        for j in range(2):
            w[i, j] = u[i] - c
    out = np.empty(3)
    for i in range(3):
        out[i] = w[i, 0] * w[i, 1] + inner(u)[i % 2] * math.exp(u[i])
    return out


@njit
def written(u, out):
    out[:] = table(u)


@njit
def total(u):
    return np.sum(table(u))


@njit
def step(k, u):
    w = np.zeros(3)
    for i in range(3):
        w[i] = math.sin(u[i]) * u[0]
    return w


@njit
def three_steps(u):
    return step(2, step(1, step(0, u)))


@njit
def residual(x, u):
    w = np.zeros(3)
    for i in range(3):
        w[i] = x[i] - math.sin(u[i])
    return w


@njit
def iteration(x, u):
    w = np.zeros(3)
    for i in range(3):
        w[i] = 0.5 * (x[i] + math.sin(u[i]))
    return w


@njit
def sines(u):
    w = np.zeros(3)
    for i in range(3):
        w[i] = math.sin(u[i])
    return w


@njit
def forward(u):
    return sines(u), u


@njit
def backward(u, ct):
    w = np.zeros(3)
    for i in range(3):
        w[i] = ct[i] * math.cos(u[i])
    return (w,)


@dr.checkpoint
@njit
def kept(u):
    w = np.zeros(3)
    w[:] = sines(u)
    return w


def by_root(u):
    return dr.implicit.custom_root(residual.py_func)(lambda _, v: np.sin(v))(np.zeros(3), u)


def by_fixed_point(u):
    return dr.implicit.custom_fixed_point(iteration.py_func)(lambda _, v: np.sin(v))(np.zeros(3), u)


def sines_squared(u):
    return np.sum(dr.numpy.sin(u) ** 2)


def ruled(rule):
    f = dr.custom_vjp(sines.py_func)
    f.defvjp(forward.py_func if rule else forward, backward.py_func if rule else backward)
    return f


JACOBIAN = dr.jacobian(table)(X)

JACOBIANS = {
    "jacobian": lambda: dr.jacobian(table.py_func)(X),
    "forward": lambda: dr.jacfwd(table.py_func)(X),
    "outputs": lambda: dr.jacobian(written.py_func, outputs=1)(X, np.zeros(3)),
    "pullback of outputs": lambda: np.stack(
        [dr.vjp(written.py_func, X, np.zeros(3), outputs=1)[1](unit)[0] for unit in np.eye(3)]
    ),
    "tangent of outputs": lambda: np.stack(
        [dr.jvp(written.py_func, (X, X), (unit, None), outputs=1)[1] for unit in np.eye(3)], axis=1
    ),
    "partial": lambda: dr.jacobian(functools.partial(table.py_func, c=2.0))(X),
    "checkpoint": lambda: dr.jacobian(dr.checkpoint(table.py_func))(X),
    "vmap": lambda: dr.jacobian(dr.vmap(table.py_func))(ROWS)[0, :, 0],
    "sparse": lambda: dr.sparse_jacobian(table.py_func)(X).toarray(),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_constructors_of_numpy_mean_those_of_the_tape_wherever_a_py_func_goes(name):
    """A Jacobian of the Python function equals the compiled one."""
    assert JACOBIANS[name]() == pytest.approx(JACOBIAN, rel=1e-12)


def test_steps_of_a_loop_rules_and_equations_are_py_funcs_too():
    """Second derivatives run the Python functions of rules on the numbers of outer runs."""
    run = dr.checkpoint(step.py_func, loop=2)
    assert dr.jacobian(lambda u: run(3, u))(X) == pytest.approx(dr.jacobian(three_steps)(X), rel=1e-12)
    hessian = dr.hessian(lambda u: np.sum(ruled(True)(u)))(X)
    assert hessian == pytest.approx(np.diag(-np.sin(X)), rel=1e-12)
    assert dr.hessian(lambda u: np.sum(ruled(False)(u)))(X) == pytest.approx(hessian, rel=1e-12)
    expected = dr.hessian(sines_squared)(X)
    for solved in (by_root, by_fixed_point, kept):
        assert dr.hessian(lambda u, f=solved: np.sum(f(u) ** 2))(X) == pytest.approx(expected, rel=1e-9)


def test_on_plain_numbers_a_py_func_is_what_it_is_by_itself():
    """Nothing but arrays of numpy comes out."""
    for f in (dr.vmap(table.py_func), dr.checkpoint(table.py_func), ruled(True), dr.lift(table)):
        y = f(ROWS if "vmap" in repr(f) else X)
        assert type(y) is np.ndarray
        assert y.dtype == np.float64
    dr.check(table.py_func, X)
    dr.check_grads(total.py_func, (X,), order=2)
