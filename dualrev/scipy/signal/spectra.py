"""Spectral densities of traced signals, by Welch's method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import signal as _signal

from dualrev.eager.arrays.complex.pairs import values
from dualrev.eager.arrays.linear_algebra.matrices import of_matrices
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import valued
from dualrev.scipy.signal.linear import without_trend

__all__ = ["coherence", "csd", "periodogram", "welch"]


def _options(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call by name: versions of SciPy differ in defaults."""
    bound = inspect.signature(original).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _segments(x: Any, given: dict[str, Any], window: Any, step: int) -> Any:
    """Return the transforms of the segments, along the last axis."""
    n = len(window)
    starts = np.arange(0, x.shape[-1] - n + 1, step)
    parts = x[..., starts[:, None] + np.arange(n)]
    trend = given["detrend"]
    if callable(trend):
        parts = trend(parts)
    elif trend:
        parts = without_trend(parts, trend)
    transform = np.fft.rfft if given["return_onesided"] else np.fft.fft
    return transform(parts * window, given["nfft"] or n, -1)


def _filled(x: Any, length: int) -> Any:
    """Return a signal with zeros behind it."""
    missing = length - x.shape[-1]
    return np.concatenate([x, np.zeros((*x.shape[:-1], missing))], -1) if missing else x


#: Of the functions that have no such parameters.
_DEFAULTS = {"average": "mean", "return_onesided": True, "scaling": "density"}


def _density(given: dict[str, Any], x: Any, y: Any = None) -> tuple[Any, Any]:
    """Return the frequencies, and the spectral density of x, or the cross spectral density of x and y."""
    given = {**_DEFAULTS, **given}
    x = np.moveaxis(of_matrices(x), given["axis"], -1)
    y = x if y is None else np.moveaxis(of_matrices(y), given["axis"], -1)
    length = max(x.shape[-1], y.shape[-1])
    same, x = y is x, _filled(x, length)
    y = x if same else _filled(y, length)
    rate, window = given["fs"], given["window"]
    chosen = isinstance(window, str | tuple)
    n = given["nperseg"] or (256 if chosen else len(window))
    n = min(n, x.shape[-1])
    window = _signal.get_window(window, n) if chosen else of_matrices(window)
    overlap = n // 2 if given["noverlap"] is None else given["noverlap"]
    if given["average"] != "mean" or np.iscomplexobj(values(x)) or np.iscomplexobj(values(y)):
        raise UnsupportedError("a median or a complex signal in scipy.signal's spectra", "real signals, average='mean'")
    first = _segments(x, given, window, n - overlap)
    second = first if y is x else _segments(y, given, window, n - overlap)
    length = given["nfft"] or n
    if y is x:
        made = first.real * first.real + first.imag * first.imag
    else:
        made = np.conj(first) * second
    scale = 1.0 / np.sum(window) ** 2 if given["scaling"] == "spectrum" else 1.0 / (rate * np.sum(window**2))
    count = np.ones(made.shape[-1])
    if given["return_onesided"]:
        count[1 : -1 if length % 2 == 0 else None] = 2.0  # the negative frequencies, too
    frequencies = (np.fft.rfftfreq if given["return_onesided"] else np.fft.fftfreq)(length) * rate
    return frequencies, np.moveaxis(np.mean(made, axis=-2) * (count * scale), -1, given["axis"])


@valued(_signal.welch)
def welch(*args: Any, **kwargs: Any) -> Any:
    """Frequencies and the spectral density of a signal, by Welch's method; SciPy's arguments.

    >>> welch(np.array([1.0, 0.0, -1.0, 0.0]), nperseg=4, window="boxcar")[1].round(6)
    array([0., 2., 0.])
    """
    given = _options(_signal.welch, args, kwargs)
    return _density(given, given["x"])


@valued(_signal.csd)
def csd(*args: Any, **kwargs: Any) -> Any:
    """Frequencies and the cross spectral density of two signals; SciPy's arguments.

    >>> csd([1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], nperseg=4, window="boxcar")[1].round(6)
    array([0.+0.j, 0.-2.j, 0.+0.j])
    """
    given = _options(_signal.csd, args, kwargs)
    return _density(given, given["x"], None if given["y"] is given["x"] else given["y"])


@valued(_signal.periodogram)
def periodogram(*args: Any, **kwargs: Any) -> Any:
    """Frequencies and the spectral density of a signal by one transform; SciPy's arguments.

    >>> periodogram([1.0, 0.0, -1.0, 0.0])[1].round(6)
    array([0., 2., 0.])
    """
    given = _options(_signal.periodogram, args, kwargs)
    x = of_matrices(given["x"])
    n = x.shape[given["axis"]]
    if given["nfft"] is not None and given["nfft"] < n:
        raise UnsupportedError("scipy.signal.periodogram with nfft below the number of samples", "x[:nfft]")
    window = "boxcar" if given["window"] is None else given["window"]
    return _density({**given, "nperseg": n, "noverlap": 0, "window": window}, x)


@valued(_signal.coherence)
def coherence(*args: Any, **kwargs: Any) -> Any:
    """Frequencies and the coherence of two signals; SciPy's arguments.

    >>> coherence(np.arange(4.0), np.arange(4.0), nperseg=2, window="boxcar", detrend=False)[1].round(6)
    array([1., 1.])
    """
    given = _options(_signal.coherence, args, kwargs)
    frequencies, both = _density(given, given["x"], given["y"])
    square = both.real * both.real + both.imag * both.imag
    return frequencies, square / _density(given, given["x"])[1] / _density(given, given["y"])[1]
