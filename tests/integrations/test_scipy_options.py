"""dualrev.scipy with unusual options: SciPy's values, and differentiated by every float that a function takes."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.special
import scipy.stats

import dualrev as dr
from dualrev.scipy import integrate, interpolate, linalg, ndimage, signal, sparse, special, stats
from dualrev.scipy.spatial import distance

RNG = np.random.default_rng(11)
X, LINE, W = RNG.normal(size=(4, 5)), RNG.normal(size=24), RNG.normal(size=(3, 2))
P = np.abs(X) + 0.3
OUTSIDE = np.array([[-3.2, 1.2, -0.3], [0.2, 2.3, 1.4]])
TURN = np.array([[1.1, 0.2], [0.3, 0.9]])
VOLUME, LONG = RNG.normal(size=(3, 4, 3)), RNG.normal(size=4)
SQUARE, KNOTS = RNG.normal(size=(3, 3)), np.linspace(-1.5, 5.5, 11) + 0.1 * np.sin(np.arange(11.0))
POINTS, SAMPLES = np.array([-0.4, 0.3, 2.7, 4.6]), RNG.normal(size=11)
STACK = RNG.normal(size=(2, 3, 3))
FLAT = np.full((5, 4), 0.3)
CONSTANT, GRID = {"mode": "constant"}, {"mode": "grid-constant"}

CASES = {
    "ndimage: cval of a filter": (lambda x, c: ndimage.correlate(x, W, cval=c, **CONSTANT), (X, 0.7)),
    "ndimage: cval along an axis": (lambda c: ndimage.convolve1d(X, [1.0, 2.0, 3.0], cval=c, **CONSTANT), (0.7,)),
    "ndimage: cval of a mean": (lambda c: ndimage.uniform_filter(X, 3, cval=c, **CONSTANT), (0.7,)),
    "ndimage: cval of a Gaussian": (lambda x, c, s: ndimage.gaussian_filter(x, s, cval=c, **CONSTANT), (X, 0.7, 0.9)),
    "ndimage: cval outside": (lambda c: ndimage.map_coordinates(X, OUTSIDE, order=1, cval=c, **CONSTANT), (0.7,)),
    "ndimage: cval of a spline": (lambda c: ndimage.map_coordinates(X, OUTSIDE, cval=c, **GRID), (0.7,)),
    "ndimage: cval of a shift": (lambda x, c: ndimage.shift(x, 0.4, order=1, cval=c), (X, 0.7)),
    "ndimage: cval of a rotation": (lambda c: ndimage.rotate(X, 20.0, order=1, cval=c), (0.7,)),
    "ndimage: cval of a map": (lambda c: ndimage.affine_transform(X, TURN, order=1, cval=c), (0.7,)),
    "ndimage: modes of a Laplacian": (
        lambda x, s: ndimage.gaussian_laplace(x, (s, 0.6), mode=("wrap", "constant"), cval=0.4),
        (X, 0.9),
    ),
    "ndimage: modes of a gradient": (
        lambda x: ndimage.gaussian_gradient_magnitude(x, 0.9, mode=("nearest", "mirror")),
        (X,),
    ),
    "ndimage: axes of weights": (lambda x, w: ndimage.correlate(x, w, axes=(2, 0), origin=(0, -1)), (VOLUME, W)),
    "ndimage: all axes of weights": (lambda x, w: ndimage.convolve(x, w, axes=(1, 0), origin=(1, 0)), (X, W)),
    "ndimage: a mean of one element": (lambda x: ndimage.uniform_filter(x, [1, 0], origin=(1, 0)), (X,)),
    "ndimage: a rotation, continued": (lambda x, a: ndimage.rotate(x, a, mode="nearest"), (X, 20.0)),
    "ndimage: a rotation of planes": (lambda x, a: ndimage.rotate(x, a, axes=(0, 2), **GRID), (VOLUME, 20.0)),
    "ndimage: coefficients of planes": (lambda x: ndimage.rotate(x, 20.0, axes=(2, 1), prefilter=False), (VOLUME,)),
    "ndimage: coefficients, continued": (
        lambda x, at: ndimage.map_coordinates(x, at, mode="nearest", prefilter=False),
        (X, OUTSIDE),
    ),
    "ndimage: derivatives of a constant": (lambda x: ndimage.gaussian_filter(x, 0.9, order=(1, 0)), (FLAT,)),
    "signal: derivatives of a constant": (lambda x: signal.savgol_filter(x, 5, 2, deriv=1), (FLAT.ravel(),)),
    "signal: trends of short parts": (lambda x: signal.detrend(x, bp=[2, 4]), (LINE[:6],)),
    "signal: boundary that is not read": (lambda x, w: signal.correlate2d(w, x, "valid", "wrap"), (X, W)),
    "signal: the same signal twice": (lambda x: signal.csd(x, x, nperseg=8), (LINE,)),
    "signal: fillvalue": (lambda x, c: signal.convolve2d(x, W, "same", fillvalue=c), (X, 0.7)),
    "signal: fillvalue 0": (lambda c: signal.correlate2d(X, W, fillvalue=c), (0.0,)),
    "signal: delta": (lambda x, d: signal.savgol_filter(x, 5, 3, deriv=2, delta=d), (LINE, 0.5)),
    "signal: delta and cval": (
        lambda d, c: signal.savgol_filter(LINE, 5, 2, deriv=1, delta=d, mode="constant", cval=c),
        (0.5, 0.3),
    ),
    "signal: fs": (lambda x, f: signal.welch(x, fs=f, nperseg=8), (LINE, 3.0)),
    "signal: fs and window": (lambda f, w: signal.periodogram(LINE, f, w), (3.0, np.hanning(24) + 0.1)),
    "signal: window": (lambda w: signal.csd(LINE, LINE[::-1], 2.0, w, scaling="spectrum")[1].imag, (np.hanning(8),)),
    "signal: an array as window": (lambda x: signal.periodogram(x, window=np.hanning(24)), (LINE,)),
    "stats: axis of boxcox_llf": (lambda a, x: stats.boxcox_llf(a, x, axis=1, keepdims=True), (0.7, P)),
    "stats: keepdims of trim_mean": (lambda x: stats.trim_mean(x, 0.25, axis=1, keepdims=True), (X,)),
    "stats: keepdims of trim_mean of all": (lambda x: stats.trim_mean(x, 0.25, axis=None, keepdims=True), (X,)),
    "stats: keepdims of entropy": (lambda p, q: stats.entropy(p, q, axis=1, keepdims=True), (P, P[::-1])),
    "stats: keepdims of deviations": (lambda x: stats.median_abs_deviation(x, axis=1, keepdims=True), (X,)),
    "stats: axes of trim_mean": (lambda x: stats.trim_mean(x, 0.3, axis=(0, -1), keepdims=True), (VOLUME,)),
    "stats: entropies of many": (lambda p, q: stats.entropy(p, q, axis=1), (P[0], P[::-1])),
    "stats: first moment": (lambda x: stats.moment(x, axis=1), (X,)),
    "stats: skewness of a symmetric sample": (lambda x: stats.skew(x), (np.array([0.1, 0.2, 0.3, 0.4]),)),
    "stats: line of two points": (lambda x, y: tuple(stats.linregress(x, y))[:3], (np.array([0.3, 0.9]), LINE[:2])),
    "stats: defaults by name": (lambda x: tuple(stats.pearsonr(x, P[0], alternative="two-sided")), (X[0],)),
    "stats: a covariance object": (
        lambda x: stats.multivariate_normal.logpdf(x, [0, 1], scipy.stats.Covariance.from_diagonal([1.0, 2.0])),
        (X[:, :2],),
    ),
    "stats: another bandwidth": (
        lambda x: (kde := stats.gaussian_kde(LINE), kde.set_bandwidth(0.7), kde.logpdf(x))[-1],
        (POINTS,),
    ),
    "stats: pdf of a formula for logpdf": (lambda x, n, c: stats.ncx2.pdf(x, n, c), (P[0], 3.2, 1.1)),
    "special: orders beside arguments": (lambda x: special.polygamma([[0], [2]], x), (P[0],)),
    "special: no orders": (lambda x: special.polygamma([], x), (0.4,)),
    "special: branches": (lambda z: special.lambertw(z, [0, 0]).real, (0.3,)),
    "linalg: positional options": (lambda a, b: linalg.lstsq(a, b, None, False, False)[:2], (X.T, X[0])),
    "linalg: residual of one system": (lambda a, b: linalg.lstsq(a, b)[1], (X.T, X[0])),
    "linalg: a driver": (lambda a, b: linalg.lstsq(a, b, lapack_driver="gelsy")[:2], (X.T, X[0])),
    "linalg: rcond": (lambda a, b: linalg.lstsq(a, b, 0.6)[0], (X.T, X[0])),
    "linalg: rcond of a driver": (lambda a, b: linalg.lstsq(a, b, 0.6, lapack_driver="gelsy")[0], (X.T, X[0])),
    "linalg: rtol": (lambda a: linalg.pinv(a, rtol=0.6), (X,)),
    "linalg: options without effect": (lambda a: linalg.svdvals(a, overwrite_a=True, check_finite=False), (X,)),
    "linalg: all rows of r": (lambda a: np.abs(linalg.qr(a, mode="r")[0]), (W,)),
    "linalg: a wide matrix": (lambda a: [np.abs(u) for u in linalg.qr(a)], (W.T,)),
    "linalg: expm of a number": (lambda a: linalg.expm(a), (0.3,)),
    "linalg: sqrtm by name": (lambda a: linalg.sqrtm(A=a @ a.T + np.eye(3)), (SQUARE,)),
    "linalg: rows of toeplitz": (lambda c, r: linalg.toeplitz(c, r), (X, W[0])),
    "linalg: a stack of systems": (lambda a, b: linalg.solve(a, b, transposed=True), (STACK, W)),
    "linalg: a stack of symmetric systems": (
        lambda a, b: linalg.solve(a + 4.0 * np.eye(3), b, assume_a="sym"),
        (STACK, W),
    ),
    "linalg: a stack of pinvh": (lambda a: linalg.pinvh(a + 4.0 * np.eye(3)), (STACK,)),
    "linalg: a stack of qr": (lambda a: np.abs(linalg.qr(a, mode="economic")[1]), (STACK,)),
    "linalg: a stack of block_diag": (lambda a, b: linalg.block_diag(a, b), (STACK, W)),
    "linalg: a stack of circulant": (lambda c: linalg.circulant(c), (X,)),
    "linalg: a stack of companion": (lambda a: linalg.companion(a), (P,)),
    "sparse: entries of a dense matrix": (
        lambda a: sparse.csr_array(a * (np.abs(a) > 0.1)) @ np.arange(3.0),
        (SQUARE,),
    ),
    "interpolate: pchip of 3": (lambda y: interpolate.PchipInterpolator([0.0, 1.0, 3.0], y)([0.4, 2.0]), (W[:, 0],)),
    "interpolate: splder": (lambda t, c: interpolate.splder((t, c, 3))[:2], (KNOTS, SAMPLES)),
    "interpolate: splantider": (lambda t, c: interpolate.splantider((t, c, 3), 2)[:2], (KNOTS, SAMPLES)),
    "interpolate: slopes at a boundary": (
        lambda x, c: interpolate.splev(x, (KNOTS, c, 3), der=1, ext=3),
        (POINTS, SAMPLES),
    ),
    "interpolate: order -1": (
        lambda y: interpolate.make_interp_spline(np.arange(11.0), y).derivative(-1)([0.4, 2.3]),
        (SAMPLES,),
    ),
    "integrate: args of fixed_quad": (
        lambda a: integrate.fixed_quad(lambda x, a: np.exp(a * x), 0.0, 1.0, args=(a,))[0],
        (0.3,),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_option(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=1 if "deviations" in name else 2)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize(
    ("name", "given", "whole"),
    [("expn", (0.7,), (0,)), ("expn", (1.6,), (1,)), ("nbdtr", (2.6, 3.3), (2, 3)), ("nbdtrc", (2.6, 3.3), (2, 3))],
)
def test_orders_that_scipy_truncates(name, given, whole):
    f = getattr(scipy.special, name)
    assert dr.value_and_grad(lambda x: f(*given, x))(0.4) == dr.value_and_grad(lambda x: f(*whole, x))(0.4)


ZEROS = np.zeros(3)
UNDEFINED = {
    "cosine": (lambda x: distance.cosine(x, ZEROS), np.ones(3)),
    "correlation": (lambda x: distance.correlation(x, ZEROS), np.arange(3.0)),
    "braycurtis": (lambda x: distance.braycurtis(0.0 * x, ZEROS), np.ones(3)),
    "skew": (stats.skew, np.ones(4)),
    "kurtosis": (stats.kurtosis, np.ones(4)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNDEFINED)
def test_values_that_are_not_defined_are_nan(name):
    """As SciPy's, and their derivatives."""
    f, x = UNDEFINED[name]
    value, slope = dr.value_and_grad(f)(x)
    np.testing.assert_array_equal(value, f(x))
    assert np.isnan(value)
    assert np.isnan(slope).any()


