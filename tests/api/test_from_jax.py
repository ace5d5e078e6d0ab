"""Names and meanings that users of JAX expect: linearize, has_aux and argnames, on the tape and for numba functions."""

import numba
import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import (
    ArgumentError,
    ArgumentNumberError,
    AuxiliaryError,
    OutputError,
    ScalarError,
    TangentError,
    UnsupportedError,
)
from stages import STAGES


def scaled(x, n, by=2.0):
    """A value, and auxiliary data: an array that depends on x, and an int."""
    return np.sum(x * x) * n * by, (x * by, n + 1)


compiled = numba.njit(scaled)
X = np.array([1.0, -2.0])
V = np.array([0.5, 3.0])
FUNCTIONS = {"tape": scaled, "numba": compiled}
functions = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


@numba.njit
def modulus(z):
    return abs(z), 1.0


# linearize


@functions
def test_linearize_is_jvp_for_many_tangents(f):
    y, push, aux = dr.linearize(f, X, 3, has_aux=True)
    assert_same((y, aux), compiled(X, 3))
    assert push(V, None) == dr.jvp(lambda x: scaled(x, 3)[0], (X,), (V,))[1]
    assert push(2.0 * V, None) == 2.0 * push(V, None)
    assert push(None, None) == 0.0
    y, push = dr.linearize(f, X, 3)
    assert_same(y, compiled(X, 3))
    assert_same(push(V, None), (float(12.0 * X @ V), (2.0 * V, None)))
    with pytest.raises(TangentError, match="a tuple with 2 entries"):
        push(V)
    with pytest.raises(TangentError, match=r"an array of shape \(2,\)"):
        push(np.ones(3), None)


@pytest.mark.parametrize("engine", STAGES.values(), ids=STAGES)
def test_linearize_transposes_the_pullback_of_a_stage(engine):
    y, push = dr.linearize(lambda x, y: x * y, 3.0, 2.0, engine=engine)
    assert (y, push(1.0, 0.5), push(None, 1.0)) == (6.0, 3.5, 3.0)


def test_linearize_of_complex_numbers_and_of_functions_that_write():
    for f in (modulus, modulus.py_func):
        y, push, aux = dr.linearize(f, 3.0 + 4.0j, has_aux=True)
        assert_same((y, aux, push(1.0), push(1.0j)), (5.0, 1.0, 0.6, 0.8))

    def write(x, out):
        out[:] = x * x

    y, push = dr.linearize(write, X, np.zeros(2), outputs=1)
    assert_same((y, push(V, None)), (X * X, 2.0 * X * V))


def test_linearize_does_not_run_the_function_again_and_is_differentiable():
    runs = []

    def f(x):
        runs.append(x)
        return np.sin(x)

    _, push = dr.linearize(f, 0.3)
    assert push(1.0) == push(1.0) == np.cos(0.3)
    assert len(runs) == 1
    assert dr.grad(lambda x: dr.linearize(np.sin, x)[1](1.0))(0.3) == -np.sin(0.3)
    assert repr(push) == "<derivative of f, by dualrev.linearize>"
    _, push = dr.linearize(lambda x: x * x[::-1], X)
    assert_same(dr.vmap(push)(np.eye(2)), dr.jacobian(lambda x: x * x[::-1])(X).T)


# has_aux


@functions
def test_vjp_and_jvp_with_aux(f):
    y, pullback, aux = dr.vjp(f, X, 3, has_aux=True)
    assert_same((y, aux), compiled(X, 3))
    assert_same(pullback(2.0), (24.0 * X, None))
    assert_same(dr.jvp(f, (X, 3), (V, None), has_aux=True), (y, float(12.0 * X @ V), aux))


@pytest.mark.parametrize("check", ["0", "1"])
@functions
def test_gradients_with_aux(f, check, monkeypatch):
    monkeypatch.setenv("DUALREV_CHECK", check)
    both = compiled(X, 3)
    assert_same(dr.grad(f, has_aux=True)(X, 3), (12.0 * X, both[1]))
    assert_same(dr.value_and_grad(f, (0,), has_aux=True)(X, 3), (both, (12.0 * X,)))
    if check == "0":
        assert_same(dr.jacobian(f, has_aux=True)(X, 3), (12.0 * X, both[1]))


@numba.njit
def in_place(x, n):
    x[0] = x[0] * 3.0
    return x[0] * x[1], x


@numba.njit
def calls(x):
    return gradient_in_place(x.copy(), 1)[1]


gradient_in_place = dr.grad(in_place, has_aux=True)


