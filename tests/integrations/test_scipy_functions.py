"""Functions of SciPy under differentiation: against mpmath, against SciPy's values, and against differences."""

import re
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from mpmath import mp

import dualrev as dr
from dualrev.eager.arrays.shape_derivatives import unknown
from dualrev.rules.scipy import UNKNOWN, lines
from dualrev.scipy import interpolate, linalg, ndimage, signal, special, stats
from dualrev.scipy.spatial import distance


def regularized(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


#: SciPy's functions in mpmath's words.
MPMATH = {
    "ndtr": normal,
    "log_ndtr": lambda x: mpmath.log(normal(x)),
    "ndtri": lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
    "erfinv": mpmath.erfinv,
    "erfcinv": lambda x: mpmath.erfinv(1 - x),
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "dawsn": lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
    "logit": lambda x: mpmath.log(x / (1 - x)),
    "log_expit": lambda x: -mpmath.log(1 + mpmath.exp(-x)),
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "cosm1": lambda x: mpmath.cos(x) - 1,
    "entr": lambda x: -x * mpmath.log(x),
    "xlogy": lambda a, b: a * mpmath.log(b),
    "xlog1py": lambda a, b: a * mpmath.log(1 + b),
    "rel_entr": lambda a, b: a * mpmath.log(a / b),
    "kl_div": lambda a, b: a * mpmath.log(a / b) - a + b,
    "boxcox": lambda a, b: (a**b - 1) / b,
    "loggamma": mpmath.loggamma,
    "gammasgn": lambda x: mpmath.sign(mpmath.gamma(x)),
    "rgamma": mpmath.rgamma,
    "beta": mpmath.beta,
    "betaln": lambda a, b: mpmath.log(mpmath.beta(a, b)),
    "binom": mpmath.binomial,
    "poch": mpmath.rf,
    "gammainc": regularized,
    "gammaincc": lambda a, x: 1 - regularized(a, x),
    "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "stdtr": lambda df, t: (
        (1 + mpmath.sign(t) * (1 - mpmath.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True))) / 2
    ),
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "y0": lambda x: mpmath.bessely(0, x),
    "y1": lambda x: mpmath.bessely(1, x),
    "k0": lambda x: mpmath.besselk(0, x),
    "k1": lambda x: mpmath.besselk(1, x),
    "k0e": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "k1e": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
    "jv": mpmath.besselj,
    "yv": mpmath.bessely,
    "iv": mpmath.besseli,
    "ive": lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-abs(x)),
    "kv": mpmath.besselk,
    "kve": lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x),
    "expi": mpmath.ei,
    "exp1": mpmath.e1,
    "spence": lambda x: mpmath.polylog(2, 1 - x),
    "ellipk": mpmath.ellipk,
    "ellipe": mpmath.ellipe,
    "yn": mpmath.bessely,
    "kn": mpmath.besselk,
    "hyp1f1": mpmath.hyp1f1,
    "hyp2f1": mpmath.hyp2f1,
}
SAMPLES = 4


#: By which argument, counted from 0: where psi has poles, and the functions none.
AT_POLES = [
    *(("rgamma", (x,), 0) for x in (0.0, -1.0, -5.0, -1.0 + 1e-9, 0.5, -1.5)),
    *(("poch", args, 0) for args in ((-2.0, 1.0), (-2.0, 3.0), (-3.0, -1.0), (0.0, 2.0), (-1.5, 2.0), (-4.4, 1.2))),
    *(("poch", args, 1) for args in ((-2.0, 3.0), (0.0, 2.0), (-1.5, 2.0), (2.0, -1.0))),
    *(("beta", args, 0) for args in ((-1.5, 0.5), (-2.0, 1.0), (-5.0, 3.0), (2.5, -3.5), (-2.5, 2.2))),
    *(("beta", args, 1) for args in ((0.5, -0.5), (1.0, -1.0), (-0.5, -0.5))),
    *(("binom", args, k) for args in ((5.0, 7.0), (5.0, -1.0), (5.0, 6.5), (-1.5, 2.0), (50.0, 52.0)) for k in (0, 1)),
]
BY_GAMMA = {
    "rgamma": mpmath.rgamma,
    "poch": lambda a, b: mpmath.gammaprod([a + b], [a]),
    "beta": lambda a, b: mpmath.gammaprod([a, b], [a + b]),
    "binom": lambda a, b: mpmath.gammaprod([a + 1], [b + 1, a - b + 1]),
}


