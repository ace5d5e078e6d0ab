"""Linear filters: correlations of the padded image with weights.

    y[i] = sum over j of w[j] x[i + j - offset]        offset = len(w) // 2 + origin

The image is continued by np.pad, whose modes have other names than SciPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import ndimage as _ndimage

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import valued
from dualrev.scipy.signal import convolutions

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "laplace",
    "prewitt",
    "real_image",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

#: SciPy's modes, and numpy's names for them.
_PAD: dict[str, Any] = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def real_image(name: str, input: Any, output: Any) -> Any:
    """Return an image as an array; UnsupportedError for a complex one, for one of ints, and for `output`."""
    if is_complex(input) or np.iscomplexobj(plain(input)):
        raise UnsupportedError(f"scipy.ndimage.{name} of complex", "a call for the real part and one for the imaginary")
    if output is not None:
        raise UnsupportedError(f"scipy.ndimage.{name} with output=", "it without, and assign its result")
    if np.asarray(plain(input)).dtype.kind in "biu":
        raise UnsupportedError.call(
            f"scipy.ndimage.{name} of an image of ints",
            "SciPy rounds its result to ints, which have no derivative",
            "the image as floats: np.asarray(image, dtype=float)",
        )
    return real_array(input)


def _correlated(x: Any, weights: Any, axes: Sequence[int], modes: Any, cval: Any, origins: Any) -> Any:
    """Return the correlation along some axes, in ascending order; weights have as many axes."""
    weights = real_array(weights)
    axes = [axis % x.ndim for axis in axes]
    if not x.size or any(n == 0 for n in weights.shape):
        return x * 0.0
    for axis, n, mode, origin in zip(axes, weights.shape, _each(modes, axes), _each(origins, axes), strict=True):
        before = n // 2 + origin
        widths = [(before, n - 1 - before) if k == axis else (0, 0) for k in range(x.ndim)]
        x = convolutions.padded(x, widths, _PAD[mode], cval)
    shape = [1] * x.ndim
    for axis, n in zip(axes, weights.shape, strict=True):
        shape[axis] = n
    return convolutions.correlate(x, np.reshape(weights, shape), "valid")


def _each(given: Any, axes: Sequence[int]) -> list[Any]:
    """Return an option for each of the axes."""
    return [given] * len(axes) if isinstance(given, str) or np.ndim(given) == 0 else list(given)


def _chosen(axes: Any, ndim: int) -> list[int]:
    return list(range(ndim)) if axes is None else [axis % ndim for axis in np.atleast_1d(axes)]


def _in_order(axes: Any, origin: Any, ndim: int) -> tuple[list[int], list[int]]:
    """Return axes in ascending order, as the weights have them, and their origins, as SciPy assigns them."""
    chosen = _chosen(axes, ndim)
    origins = _each(origin, chosen)
    if len(chosen) < ndim:
        origins = [moved for _, moved in sorted(zip(chosen, origins, strict=True))]
    return sorted(chosen), origins


def _turned(weights: Any, origins: Sequence[int]) -> tuple[Any, list[int]]:
    """Return the weights and origins of the correlation that equals a convolution."""
    moved = [-origin - (1 - n % 2) for origin, n in zip(origins, weights.shape, strict=True)]
    return np.flip(weights), moved


@valued(_ndimage.correlate, linear=True)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Correlation of an image with weights; differentiated by both.

    >>> correlate([1.0, 2.0, 4.0], [0.0, 0.0, 1.0])
    array([2., 4., 4.])
    """
    x = real_image("correlate", input, output)
    chosen, origins = _in_order(axes, origin, x.ndim)
    return _correlated(x, weights, chosen, mode, cval, origins)


@valued(_ndimage.convolve, linear=True)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Convolution of an image with weights; differentiated by both.

    >>> convolve([1.0, 2.0, 4.0], [0.0, 0.0, 1.0])
    array([1., 1., 2.])
    """
    x = real_image("convolve", input, output)
    chosen, origins = _in_order(axes, origin, x.ndim)
    turned, origins = _turned(real_array(weights), origins)
    return _correlated(x, turned, chosen, mode, cval, origins)


@valued(_ndimage.correlate1d, linear=True)
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Correlation along an axis.

    >>> correlate1d([1.0, 2.0, 4.0], [0.0, 0.0, 1.0], mode="wrap")
    array([2., 4., 1.])
    """
    return _correlated(real_image("correlate1d", input, output), weights, [axis], mode, cval, origin)


@valued(_ndimage.convolve1d, linear=True)
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Convolution along an axis.

    >>> convolve1d([1.0, 2.0, 4.0], [0.0, 0.0, 1.0], mode="constant")
    array([0., 1., 2.])
    """
    turned, origins = _turned(real_array(weights), [origin])
    return _correlated(real_image("convolve1d", input, output), turned, [axis], mode, cval, origins)


@valued(_ndimage.uniform_filter1d, linear=True)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """Mean of `size` elements along an axis.

    >>> uniform_filter1d([3.0, 0.0, 6.0], 3)
    array([2., 3., 4.])
    """
    x = real_image("uniform_filter1d", input, output)
    return _correlated(x, np.full(size, 1.0 / size), [axis], mode, cval, origin)


@valued(_ndimage.uniform_filter, linear=True)
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Mean of the elements of a box.

    >>> uniform_filter([3.0, 0.0, 6.0], 3)
    array([2., 3., 4.])
    """
    x = real_image("uniform_filter", input, output)
    chosen = _chosen(axes, x.ndim)
    options = zip(chosen, *(_each(u, chosen) for u in (size, mode, origin)), strict=True)
    for axis, n, how, moved in options:
        if n > 1:
            x = _correlated(x, np.full(n, 1.0 / n), [axis], how, cval, moved)
    return x


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """Return a derivative of the Gaussian at whole numbers, as weights of a correlation: a polynomial times it."""
    x = np.arange(-radius, radius + 1.0)
    square = sigma * sigma
    density = np.exp(-0.5 / square * x**2)
    density = density / np.sum(density)
    polynomial: list[Any] = [1.0]
    for _ in range(order):
        slope = [(k + 1) * c for k, c in enumerate(polynomial[1:])]
        product = [0.0, *(-c / square for c in polynomial)]
        polynomial = [u + v for u, v in zip(product, [*slope, 0.0, 0.0], strict=True)]
    return (density * functools.reduce(lambda total, c: total * x + c, polynomial[::-1], 0.0 * x))[::-1]


