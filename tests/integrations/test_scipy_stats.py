"""Distributions of one variable: SciPy's values, and the derivatives of differences."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import dualrev as dr
from dualrev.scipy import stats

#: The shapes of distributions whose densities, distribution functions and quantiles all have derivatives.
SHAPES = {
    **dict.fromkeys(
        ("anglit", "arcsine", "expon", "gumbel_l", "gumbel_r", "halfcauchy", "halflogistic", "halfnorm"), ()
    ),
    **dict.fromkeys(("cauchy", "gibrat", "hypsecant", "laplace", "levy", "logistic", "maxwell", "moyal", "norm"), ()),
    **dict.fromkeys(("rayleigh", "semicircular", "uniform", "wald"), ()),
    "alpha": (3.6,),
    "argus": (1.2,),
    "beta": (1.7, 2.2),
    "betaprime": (5.0, 6.0),
    "bradford": (0.3,),
    "burr": (10.5, 4.3),
    "burr12": (10.0, 4.0),
    "chi": (3.3,),
    "chi2": (3.3,),
    "exponnorm": (1.5,),
    "exponpow": (2.7,),
    "exponweib": (2.9, 1.95),
    "f": (3.0, 5.5),
    "fatiguelife": (0.7,),
    "fisk": (3.1,),
    "foldnorm": (1.95,),
    "gamma": (2.3,),
    "genexpon": (9.1, 16.2, 3.3),
    "genextreme": (-0.1,),
    "gengamma": (4.4, 3.1),
    "genlogistic": (0.4,),
    "genpareto": (0.1,),
    "gompertz": (0.95,),
    "halfgennorm": (0.7,),
    "invgamma": (4.1,),
    "invgauss": (0.8,),
    "invweibull": (10.6,),
    "johnsonsb": (4.3, 3.2),
    "johnsonsu": (2.6, 2.2),
    "kappa3": (1.0,),
    "loggamma": (0.4,),
    "loglaplace": (3.25,),
    "lognorm": (0.6,),
    "loguniform": (0.01, 1.25),
    "lomax": (2.9,),
    "mielke": (10.4, 4.6),
    "nakagami": (5.0,),
    "pareto": (2.5,),
    "powerlaw": (1.7,),
    "powerlognorm": (2.1, 0.4),
    "powernorm": (4.5,),
    "skewcauchy": (0.5,),
    "skewnorm": (1.3,),
    "t": (4.5,),
    "triang": (0.4,),
    "truncexpon": (4.7,),
    "truncnorm": (-1.1, 2.2),
    "truncpareto": (2.0, 5.3),
    "weibull_max": (2.9,),
    "weibull_min": (1.7,),
}
#: Those of which only some methods have.
SOME = {
    "rice": (0.8,),
    "vonmises": (3.9,),
    "genhyperbolic": (0.5, 1.5, -0.5),
    "nct": (14.0, 0.24),
    "norminvgauss": (1.25, 0.5),
}
ALWAYS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
#: Their ints have no derivative.
DISCRETE = {
    "poisson": (3.4,),
    "bernoulli": (0.3,),
    "binom": (7, 0.4),
    "nbinom": (2.5, 0.4),
    "geom": (0.3,),
    "betabinom": (7, 2.3, 0.63),
    "logser": (0.6,),
    "planck": (0.51,),
    "yulesimon": (11.0,),
}


def compare(mine, original, args, moving, order, needed):
    """The value is SciPy's, and the derivatives by some arguments those of differences."""

    def f(*given):
        return mine(*[given[moving.index(k)] if k in moving else x for k, x in enumerate(args)])

    points = tuple(args[k] for k in moving)
    try:
        value = dr.vjp(f, *points)[0]
    except dr.UnsupportedError as refusal:
        if needed or "scipy.stats." not in str(refusal) or " at " not in str(refusal):
            raise
        return
    np.testing.assert_array_equal(value, original(*args))
    if np.all(np.isfinite(value)):
        dr.check_grads(f, points, order=order, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*SHAPES, *SOME])
