"""Image layers on the tape: convolution, pooling and batch normalisation, each with a custom derivative rule.

Arrays have the shape (images, channels, rows, columns). A convolution is a matrix product of its weights with the
windows of all images as columns:

    y = W columns(x) + b          dW = dy columns(x)^T          dx = spread(W^T dy)

Other operations (elementwise ones, concatenation, sums) are NumPy's, which dualrev differentiates itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dualrev as dr
from examples.lantern.errors import DataError

__all__ = ["batch_norm", "conv", "cross_entropy", "max_pool", "normalised", "relu"]


def _windows(
    x: np.ndarray, kernel: tuple[int, int], stride: tuple[int, int], fill: float = 0.0, more: Any = (0, 0)
) -> Any:
    """Return the windows of padded images, of shape (n, c, out rows, out columns, rows, columns)."""
    (top, bottom), (left, right) = (m if isinstance(m, tuple) else (m, m) for m in more)
    if top or bottom or left or right:
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    if x.shape[2] < kernel[0] or x.shape[3] < kernel[1]:
        raise DataError(
            f"an image of {x.shape[2]} x {x.shape[3]} has no window of {kernel[0]} x {kernel[1]}: take larger ones."
        )
    return np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]


def _spread(parts: Any, shape: tuple[int, ...], stride: tuple[int, int], more: Any) -> np.ndarray:
    """Sum windows into images, the transpose of `_windows`: `parts[i, j]` has element (i, j) of all windows."""
    (top, bottom), (left, right) = (m if isinstance(m, tuple) else (m, m) for m in more)
    n, c, rows, columns = shape
    first = parts[0, 0]
    padded = np.zeros((n, c, rows + top + bottom, columns + left + right), first.dtype)
    down, across = stride[0] * first.shape[2], stride[1] * first.shape[3]
    for i, j in np.ndindex(parts.shape[:2]):
        padded[:, :, i : i + down : stride[0], j : j + across : stride[1]] += parts[i, j]
    return padded[:, :, top : top + rows, left : left + columns]


def _columns(x: np.ndarray, w: np.ndarray, stride: tuple[int, int], padding: tuple[int, int]) -> tuple[Any, Any]:
    """Return all windows as columns of a matrix, and the numbers of windows down and across an image."""
    windows = _windows(x, w.shape[2:], stride, more=padding)
    n, _, down, across = windows.shape[:4]
    return windows.transpose(1, 4, 5, 0, 2, 3).reshape(w[0].size, n * down * across), (down, across)


@dr.custom_vjp
def _conv(x: Any, w: Any, b: Any, stride: tuple[int, int], padding: tuple[int, int], known: bool) -> Any:
    return _conv_forward(x, w, b, stride, padding, known)[0]


def _conv_forward(x: Any, w: Any, b: Any, stride: tuple[int, int], padding: tuple[int, int], known: bool) -> Any:
    if x.shape[1] != w.shape[1]:
        raise DataError(f"images of {x.shape[1]} channels come to a convolution of {w.shape[1]} channels.")
    columns, places = _columns(x, w, stride, padding)
    y = w.reshape(len(w), -1) @ columns
    if b is not None:
        y += b[:, None]
    y = np.ascontiguousarray(y.reshape(len(w), len(x), *places).transpose(1, 0, 2, 3))
    return y, (x.shape, w, b is not None, columns, stride, padding, known)


def _conv_backward(residuals: Any, ct: Any) -> Any:
    shape, w, biased, columns, stride, padding, known = residuals
    flat = ct.transpose(1, 0, 2, 3).reshape(len(w), -1)
    d_w = (flat @ columns.T).reshape(w.shape)
    d_b = flat.sum(1) if biased else None
    if known:
        return None, d_w, d_b, None, None, None
    parts = w.reshape(len(w), -1).T @ flat
    parts = parts.reshape(*w.shape[1:], len(ct), *ct.shape[2:]).transpose(1, 2, 3, 0, 4, 5)
    return _spread(parts, shape, stride, padding), d_w, d_b, None, None, None


_conv.defvjp(_conv_forward, _conv_backward)


def conv(x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0) -> Any:
    """Convolve images with weights (out, in, rows, columns), which are not flipped, and add a bias.

    If the images are a plain array, the reverse pass computes no cotangent for them.
    """
    return _conv(x, w, b, _pair(stride), _pair(padding), isinstance(x, np.ndarray))


def _pair(x: Any) -> tuple[int, int]:
    return x if isinstance(x, tuple) else (x, x)


@dr.custom_vjp
def _max_pool(x: Any, size: int, stride: int, more: Any) -> Any:
    return _max_pool_forward(x, size, stride, more)[0]


def _max_pool_forward(x: Any, size: int, stride: int, more: Any) -> Any:
    windows = _windows(x, (size, size), (stride, stride), -np.inf, more)
    flat = windows.reshape(*windows.shape[:4], size * size)
    places = flat.argmax(-1)
    return np.take_along_axis(flat, places[..., None], -1)[..., 0], (x.shape, places, size, stride, more)


def _max_pool_backward(residuals: Any, ct: Any) -> Any:
    shape, places, size, stride, more = residuals
    chosen = np.stack([np.where(places == k, ct, 0.0).astype(ct.dtype) for k in range(size * size)])
    return _spread(chosen.reshape(size, size, *ct.shape), shape, (stride, stride), more), None, None, None


_max_pool.defvjp(_max_pool_forward, _max_pool_backward)


def max_pool(x: Any, size: int, stride: int, padding: int = 0, ceil: bool = False) -> Any:
    """Compute the largest number of each window. With `ceil`, the last window may reach over the edge.

    In the reverse pass, the first one of several equal largest numbers gets the cotangent.
    """
    more = []
    for length in x.shape[2:]:
        over = -(length + 2 * padding - size) % stride if ceil else 0
        over = over if over < size - padding else 0
        more.append((padding, padding + over))
    return _max_pool(x, size, stride, tuple(more))


@dr.custom_vjp
def _normalise(x: Any, scale: Any, shift: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    return _normalise_forward(x, scale, shift, axes, epsilon)[0]


def _along(v: Any, x: Any) -> Any:
    """A vector of channels, for an array of images."""
    return v.reshape(-1, *(1,) * (x.ndim - 2))


def _normalise_forward(x: Any, scale: Any, shift: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    mean, variance = x.mean(axes), x.var(axes)
    inverse = (1.0 / np.sqrt(variance + epsilon)).astype(x.dtype)
    z = (x - _along(mean, x)) * _along(inverse, x)
    return (z * _along(scale, x) + _along(shift, x), mean, variance), (z, scale, inverse, axes)


def _normalise_backward(residuals: Any, cts: Any) -> Any:
    z, scale, inverse, axes = residuals
    ct = cts[0]  # mean and variance are for the record: nothing is differentiated through them
    d_scale, d_shift, count = (ct * z).sum(axes), ct.sum(axes), z.size // z.shape[1]
    inner = ct - _along(d_shift / count, z) - z * _along(d_scale / count, z)
    return inner * _along(scale * inverse, z), d_scale, d_shift, None, None


_normalise.defvjp(_normalise_forward, _normalise_backward)


def batch_norm(x: Any, scale: Any, shift: Any, epsilon: float = 1e-5) -> tuple[Any, Any, Any]:
    """Normalise channels (axis 1) over the batch, times scale, plus shift; return also mean and variance.

    Mean and variance (as `np.var`) are returned as constants, for `normalised` with other batches.
    """
    y, mean, variance = _normalise(x, scale, shift, (0, *range(2, x.ndim)), epsilon)
    return y, dr.value(mean), dr.value(variance)


def normalised(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float = 1e-5) -> Any:
    """Normalise with a given mean and variance."""
    slope = scale / np.sqrt(variance + epsilon)
    return x * _along(slope, x) + _along(shift - mean * slope, x)


def relu(x: Any) -> Any:
    """Return x where it is positive, and 0 elsewhere; the derivative at 0 is 0."""
    return x * (x > 0.0)


def cross_entropy(scores: Any, labels: Any) -> Any:
    """Compute the mean of -log softmax(scores)[label] over rows."""
    chosen = scores[np.arange(len(labels)), labels]
    return np.mean(np.logaddexp.reduce(scores, axis=1) - chosen)