@pytest.mark.parametrize(("name", "args", "k"), AT_POLES)
def test_the_family_of_gamma_where_psi_has_poles(name, args, k):
    f, g = getattr(scipy.special, name), BY_GAMMA[name]

    def there(steps):
        return g(*(mp.mpf(x) + (steps * mp.mpf("1e-12") if j == k else 0) for j, x in enumerate(args)))

    with mp.workdps(50):
        slope = float((there(1) - there(-1)) / mp.mpf("2e-12"))
        second = float((there(3) - there(1) - there(-1) + there(-3)) / mp.mpf("8e-24"))  # without the point itself
    partial = dr.grad(f, argnums=k)
    assert partial(*args) == pytest.approx(slope, rel=1e-10, abs=1e-10)
    assert dr.grad(partial, argnums=k)(*args) == pytest.approx(second, rel=1e-7, abs=1e-7)
    of_many = dr.grad(lambda *xs: np.sum(f(*xs)), argnums=k)(*(np.full(2, x) for x in args))
    np.testing.assert_allclose(of_many, slope, rtol=1e-10, atol=1e-10)


def test_where_the_family_of_gamma_jumps_there_is_no_derivative():
    """By an argument that is whole, where the value at all others near it is another one."""
    for name, args, k in (("poch", (-2.0, 1.0), 1), ("beta", (1.0, -1.0), 0), ("beta", (-2.0, 1.0), 1)):
        assert np.isnan(dr.grad(getattr(scipy.special, name), argnums=k)(*args))


@pytest.mark.parametrize("name", lines())
def test_a_special_function_has_the_derivatives_of_mpmath(name):
    """The value, and every derivative of order 1 and 2 that there is, by an array and by a number."""
    f, exact, line = getattr(scipy.special, name), MPMATH[name], lines()[name]
    rng = np.random.default_rng(4)
    xs = [rng.uniform(low, high, SAMPLES) for low, high in line.domain]
    ones = [np.ones(SAMPLES)] * len(xs)
    for k in range(len(xs)):
        if k in unknown(name):
            with pytest.raises(
                dr.UnsupportedError, match=rf"scipy\.special\.{name} by its (first|second|third) argument.* at "
            ):
                dr.grad(lambda x, k=k: np.sum(f(*xs[:k], x, *xs[k + 1 :])))(xs[k])
            continue

        def slope(x, k=k):
            return dr.vjp(lambda x: f(*xs[:k], x, *xs[k + 1 :]), x)[1](ones[k])[0]

        found = slope(xs[k])
        second = dr.jvp(slope, (xs[k],), (ones[k],))[1]
        number = dr.grad(lambda x, k=k: f(*[x if j == k else float(u[0]) for j, u in enumerate(xs)]))(float(xs[k][0]))
        # a sum over nodes is in another order for an array
        assert number == pytest.approx(found[0], rel=4e-15 if k in UNKNOWN[name] else 0.0, abs=0.0)
        with mp.workdps(30):
            points = [tuple(mpmath.mpf(float(x[i])) for x in xs) for i in range(SAMPLES)]
            orders = [tuple(order if j == k else 0 for j in range(len(xs))) for order in (1, 2)]
            first, of_second = ([float(mpmath.diff(exact, p, n)) for p in points] for n in orders)
            values = [float(mpmath.re(exact(*p))) for p in points]
        np.testing.assert_allclose(f(*xs), values, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found, first, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(second, of_second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "point", "expected"),
    [
        (special.i1, 0.0, 0.5),
        (special.j1, 0.0, 0.5),
        (special.spence, 1.0, -1.0),
        (special.ellipk, 0.0, np.pi / 8),
        (special.ellipe, 0.0, -np.pi / 8),
        (lambda x: special.xlogy(0.0, x), 0.0, 0.0),
        (special.log_ndtr, -1e10, 1e10),
        (special.log_ndtr, 50.0, 0.0),
        (dr.grad(special.log_ndtr), 50.0, 0.0),
        (special.log_expit, 1000.0, 0.0),
        (dr.grad(special.erfcx), 100.0, 1.1280407802288335e-06),
    ],
)
def test_special_functions_at_edges(f, point, expected):
    np.testing.assert_allclose(dr.grad(f)(point), expected, rtol=1e-12)