def test_a_distribution_has_scipys_values_and_the_derivatives_of_differences(name):
    """Every method by the variable and all parameters; log-densities and quantiles to order 2."""
    mine, original, shapes = getattr(stats, name), getattr(scipy.stats, name), {**SHAPES, **SOME}[name]
    x = 0.3 + 1.4 * np.asarray(original.ppf([0.23, 0.47, 0.83], *shapes))
    for method in set(mine._methods()) & vars(mine).keys():
        first = (np.array([0.2, 0.47, 0.8]),) if method in ("ppf", "isf") else (x,) if method in ALWAYS else ()
        args = (*first, *shapes, 0.3, 1.4)
        needed = name in SHAPES and method in ALWAYS
        order = 2 if method in ("logpdf", "ppf") and needed else 1
        compare(getattr(mine, method), getattr(original, method), args, list(range(len(args))), order, needed)


@pytest.mark.parametrize("name", DISCRETE)
def test_a_discrete_distribution(name):
    """By its real parameters: at whole numbers, between them, below the support and at its end."""
    mine, original, shapes = getattr(stats, name), getattr(scipy.stats, name), DISCRETE[name]
    k = np.array([-1.0, 1.0, 2.0, 3.0, 7.0])
    for method in mine._methods():
        first = (np.array([0.2, 0.47, 0.8]),) if method in ("ppf", "isf") else (k,) if method in ALWAYS else ()
        if method in ("cdf", "sf"):
            first = (np.array([-1.0, 0.5, 1.0, 2.5, 6.0]),)
        if method in ("logpmf", "logcdf", "logsf"):
            first = (k[1:2],)
            if not np.all(np.isfinite(getattr(original, method)(*first, *shapes))):
                continue
        args = (*first, *shapes)
        moving = [j for j, x in enumerate(args) if isinstance(x, float)]
        compare(getattr(mine, method), getattr(original, method), args, moving, 1, method != "entropy")


def test_numbers_and_frozen_distributions():
    """Numbers as arguments, by position and by name."""
    assert dr.grad(lambda p: stats.norm.ppf(p))(0.5) == pytest.approx(np.sqrt(2.0 * np.pi), rel=1e-14)
    assert dr.grad(lambda m: stats.norm(m, 2.0).ppf(0.3))(0.0) == 1.0
    assert dr.grad(lambda m: stats.norm(m, 2.0).logpdf(x=0.5))(0.0) == 0.125
    assert dr.grad(lambda m: stats.norm.cdf(x=0.5, loc=m))(0.5) == -1.0 / np.sqrt(2.0 * np.pi)
    assert dr.grad(lambda s: stats.norm(0.0, s).std())(2.0) == 1.0
    assert dr.grad(lambda s: stats.norm.isf(q=0.3, scale=s))(2.0) == pytest.approx(scipy.stats.norm.isf(0.3))
    for f, args in (
        (stats.gamma.ppf, (0.3, 2.5)),
        (stats.t.sf, (1.2, 4.5)),
        (lambda a: stats.gamma(a, scale=2.0).logcdf(3.0), (1.5,)),
        (lambda a: stats.beta(a, 2.0).entropy(), (1.5,)),
    ):
        dr.check(f, *args)
        dr.check_grads(f, args, order=2)


def test_a_frozen_distribution_with_plain_parameters_takes_traced_variables():
    """It is SciPy's object, with SciPy's values, and can be pickled."""
    normal, skewed = stats.norm(0.5, scale=2.0), stats.gamma(2.5, loc=-1.0)
    several = stats.multivariate_normal([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]], seed=1)
    for f, args in (
        (normal.logpdf, (0.3,)),
        (lambda x: normal.ppf(q=x), (0.3,)),
        (lambda x: normal.interval(x)[1], (0.3,)),
        (lambda x: skewed.cdf(x) + skewed.pdf(x), (np.array([0.3, 1.5]),)),
        (several.logpdf, (np.array([0.3, 0.4]),)),
    ):
        dr.check(f, *args)
        dr.check_grads(f, args, order=2)
    assert type(normal) is type(scipy.stats.norm(0.5))
    assert isinstance(stats.norm, scipy.stats.rv_continuous)
    assert isinstance(stats.binom, scipy.stats.rv_discrete)
    assert normal.logpdf(0.3) == scipy.stats.norm(0.5, 2.0).logpdf(0.3)
    assert (normal.mean(), normal.dist.name, normal.kwds) == (0.5, "norm", {"scale": 2.0})
    for x in (stats.norm, normal, several):
        assert pickle.loads(pickle.dumps(x)).logpdf([0.1, 0.2]) == pytest.approx(x.logpdf([0.1, 0.2]), rel=0)
    with pytest.raises(TypeError, match=r"dualrev\.scipy\.stats has no rule for rice\.cdf"):
        dr.grad(lambda x: stats.rice(1.0).cdf(x))(1.0)


