"""Concatenation of arrays; `np.stack` and the like concatenate views with more axes.

Takes the writer, what has been put off, layouts, and assignments: each part is assigned to a slice of the result.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["Joining"]

_ALL = anf.Slice(None, None, None)
_SAME = "np.stack(): all input arrays must have the same shape"

#: By the number of axes of a part: the index that gives it the axes of the result, and the axis along which they join.
_STACKS: dict[str, dict[int, tuple[tuple[anf.Slice | None, ...], int]]] = {
    "np.vstack": {0: ((None, None), 0), 1: ((None, _ALL), 0), 2: ((), 0), 3: ((), 0)},
    "np.hstack": {0: ((None,), 0), 1: ((), 0), 2: ((), 1), 3: ((), 1)},
    "np.dstack": {0: ((None, None, None), 2), 1: ((None, _ALL, None), 2), 2: ((_ALL, _ALL, None), 2), 3: ((), 2)},
    "np.column_stack": {1: ((_ALL, None), 1), 2: ((), 1)},
}


class Joining:
    """Lowering of functions that join several arrays into one."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, layouts: Layouts, assignments: Assignments) -> None:
        self.code, self.lazy, self.layouts, self.assignments = code, lazy, layouts, assignments

    def concatenate(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.concatenate`."""
        parts = self._parts_of(s)
        self._join(s, kind, [(x, ()) for x in parts], self._axis(s, s.args[1:], kind.ndim))

    def stack(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.stack`, along a new axis."""
        parts = self._parts_of(s)
        axis = self._axis(s, s.args[1:], kind.ndim)
        index = (*[_ALL] * axis, None, *[_ALL] * (kind.ndim - 1 - axis))
        self._join(s, kind, [(x, index) for x in parts], axis, _SAME)

    def stacked(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.vstack`, `np.hstack`, `np.dstack` and `np.column_stack`."""
        parts = self._parts_of(s)
        known = _STACKS[s.function]
        if any(self.code.kind(x).ndim not in known for x in parts):
            what, why = f"{s.function} of these arguments", "the number of their axes is not known"
            self.code.refuse(s.line, what, why, "a loop")
        found = [(x, *known[self.code.kind(x).ndim]) for x in parts]
        text = _SAME if s.function != "np.column_stack" and found[0][1] else ""
        self._join(s, kind, [(x, index) for x, index, _ in found], found[0][2], text)

    def append(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.append`; without an axis, both arguments are flattened."""
        both = s.args[:2]
        if len(s.args) > 2 and s.args[2] != anf.Const(None):
            if not all(is_array(self.code.kind(x)) for x in both):
                what, why = "np.append of these arguments", "with an axis, it is known for arrays"
                self.code.refuse(s.line, what, why, "a loop")
            for x in both:
                self.lazy.materialise(x)
            self._join(s, kind, [(x, ()) for x in both], self._axis(s, s.args[2:], kind.ndim))
            return
        self._join(s, kind, [(self.layouts.vector(x, s.line), ()) for x in both], 0)

    def _parts_of(self, s: anf.CallKnown) -> list[anf.Atom]:
        """Arrays in the tuple that is the first argument."""
        parts = anf.leaves(self.code.tree(s.args[0]))
        if s.keywords or any(not is_array(self.code.kind(x)) for x in parts):
            what, why = f"{s.function} of these arguments", "only that of a tuple of arrays is known"
            self.code.refuse(s.line, what, why, "a loop")
        return parts

    def _axis(self, s: anf.CallKnown, given: tuple[anf.Atom, ...], ndim: int) -> int:
        """Axis of the join, a constant that is not negative; 0 if it is not given."""
        axis = given[0] if given else anf.Const(0)
        if not isinstance(axis, anf.Const) or type(axis.value) is not int or not -ndim <= axis.value < ndim:
            self.code.refuse(
                s.line, f"{s.function} with this axis", "only an int that is a constant is known", "a loop"
            )
        return int(axis.value) % ndim

    def _join(
        self, s: anf.CallKnown, kind: NumbaType, parts: list[tuple[anf.Atom, anf.Index]], axis: int, differ: str = ""
    ) -> None:
        """Assign the arrays to consecutive slices of a new one; `differ` is numba's error for unequal shapes."""
        code = self.code
        views = [self._with_axes(s, x, index, kind.ndim) for x, index in parts]
        names = [named(x) for x in views]
        self._check_shapes(names, kind.ndim, axis, differ, s.line)
        sizes = [f"{names[0]}.shape[{k}]" for k in range(kind.ndim)]
        sizes[axis] = " + ".join(f"{x}.shape[{axis}]" for x in names)
        made = s.target if s.target not in names else code.temp(kind)
        code.empty(made, f"({', '.join(sizes)},)", tuple(dict.fromkeys(names)), s.line)
        start: anf.Atom = anf.Const(0)
        for x, name in zip(views, names, strict=True):
            end = code.plain(f"start + x.shape[{axis}]", s.line, start=start, x=name)
            view = code.temp(types.Array(kind.dtype, kind.ndim, "A"))
            code.emit(anf.View(view, made, (*[_ALL] * axis, anf.Slice(start, end, None)), s.line))
            code.alias.join(view, made)
            self.assignments.assign(view, x, s.line, None)
            start = end
        code.copy(s.target, made, s.line)

    def _with_axes(self, s: anf.CallKnown, x: anf.Atom, index: anf.Index, ndim: int) -> anf.Atom:
        """View of an operand, with the axes of the result."""
        code, of = self.code, self.code.kind(x)
        assert of.ndim + sum(k is None for k in index) == ndim, "numba joins arrays with as many axes as each other"
        if not index:
            return x
        view = code.temp(types.Array(of.dtype, ndim, "A"))
        code.emit(anf.View(view, x, index, s.line))
        code.alias.join(view, named(x))
        return view

    def _check_shapes(self, names: list[str], ndim: int, axis: int, differ: str, line: int) -> None:
        """Emit numba's ValueError for unequal shapes."""
        for k in range(ndim):
            if k == axis:
                continue
            text = differ or f"np.concatenate(): input sizes over dimension {k} do not match"
            for name in dict.fromkeys(names[1:]):
                wrong = self.code.plain(f"x.shape[{k}] != y.shape[{k}]", line, types.boolean, x=names[0], y=name)
                self.code.add(anf.If(wrong, [anf.Effect(raising("ValueError", text), (), line, True)], [], line))
