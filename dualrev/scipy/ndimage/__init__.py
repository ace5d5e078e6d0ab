"""`scipy.ndimage`: filters, spline interpolation and sums over labels of traced images.

Linear filters are correlations of the padded image, so derivatives are right at the boundaries, too: by the image and
by the weights. Medians, maxima and minima have the derivative of the element that they select. Interpolation has
derivatives by the image and by the coordinates: of the spline, and for order=1 from the right. Images and weights are
real. Every other name is SciPy's own.

>>> import numpy as np
>>> import dualrev as dr
>>> dr.grad(lambda x: uniform_filter1d(x, 3)[0])(np.zeros(3)).round(6)
array([0.666667, 0.333333, 0.      ])
"""

from __future__ import annotations

from typing import Any

from scipy import ndimage as _ndimage

from dualrev.scipy.ndimage.filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from dualrev.scipy.ndimage.interpolation import affine_transform, map_coordinates, rotate, shift, zoom
from dualrev.scipy.ndimage.measurements import mean, sum, sum_labels
from dualrev.scipy.order_filters import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "laplace",
    "map_coordinates",
    "maximum_filter",
    "maximum_filter1d",
    "mean",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "rotate",
    "shift",
    "sobel",
    "sum",
    "sum_labels",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]


def __getattr__(name: str) -> Any:
    return getattr(_ndimage, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_ndimage)})
