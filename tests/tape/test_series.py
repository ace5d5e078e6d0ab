"""numpy's polynomials: np.roots, np.polydiv, and the series of numpy.polynomial by coefficients and points."""

import numpy as np
import pytest

import dualrev as dr
from dualrev import numpy as dnp

C = np.array([1.5, -2.0, 3.0, 0.7])
COLUMNS = np.linspace(-1.0, 1.2, 12).reshape(3, 4)
X = np.array([0.3, 0.5, -0.2, 0.1])

ROOTS = {
    "complex": C,
    "real": np.array([1.0, -6.0, 11.0, -6.1]),
    "a leading zero": np.array([0.0, 1.0, 2.0, -3.0, 0.4]),
    "a root that is zero": np.array([1.0, 2.0, -3.0, 0.0]),
    "linear": np.array([2.0, 1.0]),
    "a constant": np.array([3.0]),
}


def moments(r):
    return np.sum(np.real(r) ** 2) + np.sum(np.imag(r) ** 4) + np.sum(np.cos(np.real(r)))


@pytest.mark.parametrize("name", ROOTS)
def test_roots(name):
    p = ROOTS[name]
    free = slice(1, None) if name == "a leading zero" else slice(None)  # as many roots at all points around

    def f(q):
        return moments(np.roots(np.concatenate([p[: free.start or 0], q])))

    found = dr.vjp(np.roots, p)[0]
    assert np.asarray(found).dtype == np.roots(p).dtype
    np.testing.assert_array_equal(found, np.roots(p))
    dr.check_grads(f, (p[free],), order=2)


def test_roots_of_complex_coefficients():
    def f(p):
        return moments(np.roots(p + 1j * p[::-1]))

    dr.check_grads(f, (C,), order=2)
    with pytest.raises(ValueError, match="rank-1"):
        dr.grad(lambda p: np.roots(p * np.ones((2, 4)))[0])(C)


def test_polydiv_and_constants_of_integration():
    dr.check_grads(lambda u: [y * y for y in np.polydiv(u, u[:2] + 1.0)], (C,), order=2)
    dr.check_grads(lambda v: [y * y for y in np.polydiv(C, v)], (C[1:],), order=2)
    dr.check_grads(lambda v: [y * y for y in np.polydiv(C, v)], (C[:2],), order=2)
    dr.check_grads(lambda u: np.polyint(u, 2, k=u[:2]) ** 2, (C,), order=2)
    dr.check_grads(lambda u: np.polyint(C, 2, k=u), (0.5,), order=2)
    for got, expected in zip(dr.vjp(lambda u: np.polydiv(u, C[1:]), C)[0], np.polydiv(C, C[1:]), strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="k must be"):
        dr.grad(lambda u: np.polyint(u, 3, k=[1.0, 2.0])[0])(C)


SERIES = {"chebyshev": "cheb", "legendre": "leg", "polynomial": "poly", "hermite": "herm", "hermite_e": "herme"}
SERIES |= {"laguerre": "lag"}
#: Functions of a module of numpy.polynomial, with the prefix of its names, of c or x.
OF_C = {
    "val": lambda f, c: f("val")(X, c),
    "val of columns": lambda f, c: f("val")(X[:2], c.reshape(2, 2)),
    "val without a table": lambda f, c: f("val")(X[:2], c.reshape(2, 2), tensor=False),
    "val at a number": lambda f, c: f("val")(0.3, c),
    "val2d": lambda f, c: f("val2d")(X, X * X, c.reshape(2, 2)),
    "both": lambda f, c: f("val")(c * 0.1, c),
    "der": lambda f, c: f("der")(c, 2),
    "int": lambda f, c: f("int")(c, 1, k=[0.5]),
    "mul": lambda f, c: f("mul")(c, c[:2]),
    "add": lambda f, c: f("add")(c, c[:2]),
    "vander": lambda f, c: f("vander")(c * 0.1, 3),
    "points": lambda f, c: f("val")(c * 0.1, C),
    "points and columns": lambda f, c: f("val")(c * 0.1, COLUMNS),
    "traced constants of integration": lambda f, c: f("int")([1.0, 2.0], 2, k=[c[0], 0.5], lbnd=c[1]),
    "a traced number and a constant": lambda f, c: f("val2d")(0.3, c[0], COLUMNS),
    "div by a traced series": lambda f, c: f("div")([0.3, 0.2, 0.1], c[:2])[0],
    "weight": lambda f, c: f("weight")(0.2 * c),
}