REFUSED = {
    "an image of ints": (lambda s: ndimage.shift(np.arange(20).reshape(4, 5) * 10, s, order=1), 0.3),
    "an image of bools": (lambda s: ndimage.gaussian_filter(X > 0.0, s), 0.9),
    "moment by its order": (lambda n: stats.moment(X, n), 2.0),
    "pmean by the exponent 0": (lambda p: stats.pmean(P, p), 0.0),
    "a sparse array of an array of shape": (lambda a: sparse.coo_array(a * np.ones(3)), 0.3),
    "operator / of a sparse matrix": (lambda a: sparse.csr_array(a * SQUARE) / 2.0, 0.3),
    "sparse.csr_array.sum": (lambda a: sparse.coo_array(a * SQUARE).sum(), 0.3),
    "gaussian_kde.covariance": (lambda a: stats.gaussian_kde(a * LINE).covariance, 0.3),
    "gaussian_kde.integrate_box_1d": (lambda a: stats.gaussian_kde(a * LINE).integrate_box_1d(0.0, 1.0), 0.3),
    "scipy.linalg.norm by its order": (lambda p: linalg.norm(LONG, p), 2.0),
    "numpy.linalg.norm by its order": (lambda p: np.linalg.norm(p * LONG, p), 2.0),
    "lstsq of several matrices": (lambda a: linalg.lstsq(a * STACK, STACK), 0.3),
    "lu_solve of several matrices": (lambda a: linalg.lu_solve((STACK, np.zeros((2, 3))), a * STACK), 0.3),
    "cho_solve of several matrices": (lambda a: linalg.cho_solve((STACK, False), a * STACK), 0.3),
    "eigvals of several matrices": (lambda a: linalg.eigvals(a * STACK), 0.3),
    "eigh of several matrices": (lambda a: linalg.eigh(a * STACK, STACK), 0.3),
    "qr of several matrices": (lambda a: linalg.qr(a * STACK, mode="r"), 0.3),
    "linregress of 2 axes": (lambda a: stats.linregress(P, a * X, axis=None), 0.3),
    "pearsonr with alternative=": (lambda a: stats.pearsonr(P[0], a * X[0], alternative="less"), 0.3),
    "interpn with method='splinef2d'": (
        lambda a: interpolate.interpn((np.arange(4.0), np.arange(5.0)), a * X, [[1.2, 0.3]], "splinef2d"),
        0.3,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused(name):
    f, x = REFUSED[name]
    for call in (lambda: dr.grad(lambda x: np.sum(f(x)))(x), lambda: dr.jvp(f, (x,), (1.0,))):
        with pytest.raises(dr.UnsupportedError, match=name.replace("bools", "ints")):
            call()


def test_errors_of_scipy():
    for f, x, error in (
        (lambda a: special.multigammaln(a, 3), 0.5, ValueError),
        (lambda m: stats.norm.logpdf(loc=m), 0.3, TypeError),
        (lambda a: linalg.svd([[a]], no_such_option=1), 0.3, TypeError),
    ):
        with pytest.raises(error):
            f(x)
        with pytest.raises(error):
            dr.grad(f)(x)
