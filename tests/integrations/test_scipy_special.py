"""Special functions that only the tape differentiates, and shape parameters: against mpmath and differences."""

import warnings

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from mpmath import mp

import dualrev as dr
from dualrev.eager.arrays.shape_derivatives import unknown
from dualrev.errors import UnsupportedError
from dualrev.rules.scipy_tape import COMPOSED, MORE, OUTPUTS
from dualrev.scipy import special

SHAPES = np.array([0.01, 0.3, 1.0, 7.5, 100.0, 3000.0])
QUANTILES = np.array([1e-6, 0.1, 0.6, 0.99])


def by_differences(f, args, orders):
    """A derivative of order 1 or 2 by differences of 50 digits, with steps relative to the arguments."""
    args = [mp.mpf(float(x)) for x in args]
    steps = [x * mp.mpf("1e-12") for x, n in zip(args, orders, strict=True) for _ in range(n)]
    places = [k for k, n in enumerate(orders) for _ in range(n)]

    def at(*signs):
        moved = list(args)
        for k, h, sign in zip(places, steps, signs, strict=True):
            moved[k] += sign * h / 2
        return f(*moved)

    if len(places) == 1:
        return float((at(1) - at(-1)) / steps[0])
    return float((at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / steps[0] / steps[1])


def derivative(f, args, orders):
    """The derivative of a ufunc for arrays: each order one more jvp."""
    for k in [k for k, n in enumerate(orders) for _ in range(n)]:
        f = slope(f, k)
    return f(*args)


def slope(f, k):
    def by_one(*xs):
        return dr.jvp(lambda x: f(*xs[:k], x, *xs[k + 1 :]), (xs[k],), (np.ones_like(xs[k]),))[1]

    return by_one


def regularized(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def regularized_beta(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize(("orders", "rtol"), [((1, 0), 1e-11), ((2, 0), 1e-9), ((1, 1), 1e-10)], ids=str)
def test_gammainc_by_its_shape(orders, rtol):
    """Small and large shapes, from one tail to the other."""
    a, p = (u.ravel() for u in np.meshgrid(SHAPES, QUANTILES))
    x = sp.gammaincinv(a, p)
    a, x = a[x > 1e-280], x[x > 1e-280]
    with mp.workdps(50):
        expected = [by_differences(regularized, u, orders) for u in zip(a, x, strict=True)]
    np.testing.assert_allclose(derivative(sp.gammainc, (a, x), orders), expected, rtol=rtol)
    np.testing.assert_allclose(-derivative(sp.gammaincc, (a, x), orders), expected, rtol=rtol)


@pytest.mark.parametrize("orders", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 0, 0), (0, 2, 0)], ids=str)
def test_betainc_by_its_shapes(orders):
    a, b, p = (u.ravel() for u in np.meshgrid(SHAPES[1:], SHAPES[:-1], QUANTILES[1:]))
    x = sp.betaincinv(a, b, p)
    inside = (x > 1e-280) & (x < 1.0)
    a, b, x = a[inside], b[inside], x[inside]
    with mp.workdps(50):
        expected = [by_differences(regularized_beta, u, orders) for u in zip(a, b, x, strict=True)]
    # second derivatives change their signs: their errors are relative to the terms
    np.testing.assert_allclose(
        derivative(sp.betainc, (a, b, x), orders), expected, rtol=1e-8 if sum(orders) > 1 else 1e-9
    )


@pytest.mark.parametrize("orders", [(1, 0), (2, 0)], ids=str)
def test_stdtr_by_its_degrees_of_freedom(orders):
    """From the middle, where the derivative is 0, to the tails; of few and of many degrees."""
    df = np.array([0.01, 0.1, 5.0, 5.0, 5.0, 29.0, 31.0, 100.0, 1e3, 2e4, 3.0])
    t = np.array([0.04, 3.0, 1e-6, -1.1, -60.0, 1.0, 1.0, 1.4, 1.0, 1e-3, 1.6])
    exact = lambda v, t: 1 - regularized_beta(v / 2, mp.mpf("0.5"), v / (v + t * t)) / 2  # noqa: E731
    with mp.workdps(50):
        expected = [np.sign(u) * by_differences(exact, (v, abs(u)), orders) for v, u in zip(df, t, strict=True)]
    np.testing.assert_allclose(derivative(sp.stdtr, (df, t), orders), expected, rtol=1e-9)


@pytest.mark.parametrize("orders", [(1, 0), (2, 0), (1, 1)], ids=str)
@pytest.mark.parametrize(
    ("f", "exact"),
    [(sp.ive, lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x)), (sp.iv, mpmath.besseli), (sp.kv, mpmath.besselk)],
    ids=["ive", "iv", "kv"],
)
def test_bessel_functions_by_their_orders(f, exact, orders):
    """Below and above 0, by the series and by the integral."""
    v, x = (u.ravel() for u in np.meshgrid([-2.5, -0.3, 1e-3, 0.5, 2.7, 10.0, 35.0], [0.1, 1.0, 29.0, 31.0, 300.0]))
    with mp.workdps(60):
        expected = [by_differences(exact, u, orders) for u in zip(v, x, strict=True)]
    np.testing.assert_allclose(derivative(f, (v, x), orders), expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["gammainc", "betainc", "stdtr", "ive", "kve"])
