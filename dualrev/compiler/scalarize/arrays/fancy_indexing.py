"""Advanced indexing by integer arrays and masks: gather and scatter loops over the index.

Cotangents of an index that repeats itself add up.

Takes the writer, and what has been put off. The other entries of the index make a view first; a mask becomes the places
where it is true. numba's order of the axes is numpy's, but for a mask beside ints: its axis stays where it is written.
What it reads is a copy; what it writes may stand on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.indices import check_index, flat_index, unravelled
from dualrev.compiler.scalarize.arrays.overlap_test import copied_first
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array

__all__ = ["Gathering"]

_WHOLE = anf.Slice(None, None, None)
_Place = Callable[[tuple[str, ...]], anf.Index]


class Gathering:
    """Gather, scatter and selection: `a[index]` with arrays in the index, and functions that select elements."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy) -> None:
        self.code, self.lazy = code, lazy

    def read(self, s: anf.GetItem, kind: NumbaType) -> None:
        """Gather: `target = array[index]`, a copy."""
        code = self.code
        view, shape, place = self._subspace(s.args[0], flat_index(code, s.index), s.line)
        if not is_array(kind):
            code.emit(anf.Load(s.target, view, place(()), s.line))
            return
        names = tuple(dict.fromkeys(n for n, _ in shape))
        made = s.target if s.target not in (*names, view, s.args[0]) else code.temp(kind)
        code.empty(made, _shape_text(shape), names, s.line)
        code.over(
            made, kind.ndim, s.line, lambda i: code.put(made, i, code.pick(view, place(i), s.line), s.line), False
        )
        code.copy(s.target, made, s.line)

    def store(self, s: anf.Store) -> None:
        """Scatter: `array[index] = value`."""
        code, value = self.code, s.value
        kind = code.kind(value)
        if isinstance(kind, types.BaseTuple):
            code.refuse(s.line, "this assignment of a tuple", "its places are chosen by an array", "an array")
        self.lazy.materialise(value)
        self.lazy.flush()
        view, shape, place = self._subspace(s.array, flat_index(code, s.index), s.line)
        names = tuple(dict.fromkeys(n for n, _ in shape))
        room = code.temp(types.Array(types.boolean, len(shape), "C"))  # it only has the shape
        code.empty(room, _shape_text(shape), names, s.line)

        def write(source: anf.Atom) -> None:
            """Emit the scatter loop that reads `source`."""
            one: Callable[[tuple[str, ...]], anf.Atom] = lambda i: value  # noqa: E731
            if is_array(kind):
                spread = code.spread(source, room, len(shape), s.line)
                one = lambda i: code.pick(spread, i, s.line)  # noqa: E731
            code.over(room, len(shape), s.line, lambda i: code.put(named(view), place(i), one(i), s.line), False)

        def write_copy() -> None:
            """Copy the value, which may alias the array, and scatter the copy."""
            copy = code.temp(types.Array(kind.dtype, kind.ndim, "C"))
            code.copy_elements(copy, value, s.line)
            write(copy)

        if not is_array(kind) or not code.alias.same(named(value), s.array):
            write(value)
        elif (copied := copied_first(code, s.array, flat_index(code, s.index), named(value), s.line)) is None:
            write_copy()
        else:
            code.add(anf.If(copied, code.collect(write_copy), code.collect(lambda: write(value)), s.line))

    def _subspace(self, base: anf.Atom, index: anf.Index, line: int) -> tuple[anf.Atom, list[tuple[str, int]], _Place]:
        """View by the basic indices, axes of the result as (array, axis) pairs, and the index map into the view."""
        code = self.code
        entries = self._complete(index, code.kind(base).ndim, line)
        arrays = {n: x for n, x in enumerate(entries) if isinstance(x, (str, anf.Ref)) and is_array(code.kind(x))}
        self._check_arrays(entries, arrays, line)
        axes: dict[int, int] = {}  # of an entry: its axis in the view
        for n, x in enumerate(entries):
            if isinstance(x, anf.Slice) or n in arrays:
                axes[n] = len(axes)
        view = base
        whole = tuple(_WHOLE if n in arrays else x for n, x in enumerate(entries))
        if any(x != _WHOLE for x in whole):
            view = code.temp(types.Array(code.kind(base).dtype, len(axes), "A"))
            code.emit(anf.View(view, base, whole, line))
            code.alias.join(view, named(base))
        masks = any(isinstance(code.kind(x).dtype, types.Boolean) for x in arrays.values())
        lists = self._index_arrays([*arrays.values()], line)
        first = next(iter(arrays)) if masks else _first(entries)
        before = [n for n in axes if n < first and isinstance(entries[n], anf.Slice)]
        after = [n for n in axes if n > first and isinstance(entries[n], anf.Slice)]
        depth = code.kind(lists[0]).ndim
        own = [(named(lists[0]), j) for j in range(depth)]
        shape = [*((named(view), axes[n]) for n in before), *own, *((named(view), axes[n]) for n in after)]
        many = dict(zip(arrays, lists, strict=True))

        def place(i: tuple[str, ...]) -> anf.Index:
            """Index into the view for index `i` of the result."""
            found: dict[int, anf.Entry] = dict(zip(before, i, strict=False))
            found.update(zip(after, i[len(before) + depth :], strict=True))
            inner = i[len(before) : len(before) + depth]
            for n, x in many.items():
                found[n] = code.pick(x, inner, line)
            return tuple(found[n] for n in axes)

        return view, shape, place

    def _complete(self, index: anf.Index, ndim: int, line: int) -> list[anf.Entry]:
        """Expand an index to one entry for every axis."""
        entries = list(index)
        if None in entries:
            self.code.refuse(line, "None beside an index that is an array", "it is not known", "a reshape afterwards")
        missing = ndim - sum(x is not Ellipsis for x in entries)
        where = entries.index(Ellipsis) if Ellipsis in entries else len(entries)
        entries[where : where + 1] = [_WHOLE] * missing
        return entries

    def _check_arrays(self, entries: list[anf.Entry], arrays: Mapping[int, anf.Atom], line: int) -> None:
        """Refuse unsupported entries: a mask must be 1-D and the only array, other arrays hold ints."""
        code = self.code
        for n, entry in enumerate(entries):
            if n not in arrays:
                check_index(code, (entry,), line)
        masks = [x for x in arrays.values() if isinstance(code.kind(x).dtype, types.Boolean)]
        if masks and (len(arrays) > 1 or code.kind(masks[0]).ndim != 1):
            code.refuse(line, "a mask beside other arrays or of several axes", "it is not known", "a loop")
        indices = (types.Integer, types.Boolean)
        assert all(isinstance(code.kind(x).dtype, indices) for x in arrays.values()), "numba types no others"

    def _index_arrays(self, arrays: list[anf.Atom], line: int) -> list[anf.Atom]:
        """Integer index arrays of one shape: masks become their nonzero indices, others are broadcast."""
        code = self.code
        found: list[anf.Atom] = []
        for x in arrays:
            self.lazy.materialise(x)
            if isinstance(code.kind(x).dtype, types.Boolean):
                x = code.plain("np.nonzero(x)[0]", line, types.Array(types.int64, 1, "C"), x=x)
            found.append(x)
        if len(found) == 1:
            return found
        names = tuple(dict.fromkeys(map(named, found)))
        ndim = max(code.kind(x).ndim for x in found)
        room = code.temp(types.Array(types.boolean, ndim, "C"))
        code.empty_for(room, names, line)
        return [code.spread(x, room, ndim, line) for x in found]

    # Functions that select elements

    def selected(self, s: anf.Let, kind: NumbaType, base: anf.Atom, places: str, zero: bool, **names: Any) -> None:
        """Gather by flat indices: `target` = the elements of `base` at the indices that `places` computes.

        `places` is an expression of the array, `x_`, and of the flat indices of all its elements, `p_`.

        With `zero`, places are counted from 1, and 0 stands for no element.
        """
        code = self.code
        self.lazy.materialise(base)
        start = "np.arange(1, x_.size + 1)" if zero else "np.arange(x_.size)"
        text = places.replace("p_", f"np.reshape({start}, x_.shape)" if code.kind(base).ndim != 1 else start)
        if not is_array(kind):
            k = code.plain(text, s.line, types.int64, x_=base, **names)
            code.emit(anf.Load(s.target, base, unravelled(code, base, k, s.line), s.line))
            return
        chosen = code.plain(text, s.line, types.Array(types.int64, kind.ndim, "A"), x_=base, **names)
        made = s.target if s.target != base else code.temp(kind)
        code.empty_like(made, chosen, s.line)

        def one(i: tuple[str, ...]) -> None:
            """Store the selected element at index `i` of the result."""
            k = code.pick(chosen, i, s.line)
            if zero:
                value = self._element_or_zero(base, k, kind.dtype, s.line)
            else:
                value = code.pick(base, unravelled(code, base, k, s.line), s.line)
            code.put(made, i, value, s.line)

        code.over(made, kind.ndim, s.line, one, False)
        code.copy(s.target, made, s.line)

    def _element_or_zero(self, base: anf.Atom, k: str, kind: NumbaType, line: int) -> str:
        """Load the element at a flat index counted from 1; the constant 0.0 for index 0."""
        code = self.code
        from_one = code.plain("k - 1", line, k=k)
        value = code.temp(kind)
        nothing = code.plain("k == 0", line, types.boolean, k=k)
        none: list[anf.Stmt] = [anf.Copy(value, anf.Const(0.0), line)]
        some = code.collect(lambda: code.emit(anf.Load(value, base, unravelled(code, base, from_one, line), line)))
        code.add(anf.If(nothing, none, some, line))
        return value


def _shape_text(shape: list[tuple[str, int]]) -> str:
    """Source text of a shape, each of whose lengths is an axis length of some array."""
    return "(" + "".join(f"{name}.shape[{axis}], " for name, axis in shape) + ")"


def _first(entries: list[anf.Entry]) -> int:
    """Entry at which the axes of the index arrays go; -1, for the front, if ints and arrays are not adjacent."""
    single = [n for n, x in enumerate(entries) if not isinstance(x, anf.Slice)]
    return single[0] if single[-1] - single[0] + 1 == len(single) else -1
