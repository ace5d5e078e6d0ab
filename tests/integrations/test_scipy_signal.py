"""dualrev.scipy.signal: filters, spectra and linear functions: SciPy's values, and the derivatives of differences."""

import numpy as np
import pytest
import scipy.signal

import dualrev as dr
from dualrev.scipy import signal

RNG = np.random.default_rng(7)
X, XS, Y = RNG.normal(size=24), RNG.normal(size=(2, 23)), RNG.normal(size=24)
NUMERATOR, DENOMINATOR = np.array([0.3, 0.5, -0.2]), np.array([1.2, -0.6, 0.3, 0.1])
SECTIONS = np.array([[0.3, 0.5, -0.2, 1.0, -0.6, 0.3], [0.7, 0.1, 0.0, 1.0, 0.4, 0.0]])
KEPT, UNIT = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
TURN = 1.0 - 1.0j
STATE = np.array([0.4, -0.3, 0.2])
IMAGE, WEIGHTS = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 2))

CASES = {
    "lfilter": (signal.lfilter, (NUMERATOR, DENOMINATOR, X)),
    "lfilter, an axis": (lambda b, a, x: signal.lfilter(b, a, x, axis=0), (NUMERATOR, DENOMINATOR, XS.T)),
    "lfilter, a short signal": (signal.lfilter, (NUMERATOR, DENOMINATOR, X[:2])),
    "lfilter, no feedback": (lambda b, x: signal.lfilter(b, 1.0, x), (NUMERATOR, X)),
    "lfilter, a state": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), (NUMERATOR, DENOMINATOR, X, STATE)),
    "lfilter, states": (
        lambda b, a, x, z: signal.lfilter(b, a, x, axis=0, zi=z),
        (NUMERATOR, DENOMINATOR, XS.T[:2], np.stack([STATE, 2.0 * STATE], 1)),
    ),
    "lfilter of complex": (lambda b, a, x: signal.lfilter(b, a, x + 1j * x**2), (NUMERATOR, DENOMINATOR, X[:6])),
    "lfilter with complex": (
        lambda b, x: signal.lfilter(b * (1 + 0.3j), DENOMINATOR * (1 - 1j), x),
        (NUMERATOR, X[:6]),
    ),
    "lfilter_zi": (signal.lfilter_zi, (NUMERATOR, DENOMINATOR)),
    "filtfilt": (signal.filtfilt, (NUMERATOR, DENOMINATOR, X)),
    "filtfilt, even": (lambda x: signal.filtfilt(NUMERATOR, DENOMINATOR, x, padtype="even", padlen=4), (XS,)),
    "filtfilt, constant": (
        lambda x: signal.filtfilt(NUMERATOR, DENOMINATOR, x, axis=0, padtype="constant"),
        (XS.T,),
    ),
    "filtfilt, no padding": (lambda x: signal.filtfilt(NUMERATOR, DENOMINATOR, x, padtype=None), (X,)),
    "sosfilt": (lambda s, x: signal.sosfilt(s * KEPT + UNIT, x), (SECTIONS, X)),
    "sosfiltfilt, by the sections": (lambda s, x: signal.sosfiltfilt(s * KEPT + UNIT, x), (SECTIONS[:1], X)),
    "sosfilt, a state": (
        lambda s, x, z: signal.sosfilt(s * KEPT + UNIT, x, axis=0, zi=z),
        (SECTIONS, XS.T[:5], RNG.normal(size=(2, 2, 2))),
    ),
    "sosfiltfilt": (lambda x: signal.sosfiltfilt(SECTIONS, x), (XS,)),
    "convolve2d": (signal.convolve2d, (IMAGE, WEIGHTS)),
    "convolve2d, same": (lambda a, b: signal.convolve2d(a, b, "same", "symm"), (IMAGE, WEIGHTS)),
    "convolve2d, valid": (lambda a, b: signal.convolve2d(a, b, "valid"), (IMAGE, WEIGHTS)),
    "correlate2d": (lambda a, b: signal.correlate2d(a, b, "same", "wrap"), (IMAGE, WEIGHTS)),
    "correlate2d, filled": (lambda a, b: signal.correlate2d(a, b, fillvalue=0.5), (IMAGE, WEIGHTS)),
    "correlate2d of complex": (lambda a, b: signal.correlate2d(a, b * (1 + 2j)), (IMAGE, WEIGHTS)),
    "oaconvolve": (signal.oaconvolve, (X, NUMERATOR)),
    "hilbert": (signal.hilbert, (X,)),
    "hilbert, an odd length": (lambda x: signal.hilbert(x, axis=-1), (XS,)),
    "envelope": (lambda x: np.abs(signal.hilbert(x, 32)), (X,)),
    "detrend": (signal.detrend, (X,)),
    "detrend, parts": (lambda x: signal.detrend(x, axis=0, bp=[7, 12]), (XS.T,)),
    "detrend, constant": (lambda x: signal.detrend(x, type="constant"), (XS,)),
    "savgol": (lambda x: signal.savgol_filter(x, 5, 2), (X,)),
    "savgol, a derivative": (lambda x: signal.savgol_filter(x, 7, 3, deriv=1, delta=0.5, axis=0), (XS.T,)),
    "savgol, mirror": (lambda x: signal.savgol_filter(x, 6, 3, mode="mirror"), (X,)),
    "savgol, constant": (lambda x: signal.savgol_filter(x, 5, 3, mode="constant", cval=2.0), (XS,)),
    "resample": (lambda x: signal.resample(x, 15), (X,)),
    "resample, a window": (lambda x: signal.resample(x, 30, axis=1, window="hann"), (XS,)),
    "resample_poly": (lambda x: signal.resample_poly(x, 3, 2), (X,)),
    "decimate": (lambda x: signal.decimate(x, 3, n=2), (X,)),
    "decimate, fir": (lambda x: signal.decimate(x, 2, n=4, ftype="fir", axis=0), (XS.T,)),
    "welch": (lambda x: signal.welch(x, 2.0, nperseg=8)[1], (X,)),
    "welch, options": (
        lambda x: signal.welch(x, nperseg=7, noverlap=2, nfft=9, detrend="linear", scaling="spectrum", axis=0)[1],
        (XS.T,),
    ),
    "welch, two sides": (lambda x: signal.welch(x, nperseg=8, return_onesided=False, detrend=False)[1], (X,)),
    "periodogram": (lambda x: signal.periodogram(x, window="hann")[1], (XS,)),
    "csd": (lambda x, y: signal.csd(x, y, nperseg=8), (X, Y)),
    "csd of different lengths": (lambda x, y: signal.csd(x, y, nperseg=9), (X, Y[:20])),
    "coherence": (lambda x, y: signal.coherence(x, y, nperseg=8)[1], (X, Y)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_of_a_signal(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=2)


def test_values_are_scipys_to_the_last_bit():
    for f, original, args in (
        (signal.filtfilt, scipy.signal.filtfilt, (NUMERATOR, DENOMINATOR, X)),
        (signal.sosfilt, scipy.signal.sosfilt, (SECTIONS, X)),
        (signal.savgol_filter, scipy.signal.savgol_filter, (X, 5, 2)),
    ):
        value = dr.vjp(lambda x, f=f, args=args: f(*[x if u is X else u for u in args]), X)[0]
        np.testing.assert_array_equal(value, original(*args))


def test_what_is_refused():
    with pytest.raises(dr.UnsupportedError, match=r"filtfilt with method='gust' .* at "):
        dr.grad(lambda x: np.sum(signal.filtfilt(NUMERATOR, DENOMINATOR, x, method="gust")))(X)
    with pytest.raises(dr.UnsupportedError, match=r"resample of 5000 samples"):
        dr.grad(lambda x: np.sum(signal.resample(x, 10)))(np.ones(5000))
    with pytest.raises(dr.UnsupportedError, match=r"a median or a complex signal"):
        dr.grad(lambda x: np.sum(signal.welch(x, nperseg=8, average="median")[1]))(X)
    with pytest.raises(ValueError, match="padlen"):
        dr.grad(lambda x: np.sum(signal.filtfilt(NUMERATOR, DENOMINATOR, x)))(X[:4])
    assert signal.find_peaks is scipy.signal.find_peaks
    assert "find_peaks" in dir(signal)
