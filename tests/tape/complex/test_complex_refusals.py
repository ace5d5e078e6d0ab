"""Refusals of differentiated complex numbers: the message has the function, the user's line, and what to write."""

import numpy as np
import pytest
import scipy.special

import dualrev as dr
from dualrev import numpy as dnp

X = np.array([0.4, -0.7, 1.3])


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            lambda x: np.sum(np.sort(x * 1j)).imag,
            r"test_complex_refusals\.py.*numpy.sort of complex numbers|numpy.sort.*",
        ),
        (lambda x: np.maximum(x * 1j, x).imag[0], "numpy.maximum of complex numbers"),
        (lambda x: np.sum(np.cbrt(x + 1j).real), "numpy.cbrt of complex"),
        (lambda x: scipy.special.gamma(x[0] + 1j).real, "scipy.special.gamma of complex"),
        (lambda x: np.zeros(3).__iadd__(x * 1j)[0], "plain"),
        (lambda x: np.zeros(3, complex).__iadd__(x * 1j)[0].real, "storing"),
        (lambda x: x.__setitem__(0, x[1] * 1j) or x[0], "complex number among real ones.*dtype=complex"),
        (lambda x: x.__setitem__(0, 1j) or x[0], "complex number among real ones"),
        (lambda x: np.multiply.at(x * 1j, [0, 0], 2.0) or x[0], r"multiply\.at"),
        (lambda x: np.sum(np.var(x * 1j, where=x > 0)), "numpy.var with where of complex"),
        (lambda x: np.sum(np.std(x * 1j, correction=1)), "numpy.std with correction of complex"),
        (lambda x: np.prod(x * 1j, initial=2.0).real, "numpy.prod with initial of complex"),
        (lambda x: np.gradient(x, 1j * x[0])[0].real, "numpy.gradient with the argument 1 of complex"),
        (lambda x: complex(x[0] * 1j).real, "complex"),
        (lambda x: __import__("cmath").exp(x[0] * 1j).real, "complex"),
        (lambda x: np.einsum(x * 1j, [0], [0])[0].real, "subscripts"),
        (lambda x: np.asarray(x * 1j)[0].real, "plain array"),
        (lambda x: np.sum(x * 1j, dtype=float), "dtype"),
        (lambda x: np.exp(x * 1j, dtype=np.float64)[0], "dtype"),
        (lambda x: dnp.array(x * 1j, dtype=float)[0], "dtype"),
        (lambda x: (x * 1j).astype(float)[0], "astype"),
    ],
)
def test_what_is_refused(f, words):
    """Never numpy's warning that the imaginary part is discarded."""
    with pytest.raises(TypeError, match=words):
        dr.grad(f)(X)


def test_what_has_no_gradient():
    with pytest.raises(dr.ScalarError, match=r"complex.*z\.real"):
        dr.grad(lambda x: x * 1j)(2.0)


@pytest.mark.parametrize(
    "store",
    [
        lambda z, x: z.__iadd__(x),
        lambda z, x: np.copyto(z, 1j * x),
        lambda z, x: np.exp(1j * x, out=z),
        lambda z, x: z.fill(1j * x[0]),
        lambda z, x: np.array([1j * x[0]], dtype=complex),
    ],
)
def test_arrays_of_plain_complex_numbers_take_none(store):
    with pytest.raises(dr.ConversionError, match=r"(?s)test_complex_refusals\.py:\d+: `.*dualrev\.numpy\."):
        dr.grad(lambda x: store(np.zeros(3, complex), x))(X)


def test_an_assignment_to_a_plain_complex_array_names_what_makes_a_better_one():
    def element(x):
        z = np.zeros(2, complex)
        z[0] = x[0]
        return z[0].real

    def product(x):
        z = np.zeros(2, complex)
        z[1] += 1j * x[0]
        return z[0].real

    def part(x):
        z = np.zeros(3, complex)
        z.real = x
        return z[0].real

    lines = {element: "z[0] = x[0]", product: "z[1] += 1j * x[0]", part: "z.real = x"}
    for f, line in lines.items():
        with pytest.raises(dr.ConversionError, match=r"(?s)storing.*Write `z = dnp\.array\(z\)` below") as caught:
            dr.grad(f)(X)
        assert "np.zeros(n, complex)" in caught.value.more
        assert f"`{line}`" in str(caught.value)
