"""Calls of derivatives that are refused: each names the argument, the reason, and what to write instead."""

import numba
import numpy as np
import pytest
from numba import float64, njit, types
from numba.core.errors import TypingError
from numba.experimental import jitclass
from numba.extending import overload_method

import dualrev as dr
from dualrev.compiler.driver.emit import emit
from dualrev.errors import (
    ArgumentError,
    ArgumentNumberError,
    CotangentError,
    OutputError,
    OutputNumberError,
    TangentError,
    UnsupportedError,
)

V, M = np.array([1.5, 2.0, 3.0]), np.array([[1.0, 0.3], [0.2, 2.0]])


@njit
def squares(x):
    return (x * x).sum()


@njit
def square(x):
    return x * x


@njit
def product(t):
    return t[0] * t[1]


@njit
def times(a, b):
    return a * b


@njit
def constant(x):
    return 3


@njit
def size(z):
    return np.sum(np.abs(z))


@njit
def of_tuple(t):
    return abs(t[0] * t[1])


@njit
def both(r, z):
    return r[0].a * abs(z)


@njit
def shortened(x):
    return x[: int(x[0])]


@njit
def text(x):
    return "a"


@njit("float64(float64)")
def declared(x):
    return x * x


@jitclass([("a", numba.float64)])
class Box:
    def __init__(self, a):
        self.a = a


@njit
def of_box(b):
    return b.a * b.a


gradient, gradient_of_size = dr.grad(squares), dr.grad(size)


# In njit code


@njit
def jvp_of_product(x, t):
    return dr.jvp(product, (x,), (t,))[1]


@njit
def jvp_of_squares(x, t):
    return dr.jvp(squares, (x,), (t,))[1]


@njit
def jvp_of_gradient(x, t):
    return dr.jvp(gradient, (x,), (t,))[1]


@njit
def jvp_without_b(x):
    return dr.jvp(times, (x,), (1.0,))[1]


@njit
def vjp_of_constant(x):
    return dr.vjp(constant, x)[0]


@njit
def pulled(x, ct):
    _, pull = dr.vjp(square, x)
    return pull(ct)[0]


@njit
def pulled_by_two(x):
    _, pull = dr.vjp(square, x)
    return pull(x, x)[0]


@njit
def gradient_of_an_int(n):
    return dr.grad(square)(n)


@njit
def gradient_of_declared(x):
    return dr.grad(declared)(x)


@njit
def gradient_of_a_number(x):
    return dr.grad(x)(x)


@njit
def jvp_without_tangents(x):
    return dr.jvp(square, (x,))[1]


@njit
def jvp_of_declared(x):
    return dr.jvp(declared, (x,), (x,))[1]


@njit
def gradient_by_argument_7(x):
    return dr.grad(square, 7)(x)


@njit
def jvp_along_nothing(x):
    return dr.jvp(square, (x,), (None,))[1] * x


@njit
def scales_its_argument(x):
    x[0] *= 2.0
    return x * 1.0


@njit
def any_number(*xs):
    return xs[0] * len(xs)


@njit
def of_records(x, r):
    return x * r[0].a


@njit
def scaled_part(t):
    return abs(t[0]) * t[1]


def compiled_no_more(derivative, *args):
    """The derivative, which is compiled for these types and for no others."""
    derivative(*args)
    derivative.disable_compile()
    return derivative


