"""Spline interpolation of images: map_coordinates, and transformations that compute the coordinates.

    y = sum over k of B(x - k) c[k]        c: the spline's coefficients, B: the B-spline

SciPy's spline_filter computes the coefficients: for order > 1, a matrix for each axis times the image. The mode folds a
coordinate outside of the image into it, with a factor of 1 or -1 for the derivative; "nearest" continues the image.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import ndimage as _ndimage

from dualrev.eager.arrays.memory.storage import holds_duals, plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy import special
from dualrev.scipy.calls import valued
from dualrev.scipy.ndimage.filters import real_image
from dualrev.scipy.signal import convolutions

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "zoom"]

_PADDED = 12  # elements on each side, as SciPy adds them


def _coefficients(x: Any, axes: int, order: int, mode: str, cval: Any) -> tuple[Any, int]:
    """Return the coefficients of the spline along the last axes, and how many SciPy adds on each side of an axis."""
    if order < 2:
        return x, 0
    padded = _PADDED if mode in ("nearest", "grid-constant") else 0
    if padded:
        widths = [(0, 0)] * (x.ndim - axes) + [(padded, padded)] * axes
        x = convolutions.padded(x, widths, "edge" if mode == "nearest" else "constant", cval)
    for axis in range(x.ndim - axes, x.ndim):
        if x.shape[axis] > 1:
            matrix = _ndimage.spline_filter1d(np.eye(x.shape[axis]), order, 0, mode=mode)
            x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x, padded


def _folded(at: np.ndarray, n: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates inside of an axis of n elements, and their derivatives by the given ones."""
    last = n - 1.0
    if mode == "nearest":  # the spline of an image that is continued by its edge: constant further out
        return np.clip(at, -9.0, n + 9.0), np.ones(at.shape)
    if mode in ("constant", "grid-constant") or n == 1:
        return at, np.ones(at.shape)
    if mode in ("wrap", "grid-wrap"):
        period = last if mode == "wrap" else float(n)
        return np.where((at >= 0.0) & (at <= last), at, at % period), np.ones(at.shape)
    half, start = (0.5, float(n)) if mode in ("reflect", "grid-mirror") else (0.0, last)
    place = (at + half) % (2.0 * start)
    back = place > start
    return np.where(back, 2.0 * start - place, place) - half, np.where(back, -1.0, 1.0)


