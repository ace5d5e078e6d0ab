"""Derivatives of compiled derivatives: of what dr.grad and the like return, and of functions that call it.

The tape, which makes derivatives of every order of the Python functions, says what is right.
"""

import math
import pickle

import numpy as np
import pytest
from numba import njit
from programs.models import Model, model
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.errors import ArgumentError, CotangentError, ScalarError, TangentError, UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")

A = np.array([0.5, 1.2, -0.4])


@njit
def bump(x):
    return math.exp(x) * x * x


@njit
def waves(x, a):
    total = 0.0
    for i in range(len(a)):
        total += math.sin(a[i] * x) * a[i] * x * x
    return total


def numbers(x):
    """Flatten the differentiable part of a result to one array."""
    if isinstance(x, tuple):
        return np.concatenate([np.zeros(0), *map(numbers, x)])
    return np.zeros(0) if x is None else np.ravel(np.asarray(x, float))


def structure(x):
    return tuple(map(structure, x)) if isinstance(x, tuple) else None if x is None else np.shape(x)


def same(found, expected, rtol=1e-10):
    assert structure(found) == structure(expected)
    one, other = numbers(found), numbers(expected)
    assert_same(one, other, rtol=rtol, floor=rtol * max(1.0, np.abs(other).max()))


V = (0.3, A * 2.0)
NESTED = {
    "grad of grad": lambda f, g: dr.grad(dr.grad(f))(0.7),
    "grad of grad of grad": lambda f, g: dr.grad(dr.grad(dr.grad(f)))(0.7),
    "value_and_grad of grad": lambda f, g: dr.value_and_grad(dr.grad(g), (0, 1))(0.7, A),
    "hessian of grad": lambda f, g: dr.hessian(dr.grad(g), 1)(0.7, A),
    "jvp of grad": lambda f, g: dr.jvp(dr.grad(g, (0, 1)), (0.7, A), V),
    "vjp of grad": lambda f, g: dr.vjp(dr.grad(g, 1), 0.7, A)[1](A),
    "jacfwd of value_and_grad": lambda f, g: dr.jacfwd(dr.value_and_grad(g, (1, 0)), (0, 1))(0.7, A),
    "jacobian of grad": lambda f, g: dr.jacobian(dr.grad(g, 1), (0, 1))(0.7, A),
    "grad of hvp": lambda f, g: dr.grad(dr.hvp(g), (0, 1, 2))(0.7, 0.2, A),
    "jacfwd of hessian": lambda f, g: dr.jacfwd(dr.hessian(g, 1), 1)(0.7, A),
    "jvp of jacfwd of jacfwd": lambda f, g: dr.jvp(dr.jacfwd(dr.jacfwd(g, 1), 1), (0.7, A), V),
    "grad of jacfwd": lambda f, g: dr.grad(dr.jacfwd(f))(0.7),
}


SLOW = {"hessian of grad", "jacfwd of value_and_grad", "value_and_grad of grad"}


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in NESTED])
def test_nested_derivatives_are_the_tape_s(name):
    same(NESTED[name](bump, waves), NESTED[name](twin(bump), twin(waves)))


def test_they_are_numba_functions():
    second, third = dr.grad(dr.grad(bump)), dr.grad(dr.grad(dr.grad(bump)))

    @njit
    def halley(x, steps):
        for _ in range(steps):
            slope, bend = second(x), third(x)
            x = x - slope / bend
        return x

    assert second(halley(-0.5, 10)) == pytest.approx(0.0, abs=1e-12)
    assert second is dr.grad(dr.grad(bump))
    assert pickle.loads(pickle.dumps(third)) is third
    source = dr.derivative_source(dr.grad(bump), 0.7, transform="grad")
    assert "def grad_grad_bump(x):" in source
    assert "return x * math.exp(x) * x" not in source


def test_what_is_frozen_is_what_the_function_has():
    """A second derivative is compiled anew where the first one is."""
    factor = 2.0

    @njit
    def times(x):
        return factor * x * x

    second = dr.grad(dr.grad(times))
    assert second(1.0) == 4.0
    factor = 3.0
    assert second(1.0) == 4.0
    assert times(1.0) == 3.0
    assert second(1.0) == 6.0
    factor = 4.0
    times.recompile()
    assert second(1.0) == 8.0


@njit("float64(float64, float64[:])")
def declared(x, a):
    return x * x * x * a[0]


def test_arguments_that_are_not_arrays_of_floats():
    @njit
    def of_function(g, x, y=2.0):
        return g(x) * y * x

    assert dr.grad(dr.grad(of_function, 1), 1)(bump, 0.4) == pytest.approx(
        dr.grad(dr.grad(lambda x: twin(bump)(x) * 2.0 * x))(0.4), rel=1e-13
    )
    assert dr.grad(dr.grad(of_function, 2), -2)(bump, 0.4, y=3.0) == pytest.approx(
        dr.grad(lambda x: twin(bump)(x) * x)(0.4), rel=1e-13
    )
    assert dr.grad(dr.grad(declared))(2, A) == 6.0
    apart = np.linspace(0.3, 1.2, 6)[::2]
    same(dr.jacfwd(dr.grad(waves, 1), 1)(0.7, apart), dr.hessian(twin(waves), 1)(0.7, apart))
    same(dr.grad(dr.hvp(bump))(0.7, 2), 2.0 * dr.grad(dr.grad(dr.grad(bump)))(0.7))


