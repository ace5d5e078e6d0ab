"""Arrays that are indexed by arrays of ints or by masks -> loops over the index, which add up where it repeats itself.

The other entries of the index make a view first; a mask becomes the places where it is true. numba's order of the axes
is numpy's, but for a mask beside ints: its axis stays where it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, If, Let, Ref, Slice, Store, leaves
from dualrev.compiler.expansion.elementwise import Elementwise
from dualrev.compiler.expansion.statements import is_array

__all__ = ["Gathering"]

_WHOLE = Slice(None, None, None)
_Place = Callable[[tuple[str, ...]], tuple[Any, ...]]


class Gathering(Elementwise):
    """a[index] with arrays in the index, read and written, and functions that select elements of an array."""

    def is_gathered(self, entries: tuple[Any, ...]) -> bool:
        """Whether there is an array in an index, or in a tuple of an index."""
        atoms = [x for x in self.flat_index(entries) if isinstance(x, (str, Ref))]
        return any(is_array(self.kind(x)) for x in atoms)

    def flat_index(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        """An index with the parts of tuples, such as np.nonzero gives, in their place."""
        return tuple(y for x in entries for y in (leaves(self.tree(x)) if self.is_tuple(x) else [x]))

    def gather(self, s: Let, kind: Any) -> None:
        """target = array[index], a copy."""
        view, shape, place = self.subspace(s.args[0], self.flat_index(s.info), s.line)
        if not is_array(kind):
            self.let("load", (view,), place(()), s.line, target=s.target)
            return
        names = tuple(dict.fromkeys(n for n, _ in shape))
        made = s.target if s.target not in (*names, view, s.args[0]) else self.temp(kind)
        self.empty(made, self.shape_text(shape), names, s.line)
        self.over(made, kind.ndim, s.line, lambda i: self.put(made, i, self.pick_at(view, place(i), s.line), s.line))
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def shape_text(self, shape: list[tuple[str, int]]) -> str:
        """The shape of a result, each of whose axes is as long as one of another array."""
        return "(" + "".join(f"{name}.shape[{axis}], " for name, axis in shape) + ")"

    def pick_at(self, array: Any, place: tuple[Any, ...], line: int) -> str:
        """An element."""
        return self.let("load", (array,), place, line, self.kind(array).dtype)

    def store(self, s: Store) -> None:
        """array[index] = value."""
        if not is_array(self.kind(s.array)) or not self.is_gathered(s.index):
            super().store(s)
            return
        kind = self.kind(s.value)
        if isinstance(kind, types.BaseTuple):
            self.refuse(s.line, "this assignment of a tuple", "its places are chosen by an array", "an array")
        self.materialise(s.value)
        self.flush()
        view, shape, place = self.subspace(s.array, self.flat_index(s.index), s.line)
        value = s.value
        names = tuple(dict.fromkeys(n for n, _ in shape))
        room = self.temp(types.Array(types.boolean, len(shape), "C"))  # it only has the shape
        self.empty(room, self.shape_text(shape), names, s.line)
        if is_array(kind):
            if self.alias.same(self.named(value, s.line), s.array):
                copied = self.temp(types.Array(kind.dtype, kind.ndim, "C"))
                self.empty_like(copied, self.named(value, s.line), s.line)
                self.over(copied, kind.ndim, s.line, lambda i: self.put(copied, i, self.pick(value, i, s.line), s.line))
                spread = self.spread_to(copied, room, s.line)
            else:
                spread = self.spread_to(value, room, s.line)
            one: Callable[[Any], Any] = lambda i: self.pick(spread, i, s.line)  # noqa: E731
        else:
            one = lambda i: value  # noqa: E731
        self.over(room, len(shape), s.line, lambda i: self.out.append(Store(view, place(i), one(i), s.line)))

    def spread_to(self, array: Any, like: str, line: int) -> str:
        """A view of an array that has the shape of another one."""
        made = self.temp(types.Array(self.kind(array).dtype, self.kind(like).ndim, "A"))
        return self.let("view", (array, like), syntax.name(f"runtime.spread(BASE, {like}.shape)"), line, target=made)

    def subspace(self, base: Any, index: tuple[Any, ...], line: int) -> tuple[Any, list[tuple[str, int]], _Place]:
        """A view of the array, the axes whose lengths the result has, and what is read of the view for an element."""
        ndim = self.kind(base).ndim
        entries = self.complete(index, ndim, line)
        arrays = [(n, x) for n, x in enumerate(entries) if isinstance(x, (str, Ref)) and is_array(self.kind(x))]
        self.check_arrays(entries, arrays, line)
        axes: dict[int, int] = {}  # of an entry: its axis in the view
        for n, x in enumerate(entries):
            if isinstance(x, Slice) or any(n == k for k, _ in arrays):
                axes[n] = len(axes)
        view = base
        whole = tuple(_WHOLE if any(n == k for k, _ in arrays) else x for n, x in enumerate(entries))
        if any(x != _WHOLE for x in whole):
            view = self.temp(types.Array(self.kind(base).dtype, len(axes), "A"))
            self.let("view", (base,), whole, line, target=view)
            self.alias.join(view, self.named(base, line))
        masks = any(isinstance(self.kind(x).dtype, types.Boolean) for _, x in arrays)
        lists = self.index_arrays(arrays, line)
        first = arrays[0][0] if masks else self.first(entries, [n for n, _ in arrays])
        before = [n for n in axes if n < first and isinstance(entries[n], Slice)]
        after = [n for n in axes if n > first and isinstance(entries[n], Slice)]
        depth = self.kind(lists[0]).ndim
        named = self.named(view, line)
        own = [(self.named(lists[0], line), j) for j in range(depth)]
        shape = [*((named, axes[n]) for n in before), *own, *((named, axes[n]) for n in after)]
        many = {n: x for (n, _), x in zip(arrays, lists, strict=True)}

        def place(i: tuple[str, ...]) -> tuple[Any, ...]:
            found: dict[int, Any] = dict(zip(before, i, strict=False))
            found.update(zip(after, i[len(before) + depth :], strict=True))
            inner = i[len(before) : len(before) + depth]
            for n, x in many.items():
                found[n] = self.pick(x, inner, line)
            return tuple(found[n] for n in axes)

        return view, shape, place

    def complete(self, index: tuple[Any, ...], ndim: int, line: int) -> list[Any]:
        """An entry for every axis."""
        entries = list(index)
        if None in entries:
            self.refuse(line, "None beside an index that is an array", "it is not known", "a reshape afterwards")
        missing = ndim - sum(x is not Ellipsis for x in entries)
        where = entries.index(Ellipsis) if Ellipsis in entries else len(entries)
        entries[where : where + 1] = [_WHOLE] * missing
        return entries

    def check_arrays(self, entries: list[Any], arrays: list[tuple[int, Any]], line: int) -> None:
        """Refuse what numba does not take as numpy does."""
        for entry in entries:
            self.check_index(
                (entry,) if not isinstance(entry, (str, Ref)) or not is_array(self.kind(entry)) else (), line
            )
        masks = [x for _, x in arrays if isinstance(self.kind(x).dtype, types.Boolean)]
        if masks and (len(arrays) > 1 or self.kind(masks[0]).ndim != 1):
            self.refuse(line, "a mask beside other arrays or of several axes", "it is not known", "a loop")
        for _, x in arrays:
            if not isinstance(self.kind(x).dtype, (types.Integer, types.Boolean)):
                self.refuse(line, f"an index of numba type {self.kind(x)}", "it holds no ints", "ints")

    def index_arrays(self, arrays: list[tuple[int, Any]], line: int) -> list[Any]:
        """Arrays of ints for the arrays in an index, all of the same shape."""
        found: list[Any] = []
        for _, x in arrays:
            self.materialise(x)
            if isinstance(self.kind(x).dtype, types.Boolean):
                x = self.plain("np.nonzero(x)[0]", line, types.Array(types.int64, 1, "C"), x=x)
            found.append(x)
        if len(found) == 1:
            return found
        shapes = ", ".join(f"{self.named(x, line)}.shape" for x in found)
        names = tuple(dict.fromkeys(self.named(x, line) for x in found))
        room = self.temp(types.Array(types.boolean, max(self.kind(x).ndim for x in found), "C"))
        self.empty(room, f"np.broadcast_shapes({shapes})", names, line)
        return [self.spread_to(x, room, line) for x in found]

    def first(self, entries: list[Any], arrays: list[int]) -> int:
        """The entry at which the axes of the index arrays stand: at the start, if ints or arrays stand apart."""
        single = [n for n, x in enumerate(entries) if not isinstance(x, Slice)]
        return single[0] if single[-1] - single[0] + 1 == len(single) else -1

    # Functions that select elements

    def selected(self, s: Let, kind: Any, base: Any, places: str, zero: bool, **names: Any) -> None:
        """target = the elements of an array at `places`: an expression of the array `x_` and the places of all, `p_`.

        With `zero`, places are counted from 1, and 0 stands for no element.
        """
        self.materialise(base)
        start = "np.arange(1, x_.size + 1)" if zero else "np.arange(x_.size)"
        text = places.replace("p_", f"np.reshape({start}, x_.shape)" if self.kind(base).ndim != 1 else start)
        if not is_array(kind):
            k = self.plain(text, s.line, types.int64, x_=base, **names)
            self.let("load", (base,), self.unravelled(base, k, s.line), s.line, target=s.target)
            return
        chosen = self.plain(text, s.line, types.Array(types.int64, kind.ndim, "A"), x_=base, **names)
        made = s.target if s.target != base else self.temp(kind)
        self.empty_like(made, chosen, s.line)

        def one(i: tuple[str, ...]) -> None:
            k = self.pick(chosen, i, s.line)
            if not zero:
                self.put(made, i, self.pick_at(base, self.unravelled(base, k, s.line), s.line), s.line)
                return
            from_one = self.plain("k - 1", s.line, k=k)
            value = self.temp(kind.dtype)
            nothing = self.plain("k == 0", s.line, types.boolean, k=k)
            none = self.collect(lambda: self.let("copy", (Const(0.0),), None, s.line, target=value))
            some = self.collect(
                lambda: self.let("load", (base,), self.unravelled(base, from_one, s.line), s.line, target=value)
            )
            self.out.append(If(nothing, none, some, s.line))
            self.put(made, i, value, s.line)

        self.over(made, kind.ndim, s.line, one)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def unravelled(self, base: Any, k: Any, line: int) -> tuple[Any, ...]:
        """The index of the k-th element of an array, in C order."""
        ndim = self.kind(base).ndim
        index: list[Any] = []
        for axis in reversed(range(1, ndim)):
            index.append(self.plain(f"k % a.shape[{axis}]", line, k=k, a=base))
            k = self.plain(f"k // a.shape[{axis}]", line, k=k, a=base)
        return (*([k] if ndim else []), *reversed(index))
