"""Arrays that lie in memory as another one does, so that a view of the one goes with a view of the other."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["consecutive", "in_its_layout"]


def in_its_layout(x: np.ndarray) -> np.ndarray:
    """Copy an array in double precision, so that views of the copy exist wherever views of x do.

    The strides have the order and the signs of those of x, and the same axes lie one behind the other; the gaps between
    elements are smaller. Where elements share memory, as in np.broadcast_to, the copy has one for each.
    """
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return np.array(x, dtype=float)
    axes = sorted((k for k in range(x.ndim) if x.shape[k] > 1), key=lambda k: abs(x.strides[k]))
    if any(x.strides[k] == 0 for k in axes):
        return np.array(x, dtype=float)
    steps, end, smaller = [1] * x.ndim, 0, 0
    for k in axes:
        mine = abs(x.strides[k])
        if mine < end:  # the elements along one axis lie among those along another one
            steps = [abs(s) // x.itemsize for s in x.strides]
            break
        steps[k] = smaller + (mine > end) if end else 1 + (mine > x.itemsize)
        end, smaller = mine * x.shape[k], steps[k] * x.shape[k]
    reach = [step * (n - 1) for step, n in zip(steps, x.shape, strict=True)]
    room = sum(reach) + 1
    strides = [8 * step if s > 0 else -8 * step for step, s in zip(steps, x.strides, strict=True)]
    first = 8 * sum(r for r, s in zip(reach, x.strides, strict=True) if s < 0)
    if room > 2 ** (x.ndim + 1) * x.size:
        return np.array(x, dtype=float)
    made: np.ndarray = np.ndarray(x.shape, float, np.full(room, math.nan), first, strides)
    made[...] = np.arange(1.0, x.size + 1).reshape(x.shape)
    if made.base is not None and np.count_nonzero(made.base > 0.0) < x.size:
        return np.array(x, dtype=float)
    made[...] = x
    return made


def consecutive(start: int, x: np.ndarray) -> np.ndarray:
    """Ids for every element of x, counted in C order; in the memory layout of x, so that their views go together."""
    ids = np.arange(start, start + x.size).reshape(x.shape)
    if x.flags.c_contiguous:
        return ids
    made = np.empty_like(x, np.int64)
    made[...] = ids
    return made