def _smoothed(x: Any, axis: int, sigma: Any, order: int, mode: str, cval: Any, truncate: float, radius: Any) -> Any:
    reach = int(truncate * float(plain(sigma)) + 0.5) if radius is None else radius
    return _correlated(x, _gaussian(sigma, order, reach), [axis], mode, cval, 0)


@valued(_ndimage.gaussian_filter1d, linear=True)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Gaussian filter along an axis, or a derivative of it; differentiated by sigma, too.

    >>> gaussian_filter1d([0.0, 1.0, 0.0], 0.5).round(3)
    array([0.107, 0.787, 0.107])
    """
    x = real_image("gaussian_filter1d", input, output)
    return _smoothed(x, axis, sigma, order, mode, cval, truncate, radius)


@valued(_ndimage.gaussian_filter, linear=True)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Gaussian filter; differentiated by sigma, too.

    >>> gaussian_filter([0.0, 1.0, 0.0], 0.5).round(3)
    array([0.107, 0.787, 0.107])
    """
    return _gaussian_filter(
        real_image("gaussian_filter", input, output), sigma, order, mode, cval, truncate, radius, axes
    )


def _gaussian_filter(
    x: Any,
    sigma: Any,
    order: Any,
    mode: Any,
    cval: Any,
    truncate: float = 4.0,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    chosen = _chosen(axes, x.ndim)
    options = zip(chosen, *(_each(u, chosen) for u in (sigma, order, mode, radius)), strict=True)
    for axis, width, n, how, reach in options:
        if plain(width) > 1e-15:
            x = _smoothed(x, axis, width, n, how, cval, truncate, reach)
    return x


def _of_slopes(x: Any, axis: int, mode: Any, cval: Any, across: Sequence[float]) -> Any:
    modes = _each(mode, range(x.ndim))
    x = _correlated(x, [-1.0, 0.0, 1.0], [axis], modes[axis], cval, 0)
    for other in range(x.ndim):
        if other != axis % x.ndim:
            x = _correlated(x, across, [other], modes[other], cval, 0)
    return x


@valued(_ndimage.sobel, linear=True)
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Sobel filter.

    >>> sobel([0.0, 1.0, 3.0])
    array([1., 3., 2.])
    """
    return _of_slopes(real_image("sobel", input, output), axis, mode, cval, [1.0, 2.0, 1.0])


@valued(_ndimage.prewitt, linear=True)
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Prewitt filter.

    >>> prewitt([0.0, 1.0, 3.0])
    array([1., 3., 2.])
    """
    return _of_slopes(real_image("prewitt", input, output), axis, mode, cval, [1.0, 1.0, 1.0])


def _summed(x: Any, mode: Any, axes: Any, f: Callable[[int, str], Any]) -> Any:
    chosen = _chosen(axes, x.ndim)
    return sum(f(axis, how) for axis, how in zip(chosen, _each(mode, chosen), strict=True))


@valued(_ndimage.laplace, linear=True)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """Laplace filter: the sum of second differences.

    >>> laplace([0.0, 1.0, 3.0])
    array([ 1.,  1., -2.])
    """
    x = real_image("laplace", input, output)
    return _summed(x, mode, axes, lambda axis, how: _correlated(x, [1.0, -2.0, 1.0], [axis], how, cval, 0))


def _slopes(x: Any, sigma: Any, mode: Any, cval: Any, axes: Any, order: int, kwargs: dict[str, Any]) -> list[Any]:
    """Return the derivative of an order along each axis, behind a Gaussian filter with the mode of that axis."""
    chosen = _chosen(axes, x.ndim)
    orders = [[order * (other == axis) for other in chosen] for axis in chosen]
    modes = zip(orders, _each(mode, chosen), strict=True)
    return [_gaussian_filter(x, sigma, n, how, cval, axes=axes, **kwargs) for n, how in modes]


@valued(_ndimage.gaussian_laplace, linear=True)
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Laplace filter of the image behind a Gaussian filter.

    >>> gaussian_laplace([0.0, 1.0, 0.0], 1.0).round(2)
    array([ 0.16, -0.33,  0.16])
    """
    x = real_image("gaussian_laplace", input, output)
    return sum(_slopes(x, sigma, mode, cval, axes, 2, kwargs))


@valued(_ndimage.gaussian_gradient_magnitude, linear=True)
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Length of the gradient of the image behind a Gaussian filter.

    >>> gaussian_gradient_magnitude([0.0, 1.0, 0.0], 1.0).round(2)
    array([0.13, 0.  , 0.13])
    """
    x = real_image("gaussian_gradient_magnitude", input, output)
    return np.sqrt(sum(slope * slope for slope in _slopes(x, sigma, mode, cval, axes, 1, kwargs)))
