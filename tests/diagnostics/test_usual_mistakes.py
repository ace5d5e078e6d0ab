"""What people write by mistake, and the whole first line that they read."""

import re

import numba
import numpy as np
import pytest

import dualrev as dr


def total(x):
    return x.sum()


@numba.njit
def square(x):
    return x * x


CONSTANTS = (
    "Floats, numpy floating scalars and the elements of floating arrays are differentiated; ints, bools, strings, None"
    " and objects of unregistered classes are constants."
)

MISTAKES = {
    "grad of f and x": (
        lambda: dr.grad(total, np.ones(3)),
        "argnums must be an int or a tuple of ints, got an array; did you mean dr.grad(f)(x)?",
    ),
    "grad of f and a number": (
        lambda: dr.value_and_grad(total, 2.0),
        "argnums must be an int or a tuple of ints, got 2.0; did you mean dr.value_and_grad(f)(x)?",
    ),
    "hessian of a numba function and x": (
        lambda: dr.hessian(square, [1.0, 2.0]),
        "argnums must be an int or a tuple of ints, got [1.0, 2.0]; did you mean dr.hessian(f)(x)?",
    ),
    "jacobian of a numba function and x": (
        lambda: dr.jacobian(square, np.ones(2)),
        "argnums must be an int or a tuple of ints, got an array; did you mean dr.jacobian(f)(x)?",
    ),
    "argnums by name": (
        lambda: dr.grad(total, "x"),
        "argnums must be an int or a tuple of ints, got 'x'",
    ),
    "argnums that count too far": (
        lambda: dr.grad(lambda x, y: x * y, 2)(1.0, 2.0),
        "argnums must be an int or distinct ints in 0..1, got 2. They count the positional arguments of the call;"
        " what is passed by keyword is not differentiated.",
    ),
    "jit": (
        lambda: dr.jit,
        "module 'dualrev' has no attribute 'jit'. In its place: put @numba.njit above f:"
        " then dr.grad(f) is compiled, too",
    ),
    "tree_map": (
        lambda: dr.tree_map,
        "module 'dualrev' has no attribute 'tree_map'. In its place: dr.tree.map",
    ),
    "a slip": (
        lambda: dr.value_and_gard,
        "module 'dualrev' has no attribute 'value_and_gard'. Did you mean 'value_and_grad'?",
    ),
    "a name of nothing": (
        lambda: dr.qqqq,
        "module 'dualrev' has no attribute 'qqqq'",
    ),
    "an int": (
        lambda: dr.grad(lambda x: x * x)(2),
        "there is nothing to differentiate with respect to: the arguments (types: int) hold no real scalar."
        f" Write 2.0 where you wrote 2, or register the class with dualrev.register_node. {CONSTANTS}",
    ),
    "an array of ints": (
        lambda: dr.grad(total)(np.arange(3)),
        "there is nothing to differentiate with respect to: the arguments (types: ndarray) hold no real scalar."
        " Write 2.0 where you wrote 2, x.astype(float) for an array of ints, or register the class with"
        f" dualrev.register_node. {CONSTANTS}",
    ),
    "an array for a number": (
        lambda: dr.grad(lambda x: 2.0 * x)(np.ones(3)),
        "grad needs a scalar-valued function, but the function returned an array of shape (3,)."
        " Return one number, such as the sum; or use dualrev.jacobian,"
        " or dualrev.vjp with a cotangent of the value's structure.",
    ),
}


@pytest.mark.parametrize(("mistake", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_what_to_write(mistake, text):
    with pytest.raises((dr.DualrevError, AttributeError)) as caught:
        mistake()
    assert str(caught.value) == text


def test_what_other_libraries_have_is_not_here():
    """The answers are for names that the library does not have, and what they name is there."""
    for name, instead in dr._ELSEWHERE.items():
        assert name not in dr.__all__
        named = re.match(r"dr\.(\w+)", instead)
        assert named is None or hasattr(dr, named[1])


def test_a_draw_says_how_to_write_it():
    """The parameters of a distribution are plain numbers in numpy: what is drawn is scaled afterwards."""
    rng = np.random.default_rng(0)

    def drawn(s):
        return rng.normal(0.0, s)

    with pytest.raises(dr.ConversionError) as caught:
        dr.grad(drawn)(1.0)
    assert "draw z, and compute with it, as in `z = rng.normal()` and `mean + s * z`." in str(caught.value)
    assert "math" not in str(caught.value)
