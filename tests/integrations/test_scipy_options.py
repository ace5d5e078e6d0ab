"""dualrev.scipy with unusual options: SciPy's values, and differentiated by every float that a function takes."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.stats

import dualrev as dr
from dualrev.scipy import ndimage, signal, special, stats
from dualrev.scipy.spatial import distance

RNG = np.random.default_rng(11)
X, LINE, W = RNG.normal(size=(4, 5)), RNG.normal(size=24), RNG.normal(size=(3, 2))
P = np.abs(X) + 0.3
OUTSIDE = np.array([[-3.2, 1.2, -0.3], [0.2, 2.3, 1.4]])
TURN = np.array([[1.1, 0.2], [0.3, 0.9]])
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
    "stats: a covariance object": (
        lambda x: stats.multivariate_normal.logpdf(x, [0, 1], scipy.stats.Covariance.from_diagonal([1.0, 2.0])),
        (X[:, :2],),
    ),
    "stats: pdf of a formula for logpdf": (lambda x, n, c: stats.ncx2.pdf(x, n, c), (P[0], 3.2, 1.1)),
    "special: orders beside arguments": (lambda x: special.polygamma([[0], [2]], x), (P[0],)),
    "special: no orders": (lambda x: special.polygamma([], x), (0.4,)),
    "special: branches": (lambda z: special.lambertw(z, [0, 0]).real, (0.3,)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_option(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=1 if "deviations" in name else 2)


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
    ):
        with pytest.raises(error):
            f(x)
        with pytest.raises(error):
            dr.grad(f)(x)