def test_a_method_without_a_formula_is_refused():
    """By SciPy's function, or where its formula turns out to make plain arrays."""
    for f in (lambda x: stats.rice.cdf(x, 1.0), lambda x: scipy.stats.rice.cdf(x, 1.0)):
        with pytest.raises(TypeError, match=r"dualrev\.scipy\.stats has no rule for rice\.cdf"):
            dr.grad(f)(1.0)
    with pytest.raises(dr.UnsupportedError, match=r"scipy\.stats\.gompertz\.entropy of numbers .* at "):
        dr.grad(lambda c: stats.gompertz.entropy(c))(1.0)


def test_third_derivatives_of_quantiles():
    f = dr.grad(dr.grad(dr.grad(lambda p: stats.expon.ppf(p))))
    np.testing.assert_allclose(f(0.3), 2.0 / 0.7**3, rtol=1e-12)
    by_shape = dr.grad(dr.grad(dr.grad(lambda c: stats.weibull_min.ppf(0.3, c))))
    level, c = -np.log(0.7), 1.7  # level**(1 / c)
    exact = lambda c: level ** (1.0 / c)  # noqa: E731
    np.testing.assert_allclose(by_shape(c), dr.grad(dr.grad(dr.grad(exact)))(c), rtol=1e-10)


def test_the_ends_of_the_support():
    """Where a quantile is an end of the support, it moves as that does; -inf and 0 outside are constants."""
    q = np.array([0.0, 1.0])
    np.testing.assert_array_equal(dr.jacobian(lambda a: stats.truncnorm.ppf(q, a, 3.0))(-1.0), [1.0, 0.0])
    np.testing.assert_array_equal(dr.jacobian(lambda m: stats.expon.ppf(0.0, m))(1.0), 1.0)
    np.testing.assert_array_equal(dr.jacobian(lambda a: stats.gamma.ppf(q, a))(2.0), [0.0, 0.0])
    assert dr.grad(lambda x: stats.uniform.cdf(x))(3.0) == 0.0
    assert dr.grad(lambda x: stats.gamma.logpdf(x, 2.0))(-1.0) == 0.0
    assert dr.grad(lambda df: stats.t(df).var())(1.5) == 0.0  # infinite


def test_where_the_value_is_no_number_the_derivative_is_none():
    assert np.isnan(dr.grad(lambda s: stats.norm.ppf(0.3, 0.0, s))(-1.0))
    assert np.isnan(dr.grad(lambda a: stats.gamma.logpdf(1.0, a))(-1.0))
    slopes = dr.grad(lambda x: np.sum(stats.gamma.cdf(x, 2.0)))(np.array([np.nan, 1.0]))
    np.testing.assert_allclose(slopes, [np.nan, np.exp(-1.0)])


def test_far_out_in_the_tails():
    """Where distribution functions underflow, their logarithms have derivatives; near 1, quantiles have."""
    for method, x in (("logcdf", -50.0), ("logsf", 50.0)):
        slope = dr.grad(getattr(stats.norm, method))(x)
        assert slope == pytest.approx(-np.sign(x) * (50.0 + 1.0 / 50.0), rel=1e-5)
    assert dr.grad(stats.genextreme.logcdf)(-5.0, 0.0) == pytest.approx(np.exp(5.0))
    q = 1e-12
    np.testing.assert_allclose(
        dr.grad(stats.gamma.isf)(q, 2.0), -1.0 / scipy.stats.gamma.pdf(scipy.stats.gamma.isf(q, 2), 2)
    )
    near = [dr.grad(stats.genpareto.logpdf, argnums=1)(0.7, c) for c in (-1e-9, 0.0, 1e-9)]
    np.testing.assert_allclose(near, 0.7 * 0.7 / 2.0 - 0.7, rtol=1e-7)


def test_the_page_lists_what_is_there():
    page = Path(__file__).parents[2].joinpath("docs", "numpy.md").read_text(encoding="utf-8")
    text = page.partition("- `stats`:")[2].partition("\n\n")[0]
    functions, _, rest = text.partition("; and ")
    others = {name for name in stats.__all__ if not isinstance(getattr(stats, name), stats.Distribution)}
    assert re.findall(r"\w+", functions) == sorted(others - {"Distribution"})
    listed = rest.partition("distributions ")[2].partition(". ")[0]
    assert re.findall(r"\w+", listed) == sorted({*SHAPES, *DISCRETE} - {"betabinom"})