RECORDS = np.zeros(2, dtype=[("a", np.float64)])
SHAPE = "has another shape than the array that it belongs to"
CALLS = {
    # shapes, which compiled code compares when it runs
    "hvp along another shape": (lambda: dr.hvp(squares)(V, V[:2]), TangentError, f"a tangent {SHAPE}"),
    "hvp of the tape along another shape": (lambda: dr.hvp(squares.py_func)(V, V[:2]), TangentError, "shape (3,)"),
    "hvp along more axes": (lambda: dr.hvp(squares)(V, M), TangentError, "an array with 1 axes"),
    "hvp along a number": (lambda: dr.hvp(squares)(V, 1.0), TangentError, "an array with 1 axes"),
    "jvp along another shape": (lambda: dr.jvp(squares, (V,), (V[:2],)), TangentError, "an array of shape (3,)"),
    "jvp in njit code": (lambda: jvp_of_squares(V, V[:2]), TangentError, f"a tangent {SHAPE}"),
    "jvp of a gradient in njit code": (lambda: jvp_of_gradient(V, V[:2]), TangentError, f"a tangent {SHAPE}"),
    "a pullback in njit code": (lambda: pulled(V, V[:2]), CotangentError, f"a cotangent {SHAPE}"),
    # types, which numba reports in its own error
    "a tuple of another length": (lambda: jvp_of_product((1.0, 2.0), (1.0,)), TypingError, "a tuple with 2 entries"),
    "a complex tangent": (lambda: jvp_of_product((1.0, 2.0), (1.0, 1j)), TypingError, "a real scalar"),
    "a vector for a number": (lambda: jvp_of_product((1.0, 2.0), (1.0, V)), TypingError, "a real scalar"),
    "no argument b": (lambda: jvp_without_b(1.5), TypingError, "the argument b is missing"),
    "no real value": (lambda: vjp_of_constant(2.0), TypingError, "which holds no real scalar"),
    "a number for a vector": (lambda: pulled(V, 1.0), TypingError, "an array with 1 axes"),
    "two cotangents": (lambda: pulled_by_two(V), TypingError, "a pullback takes one cotangent"),
    "an int": (lambda: gradient_of_an_int(2), TypingError, "Write 2.0 where you wrote 2"),
    "another signature": (lambda: gradient_of_declared(V), TypingError, "No matching definition"),
    # complex numbers, records and objects
    "a complex tangent of another shape": (lambda: dr.jvp(size, (V * 1j,), (V[:2] * 1j,)), TangentError, "shape (3,)"),
    "complex tangents in a tuple": (lambda: dr.jvp(of_tuple, ((1j, 2j),), ((1j,),)), TangentError, "with 2 entries"),
    "records and a complex number": (lambda: dr.grad(both)(RECORDS, 1j), UnsupportedError, "only one of them"),
    "a check of an instance": (lambda: dr.check(of_box, Box(1.0)), UnsupportedError, "instances that you make anew"),
    "a check of an int": (lambda: dr.check(square, 2), ArgumentError, "Write 2.0 where you wrote 2"),
    "a check without a value": (lambda: dr.check(constant, 1.5), OutputError, "the function returned 3"),
    "a complex tangent of text": (lambda: dr.jvp(size, (V * 1j,), ("a",)), TangentError, "an array of shape (3,)"),
    "a complex tangent of a real number": (
        lambda: dr.jvp(scaled_part, ((1j, 2.0),), ((1j, 1j),)),
        TangentError,
        "where the primals have a real scalar",
    ),
    "a second derivative by complex numbers": (
        lambda: dr.grad(gradient_of_size)(V * 1j),
        UnsupportedError,
        "of complex numbers only the first derivatives are known",
    ),
    # in njit code, what is no derivative
    "the gradient of a number": (lambda: gradient_of_a_number(1.5), TypingError, "write @njit above its definition"),
    "no tangents": (lambda: jvp_without_tangents(1.5), TypingError, "missing a required argument: 'tangents'"),
    "types that are not declared": (lambda: jvp_of_declared(V), TypingError, "declared has no signature for"),
    "an argument that is not there": (lambda: gradient_by_argument_7(1.5), TypingError, "argnums must be 0, got 7"),
    "no tangent at all": (lambda: jvp_along_nothing(1.5), TypingError, "there is nothing to differentiate"),
    # all arguments, and their number
    "argnums that are no numbers": (
        lambda: dr.grad(any_number, argnums="a"),
        ArgumentNumberError,
        "a tuple of ints, got 'a'",
    ),
    "outputs of all": (lambda: dr.vjp(any_number, V, V, outputs=0), UnsupportedError, "a parameter for every argument"),
    "a number as an output": (
        lambda: dr.jacobian(times, outputs=1)(V, 1.5),
        OutputNumberError,
        "argument 1, which has numba type float64",
    ),
    "an entry with *args": (
        lambda: emit(any_number, "grad", 0, (float64,)),
        UnsupportedError,
        "a function with named arguments that calls it",
    ),
    "an entry without such an argument": (
        lambda: emit(square, "grad", 7, (float64,)),
        ArgumentNumberError,
        "argnums must be 0, got 7",
    ),
    "compiled no more": (
        lambda: compiled_no_more(dr.grad(squares), V).compile((float64[:],)),
        RuntimeError,
        "compilation disabled",
    ),
    "compiled no more, with *args": (
        lambda: compiled_no_more(dr.grad(any_number), 1.5).compile((float64, types.UniTuple(float64, 1))),
        RuntimeError,
        "compilation disabled",
    ),
    "numbers of the tape": (
        lambda: dr.grad(lambda u: dr.jvp(squares, (u,), (V,))[1])(V),
        UnsupportedError,
        "f.py_func in its place, which takes the tape",
    ),
    "a Hessian of what writes": (
        lambda: dr.hessian(scales_its_argument)(V.copy()),
        UnsupportedError,
        "the Hessian of this function, which returns several numbers,",
    ),
    "a pattern of records": (
        lambda: dr.sparse_jacobian(of_records)(V, RECORDS),
        UnsupportedError,
        "records or instances as arguments",
    ),
    # batches and sources
    "no samples": (lambda: dr.vmap(square)(np.zeros(0)), ValueError, "Write at least one"),
    "samples of text": (lambda: dr.vmap(text)(V), ValueError, "only numbers and arrays are stacked"),
    "samples of several shapes": (lambda: dr.vmap(shortened)(M + 1.0), ValueError, "return arrays of one shape"),
    "the source of a Python function": (
        lambda: dr.derivative_source(squares.py_func, V),
        UnsupportedError,
        "@njit above it",
    ),
    "argnums of hvp": (
        lambda: dr.derivative_source(times, 1.5, 2.0, transform="hvp", argnums=(0, 1)),
        ValueError,
        "hvp is by the first argument: leave out argnums",
    ),
    "another transform": (lambda: dr.derivative_source(square, 1.5, transform="x"), ValueError, "transform is one of"),
    "another stage": (lambda: dr.derivative_source(square, 1.5, stage="x"), ValueError, "stage is one of 'lowered'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused_with_its_reason(name):
    call, error, words = CALLS[name]
    with pytest.raises(error) as refused:
        call()
    assert words in str(refused.value)


def test_a_call_goes_on_after_an_error():
    with pytest.raises(TangentError):
        jvp_of_squares(V, V[:2])
    assert jvp_of_squares(V, V) == pytest.approx(2.0 * V @ V)


# Rules of the user's own


def with_jvp(rule):
    @dr.custom_jvp
    @njit
    def f(x):
        return x * x

    f.defjvp(njit(rule))

    @njit
    def g(x):
        return f(x) * x

    return g


def with_vjp(fwd, bwd):
    @dr.custom_vjp
    @njit
    def f(x):
        return x * x

    f.defvjp(njit(fwd), njit(bwd))

    @njit
    def g(x):
        return f(x) * x

    return g


def no_pair(p, t):
    return p[0] * p[0]


def a_text(p, t):
    return p[0] * p[0], "a"


def a_tuple(p, t):
    return p[0] * p[0], (t[0],)


def forward(x):
    return x * x, x


def forward_alone(x):
    return x * x


def backward(x, ct):
    return (2.0 * x * ct,)


def backward_alone(x, ct):
    return 2.0 * x * ct


def backward_twice(x, ct):
    return (2.0 * x * ct, 1.0)


def backward_text(x, ct):
    return ("a",)


RULES = {
    "a rule without a pair": (with_jvp(no_pair), "its rule does not return a pair (y, dy)"),
    "a text as a tangent": (with_jvp(a_text), "its rule returns a tangent of another type than the value"),
    "a tuple as a tangent": (with_jvp(a_tuple), "its rule returns a tangent of another type than the value"),
    "a fwd without a pair": (with_vjp(forward_alone, backward), "its fwd does not return a pair (y, residuals)"),
    "a bwd without a tuple": (with_vjp(forward, backward_alone), "its bwd does not return a tuple of 1"),
    "a bwd of two": (with_vjp(forward, backward_twice), "its bwd does not return a tuple of 1"),
    "a text as a cotangent": (with_vjp(forward, backward_text), "of its argument|of another type"),
}
MODES = {
    "grad": lambda f: dr.grad(f)(1.5),
    "jvp": lambda f: dr.jvp(f, (1.5,), (1.0,)),
    "hvp": lambda f: dr.hvp(f)(1.5, 1.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_does_not_fit_is_refused_in_every_mode(name, mode):
    f, words = RULES[name]
    with pytest.raises(UnsupportedError) as refused:
        MODES[mode](f)
    assert any(part in str(refused.value) for part in words.split("|"))
    assert "return f(x) * x" in str(refused.value)


def of_all(x, *rest):
    return x.sum() * len(rest)


@overload_method(types.Array, "times_the_others")
def _times_the_others(x, *rest):
    return of_all


@njit
def of_a_method(x):
    return x.times_the_others(1.0, 2.0)


def test_a_method_with_any_number_of_arguments_has_a_cure():
    with pytest.raises(UnsupportedError, match=r"has \*args.*Write a numba function of its arguments"):
        dr.grad(of_a_method)(V)
