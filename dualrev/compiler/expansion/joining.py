"""Arrays that are put together: np.concatenate, and np.stack and the like, which are that of views with more axes."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core.lowered import Const, Effect, If, Let, Slice, Store, leaves
from dualrev.compiler.expansion.reductions import Reductions
from dualrev.compiler.expansion.statements import is_array

__all__ = ["Joining"]

_ALL = Slice(None, None, None)

#: By the number of axes of a part: the index that gives it the axes of the result, and the axis along which they join.
_STACKS: dict[str, dict[int, tuple[tuple[Any, ...], int]]] = {
    "np.vstack": {1: ((None, _ALL), 0), 2: ((), 0), 3: ((), 0)},
    "np.hstack": {1: ((), 0), 2: ((), 1), 3: ((), 1)},
    "np.dstack": {1: ((None, _ALL, None), 2), 2: ((_ALL, _ALL, None), 2), 3: ((), 2)},
    "np.column_stack": {1: ((_ALL, None), 1), 2: ((), 1)},
}


class Joining(Reductions):
    """Each part is assigned to a slice of the result."""

    def _concatenate(self, s: Let, kind: Any) -> None:
        """np.concatenate."""
        parts = self.parts_of(s)
        axis = self.axis_of(s, kind.ndim)
        self.join(s, kind, [(x, ()) for x in parts], axis)

    def _stack(self, s: Let, kind: Any) -> None:
        """np.stack: along a new axis."""
        parts = self.parts_of(s)
        axis = self.axis_of(s, kind.ndim)
        index = (*[_ALL] * axis, None, *[_ALL] * (kind.ndim - 1 - axis))
        self.join(s, kind, [(x, index) for x in parts], axis, "np.stack(): all input arrays must have the same shape")

    def _stacked(self, s: Let, kind: Any) -> None:
        """np.vstack, np.hstack, np.dstack, np.column_stack."""
        parts = self.parts_of(s)
        known = _STACKS[s.info[0]]
        if any(self.kind(x).ndim not in known for x in parts):
            self.refuse(s.line, f"{s.info[0]} of these arguments", "the number of their axes is not known", "a loop")
        found = [(x, *known[self.kind(x).ndim]) for x in parts]
        text = ""
        if s.info[0] != "np.column_stack" and found[0][1]:
            text = "np.stack(): all input arrays must have the same shape"
        self.join(s, kind, [(x, index) for x, index, _ in found], found[0][2], text)

    def _append(self, s: Let, kind: Any) -> None:
        """np.append: without an axis that of all elements."""
        array, value = s.args[:2]
        if len(s.args) > 2 and s.args[2] != Const(None):
            if not all(is_array(self.kind(x)) for x in (array, value)):
                self.refuse(s.line, "np.append of these arguments", "with an axis, it is known for arrays", "a loop")
            for x in (array, value):
                self.materialise(x)
            axis = self.axis_of(Let(s.target, "func", (array, s.args[2]), s.info, s.line), kind.ndim)
            self.join(s, kind, [(array, ()), (value, ())], axis)
            return
        self.join(s, kind, [(self.vector(x, s.line), ()) for x in (array, value)], 0)

    def vector(self, x: Any, line: int) -> Any:
        """All elements of an array or a number, as a vector."""
        kind = self.kind(x)
        if is_array(kind):
            self.materialise(x)
            if kind.ndim == 1:
                return x
            made = self.temp(types.Array(kind.dtype, 1, "C"))
            self.operation(Let(made, "func", (x,), ("np.ravel", ()), line))
            return made
        if not isinstance(kind, (types.Float, types.Integer, types.Boolean)):
            self.refuse(line, "this argument", "it is no array or number", "an array")
        made = self.temp(types.Array(kind, 1, "C"))
        self.empty(made, "(1,)", (), line)
        self.out.append(Store(made, (Const(0),), x, line))
        return made

    def parts_of(self, s: Let) -> list[Any]:
        """The arrays in the tuple."""
        parts = leaves(self.tree(s.args[0]))
        if s.info[1] or any(not is_array(self.kind(x)) or not self.kind(x).ndim for x in parts):
            self.refuse(s.line, f"{s.info[0]} of these arguments", "only that of a tuple of arrays is known", "a loop")
        return parts

    def axis_of(self, s: Let, ndim: int) -> int:
        """The axis, which is a constant."""
        axis = s.args[1] if len(s.args) > 1 else Const(0)
        if not isinstance(axis, Const) or type(axis.value) is not int or not -ndim <= axis.value < ndim:
            self.refuse(s.line, f"{s.info[0]} with this axis", "only an int that is a constant is known", "a loop")
        return int(axis.value) % ndim

    def join(self, s: Let, kind: Any, parts: list[tuple[Any, tuple[Any, ...]]], axis: int, differ: str = "") -> None:
        """One after the other along an axis; `differ` is numba's error if they have different shapes."""
        views: list[Any] = []
        for x, index in parts:
            if self.kind(x).ndim + sum(k is None for k in index) != kind.ndim:
                self.refuse(s.line, f"{s.info[0]} of these arguments", "their numbers of axes differ", "a loop")
            if index:
                view = self.temp(types.Array(self.kind(x).dtype, kind.ndim, "A"))
                self.let("view", (x,), index, s.line, target=view)
                self.alias.join(view, self.named(x, s.line))
                views.append(view)
            else:
                views.append(x)
        names = [self.named(x, s.line) for x in views]
        self.check_shapes(names, kind.ndim, axis, differ, s.line)
        sizes = [f"{names[0]}.shape[{k}]" for k in range(kind.ndim)]
        sizes[axis] = " + ".join(f"{x}.shape[{axis}]" for x in names)
        made = s.target if s.target not in names else self.temp(kind)
        self.empty(made, f"({', '.join(sizes)},)", tuple(dict.fromkeys(names)), s.line)
        start: Any = Const(0)
        for x, name in zip(views, names, strict=True):
            end = self.plain(f"start + x.shape[{axis}]", s.line, start=start, x=name)
            view = self.temp(types.Array(kind.dtype, kind.ndim, "A"))
            self.let("view", (made,), (*[_ALL] * axis, Slice(start, end, None)), s.line, target=view)
            self.alias.join(view, made)
            self.assign(view, x, s.line, None)
            start = end
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def check_shapes(self, names: list[str], ndim: int, axis: int, differ: str, line: int) -> None:
        """Raise what numba raises."""
        for k in range(ndim):
            if k == axis:
                continue
            text = differ or f"np.concatenate(): input sizes over dimension {k} do not match"
            for name in dict.fromkeys(names[1:]):
                wrong = self.plain(f"x.shape[{k}] != y.shape[{k}]", line, types.boolean, x=names[0], y=name)
                self.out.append(If(wrong, [Effect(f'raise ValueError("{text}")', (), line, True)], [], line))
