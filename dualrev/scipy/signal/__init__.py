"""`scipy.signal`: convolutions, filters, medians, spectra and resampling of traced arrays.

Every other name is SciPy's own.

>>> import numpy as np
>>> import dualrev as dr
>>> dr.grad(lambda a: convolve(a, np.array([1.0, 3.0]), "valid")[0])(np.array([1.0, 2.0, 4.0]))
array([3., 1., 0.])
"""

from __future__ import annotations

from typing import Any

from scipy import signal as _signal

from dualrev.scipy.order_filters import medfilt, medfilt2d, order_filter
from dualrev.scipy.signal.convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from dualrev.scipy.signal.filters import filtfilt, lfilter, lfilter_zi, sosfilt, sosfiltfilt
from dualrev.scipy.signal.linear import decimate, detrend, hilbert, resample, resample_poly, savgol_filter
from dualrev.scipy.signal.spectra import coherence, csd, periodogram, welch

__all__ = [
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "decimate",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "lfilter_zi",
    "medfilt",
    "medfilt2d",
    "oaconvolve",
    "order_filter",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "welch",
]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_signal)})
