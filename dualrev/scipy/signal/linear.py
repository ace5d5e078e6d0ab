"""Linear functions of a signal: analytic signal, trends, smoothing, resampling."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import signal as _signal

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.linear_algebra.matrices import of_matrices
from dualrev.eager.arrays.memory.storage import real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import valued
from dualrev.scipy.signal.convolutions import convolve, padded

__all__ = ["decimate", "detrend", "hilbert", "resample", "resample_poly", "savgol_filter"]

#: SciPy's modes, and numpy's names for them; for "interp", polynomials replace what is padded.
_PAD: dict[str, Any] = {
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "constant": "constant",
    "interp": "edge",
}
_LARGEST = 4096  # samples of a signal whose map is a matrix here: 128 MB


def _along(x: Any, axis: int, matrix: Any) -> Any:
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def _by_matrix(name: str, x: Any, axis: int, f: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return a linear map of a signal, f for the rows of a matrix."""
    x = of_matrices(x)
    n = x.shape[axis]
    if n > _LARGEST:
        raise UnsupportedError(f"scipy.signal.{name} of {n} samples", f"it for parts of at most {_LARGEST} samples")
    return _along(x, axis, f(np.eye(n)))


def _constant(name: str, parameter: str, given: Any) -> None:
    if given is not None:
        raise UnsupportedError(f"scipy.signal.{name} with {parameter}=", "it without")


@valued(_signal.hilbert, linear=True)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:  # noqa: N803 - SciPy's name
    """Analytic signal: without the negative frequencies.

    >>> hilbert([1.0, 0.0, -1.0, 0.0])[1].round(6)
    np.complex128(1j)
    """
    x = of_matrices(x)
    n = x.shape[axis] if N is None else N
    factor = np.zeros(n)
    factor[0] = 1.0
    factor[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        factor[n // 2] = 1.0
    return np.fft.ifft(np.moveaxis(np.moveaxis(np.fft.fft(x, n, axis), axis, -1) * factor, -1, axis), n, axis)


def without_trend(x: Any, type: str, breaks: Any = 0) -> Any:
    """Return a signal without its trend, along the last axis."""
    n = x.shape[-1]
    if type in ("constant", "c"):
        return x - np.mean(x, axis=-1, keepdims=True)
    ends = np.unique([0, *np.atleast_1d(breaks), n]).astype(int)
    parts = []
    for start, end in itertools.pairwise(ends):
        line = np.stack([np.arange(1.0, end - start + 1.0) / (end - start), np.ones(end - start)], axis=1)
        parts.append(x[..., start:end] - (x[..., start:end] @ np.linalg.pinv(line).T) @ line.T)
    return np.concatenate(parts, -1)


@valued(_signal.detrend, linear=True)
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """Signal without its mean or its line of least squares.

    >>> detrend([1.0, 2.0, 4.0], type="constant").round(3)
    array([-1.333, -0.333,  1.667])
    """
    return np.moveaxis(without_trend(np.moveaxis(of_matrices(data), axis, -1), type, bp), -1, axis)


@valued(_signal.savgol_filter, linear=True)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """Savitzky-Golay filter: polynomials of least squares at windows of the signal.

    >>> savgol_filter([0.0, 1.0, 4.0, 9.0], 3, 2).round(6)
    array([0., 1., 4., 9.])
    """
    x = np.moveaxis(real_array(x), axis, -1)
    weights = _signal.savgol_coeffs(window_length, polyorder, deriv=deriv) / delta**deriv
    before = (window_length - 1) // 2
    widths = [(0, 0)] * (x.ndim - 1) + [(before, window_length - 1 - before)]
    whole = padded(x, widths, _PAD.get(mode, "edge"), cval)
    made = convolve(whole, np.reshape(weights, (1,) * (x.ndim - 1) + (-1,)), "valid")
    if mode == "interp":
        ends = _signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, 1.0, 0) / delta**deriv
        half = window_length // 2
        first = x[..., :window_length] @ ends[:half].T
        last = x[..., x.shape[-1] - window_length :] @ ends[window_length - half :].T
        made = np.concatenate([first, made[..., half : x.shape[-1] - half], last], -1)
    return np.moveaxis(made, -1, axis)


@valued(_signal.resample, linear=True)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """Signal with `num` samples, by Fourier's method.

    >>> resample([0.0, 1.0, 0.0, -1.0], 2).round(6)
    array([0., 0.])
    """
    _constant("resample", "t", t)
    if domain != "time":
        raise UnsupportedError("scipy.signal.resample of a spectrum", "it with domain='time'")
    return _by_matrix("resample", x, axis, lambda eye: _signal.resample(eye, num, window=window))


@valued(_signal.resample_poly, linear=True)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Any:
    """Signal at up / down times the rate, by a polyphase filter.

    >>> len(resample_poly([0.0, 1.0, 0.0, -1.0], 3, 2))
    6
    """
    _constant("resample_poly", "cval", cval)
    return _by_matrix(
        "resample_poly", x, axis, lambda eye: _signal.resample_poly(eye, up, down, window=window, padtype=padtype)
    )


@valued(_signal.decimate, linear=True)
def decimate(x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """Every q-th sample of a signal, behind a filter.

    >>> len(decimate(np.arange(60.0), 4))
    15
    """
    if is_complex(x):
        raise UnsupportedError("scipy.signal.decimate of complex", "a call for the real part and one for the imaginary")
    return _by_matrix("decimate", x, axis, lambda eye: _signal.decimate(eye, q, n, ftype, 0, zero_phase))