@pytest.mark.parametrize("away", [0.0, 1e-12, 1e-6, 1e-3, 0.09, 0.3])
@pytest.mark.parametrize(
    ("f", "exact", "at"),
    [
        (special.i1, lambda x: mpmath.besseli(1, x), 0.0),
        (special.j1, lambda x: mpmath.besselj(1, x), 0.0),
        (special.spence, lambda x: mpmath.polylog(2, 1 - x), 1.0),
        (special.ellipk, mpmath.ellipk, 0.0),
        (special.ellipe, mpmath.ellipe, 0.0),
        (lambda x: special.boxcox(2.5, x), lambda x: mpmath.expm1(x * mpmath.log(2.5)) / x if x else None, 0.0),
    ],
    ids=["i1", "j1", "spence", "ellipk", "ellipe", "boxcox"],
)
def test_all_derivatives_where_a_quotient_is_zero_over_zero(f, exact, at, away):
    """At the point, and so near to it that a quotient has no digits left."""
    x = at + away
    with mp.workdps(40):
        # of Taylor's series by points on a circle: there is none at the point itself
        expected = [float(mpmath.re(c * mpmath.factorial(n))) for n, c in enumerate(around(exact, x))]
    g = f
    for n in (1, 2, 3):
        g = dr.grad(g)
        np.testing.assert_allclose(g(x), expected[n], rtol=1e-8, atol=1e-11)


def around(f, x, order=3, radius=0.2, points=48):
    """Taylor's coefficients of f at x, by Cauchy's integral."""
    roots = [mpmath.expjpi(mpmath.mpf(2) * k / points) for k in range(points)]
    values = [f(mpmath.mpf(x) + radius * z) for z in roots]
    return [
        mpmath.fsum(v * z**-n for v, z in zip(values, roots, strict=True)) / points / radius**n
        for n in range(order + 1)
    ]