@pytest.mark.parametrize("module", SERIES)
@pytest.mark.parametrize("name", OF_C)
def test_series(module, name):
    if (module, name) == ("polynomial", "weight"):
        pytest.skip("the powers are not orthogonal")

    def of(package, c):
        functions = getattr(package.polynomial, module)
        return OF_C[name](lambda ending: getattr(functions, SERIES[module] + ending), c)

    expected, found = of(np, C), dr.vjp(lambda c: of(dnp, c), C)[0]
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.asarray(of(dnp, C)), expected)  # of plain numbers
    dr.check_grads(lambda c: np.sin(of(dnp, c)), (C,), order=2)


@pytest.mark.parametrize("module", ["chebyshev", "polynomial"])
def test_long_products_have_the_values_of_numpy(module):
    """numpy adds the terms of a product of floats in another order than those of objects."""
    long, short = np.random.default_rng(0).normal(size=40), np.random.default_rng(1).normal(size=23)
    mul = SERIES[module] + "mul"
    found = dr.jvp(lambda c: getattr(getattr(dnp.polynomial, module), mul)(c, short), (long,), (long,))
    expected = getattr(getattr(np.polynomial, module), mul)(long, short)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_allclose(found[1], expected, rtol=1e-12)  # it is linear


def test_numpys_own_functions_name_those_of_dualrev():
    value = np.polynomial.chebyshev.chebval
    for f in (lambda c: value(X, c), lambda c: value(c, COLUMNS)):
        with pytest.raises((dr.ConversionError, dr.UnsupportedError)) as found:
            dr.jacobian(f)(C)
        assert "`from dualrev import numpy as np`, and call it as np.polynomial.chebyshev.chebval" in str(found.value)
    with pytest.raises(
        dr.ConversionError, match=r"np\.polynomial\.legendre\.legval\(x, c\) for the series Legendre\(c\)"
    ):
        dr.grad(lambda c: np.polynomial.Legendre(c)(0.3))(C)
    with pytest.raises(dr.ConversionError, match=r"polyval\(x, c\) for the series Polynomial\(c\) at x"):
        dr.grad(lambda x: np.polynomial.Polynomial(C)(x)[0])(X)


def test_fits_and_roots_of_series_name_what_to_write():
    with pytest.raises(
        dr.UnsupportedError, match=r"Write it without, np\.polyval\(c, x\) for np\.poly1d\(c\)\(x\), or np\.roots"
    ):
        dr.grad(lambda c: np.poly1d(c)(0.5))(C)
    cheb = dnp.polynomial.chebyshev
    with pytest.raises(dr.UnsupportedError, match=r"np\.linalg\.lstsq\(v, y, rcond=None\)\[0\], where v is the matrix"):
        dr.jacobian(lambda y: cheb.chebfit(X, y, 2))(C)
    with pytest.raises(
        dr.UnsupportedError, match=r"np\.roots\(p\[::-1\]\), where p has the coefficients of the powers"
    ):
        dr.jacobian(cheb.chebroots)(C)
    fit = dr.vjp(lambda y: np.linalg.lstsq(cheb.chebvander(X, 2), y, rcond=None)[0], C)[0]
    np.testing.assert_allclose(fit, np.polynomial.chebyshev.chebfit(X, C, 2), rtol=1e-10)
    roots = np.sort_complex(dr.vjp(lambda c: np.roots(cheb.cheb2poly(c)[::-1]), C)[0])
    np.testing.assert_allclose(roots, np.sort_complex(np.polynomial.chebyshev.chebroots(C)), rtol=1e-10)


def test_functions_of_python_in_numpy_name_vectorize():
    def f(a, b):
        return a * a if a > b else a * b

    with pytest.raises(dr.UnsupportedError, match=r"numpy\.frompyfunc .* Write dualrev\.numpy\.vectorize\(f\) for it"):
        dr.jacobian(lambda x: np.frompyfunc(f, 2, 1)(x, 0.2))(X)
    dr.check_grads(lambda x: dnp.vectorize(f)(x, 0.2), (X,), order=2)
    dr.check_grads(lambda x: dnp.vectorize(f, otypes=[float])(x, 0.2), (X,), order=2)
    dr.check_grads(lambda x: dnp.vectorize(f, otypes="d")(x, 0.2), (X,), order=1)
