"""Methods of lists on vectors, which lists are in compiled code."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.njit_internal import inner

__all__ = ["greatest", "least", "moved_down", "moved_up", "reordered", "repeated", "reversed_list", "two_lists"]


@inner
def moved_down(a, k):
    """The last element goes to place k, what stood there and behind it to the next place."""
    x = a[-1]
    for i in range(len(a) - 1, k, -1):
        a[i] = a[i - 1]
    a[k] = x
    return 0


@inner
def moved_up(a, k):
    """The element at place k goes to the last one: the inverse of moved_down."""
    x = a[k]
    for i in range(k, len(a) - 1):
        a[i] = a[i + 1]
    a[-1] = x
    return 0


@inner
def reversed_list(a):
    """ys.reverse()."""
    n = len(a)
    for i in range(n // 2):
        x = a[i]
        a[i] = a[n - 1 - i]
        a[n - 1 - i] = x
    return 0


@inner
def reordered(a, order):
    """The elements at these places, in this order, in place of the old ones."""
    a[:] = a[order]
    return 0


@inner
def two_lists(a, b):
    """ys + zs."""
    return np.concatenate((a, b))


@inner
def repeated(a, n):
    """ys * n."""
    made = np.empty(len(a) * max(n, 0), a.dtype)
    for i in range(len(made)):
        made[i] = a[i % len(a)]
    return made


@inner
def greatest(a):
    """max(ys): of equal elements, the first."""
    if len(a) == 0:
        raise StopIteration
    x = a[0]
    for y in a:
        if y > x:
            x = y
    return x


@inner
def least(a):
    """min(ys): of equal elements, the first."""
    if len(a) == 0:
        raise StopIteration
    x = a[0]
    for y in a:
        if y < x:
            x = y
    return x
