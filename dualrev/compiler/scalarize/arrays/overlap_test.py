"""Overlap test of slice assignments: whether numba copies a source that may share memory with its target.

numba copies if the memory of both may overlap, element by element otherwise, in the order of the part. It compares the
extent of the view with one of the part that leaves out as many axes, the last ones, as the index has numbers:
`y[0, 2:4] = y[0, 1:3]` compares y[0, 0:1] with y[0, 1:3], copies nothing, and reads y[0, 2] after it has been written.
(`FancyIndexer.get_offset_bounds` in numba/np/arrayobj.py.) The code asks the same when it runs, and does the same.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.predicates import is_array

__all__ = ["copied_first"]

_WHOLE, _FIRST = anf.Slice(None, None, None), anf.Slice(anf.Const(0), anf.Const(1), None)


def copied_first(code: ScalarBuilder, array: str, index: anf.Index, value: anf.Atom, line: int) -> str | None:
    """Emit numba's test whether it copies the source of `array[index] = value`; None if it copies every overlap."""
    ndim = code.kind(array).ndim
    numbers = sum(
        isinstance(x, anf.Const) or (isinstance(x, str | anf.Ref) and not is_array(code.kind(x))) for x in index
    )
    arrays = [code.kind(x).ndim for x in index if isinstance(x, str | anf.Ref) and is_array(code.kind(x))]
    axes = numbers + len(arrays) + sum(isinstance(x, anf.Slice) for x in index)
    added = sum(x is None for x in index) + max(arrays, default=0)
    left_out = numbers + len(arrays) - added
    if left_out <= 0:
        return None
    where = index.index(Ellipsis) if Ellipsis in index else len(index)
    entries = [x for x in (*index[:where], *[_WHOLE] * (ndim - axes), *index[where + 1 :]) if x is not None]
    kept = [_bounds(code, x, array, axis, line) for axis, x in enumerate(entries[: ndim - left_out])]
    view = code.temp(types.Array(code.kind(array).dtype, ndim, "A"))
    code.emit(anf.View(view, array, (*kept, *[_FIRST] * left_out), line))
    code.alias.join(view, array)
    return code.plain("runtime.may_overlap(a, b)", line, types.boolean, a=view, b=named(value))


def _bounds(code: ScalarBuilder, entry: anf.Entry, array: str, axis: int, line: int) -> anf.Slice:
    """Slice of one axis that covers the elements selected by an index entry."""
    if isinstance(entry, anf.Slice):
        return anf.Slice(entry.lower, entry.upper, _sign(code, entry.step, line))
    entry = anf.atom_of(entry)
    if is_array(code.kind(entry)):
        return _WHOLE
    first = code.plain(f"k + a.shape[{axis}] if k < 0 else k", line, k=entry, a=array)
    return anf.Slice(first, code.plain("k + 1", line, k=first), None)


def _sign(code: ScalarBuilder, step: anf.Atom | None, line: int) -> anf.Atom | None:
    if step is None or isinstance(step, anf.Const):
        return anf.Const(-1) if step is not None and step.value is not None and step.value < 0 else None
    return code.plain("1 if k > 0 else -1", line, k=step)
