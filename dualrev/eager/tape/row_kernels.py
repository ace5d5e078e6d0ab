"""The loops that numba compiles: over the rows of scalars and the terms of blocks, backwards and forwards.

Adding 0.0 to a contribution makes -0.0, which says "nothing yet", the other zero. Ids of elements are negative, and
count from the end of the buffer, as Python's indices do.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = [
    "add",
    "all_reached",
    "any_reached",
    "flow_on",
    "nodes_of",
    "pull_rows",
    "pull_terms",
    "push_rows",
    "push_terms",
    "same",
    "stretches",
]


def _compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    """A loop that numba compiles, or reads from its cache. It is handed to numba at its first call: that takes time."""

    def first(*args: Any) -> Any:
        """Compile the kernel in its first call, and put it in the place of this function."""
        made = globals()[f.__name__] = numba.njit(cache=True, nogil=True)(f)
        return made(*args)

    return first


@_compiled
def pull_rows(rows, start, end, cts):  # type: ignore[no-untyped-def]
    """For each row, the last first: its cotangent times its partials, to its operands' cotangents."""
    for k in range(end - 1, start - 1, -1):
        row = rows[k]
        g = cts[row.id]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            cts[row.i] += g * row.p + 0.0
            cts[row.j] += g * row.q + 0.0


@_compiled
def push_rows(rows, start, end, tangents):  # type: ignore[no-untyped-def]
    """For each row, the first one first: its operands' tangents times its partials, to its tangent."""
    tangents[0] = -0.0
    for k in range(start, end):
        row = rows[k]
        g = tangents[row.i]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            tangents[row.id] += g * row.p + 0.0
        g = tangents[row.j]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            tangents[row.id] += g * row.q + 0.0


@_compiled
def pull_terms(cts, results, p, operand):  # type: ignore[no-untyped-def]
    """The results' cotangents times the partials, to the operand's cotangents."""
    for k in range(len(operand)):
        g = cts[results[k]]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            cts[operand[k]] += g * (p[k] if p.size > 1 else p[0]) + 0.0


@_compiled
def push_terms(tangents, results, p, operand):  # type: ignore[no-untyped-def]
    """The operand's tangents times the partials, to the results' tangents."""
    tangents[0] = -0.0
    for k in range(len(operand)):
        g = tangents[operand[k]]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            tangents[results[k]] += g * (p[k] if p.size > 1 else p[0]) + 0.0


@_compiled
def flow_on(numbers, source, target, p, n):  # type: ignore[no-untyped-def]
    """The numbers of n ids from `source` times the partials, to those from `target`."""
    for k in range(n):
        g = numbers[source + k]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            numbers[target + k] += g * (p[k] if p.size > 1 else p[0]) + 0.0


@_compiled
def any_reached(numbers, start, n):  # type: ignore[no-untyped-def]
    """Whether something has contributed to one of n ids from `start`."""
    k = start
    while k < start + n and numbers[k] == 0.0 and math.copysign(1.0, numbers[k]) < 0.0:
        k += 1
    return k < start + n


@_compiled
def add(cts, ids, ct):  # type: ignore[no-untyped-def]
    """Add to these ids, one after the other."""
    for k in range(len(ids)):
        cts[ids[k]] += ct[k] + 0.0


@_compiled
def stretches(ids, most):  # type: ignore[no-untyped-def]
    """Where each stretch of consecutive ids, or of constants, ends; nothing if there are more than `most`."""
    ends = np.empty(most, np.int64)
    found = 0
    for k in range(1, len(ids) + 1):
        if k == len(ids) or ids[k] != (ids[k - 1] + 1 if ids[k - 1] else 0) or (ids[k] == 0) != (ids[k - 1] == 0):
            if found == most:
                return ends[:0]
            ends[found] = k
            found += 1
    return ends[:found]


@_compiled
def nodes_of(ids, ends):  # type: ignore[no-untyped-def]
    """The nodes that negative ids belong to, some of them several times, in work that does not grow with all nodes.

    Node k has the ids from -ends[k] to the one before the node before it.
    """
    found, count = np.empty(len(ids), np.int64), 0
    low, high = np.int64(1), np.int64(0)  # of the node of the last one
    for i in ids:
        if i < 0 and not low <= i <= high:
            found[count] = k = np.searchsorted(ends, -i)
            count += 1
            low, high = -ends[k], -ends[k - 1] - 1 if k > 0 else np.int64(-1)
    return found[:count]


@_compiled
def all_reached(cts):  # type: ignore[no-untyped-def]
    """Whether something has contributed to each of these."""
    reached = True
    for k in range(len(cts)):
        reached &= cts[k] != 0.0 or math.copysign(1.0, cts[k]) > 0.0
    return reached


@_compiled
def same(u, v):  # type: ignore[no-untyped-def]
    """Whether two arrays of ints are the same: all of it in one pass, of which the processor does several at a time."""
    differences = u[0] ^ v[0]
    for k in range(len(u)):
        differences |= u[k] ^ v[k]
    return differences == 0
