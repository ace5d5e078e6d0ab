"""The loops that numba compiles: over the rows of scalars and the terms of blocks, backwards and forwards.

Adding 0.0 to a contribution makes -0.0, which says "nothing yet", the other zero. Ids of elements are negative, and
count from the end of the buffer, as Python's indices do.
"""

import math

import numba

__all__ = ["add", "consecutive", "pull_rows", "pull_terms", "push_rows", "push_terms"]


@numba.njit(cache=True, nogil=True)
def pull_rows(rows, start, end, cts):  # type: ignore[no-untyped-def]
    """For each row, the last first: its cotangent times its partials, to its operands' cotangents."""
    for k in range(end - 1, start - 1, -1):
        row = rows[k]
        g = cts[row.id]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            cts[row.i] += g * row.p + 0.0
            cts[row.j] += g * row.q + 0.0


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def pull_terms(cts, out, row, p, first, ids, n):  # type: ignore[no-untyped-def]
    """The results' cotangents times the partials, to the operands' cotangents."""
    for k in range(n):
        g = cts[out + (k if row.size == 0 else row[k] if row.size > 1 else row[0])]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            cts[ids[k] if ids.size else first + k] += g * (p[k] if p.size > 1 else p[0]) + 0.0


@numba.njit(cache=True, nogil=True)
def push_terms(tangents, out, row, p, first, ids, n):  # type: ignore[no-untyped-def]
    """The operands' tangents times the partials, to the results' tangents."""
    tangents[0] = -0.0
    for k in range(n):
        g = tangents[ids[k] if ids.size else first + k]
        if g != 0.0 or math.copysign(1.0, g) > 0.0:
            place = out + (k if row.size == 0 else row[k] if row.size > 1 else row[0])
            tangents[place] += g * (p[k] if p.size > 1 else p[0]) + 0.0


@numba.njit(cache=True, nogil=True)
def add(cts, ids, ct):  # type: ignore[no-untyped-def]
    """Add to these ids, one after the other."""
    for k in range(len(ids)):
        cts[ids[k]] += ct[k] + 0.0


@numba.njit(cache=True, nogil=True)
def consecutive(ids):  # type: ignore[no-untyped-def]
    """Whether each id is the one before plus 1."""
    for k in range(1, len(ids)):
        if ids[k] != ids[0] + k:
            return False
    return len(ids) > 0