@pytest.mark.parametrize(
    ("f", "point", "expected"),
    [
        (lambda p: special.xlogy(p[0], p[1]), [0.0, 2.0], [[0.0, 0.5], [0.5, 0.0]]),
        (lambda p: special.xlog1py(p[0], p[1]), [0.0, 1.0], [[0.0, 0.5], [0.5, 0.0]]),
        (
            lambda p: stats.gamma.logpdf(2.0, p[0], scale=p[1]),
            [1.0, 1.5],
            [[-(np.pi**2) / 6, -1 / 1.5], [-1 / 1.5, -20 / 27]],
        ),
        (lambda p: special.betaln(p[0], p[1]), [1.0, 1.0], [[1.0, 1 - np.pi**2 / 6], [1 - np.pi**2 / 6, 1.0]]),
    ],
    ids=["xlogy", "xlog1py", "gamma", "betaln"],
)
def test_second_derivatives_where_a_first_one_is_zero(f, point, expected):
    for second in (dr.hessian, lambda f: dr.jacrev(dr.jacrev(f)), lambda f: dr.jacfwd(dr.jacfwd(f))):
        np.testing.assert_allclose(second(f)(np.array(point)), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("x", [np.array([0.7, 1.5, 20.0]), np.array([-0.5, 2.0, -3.3])], ids=["positive", "any"])
def test_the_gamma_family_is_as_by_elements(x):
    """Derivatives of the gamma family are equal for whole arrays and element by element."""
    for f in (special.gammaln, special.psi, lambda x: special.polygamma(1, x)):
        g = dr.vjp(f, x)[1](np.ones(3))[0]
        np.testing.assert_allclose(g, [dr.grad(f)(float(u)) for u in x], rtol=1e-11)
        np.testing.assert_allclose(
            np.diag(dr.jacobian(dr.jacobian(f))(x)[:, :, 0])[0], dr.grad(dr.grad(f))(float(x[0]))
        )


RNG = np.random.default_rng(1)
A, B, V = RNG.normal(size=(3, 3)) + 4.0 * np.eye(3), RNG.normal(size=(3, 2)), RNG.normal(size=3)
S = A @ A.T
P = np.abs(V) + 0.5

CASES = {
    "solve_triangular, lower": (lambda a, b: linalg.solve_triangular(a, b, lower=True), (A, B)),
    "solve_triangular, transposed": (lambda a, b: linalg.solve_triangular(a, b, trans=1, unit_diagonal=True), (A, V)),
    "cho_solve, upper": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), (S, B)),
    "cho_solve, lower": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a, lower=True), b), (S, V)),
    "cholesky": (linalg.cholesky, (S,)),
    "sqrtm": (linalg.sqrtm, (S,)),
    "expm": (linalg.expm, (A / 4.0,)),
    "expm of several": (linalg.expm, (np.stack([A, S / 4.0]) / 4.0,)),
    "solve_sylvester": (linalg.solve_sylvester, (A, S, A)),
    "solve_continuous_lyapunov": (linalg.solve_continuous_lyapunov, (A, S)),
    "solve": (linalg.solve, (A, B)),
    "solve, symmetric": (lambda a, b: linalg.solve(a, b, assume_a="pos", lower=True), (S, V)),
    "inv": (linalg.inv, (A,)),
    "det": (linalg.det, (A,)),
    "toeplitz": (linalg.toeplitz, (V,)),
    "toeplitz, a row": (linalg.toeplitz, (V, V[:2])),
    "circulant": (linalg.circulant, (V,)),
    "block_diag": (linalg.block_diag, (A, V, B)),
    "eigh": (lambda a: linalg.eigh(a)[0], (S,)),
    "eigh, generalized": (lambda a, b: linalg.eigh(a, b, lower=False)[0], (S, A.T @ A)),
    "eigvalsh": (linalg.eigvalsh, (S,)),
    "pinv": (linalg.pinv, (B,)),
    "norm": (linalg.norm, (B,)),
    "svdvals": (linalg.svdvals, (B,)),
    "qr": (lambda a: linalg.qr(a, mode="economic"), (B,)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (B, V)),
    "logsumexp": (special.logsumexp, (A,)),
    "logsumexp, weights": (lambda a, b: special.logsumexp(a, 1, b, keepdims=True), (A, np.abs(A))),
    "logsumexp, signs": (lambda a, b: special.logsumexp(a, 0, b, return_sign=True)[0], (A, B[:, :1] * np.ones(3))),
    "softmax": (lambda a: special.softmax(a, axis=0), (A,)),
    "log_softmax": (lambda a: special.log_softmax(a, axis=-1), (1e3 * A,)),
    "polygamma": (lambda x: special.polygamma(2, x), (P,)),
    "polygamma, orders": (lambda x: special.polygamma([0, 1, 2], x), (P,)),
    "multigammaln": (lambda a: special.multigammaln(a, 3), (4.2,)),
    "zeta": (lambda q: special.zeta(3, q), (P,)),
    "softmax of complex numbers": (lambda x: special.softmax(x + 1j * x[::-1]), (V,)),
    "log_softmax of complex numbers": (lambda x: special.log_softmax(x + 1j * x[::-1], 0), (V,)),
    "entropy": (lambda m, c: stats.multivariate_normal(m, c).entropy(), (np.zeros(2), S[:2, :2])),
    "not singular": (lambda c: stats.multivariate_normal.logpdf(V, None, c, allow_singular=True), (S,)),
    "multivariate_normal": (stats.multivariate_normal.logpdf, (np.ones((3, 2)), np.zeros(2), S[:2, :2])),
    "dirichlet": (lambda x, a: stats.dirichlet.logpdf(x[:2] / np.sum(x), a), (P, P + 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_scipys_and_the_derivatives_are_those_of_differences(name):
    """`check` compares with the function on plain numbers, which is SciPy's."""
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=2, atol=1e-5 if name == "log_softmax" else None)


def test_a_singular_covariance():
    """Along the line or plane of the points that are possible; a covariance that may leave it is refused."""
    for rank in (1, 2):
        directions = B[:, :rank]

        def logpdf(z, mean, directions=directions):
            cov = directions @ directions.T
            return stats.multivariate_normal(directions @ mean, cov, allow_singular=True).logpdf(directions @ z)

        dr.check(logpdf, V[:rank], P[:rank])
        dr.check_grads(logpdf, (V[:rank], P[:rank]))
    cov = np.diag([2.0, 0.0])
    value, g = dr.value_and_grad(lambda x: stats.multivariate_normal.pdf(x, None, cov, True))(np.array([0.5, 0.1]))
    assert value == 0.0
    assert not g.any()
    with pytest.raises(ValueError, match="positive semidefinite"):
        dr.grad(lambda x: stats.multivariate_normal.logpdf(x, None, -cov, True))(np.ones(2))
    with pytest.raises(dr.UnsupportedError, match=r"singular covariance that is being.* at .*in coordinates"):
        dr.grad(lambda c: stats.multivariate_normal.logpdf(np.ones(2), None, c, allow_singular=True))(np.ones((2, 2)))


BAND = RNG.normal(size=(4, 5)) + np.array([0.0, 5.0, 0.0, 0.0])[:, None]


@pytest.mark.parametrize("factor", [1.0, 1.0 - 0.5j], ids=["real", "complex"])
@pytest.mark.parametrize("right", [BAND[0], BAND[:3].T], ids=["vector", "matrix"])
def test_systems_with_a_few_diagonals(factor, right):
    def solved(ab, b):
        return linalg.solve_banded((2, 1), factor * ab, b)

    dr.check(solved, BAND, right)
    dr.check_grads(solved, (BAND, right))
    dr.check_grads(lambda ab: solved(ab, right), (BAND,))
    twice = dr.jacrev(dr.jacrev(lambda ab: np.sum(np.abs(solved(ab, right)) ** 2)))(BAND)
    np.testing.assert_allclose(
        twice, dr.jacfwd(dr.jacfwd(lambda ab: np.sum(np.abs(solved(ab, right)) ** 2)))(BAND), atol=1e-12
    )


def test_the_corners_of_a_band_are_not_read():
    ab = BAND.copy()
    ab[0, 0] = ab[2, -1] = np.nan
    g = dr.grad(lambda ab: np.sum(linalg.solve_banded((2, 1), ab, BAND[0], check_finite=False)))(ab)
    assert g[0, 0] == g[2, -1] == g[3, -1] == 0.0
    np.testing.assert_array_equal(g, dr.grad(lambda ab: np.sum(linalg.solve_banded((2, 1), ab, BAND[0])))(BAND))
    with pytest.raises(dr.UnsupportedError, match="of several matrices"):
        dr.grad(lambda ab: np.sum(linalg.solve_banded((1, 1), ab, np.ones((2, 3)))))(np.ones((2, 3, 3)))


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
@pytest.mark.parametrize("shapes", [((5,), (3,)), ((2,), (5,)), ((3, 4), (2, 3)), ((2, 4), (3, 3))], ids=str)
def test_convolutions(name, shapes):
    a, b = RNG.normal(size=shapes[0]), RNG.normal(size=shapes[1])
    for mode in ("full", "same", "valid"):
        f = lambda a, b, mode=mode: getattr(signal, name)(a, b, mode)  # noqa: E731
        if shapes == ((2, 4), (3, 3)) and mode == "valid":
            with pytest.raises(ValueError, match="at least as large"):
                dr.jacobian(f)(a, b)
            continue
        dr.check(f, a, b)
        dr.check_grads(f, (a, b))
        dr.check(lambda a, b, f=f: f(a - 2j * a, b + 1j * b), a, b)
        dr.check_grads(lambda a, b, f=f: f(a - 2j * a, b + 1j * b), (a, b), order=1)


def test_convolutions_of_numbers_and_what_is_refused():
    assert dr.grad(lambda x: signal.convolve(x, x))(3.0) == 6.0
    with pytest.raises(ValueError, match="same dimensionality"):
        dr.grad(lambda x: signal.convolve(x, np.ones((2, 2))))(np.ones(3))
    with pytest.raises(dr.UnsupportedError, match="fftconvolve along some axes"):
        dr.grad(lambda x: signal.fftconvolve(x, x, axes=0))(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("distribution", "constants", "p"),
    [("poisson", (), 2.3), ("binom", (3,), 0.3), ("bernoulli", (), 0.3), ("nbinom", (2.0,), 0.3), ("geom", (), 0.3)],
)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_distribution_functions_of_counts(distribution, constants, p, method):
    """Below, inside, between two counts, and at the end of the support."""
    k = np.array([-1.0, 0.0, 1.0, 2.5, 3.0])
    of_scipy = getattr(getattr(scipy.stats, distribution), method)
    value, slope = dr.jvp(lambda p: getattr(getattr(stats, distribution), method)(k, *constants, p), (p,), (1.0,))
    np.testing.assert_allclose(value, of_scipy(k, *constants, p), rtol=1e-12)
    inside = np.isfinite(value)
    h = 1e-6
    expected = (of_scipy(k, *constants, p + h)[inside] - of_scipy(k, *constants, p - h)[inside]) / (2.0 * h)
    np.testing.assert_allclose(slope, np.where(inside, np.insert(expected, 0, 0.0)[np.cumsum(inside)], 0.0), atol=1e-8)


def test_what_is_no_number_under_differentiation_is_scipys():
    assert linalg.expm is not scipy.linalg.expm
    assert linalg.hilbert is scipy.linalg.hilbert
    assert special.gammaln is scipy.special.gammaln
    assert stats.norm.ppf(0.5) == 0.0
    assert type(stats.norm(0.0, 1.0)) is type(scipy.stats.norm(0.0, 1.0))
    assert "solve_banded" in dir(linalg)
    assert {"norm", "rankdata"} < set(dir(stats))
    assert type(linalg.inv(dr.numpy.eye(2))) is np.ndarray


def test_distributions_with_parameters_that_are_none():
    def density(scale):
        return stats.norm.logpdf(np.array([1.0, 2.0]), 0.0, scale)

    assert np.isnan(dr.vjp(density, -1.0)[0]).all()
    slope = dr.grad(lambda x: stats.expon.logpdf(x, 0.0, 1.0))
    assert slope(-1.0) == 0.0  # -inf, a constant
    with pytest.raises(TypeError, match="gamma has no value for its parameter a"):
        dr.grad(stats.gamma.logpdf)(1.0)
    with pytest.raises(TypeError, match="norm takes the parameters loc, scale"):
        dr.grad(lambda x: stats.norm.logpdf(x, mean=1.0))(1.0)
    assert dr.grad(lambda m: np.sum(stats.norm(m, 2.0).logpdf([1.0, 2.0])))(0.0) == 0.75
    assert dr.grad(lambda m: stats.multivariate_normal(m, np.eye(2)).logpdf(np.ones(2)))(np.zeros(2)).tolist() == [1, 1]
    assert dr.grad(dr.grad(lambda s: stats.norm.logpdf(1.0, scale=s)))(1.0) == -2.0


def test_the_page_lists_what_is_there():
    page = Path(__file__).parents[2].joinpath("docs", "numpy.md").read_text(encoding="utf-8")
    for module in (special, linalg, signal, ndimage, interpolate, distance):
        name = re.escape(module.__name__.removeprefix("dualrev.scipy."))
        line = re.search(rf"- `{name}`: ((?:`\w+`[,\s]*)+)", page)[1]
        assert re.findall(r"\w+", line) == sorted({*module.__all__} - {*getattr(module, "REFUSED", ())})


def test_second_derivatives_where_one_argument_is_a_constant_number():
    """The partial derivatives call psi of a constant, which was a TypeError: it came as an array of no axes."""
    a, b = np.array([0.8, 1.7]), 1.7
    trigamma = lambda x: scipy.special.polygamma(1, x)  # noqa: E731
    by_first = trigamma(a[0]) - trigamma(a[0] + b)
    hessian = dr.hessian(lambda a: scipy.special.betaln(a[0], b))(a)
    np.testing.assert_allclose(hessian, [[by_first, 0.0], [0.0, 0.0]], rtol=1e-12)
    mixed = dr.hessian(lambda a: scipy.special.betaln(a[0], a[1]))(a)[0, 1]
    np.testing.assert_allclose(mixed, -trigamma(a[0] + b), rtol=1e-12)


def test_the_gamma_family_of_a_few_numbers_is_no_loop(monkeypatch):
    """Derivatives of the gamma family for arrays are SciPy's functions, without a Python loop over elements."""

    def looked_at(*args):
        raise AssertionError("a loop over elements")

    monkeypatch.setattr(np, "frompyfunc", looked_at)
    x = np.array([[0.5, 2.0, 30.0, 1e-3]])
    np.testing.assert_allclose(dr.grad(lambda x: np.sum(special.gammaln(x)))(x), scipy.special.psi(x), rtol=1e-14)
    second = dr.jvp(dr.grad(lambda x: np.sum(special.gammaln(x))), (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(second, scipy.special.polygamma(1, x), rtol=1e-14)
