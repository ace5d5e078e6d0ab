"""Race test of two views: whether they share an element at different indices."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.compiler.runtime.threads import may_overlap
from dualrev.rules.library.njit_internal import inner

__all__ = ["races"]


@inner
def races(target, source):
    """Whether iterations that write target[i], for each source[i] of the same shape, read what others write."""
    if not may_overlap(target, source) or _is_same_view(target, source):
        return False
    low = min(_lowest(target), _lowest(source))
    high = max(_highest(target), _highest(source))
    unit = np.int64(target.ctypes.data) - low
    for a in (target.strides, source.strides):
        for step in a:
            unit = _divisor(unit, abs(step))
    unit = max(_divisor(unit, np.int64(source.ctypes.data) - low), 1)
    writer = np.zeros((high - low) // unit + 1, np.int64)  # of a place in memory: the iteration that writes it, from 1
    for k, i in enumerate(np.ndindex(target.shape)):
        writer[(_place(target, i) - low) // unit] = k + 1
    for k, i in enumerate(np.ndindex(target.shape)):
        if writer[(_place(source, i) - low) // unit] not in (0, k + 1):
            return True
    return False


@inner
def _is_same_view(a, b):
    """Whether two arrays of the same shape have the same elements at the same addresses."""
    same = a.ctypes.data == b.ctypes.data
    for k in range(a.ndim):
        same = same and (a.shape[k] <= 1 or a.strides[k] == b.strides[k])
    return same


@inner
def _place(a, index):
    """Address of an element."""
    place = np.int64(a.ctypes.data)
    for k in range(a.ndim):
        place += index[k] * a.strides[k]
    return place


@inner
def _lowest(a):
    place = np.int64(a.ctypes.data)
    for k in range(a.ndim):
        place += min(a.strides[k], 0) * (a.shape[k] - 1)
    return place


@inner
def _highest(a):
    place = np.int64(a.ctypes.data)
    for k in range(a.ndim):
        place += max(a.strides[k], 0) * (a.shape[k] - 1)
    return place


@inner
def _divisor(a, b):
    """Greatest common divisor; with 0 it is the other number."""
    while b:
        a, b = b, a % b
    return a