def test_third_derivatives_by_a_shape(name):
    exact = {
        "gammainc": regularized,
        "betainc": regularized_beta,
        "stdtr": lambda df, t: 1 - regularized_beta(df / 2, mp.mpf("0.5"), df / (df + t * t)) / 2,
        "ive": lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x),
        "kve": lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x),
    }[name]
    args = (1.7, 2.2, 0.4) if name == "betainc" else (1.7, 1.2)
    with mp.workdps(40):
        expected = float(mpmath.diff(lambda a: exact(a, *map(mp.mpf, args[1:])), args[0], 3))
    f = dr.grad(dr.grad(dr.grad(getattr(sp, name))))
    np.testing.assert_allclose(f(*args), expected, rtol=1e-9)


def test_shapes_at_the_ends():
    """No NaN where the distribution function is constant, nor for many elements at once."""
    by_a = dr.grad(lambda a, x: np.sum(sp.gammainc(a, x)))
    np.testing.assert_array_equal(by_a(np.full(2, 1.5), np.array([0.0, np.inf])), [0.0, 0.0])
    by_b = dr.grad(lambda b, x: np.sum(sp.betainc(2.0, b, x)))
    np.testing.assert_array_equal(by_b(np.full(2, 1.5), np.array([0.0, 1.0])), [0.0, 0.0])
    np.testing.assert_array_equal(dr.grad(lambda v: np.sum(sp.stdtr(v, [0.0, np.inf, -np.inf])))(2.0), 0.0)
    assert np.isnan(dr.grad(sp.gammainc)(1.5, -1.0))
    assert dr.grad(sp.kv)(0.0, 2.0) == 0.0
    a = np.linspace(0.5, 3.0, 20_000)
    np.testing.assert_allclose(by_a(a, a)[:3], by_a(a[:3], a[:3]), rtol=1e-14)


@pytest.mark.parametrize("name", MORE)
def test_a_function_that_only_the_tape_has(name):
    f, (domain, _) = getattr(sp, name, None), MORE[name]
    if f is None:
        pytest.skip("this SciPy has no such function")
    rng = np.random.default_rng(0)
    kind = int if name.startswith("eval_hermite") else float
    xs = [np.full(3, kind(low)) if low == high else rng.uniform(low, high, 3) for low, high in domain]
    moving = [k for k in range(len(xs)) if k not in unknown(name)]

    def of_moving(*given):
        return f(*[given[moving.index(k)] if k in moving else x for k, x in enumerate(xs)])

    points = tuple(xs[k] for k in moving)
    np.testing.assert_array_equal(dr.vjp(of_moving, *points)[0], f(*xs))
    dr.check_grads(of_moving, points, order=2)
    for k in unknown(name):
        with pytest.raises(dr.UnsupportedError, match=rf"scipy\.special\.{name} by its .* argument"):
            dr.grad(lambda x, k=k: np.sum(f(*xs[:k], x, *xs[k + 1 :])))(np.ones(3))


