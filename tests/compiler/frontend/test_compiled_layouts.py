"""Pullbacks inside of numba functions run their function again, with copies of the arguments: their layout is kept."""

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def flags(x):
    return (x * x).sum() if x.flags.c_contiguous else x.sum()


@njit
def strides(x):
    return (x * x).sum() if x.strides[0] == 8 else x.sum()


@njit
def in_a_loop(x):
    s = flags(x)
    for k in range(2):
        f = x.flags
        s += (x * x).sum() if f.f_contiguous else k * x.sum()
    return s


@njit
def contiguous(x):
    y = np.ascontiguousarray(x)
    y[0] = 2.0
    return (x * x).sum()


@njit
def ravelled(x):
    y = np.ravel(x.T)
    y[0] = 2.0
    return (x * x).sum()


def differences(f, x):
    """Central differences: each element changes in its own memory."""
    found = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        values = []
        for h in (1e-6, -1e-6):
            memory = x.base if x.base is not None else x
            kept = memory.copy()
            x[k] += h
            values.append(f(x))
            memory[...] = kept
        found[k] = (values[0] - values[1]) / 2e-6
    return found


def records():
    """A field of packed records: its strides are no multiple of its element's size."""
    made = np.zeros(4, dtype=[("n", np.int32), ("a", np.float64)])
    made["a"] = [1.0, 2.0, 3.0, 4.0]
    return made["a"]


LAYOUTS = {
    "Fortran": lambda: np.asfortranarray(np.arange(4.0).reshape(2, 2) + 1.0),
    "steps of a vector": lambda: (np.arange(8.0) + 1.0)[::2],
    "a field": records,
}


PAIRS = [  # what each of them asks of memory, where a contiguous copy gives another answer
    (strides, "a field"),
    (in_a_loop, "Fortran"),
    (contiguous, "Fortran"),
    (ravelled, "steps of a vector"),
]


@pytest.mark.parametrize(("f", "layout"), PAIRS, ids=lambda x: getattr(x, "__name__", x))
def test_a_pullback_runs_the_function_with_the_same_layout(f, layout):
    @njit
    def pulled(x):
        value, pull = dr.vjp(f, x)
        return value, pull(1.0)[0]

    made = LAYOUTS[layout]
    value, gradient = pulled(made())
    assert value == f(made())
    assert gradient == pytest.approx(differences(f, made()), rel=1e-7, abs=1e-7)


def test_the_derivative_of_a_pullback_is_refused_where_the_layout_decides():
    @njit
    def pulled(x):
        _, pull = dr.vjp(flags, x)
        return pull(1.0)[0][1]

    x = LAYOUTS["steps of a vector"]()
    assert list(dr.grad(pulled)(x.copy())) == [0.0, 2.0, 0.0, 0.0]
    with pytest.raises(UnsupportedError, match=r"the vjp of .*flags.*looks at the layout .*Write np.ascontiguousarray"):
        dr.grad(pulled)(x)


def test_tangents_of_a_field_have_its_strides():
    x = records()
    t = np.array([1.0, 2.0, 3.0, 4.0])
    y, dy = dr.jvp(contiguous, (x,), (t,))
    assert (y, dy) == (30.0, 60.0)
