"""Convolutions and correlations of arrays of any number of axes, real or complex.

    y = a * b        pull(g) = (g correlated with b, g correlated with a)        push(da, db) = da * b + a * db

All are slices of the full convolution, which has the rule.

>>> import dualrev as dr
>>> dr.grad(lambda a: convolve(a, np.array([1.0, 3.0]), "valid")[0])(np.array([1.0, 2.0, 4.0]))
array([3., 1., 0.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import signal as _signal

from dualrev.eager.arrays.complex.pairs import held, is_complex, values
from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices, rule
from dualrev.eager.arrays.memory.storage import holds_duals
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import instead_of, valued

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve", "padded"]


@instead_of(_signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolution: mode="full" of shape n + m - 1, "same" with the shape of in1, "valid" where both overlap in full.

    >>> convolve([1.0, 2.0], [1.0, 1.0])
    array([1., 3., 2.])
    """
    in1, in2 = of_matrices(in1), of_matrices(in2)
    if not (in1.size and in2.size):
        return _of_empty(_signal.convolve, in1, in2, mode, method)
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    shape = _signal.convolve(np.ones(in1.shape), np.ones(in2.shape), mode, "fft").shape  # or SciPy's error
    full = rule(lambda a, b: convolve(a, b, "full", method), _pull, _push, in1, in2)
    return full[_middle(full.shape, shape)]


def _of_empty(original: Callable[..., Any], *args: Any) -> Any:
    """Return SciPy's result, or raise its error, where an operand has no elements."""
    return held(original(*map(values, args)))


def _pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
    return [convolve(gs[0], conjugated(np.flip(other)), "valid") for other in xs[::-1]]


def _push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
    terms = [convolve(t, other) for t, other in zip(ts, xs[::-1], strict=True) if t is not None]
    return [sum(terms[1:], terms[0])]


def _middle(whole: tuple[int, ...], part: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the slices of the middle of an array: as many elements before it as behind it, or one less."""
    return tuple(slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(whole, part, strict=True))


@instead_of(_signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Cross-correlation: the convolution with the reversed conjugate of in2.

    >>> correlate([1.0, 2.0], [1.0, 0.0])
    array([0., 1., 2.])
    """
    if not (np.size(in1) and np.size(in2)):
        return _of_empty(_signal.correlate, in1, in2, mode, method)
    return convolve(in1, conjugated(np.flip(of_matrices(in2))), mode, method)


@instead_of(_signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolution by Fourier transforms, with the modes of `convolve`.

    >>> fftconvolve([1.0, 2.0], [1.0, 1.0]).round(6)
    array([1., 3., 2.])
    """
    if axes is not None:
        raise UnsupportedError("scipy.signal.fftconvolve along some axes", "a call for each row")
    if not (np.size(in1) and np.size(in2)):
        return _of_empty(_signal.fftconvolve, in1, in2, mode)
    return convolve(in1, in2, mode, "fft")


@instead_of(_signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolution by the overlap-add method, with the modes of `convolve`.

    >>> oaconvolve([1.0, 2.0], [1.0, 1.0]).round(6)
    array([1., 3., 2.])
    """
    return fftconvolve(in1, in2, mode, axes)


def padded(x: Any, widths: Sequence[tuple[int, int]], mode: Any, fill: Any = 0.0) -> Any:
    """Return an array that is continued by one of np.pad's modes; fill, of mode "constant", may be traced."""
    if mode != "constant":
        return np.pad(x, widths, mode)
    outside = np.pad(np.zeros(np.shape(x), bool), widths, constant_values=True)
    return np.where(outside, fill, np.pad(x, widths))


def _in_plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, turned: bool = False) -> Any:
    """Return the convolution of the continued image, at all shifts where the weights overlap it."""
    a, b = of_matrices(in1), of_matrices(in2)
    filled = boundary != "fill" or holds_duals(fillvalue) or np.any(values(fillvalue) != 0.0)
    if filled and mode != "valid":  # which reads nothing outside of the image
        if is_complex(a):
            raise UnsupportedError(f"scipy.signal.convolve2d of complex with boundary={boundary!r}", "boundary='fill'")
        how: Any = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}[boundary]
        full = convolve(padded(a, [(n - 1, n - 1) for n in b.shape], how, fillvalue), b, "valid")
    else:
        full = convolve(a, b)
    shape = _signal.convolve2d(np.ones(a.shape), np.ones(b.shape), mode).shape
    rest = 1 if turned and mode == "same" else 0  # the middle of reversed weights is another element
    starts = [(n - m + rest) // 2 for n, m in zip(full.shape, shape, strict=True)]
    return full[tuple(slice(start, start + m) for start, m in zip(starts, shape, strict=True))]


@valued(_signal.convolve2d, linear=True)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0.0) -> Any:
    """Convolution of two matrices, with the modes of `convolve`.

    >>> convolve2d([[1.0, 2.0]], [[1.0, 1.0]], boundary="wrap")
    array([[3., 3., 3.]])
    """
    return _in_plane(in1, in2, mode, boundary, fillvalue)


@valued(_signal.correlate2d, linear=True)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0.0) -> Any:
    """Cross-correlation of two matrices: the convolution with the reversed conjugate of in2.

    >>> correlate2d([[1.0, 2.0]], [[1.0, 0.0]])
    array([[0., 1., 2.]])
    """
    return _in_plane(in1, conjugated(np.flip(of_matrices(in2))), mode, boundary, fillvalue, turned=True)