# Functions that call derivatives


@njit
def outputs(m, x, a):
    return (m.bias * x, a[1:] * x, m.count), m.weights * x


class Called:
    """The derivatives that the functions below call, of numba functions or of Python functions."""

    def __init__(self, of_waves, of_model, of_outputs):
        self.product, self.matrix = dr.hvp(of_waves), dr.hessian(of_waves, 1)
        self.slopes, self.columns = dr.value_and_grad(of_model), dr.jacfwd(of_outputs, (0, 1))

    def seconds(self):
        product, matrix = self.product, self.matrix

        def of_seconds(m, x, a):
            h = matrix(x, a)
            return product(x, h[0, 0], a) + np.sum(h * x)

        return of_seconds

    def firsts(self):
        slopes, columns = self.slopes, self.columns

        def of_firsts(m, x, a):
            y, g = slopes(m, x)
            j = columns(m, x, a)
            made = y * g.bias + np.sum(g.weights * x)
            return made + j[0][0][0].bias * x + np.sum(j[0][1][1]) * x + np.sum(j[1][0].weights) * x * x

        return of_firsts


M = Model(np.arange(6.0).reshape(2, 3) / 5.0, 0.7, 3)
T = Model(np.ones((2, 3)), 0.2, None)


@pytest.mark.parametrize("name", ["seconds", pytest.param("firsts", marks=pytest.mark.slow)])
def test_functions_that_call_derivatives(name):
    """In both modes."""
    compiled = njit(getattr(Called(waves, model, outputs), name)())
    plain = getattr(Called(twin(waves), twin(model), twin(outputs)), name)()
    assert compiled(M, 0.4, A) == pytest.approx(plain(M, 0.4, A), rel=1e-13)
    argnums = (1, 2) if name == "seconds" else (0, 1)
    same(dr.grad(compiled, argnums)(M, 0.4, A), dr.grad(plain, argnums)(M, 0.4, A))
    v = T, 1.0, A
    same(dr.jvp(compiled, (M, 0.4, A), v)[1], dr.jvp(plain, (M, 0.4, A), v)[1])


@pytest.mark.slow
def test_the_transforms_behind_vjp_and_jvp_have_derivatives():
    ct = (0.3, A[1:], None), M.weights * 2
    pull, push = derivative(outputs, "vjp"), derivative(outputs, "jvp")

    def plain_pull(m, x, a):
        y, pullback = dr.vjp(twin(outputs), m, x, a)
        return y, pullback(ct)

    def plain_push(m, x, a):
        return dr.jvp(twin(outputs), (m, x, a), (T, 0.3, A))

    args, v = (M, 0.4, A), (T, 0.7, A * A)
    same(pull(*args, ct), plain_pull(*args))
    still = (0.0, 0.0 * A[1:], None), 0.0 * M.weights
    same(derivative(pull, "jvp")(*args, ct, *v, still)[1], dr.jvp(plain_pull, args, v)[1])
    zero = Model(0.0 * M.weights, 0.0, None), 0.0, 0.0 * A
    same(derivative(push, "jvp")(*args, T, 0.3, A, *v, *zero)[1], dr.jvp(plain_push, args, v)[1])
    with pytest.raises(CotangentError):
        derivative(pull, "jvp")(*args, (0.3, A[1:]), *v, still)


# What is refused


@njit
def overwrites(a, x):
    for i in range(len(a)):
        a[i] = math.sin(a[i] * x) * a[i - 1]
    return np.sum(a * a)


def test_what_is_refused():
    writing = dr.grad(overwrites)

    @njit
    def changes(x):
        return np.sum(writing(x, 0.5))

    with pytest.raises(UnsupportedError, match=r"return np\.sum\(writing\(x, 0\.5\)\)`.*changes its arguments"):
        dr.grad(changes)(A.copy())
    with pytest.raises(UnsupportedError, match=r"def overwrites\(a, x\):`: a derivative of the grad .*changes its arg"):
        dr.grad(dr.grad(overwrites, 1), 1)(A.copy(), 0.5)
    for make in (dr.grad, dr.value_and_grad):
        with pytest.raises(ScalarError):
            make(dr.grad(waves, 1))(0.7, A)
    with pytest.raises(ArgumentError):
        dr.grad(dr.grad(bump))(2)
    with pytest.raises(TangentError):
        dr.grad(dr.hvp(bump))(1.0, A)
    with pytest.raises(ValueError, match="another shape"):
        dr.jacfwd(dr.hvp(njit(twin_sum)))(A, A[1:])


def twin_sum(a):
    return np.sum(a * a * a)
