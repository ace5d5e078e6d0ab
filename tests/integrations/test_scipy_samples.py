"""Samples, kernel densities and multivariate distributions: SciPy's values, and the derivatives of differences."""

import numpy as np
import pytest
import scipy.stats

import dualrev as dr
from dualrev.scipy import stats

RNG = np.random.default_rng(2)
X, Y, M = RNG.normal(size=7), RNG.normal(size=7), RNG.normal(size=(6, 3))
P, Q, W = RNG.uniform(0.5, 2.0, size=(5, 2)), RNG.uniform(0.5, 2.0, size=(5, 2)), RNG.uniform(0.5, 2.0, size=5)
COVARIANCE = np.array([[2.0, 0.3], [0.3, 1.0]])

CASES = {
    "zscore": (lambda x: stats.zscore(x, axis=1, ddof=1), (M,)),
    "zscore, all": (lambda x: stats.zscore(x, axis=None), (M,)),
    "zmap": (stats.zmap, (X, Y)),
    "gzscore": (stats.gzscore, (P,)),
    "skew": (stats.skew, (M,)),
    "skew without bias": (lambda x: stats.skew(x, axis=None, bias=False), (M,)),
    "kurtosis": (lambda x: stats.kurtosis(x, axis=1, fisher=False), (M,)),
    "kurtosis without bias": (lambda x: stats.kurtosis(x, bias=False), (X,)),
    "moment": (lambda x: stats.moment(x, 3, axis=1), (M,)),
    "moments": (lambda x: stats.moment(x, [1, 2, 3]), (X,)),
    "sem": (stats.sem, (M,)),
    "gmean": (lambda x, w: stats.gmean(x, weights=w[:, None] + 0.0 * x), (P, W)),
    "hmean": (lambda x: stats.hmean(x, axis=None), (P,)),
    "pmean": (lambda x, p: stats.pmean(x, p), (P, 2.5)),
    "pmean, the exponent 0": (lambda x: stats.pmean(x, 0), (P,)),
    "variation": (lambda x: stats.variation(x, ddof=1), (P,)),
    "trim_mean": (lambda x: stats.trim_mean(x, 0.2), (M,)),
    "iqr": (lambda x: stats.iqr(x, axis=0, rng=(20, 70)), (M,)),
    "iqr, normal": (lambda x: stats.iqr(x, scale="normal"), (X,)),
    "median_abs_deviation": (lambda x: stats.median_abs_deviation(x, scale="normal"), (X,)),
    "entropy": (lambda p: stats.entropy(p, base=2.0), (P,)),
    "relative entropy": (lambda p, q: stats.entropy(p, q, axis=1), (P, Q)),
    "boxcox_llf": (stats.boxcox_llf, (0.4, P[:, 0])),
    "pearsonr": (lambda x, y: tuple(stats.pearsonr(x, y)), (X, Y)),
    "linregress": (lambda x, y: (*(line := stats.linregress(x, y)), line.intercept_stderr), (X, Y)),
    "kernels": (lambda x, p: stats.gaussian_kde(x)(p), (X, Y[:3])),
    "kernels in a plane": (
        lambda x, w, h, p: stats.gaussian_kde(x, h, w).logpdf(p),
        (M[:, :2].T, W[[0, 1, 2, 3, 4, 0]], 0.6, M[:2, :2].T + 0.2),
    ),
    "kernels, silverman": (lambda x, p: stats.gaussian_kde(x, "silverman").pdf(p), (M[:, :2].T, M[0, 1:])),
    "kernels of constants": (lambda p: stats.gaussian_kde(X).evaluate(p), (Y[:3],)),
    "multivariate_t": (stats.multivariate_t.logpdf, (M[:, :2], np.array([0.2, 0.1]), COVARIANCE, 3.5)),
    "multivariate_t, frozen": (lambda m, d: stats.multivariate_t(m, COVARIANCE, d).pdf(M[0, :2]), (np.zeros(2), 3.5)),
    "multivariate_normal": (stats.multivariate_normal.pdf, (M[:, :2], np.array([0.2, 0.1]), COVARIANCE)),
    "dirichlet": (lambda x, a: stats.dirichlet.pdf(x[:2] / np.sum(x), a), (W[:3], W[:3] + 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statistic(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=2)


def test_values_are_scipys_to_the_last_bit():
    for name, args in (("skew", (M,)), ("zscore", (X,)), ("entropy", (P,))):
        np.testing.assert_array_equal(dr.vjp(getattr(stats, name), *args)[0], getattr(scipy.stats, name)(*args))
    of_scipy = scipy.stats.multivariate_normal.logpdf(M, None, np.eye(3))
    np.testing.assert_array_equal(
        dr.vjp(lambda x: stats.multivariate_normal.logpdf(x, None, np.eye(3)), M)[0], of_scipy
    )


def test_results_have_names_and_frozen_distributions_their_methods():
    assert dr.grad(lambda x: stats.linregress(x, Y).slope)(X).shape == (7,)
    assert dr.grad(lambda x: stats.pearsonr(x, Y).statistic)(X) @ X == pytest.approx(0.0, abs=1e-12)
    draw = lambda m: np.sum(stats.norm(m, 2.0).rvs(size=3, random_state=1))  # noqa: E731
    assert dr.grad(draw)(0.5) == 3.0
    np.testing.assert_allclose(
        dr.jacobian(lambda s: stats.norm(0.0, s).interval(0.9))(2.0), scipy.stats.norm.interval(0.9)
    )


def test_what_is_refused():
    with pytest.raises(dr.UnsupportedError, match=r"skew with nan_policy='omit'.* at .*isnan"):
        dr.grad(lambda x: stats.skew(x, nan_policy="omit"))(np.array([1.0, np.nan, 2.0]))
    with pytest.raises(dr.UnsupportedError, match=r"support of a frozen distribution"):
        dr.grad(lambda a: stats.gamma(a).support()[0])(2.0)
    with pytest.raises(dr.UnsupportedError, match=r"linregress with alternative"):
        dr.grad(lambda x: stats.linregress(x, Y, alternative="less").pvalue)(X)
