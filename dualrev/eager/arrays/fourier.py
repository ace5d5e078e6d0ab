"""numpy.fft: discrete Fourier transforms, and what is made of them.

The matrix of a transform is symmetric, so its transpose, by which cotangents go back, is the transform itself:

    y = F z  ~>  dy = F dz,      ct z = F ct y               with ct = (d/dRe, -d/dIm), a complex number

Transforms of real numbers are half of a whole one, and their inverses are written by it. A length n other than that of
the axis cuts the axis, or fills it with zeros, before the transform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dualrev.eager.arrays.complex.pairs import as_parts, imag_part, is_complex, join, real_part
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import real_array

__all__ = ["HANDLERS"]

#: The norm by which the inverse of a transform is scaled as the transform is, and the other way round.
_OTHER_WAY: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _array(a: Any) -> Any:
    return as_parts(a) if is_complex(a) else real_array(a)


def _resized(a: Any, n: int | None, axis: int) -> Any:
    """The array with n elements along the axis."""
    have = a.shape[axis]
    if n is None or n == have:
        return a
    if n < have:
        return a[(*[slice(None)] * (axis % a.ndim), slice(n))]
    rest = list(a.shape)
    rest[axis] = n - have
    return np.concatenate([a, np.zeros(rest)], axis)


def _transform(function: Callable[..., Any], a: Any, axes: Sequence[int], norm: Any) -> Any:
    """fftn or ifftn over axes that have their lengths: one operation of both parts."""

    def whole(z: Any) -> Any:
        """Transform complex numbers along the axes."""
        return function(z, axes=axes, norm=norm)

    def compute(x: Any, y: Any) -> Any:
        """Return the parts of the transform, given the parts of its argument."""
        made = whole(join(x, y))
        return real_part(made), imag_part(made)

    def pull(xs: Any, ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the parts: the transform of the conjugate, conjugated."""
        made = whole(join(gs[0], -gs[1]))
        return [real_part(made), -imag_part(made)]

    def push(xs: Any, ys: Any, ts: Sequence[Any]) -> tuple[Any, Any]:
        """Return the transform of the tangents."""
        return compute(*(np.zeros(np.shape(x)) if t is None else t for t, x in zip(ts, xs, strict=True)))

    return join(*by_rule(compute, pull, push, real_part(a), imag_part(a), keeps_value=False, needs=(False, False)))


def _one(function: Callable[..., Any]) -> Callable[..., Any]:
    """fft and ifft."""

    def handler(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        """Resize along the axis, and transform."""
        return _transform(function, _resized(_array(a), n, axis), [axis], norm)

    return handler


def _lengths(a: Any, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    """The axes and the lengths of a transform over several ones."""
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(a.ndim)
    axes = [normalize_axis_index(k, a.ndim) for k in axes]
    lengths = [a.shape[k] if n in (None, -1) else n for k, n in zip(axes, s or [None] * len(axes), strict=True)]
    return axes, lengths


def _several(function: Callable[..., Any], default: Any = None) -> Callable[..., Any]:
    """fftn, fft2, and their inverses."""

    def handler(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        """Resize along the axes, and transform."""
        a = _array(a)
        axes, lengths = _lengths(a, s, axes)
        for axis, n in zip(axes, lengths, strict=True):
            a = _resized(a, n, axis)
        return _transform(function, a, axes, norm) if axes else a

    return handler


def _rfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    """The first half of the transform of real numbers: the second one is its mirror image."""
    a = _resized(real_array(a), n, axis)
    n = a.shape[axis]

    def compute(x: Any) -> Any:
        """Return the parts of the transform of a real array."""
        made = np.fft.rfft(x, n, axis, norm)
        return real_part(made), imag_part(made)

    def pull(xs: Any, ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the real part of the transform of the padded conjugate cotangent."""
        return [real_part(np.fft.fft(join(gs[0], -gs[1]), n, axis, norm))]

    def push(xs: Any, ys: Any, ts: Sequence[Any]) -> tuple[Any, Any]:
        """Return the transform of the tangent."""
        return compute(ts[0])

    return join(*by_rule(compute, pull, push, a, keeps_value=False, needs=(False,)))


def _irfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    """Real numbers, from the first half of their transform; imaginary parts that would have to be 0 are not read."""
    a = _array(a)
    n = 2 * (a.shape[axis] - 1) if n is None else n
    a = _resized(a, n // 2 + 1, axis)
    weights = np.full(n // 2 + 1, 2.0)
    weights[[0, -1] if n % 2 == 0 else [0]] = 1.0  # what stands for itself, and for its mirror image
    weights = weights.reshape([-1 if k == axis % a.ndim else 1 for k in range(a.ndim)])

    def compute(x: Any, y: Any) -> Any:
        """Return the real inverse transform, given the parts of half a transform."""
        return np.fft.irfft(join(x, y), n, axis, norm)

    def pull(xs: Any, ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the weighted parts of the transform of the cotangent."""
        made = np.fft.rfft(gs[0], n, axis, _OTHER_WAY[norm])
        return [weights * real_part(made), weights * imag_part(made)]

    def push(xs: Any, ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the inverse transform of the tangents."""
        return [compute(*(np.zeros(np.shape(x)) if t is None else t for t, x in zip(ts, xs, strict=True)))]

    return by_rule(compute, pull, push, real_part(a), imag_part(a), keeps_value=False, needs=(False, False))


def _rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = real_array(a)
    axes, lengths = _lengths(a, s, axes)
    half = _rfft(a, lengths[-1], axes[-1], norm)
    return _several(np.fft.fftn)(half, lengths[:-1], axes[:-1], norm) if axes[:-1] else half


def _irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = _array(a)
    axes, lengths = _lengths(a, s, axes)
    if s is None or s[-1] in (None, -1):
        lengths[-1] = 2 * (a.shape[axes[-1]] - 1)
    made = _several(np.fft.ifftn)(a, lengths[:-1], axes[:-1], norm) if axes[:-1] else a
    return _irfft(made, lengths[-1], axes[-1], norm)


def _hfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return _irfft(np.conj(_array(a)), n, axis, _OTHER_WAY[norm])


def _ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.conj(_rfft(a, n, axis, _OTHER_WAY[norm]))


def _shifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """fftshift and ifftshift: the elements in another order."""

    def handler(x: Any, axes: Any = None) -> Any:
        """Shift real and imaginary parts by one permutation of the elements."""
        if is_complex(x):
            return join(function(real_part(x), axes), function(imag_part(x), axes))
        a = real_array(x)
        return np.take(a, function(np.arange(a.size).reshape(a.shape), axes))

    return handler


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.fft.fft: _one(np.fft.fftn),
    np.fft.ifft: _one(np.fft.ifftn),
    np.fft.fft2: _several(np.fft.fftn, (-2, -1)),
    np.fft.ifft2: _several(np.fft.ifftn, (-2, -1)),
    np.fft.fftn: _several(np.fft.fftn),
    np.fft.ifftn: _several(np.fft.ifftn),
    np.fft.rfft: _rfft,
    np.fft.irfft: _irfft,
    np.fft.rfft2: lambda a, s=None, axes=(-2, -1), norm=None: _rfftn(a, s, axes, norm),
    np.fft.irfft2: lambda a, s=None, axes=(-2, -1), norm=None: _irfftn(a, s, axes, norm),
    np.fft.rfftn: _rfftn,
    np.fft.irfftn: _irfftn,
    np.fft.hfft: _hfft,
    np.fft.ihfft: _ihfft,
    np.fft.fftshift: _shifted(np.fft.fftshift),
    np.fft.ifftshift: _shifted(np.fft.ifftshift),
}