def test_aux_may_be_an_argument_that_changes_and_njit_code_can_call_the_gradient():
    x, y = X.copy(), X.copy()
    assert_same(gradient_in_place(x, 1), dr.grad(in_place.py_func, has_aux=True)(X.copy(), 1))
    assert_same(calls(X), np.array([3.0, -2.0]))
    assert repr(gradient_in_place) == "<dualrev.grad of in_place, compiled>"
    with pytest.raises(
        UnsupportedError, match=r"made with has_aux=True\. Write a function that returns the value only"
    ):
        dr.jacobian(calls)(y)


def test_what_numba_functions_with_aux_are_refused():
    with pytest.raises(UnsupportedError, match=r"has_aux of modulus .* Write dr\.vjp\(f, \*args, has_aux=True\)"):
        dr.grad(modulus, has_aux=True)(3.0 + 4.0j)
    with pytest.raises(UnsupportedError, match="has_aux for a list as an argument"):
        dr.grad(in_place, has_aux=True)([1.0, 2.0], 1)
    with pytest.raises(UnsupportedError, match=r"Write scaled\.py_func there"):
        dr.hessian(compiled, has_aux=True)(X, 3)


def test_vjp_with_aux_of_complex_numbers():
    for f in (modulus, modulus.py_func):
        y, pullback, aux = dr.vjp(f, 3.0 + 4.0j, has_aux=True)
        assert_same((y, aux, pullback(1.0)), (5.0, 1.0, (0.6 - 0.8j,)))


@numba.njit
def counted(n, x):
    return n, x


def test_a_value_without_aux_or_without_real_numbers_is_refused():
    one = numba.njit(lambda x: x * x)
    for transform in (dr.vjp, dr.linearize):
        with pytest.raises(AuxiliaryError, match=r"it returned 4\.0"):
            transform(one, 2.0, has_aux=True)
        with pytest.raises(OutputError):
            transform(counted, 2, 1.0, has_aux=True)
    with pytest.raises(AuxiliaryError):
        dr.jvp(one, (2.0,), (1.0,), has_aux=True)
    with pytest.raises(AuxiliaryError, match="it returns a value of numba type float64"):
        dr.grad(one, has_aux=True)(2.0)
    with pytest.raises(ScalarError, match="numba type int64"):
        dr.grad(counted, 1, has_aux=True)(2, 1.0)


# argnames


def keyed(x, n=3, *, by=2.0, **more):
    return np.sum(x * x) * n * by * more.get("rate", 1.0)


def test_argnames_are_the_numbers_of_numba_functions():
    named = dr.grad(compiled, argnames=("by", "x"), has_aux=True)
    assert named is dr.grad(compiled, (2, 0), has_aux=True)
    assert dr.hessian(compiled, argnames="x") is dr.hessian(compiled)
    assert_same(named(X, n=3, by=2.0)[0], (15.0, 12.0 * X))


def test_argnames_on_the_tape_are_passed_by_position_by_keyword_or_not():
    assert_same(dr.grad(keyed, argnames="x")(X), 12.0 * X)
    assert_same(dr.grad(keyed, argnames="x")(x=X, n=1), 4.0 * X)
    assert dr.grad(keyed, argnames="by")(X) == dr.grad(keyed, argnames="by")(X, by=5.0) == 15.0
    assert_same(dr.value_and_grad(keyed, argnames=["n", "rate"])(X, 1.0, rate=0.5), (5.0, (5.0, 10.0)))
    assert_same(dr.jacobian(lambda x, y: x * y, argnames="y")(X, 3.0), X)
    assert_same(dr.jacfwd(lambda x, y: x * y, argnames=("y", "x"))(X, y=3.0), (X, np.diag([3.0, 3.0])))
    assert dr.hessian(lambda x, y: x * y**3, argnames="y")(1.0, y=2.0) == 12.0


def test_argnames_that_do_not_fit_are_refused():
    for names, text in {
        "byy": r"argnames names 'byy', and f has no parameter of that name\. Did you mean 'by'\?",
        "q": r"It has 'x', 'n', 'by'\.",
        ("x", "x"): "argnames must be a name or a tuple of distinct names",
        (): "argnames must be a name or a tuple of distinct names",
        0: "argnames must be a name or a tuple of distinct names",
    }.items():
        for f in (scaled, compiled):
            with pytest.raises(ArgumentNumberError, match=text):
                dr.grad(f, argnames=names)
    with pytest.raises(ArgumentNumberError, match="give argnums=0 or argnames='x', not both"):
        dr.jacobian(scaled, 0, argnames="x")
    with pytest.raises(ArgumentNumberError, match="argnames names 'rate', and the call passes no such argument"):
        dr.grad(keyed, argnames="rate")(X)
    with pytest.raises(ArgumentError):
        dr.grad(keyed, argnames=("x", "n"))(X)
    with pytest.raises(ArgumentNumberError, match="does not say the names of its parameters"):
        dr.grad(min, argnames="x")
