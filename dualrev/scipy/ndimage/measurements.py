"""Sums and means of an image's elements with a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage as _ndimage

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.scipy.calls import valued

__all__ = ["mean", "sum", "sum_labels"]


def _over_labels(input: Any, labels: Any, index: Any, f: Any) -> Any:
    x = real_array(input)
    if labels is None:
        return f(x)
    labels = np.broadcast_to(np.asarray(plain(labels)), x.shape)
    if index is None:
        return f(x[labels > 0])
    made = [f(x[labels == i]) for i in np.ravel(index)]
    return np.reshape(np.stack(made), np.shape(index))[()] if made else np.zeros(np.shape(index))


def _mean(x: Any) -> Any:
    return np.sum(x) / x.size if x.size else np.nan


@valued(_ndimage.sum_labels, linear=True)
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Sums of the elements that have each of the labels in index.

    >>> sum_labels([1.0, 2.0, 4.0], [1, 1, 2], [1, 2])
    array([3., 4.])
    """
    return _over_labels(input, labels, index, np.sum)


@valued(_ndimage.sum, linear=True)
def sum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Sums of the elements that have each of the labels in index, as `sum_labels`.

    >>> float(sum([1.0, 2.0, 4.0]))
    7.0
    """
    return _over_labels(input, labels, index, np.sum)


@valued(_ndimage.mean, linear=True)
def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Means of the elements that have each of the labels in index; NaN for a label that no element has.

    >>> mean([1.0, 2.0, 4.0], [1, 1, 2], [1, 2])
    array([1.5, 4. ])
    """
    return _over_labels(input, labels, index, _mean)