AT = {
    "bdtr": (2, 7, 0.3),
    "boxcox1p": (0.3, 0.4),
    "chdtr": (2.3, 1.2),
    "chdtri": (2.3, 0.4),
    "fdtr": (2.3, 4.0, 1.2),
    "fdtri": (2.3, 4.0, 0.2),
    "gdtr": (0.5, 2.0, 1.3),
    "huber": (0.5, 1.2),
    "inv_boxcox1p": (0.3, 0.4),
    "nbdtr": (2, 3, 0.3),
    "pdtr": (2, 1.3),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_function_that_is_a_formula_has_scipys_value(name):
    f, args = getattr(sp, name), AT[name if name in AT else name.removesuffix("c")]
    counts = [k for k, x in enumerate(args) if isinstance(x, int)]
    moving = [k for k in range(len(args)) if k not in counts]

    def of_moving(*given):
        return f(*[given[moving.index(k)] if k in moving else x for k, x in enumerate(args)])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for points in (tuple(args[k] for k in moving), tuple(np.full(2, args[k]) for k in moving)):
            np.testing.assert_array_equal(dr.vjp(of_moving, *points)[0], of_moving(*points))
            dr.check_grads(of_moving, points, order=2)


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_function_of_several_results(name):
    f, x = getattr(sp, name), np.array([0.4, 1.7, 3.1])
    for found, expected in zip(dr.vjp(f, x)[0], f(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    dr.check_grads(f, (x,), order=2)
    dr.check_grads(f, (0.7,), order=2)
    constants = dr.vjp(lambda x: f(dr.numpy.array([0.5, 1.0]))[0] + x, x[:2])[0]
    np.testing.assert_array_equal(constants, f(np.array([0.5, 1.0]))[0] + x[:2])


CASES = {
    "zeta": (lambda q: special.zeta(2.5, q), (np.array([0.4, 1.7]),)),
    "comb": (lambda n, k: special.comb(n, k), (np.array([5.3, 4.0]), np.array([2.2, 1.5]))),
    "comb, repetition": (lambda n: special.comb(n, 2, repetition=True), (5.3,)),
    "perm": (lambda n, k: special.perm(n, k), (np.array([5.3, 4.0]), np.array([2.2, 1.5]))),
    "factorial": (lambda n: special.factorial(n), (np.array([0.5, 3.2]),)),
    "lambertw": (lambda z: special.lambertw(z).real, (np.array([-0.2, 0.3, 5.0]),)),
    "lambertw, a branch": (lambda z: special.lambertw(z, -1).real, (np.array([-0.2, -0.3]),)),
    "lambertw of complex": (
        lambda x, y: special.lambertw(x + 1j * y, 1),
        (np.array([-0.2, 3.0]), np.array([1.0, 0.5])),
    ),
    **{
        f"{name}, order {n}{', derivative' if derivative else ''}": (
            lambda z, name=name, n=n, derivative=derivative: getattr(special, name)(n, z, derivative),
            (np.array([0.7, 3.0]),),
        )
        for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
        for n, derivative in ((0, False), (3, False), (2, True))
    },
    "spherical_jn, several orders": (lambda z: special.spherical_jn(np.arange(4)[:, None], z), (np.array([0.7, 3.0]),)),
    "spherical_jn at 0": (lambda z: special.spherical_jn(1, z), (0.0,)),
    "hankel1": (lambda z: special.hankel1(1.5, z) * (1.0 + 1j), (np.array([0.7, 3.0]),)),
    "hankel2 of complex": (
        lambda x, y: special.hankel2([0, 2], x + 1j * y),
        (np.array([0.7, 3.0]), np.array([0.1, 0.2])),
    ),
    "lambertw of a number": (lambda z: special.lambertw(z).real, (0.3,)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_that_is_no_ufunc(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=2)


def test_the_order_of_a_spherical_function_is_a_constant():
    with pytest.raises(UnsupportedError, match=r"spherical_jn by its order .* Write dr\.value\(n\)"):
        dr.grad(lambda n: special.spherical_jn(n, 1.0))(1.0)


def test_counts_outside_of_their_range_are_constants():
    n, k = np.array([5.0, 5.0, -1.0]), np.array([-1.0, 6.0, 0.0])
    for f in (special.comb, special.perm):
        assert not dr.grad(lambda n, f=f: np.sum(f(n, k)))(n).any()
    assert dr.grad(lambda n: special.factorial(n))(-1.5) == 0.0