def _places(index: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Return which coefficients a spline has beyond the ends of an axis: whole numbers in 0, ..., n - 1."""
    if n == 1:
        return np.zeros_like(index)
    if mode == "grid-wrap":
        return index % n
    if mode in ("nearest", "grid-constant"):
        return np.clip(index, 0, n - 1)
    if mode in ("reflect", "grid-mirror"):
        index = index % (2 * n)
        return np.where(index >= n, 2 * n - 1 - index, index)
    index = index % (2 * n - 2)
    return np.where(index >= n, 2 * n - 2 - index, index)


def _weights(t: Any, order: int) -> list[Any]:
    """Return the B-splines of an order that are not 0 at t in [0, 1), by de Boor's recursion."""
    made: list[Any] = [1.0 + 0.0 * t]
    for degree in range(1, order + 1):
        parts = [w / degree for w in made]
        made = [
            (parts[r] * (r + 1 - t) if r < degree else 0.0) + (parts[r - 1] * (t + degree - r) if r else 0.0)
            for r in range(degree + 1)
        ]
    return made


def _interpolated(x: Any, coordinates: Sequence[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """Return the spline through an image at coordinates, one array for each of the last axes."""
    axes = len(coordinates)
    coefficients, padded = _coefficients(x, axes, order, mode, cval) if prefilter else (x, 0)
    sizes = coefficients.shape[-axes:]
    shape = np.shape(coordinates[0])
    outside = np.zeros(shape, bool)
    terms = []
    for n, at in zip(sizes, coordinates, strict=True):
        at = real_array(at) + float(padded)
        known = plain(at)
        if mode == "constant":
            outside |= ~((known >= 0.0) & (known <= n - 1.0))
        inside, slope = _folded(known, n, mode)
        inside = np.where(np.isfinite(inside), inside, 0.0)
        at = inside + slope * (at - known) if holds_duals(at) else inside
        floor = np.floor(plain(at) + (0.0 if order % 2 else 0.5))
        t = at - floor + (0.0 if order % 2 else 0.5)
        first = floor.astype(int) - order // 2
        terms.append([(first + k, w) for k, w in enumerate(_weights(t, order))])
    total: Any = 0.0
    flat = np.reshape(coefficients, (*coefficients.shape[:-axes], -1))
    for chosen in itertools.product(*terms):
        places, valid, weight = [], np.ones(shape, bool), 1.0
        for n, (index, w) in zip(sizes, chosen, strict=True):
            valid &= (index >= 0) & (index < n) if mode == "grid-constant" else True
            places.append(_places(index, n, mode))
            weight = weight * w
        found = flat[..., np.ravel_multi_index(places, sizes)]
        total = total + weight * (found if valid.all() else np.where(valid, found, cval))
    return np.where(outside, cval, total)


@valued(_ndimage.map_coordinates, linear=True)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Spline through an image at coordinates, of shape (axes of the image, ...); differentiated by both.

    >>> map_coordinates([0.0, 1.0, 4.0], [[0.5, 1.5]], order=1)
    array([0.5, 2.5])
    """
    x = real_image("map_coordinates", input, output)
    return _interpolated(x, list(real_array(coordinates)), order, mode, cval, prefilter)


def _grid(shape: Sequence[int]) -> list[np.ndarray]:
    return list(np.indices(tuple(shape)).astype(float))


@valued(_ndimage.shift, linear=True)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Image moved by a number, or by one for each axis; differentiated by both.

    >>> shift([0.0, 1.0, 4.0], 0.5, order=1, mode="nearest")
    array([0. , 0.5, 2.5])
    """
    x = real_image("shift", input, output)
    moved = real_array(shift)
    by = [moved] * x.ndim if not moved.ndim else list(moved)
    at = [u - s for u, s in zip(_grid(x.shape), by, strict=True)]
    return _interpolated(x, at, order, mode, cval, prefilter)


@valued(_ndimage.zoom, linear=True)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """Image of another size. The factors are constants: the size is a whole number.

    >>> zoom([0.0, 2.0], 1.5, order=1)
    array([0., 1., 2.])
    """
    x = real_image("zoom", input, output)
    if holds_duals(zoom):
        raise UnsupportedError("scipy.ndimage.zoom by the factor", "affine_transform with a matrix")
    factors = np.broadcast_to(np.asarray(zoom, float), (x.ndim,))
    shape = [round(n * f) for n, f in zip(x.shape, factors, strict=True)]
    at = []
    for u, n, m in zip(_grid(shape), x.shape, shape, strict=True):
        if grid_mode:
            at.append((u + 0.5) * (n / m if m else 1.0) - 0.5)
        else:
            at.append(u * ((n - 1) / (m - 1) if m > 1 else 1.0))
    return _interpolated(x, at, order, mode, cval, prefilter)


@valued(_ndimage.affine_transform, linear=True)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Image at the coordinates matrix @ o + offset; differentiated by the image, the matrix and the offset.

    >>> affine_transform([0.0, 1.0, 4.0], [0.5], 0.5, order=1)
    array([0.5, 1. , 2.5])
    """
    x = real_image("affine_transform", input, output)
    shape = x.shape if output_shape is None else tuple(output_shape)
    return _interpolated(x, _affine(x, matrix, offset, shape), order, mode, cval, prefilter)


def _affine(x: Any, matrix: Any, offset: Any, shape: Sequence[int]) -> list[Any]:
    matrix, offset, n = real_array(matrix), real_array(offset), x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:  # homogeneous coordinates
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    grid = _grid(shape)
    by = [offset] * n if not offset.ndim else list(offset)
    if matrix.ndim == 1:
        return [m * u + b for m, u, b in zip(matrix, grid, by, strict=True)]
    return [sum(matrix[i, j] * grid[j] for j in range(n)) + by[i] for i in range(n)]


@valued(_ndimage.rotate, linear=True)
def rotate(
    input: Any,
    angle: Any,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Image rotated in a plane by an angle in degrees; differentiated by both.

    >>> rotate([[0.0, 1.0], [2.0, 3.0]], 90.0, order=1).round(6)
    array([[1., 3.],
           [0., 2.]])
    """
    x = real_image("rotate", input, output)
    plane = sorted(axis % x.ndim for axis in axes)
    x = np.moveaxis(x, plane, (-2, -1))
    c, s = special.cosdg(angle), special.sindg(angle)
    inside = np.array(x.shape[-2:])
    if reshape:
        known = np.array([[plain(c), plain(s)], [-plain(s), plain(c)]], float)
        corners = known @ [[0, 0, inside[0], inside[0]], [0, inside[1], 0, inside[1]]]
        shape = (np.ptp(corners, axis=1) + 0.5).astype(int)
    else:
        shape = inside
    middle, centre = (inside - 1.0) / 2.0, (shape - 1.0) / 2.0
    u, v = (at - at_centre for at, at_centre in zip(_grid(shape), centre, strict=True))
    at = [c * u + s * v + middle[0], c * v - s * u + middle[1]]
    return np.moveaxis(_interpolated(x, at, order, mode, cval, prefilter), (-2, -1), plane)
