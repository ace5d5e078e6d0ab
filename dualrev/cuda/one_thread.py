"""Equations that hold for one thread: the coordinates that two threads cannot share if both satisfy it.

t - n == 0                                     t, as n is the same for all threads
thread_x + blockdim_x * thread_y - n == 0      both
thread_x + 4 * thread_y == 0                   both: the thread is the first one
"""

from __future__ import annotations

from collections.abc import Mapping

from dualrev.compiler.analysis.values.linear_bounds import Form, Number, is_natural, single
from dualrev.cuda.indices import Indices
from dualrev.cuda.thread_function import INDICES

__all__ = ["told"]

_NONE: frozenset[str] = frozenset()


def told(f: Form, unknown: list[Number], dependence: Indices, telling: Mapping[Number, str]) -> frozenset[str]:
    """Return the coordinates that the unknown integers of a form tell where it is zero.

    `telling` has the keys of INDICES, by the integers that these indices are.
    """
    parts = {x: sorted(telling.get(y, "") for y in dependence.factors_of(x)) for x in unknown}
    ids = {x: [key for key in keys if _coordinates(key)] for x, keys in parts.items()}
    sizes = {x: [key for key in keys if not _coordinates(key)] for x, keys in parts.items()}
    if any("" in keys for keys in parts.values()) or any(len(keys) != 1 for keys in ids.values()):
        return _NONE
    every = _NONE.union(*(_coordinates(key) for keys in ids.values() for key in keys))
    if len(unknown) == 1 and not sizes[unknown[0]]:
        return every
    signs = {k > 0 for k in f.factors.values()}
    is_sum = not f.constant and len(signs) == 1 and len(unknown) == len(f.factors)
    if is_sum and all(is_natural(single(x)) for x in unknown):
        return every  # a sum of such integers is 0, and so are all of them
    axes: list[str] = []
    for x in sorted(unknown, key=lambda x: len(sizes[x])):  # x + size of x * (y + size of y * z)
        part, _, axis = ids[x][0].partition("_")
        if part != "thread" or axis in axes or sizes[x] != sorted(f"blockdim_{a}" for a in axes):
            return _NONE
        axes.append(axis)
    return every if len({f.factors[x] for x in unknown}) == 1 else _NONE


def _coordinates(key: str) -> frozenset[str]:
    return INDICES[key][1] if key else _NONE
