"""Lower assignments to elements and slices of arrays: element stores, and loops over them.

Takes the writer, the lists, what has been put off, and arrays in indices. Guarantees that what is assigned has been
computed before the first element changes: where both may share memory, a copy is made, unless numba makes none
(overlap_test.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.fancy_indexing import Gathering
from dualrev.compiler.scalarize.arrays.indices import index_of, is_gathered
from dualrev.compiler.scalarize.arrays.overlap_test import copied_first
from dualrev.compiler.scalarize.arrays.race_test import raise_for_race_of_part
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.scalarize.scalar_ops import arithmetic
from dualrev.compiler.types.complex_parts import Parts
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["Assignments"]


class Assignments:
    """Lowering of `array[index] = value` and of assignments to whole arrays."""

    def __init__(self, code: ScalarBuilder, lists: Lists, lazy: Lazy, gathering: Gathering) -> None:
        self.code, self.lists, self.lazy, self.gathering = code, lists, lazy, gathering

    def store(self, s: anf.Store) -> None:
        """Lower `array[index] = value` to a store, a loop of stores or a scatter."""
        code, of = self.code, self.code.kind(s.array)
        if isinstance(of, types.NumpyFlatType):
            code.refuse(s.line, "an assignment to a.flat", "only reading it is known", "a.ravel()[k] = x")
        assert is_array(of), "numba types no assignment to an element of anything else that is not opaque"
        if is_gathered(code, s.index):
            self.gathering.store(s)
            return
        index = index_of(code, s.index, of.ndim, s.line)
        if isinstance(s.value, str) and self._in_place.get(s.value) == s.array and is_array(code.kind(s.value)):
            return
        sliced = any(isinstance(x, anf.Slice) or x is Ellipsis or x is None for x in index)
        if len(index) == of.ndim and not sliced:
            self._to_element(s, index)
        else:
            self._to_part(s, index)

    def _to_element(self, s: anf.Store, index: anf.Index) -> None:
        """Store to one element: the index has a scalar for every axis."""
        code, kind, value = self.code, self.code.kind(s.value), s.value
        self.lazy.materialise(value)
        self.lazy.flush()
        if is_array(kind):
            if kind.ndim:
                code.refuse(s.line, "an array as an element", "an element is a number", "a loop")
            value = code.pick(value, (), s.line)
        elif isinstance(kind, types.BaseTuple):
            what = "a complex number" if isinstance(kind, Parts) else "a tuple"
            code.refuse(
                s.line, f"{what} as an element of {code.kind(s.array).dtype}", "it is no such number", "its parts"
            )
        code.put(s.array, index, value, s.line)

    def _to_part(self, s: anf.Store, index: anf.Index) -> None:
        """Assign to a view: the index selects a subarray."""
        code, of = self.code, self.code.kind(s.array)
        self.lazy.flush(keep=s.value)
        numbers = sum(not (isinstance(x, anf.Slice) or x is Ellipsis or x is None) for x in index)
        view = code.temp(types.Array(of.dtype, of.ndim - numbers + sum(x is None for x in index), "A"))
        if index == (Ellipsis,):
            view = s.array
        else:
            code.emit(anf.View(view, s.array, index, s.line))
            code.alias.join(view, s.array)
        tree = code.tree(s.value)
        if isinstance(tree, anf.Node):
            self._assign_parts(view, anf.leaves(tree), s.line)
            return
        if s.value in self.lists:
            self._check_size(view, code.plain("a.shape[0]", s.line, a=s.value), s.line, "list")
        if s.value not in self.lazy and self._is_view_of(s.value, s.array):
            raise_for_race_of_part(code, view, s.index, s.value, s.line)
            copied = copied_first(code, s.array, index, s.value, s.line)
            if copied is not None:
                then = code.collect(lambda: self.assign(view, s.value, s.line, None))
                orelse = code.collect(lambda: self._each(view, s.value, s.line, None))
                code.add(anf.If(copied, then, orelse, s.line))
                return
        self.assign(view, s.value, s.line, None)

    def _is_view_of(self, value: anf.Atom, array: str) -> bool:
        """Whether `value` is an array variable that may alias `array`."""
        return isinstance(value, str) and is_array(self.code.kind(value)) and self.code.alias.same(value, array)

    def _assign_parts(self, view: str, parts: list[anf.Atom], line: int) -> None:
        """Store the scalars of a tuple into a vector: `view[...] = (x, y)`."""
        code = self.code
        assert not any(is_array(code.kind(x)) for x in parts), "numba types it for tuples of numbers"
        self._check_size(view, anf.Const(len(parts)), line, "tuple")
        for k, x in enumerate(parts):
            code.put(view, (anf.Const(k),), x, line)

    def _check_size(self, view: str, size: anf.Atom, line: int, what: str) -> None:
        """Emit numba's ValueError for a sequence whose length differs from the vector that it is assigned to."""
        code = self.code
        assert code.kind(view).ndim == 1, "numba types it for vectors"
        wrong = code.plain("a.shape[0] != n", line, types.boolean, a=view, n=size)
        text = raising("ValueError", "cannot assign slice from input of different size")
        code.add(anf.If(wrong, [anf.Effect(text, (), line, True)], [], line))

    @functools.cached_property
    def _in_place(self) -> dict[str, str]:
        """Temporaries of `a[i:j] += ...`, with their arrays: views updated in place, so the store back is redundant."""
        code = self.code
        found: dict[str, str] = {}
        made: dict[str, anf.Let] = {}
        for s in anf.walk(code.lowered.body):
            if isinstance(s, anf.GetItem) and code.names.is_temporary(s.target):
                chosen = [x for x in anf.index_atoms(s.index) if not isinstance(x, str) or x in code.of]
                if not any(is_array(code.kind(x)) for x in chosen):  # what an array chooses is a copy
                    made[s.target] = s
            if isinstance(s, anf.InplaceOp) and s.args[0] in made and is_array(code.of.get(s.target)):
                found[s.target] = made[s.args[0]].args[0]
        return found

    def assign(self, array: str, value: anf.Atom, line: int, symbol: str | None) -> None:
        """Lower `array[...] = value` or `array[...] (symbol)= value`; an aliasing source is copied or materialised."""
        code = self.code
        shared = [a for a in self.lazy.arrays_in(value) if code.alias.same(array, named(a))]
        if symbol is None and shared:
            value = self._apart(value, line)
        elif symbol is not None and set(shared) - {array}:
            self.lazy.materialise(value)
        self._each(array, value, line, symbol)

    def _each(self, array: str, value: anf.Atom, line: int, symbol: str | None) -> None:
        """Elementwise loop of an assignment, without a copy: an aliasing source may have changed when it is read."""
        code = self.code
        ndim, kind = code.kind(array).ndim, code.kind(array).dtype
        if value in self.lazy and self.lazy.ndim(value) < ndim and self.lazy.is_costly(value):
            self.lazy.materialise(value)  # it has fewer elements than the array
        element: Callable[[tuple[str, ...]], anf.Atom] = lambda i: value  # noqa: E731
        if value in self.lazy or self.lazy.arrays_in(value):
            element = self.lazy.element_of(value, array, ndim, line)

        def one(i: tuple[str, ...]) -> None:
            """Store to, or accumulate into, the element at index `i`."""
            new = element(i)
            if symbol is not None:
                old = code.pick(array, i, line)
                made = anf.BinOp(code.temp(kind), symbol, old, new, line, True)
                new = arithmetic(code, made, kind)
            code.put(array, i, new, line)

        code.over(array, ndim, line, one)

    def _apart(self, value: anf.Atom, line: int) -> anf.Atom:
        """Return the value in memory of its own: materialised if deferred, else copied."""
        code, kind = self.code, self.code.kind(value)
        if value in self.lazy:
            self.lazy.materialise(value)
            return value
        copied = code.temp(types.Array(kind.dtype, kind.ndim, "C"))
        base = value if isinstance(value, str) else code.emit(anf.Copy(code.temp(kind), value, line))
        code.copy_elements(copied, base, line)
        return copied
