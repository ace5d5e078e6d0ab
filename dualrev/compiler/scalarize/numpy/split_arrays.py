"""Functions that return a list of views: `np.split` and the like, `np.broadcast_arrays`.

Takes the writer, and what has been put off. The list is a tuple already (to_tuples.py).
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["Splitting"]

_AXES = {"np.vsplit": 0, "np.dsplit": 2}
_WHOLE = anf.Slice(None, None, None)


class Splitting:
    """Lowering of array splits, and of `np.broadcast_arrays`."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy) -> None:
        self.code, self.lazy = code, lazy

    def split(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.split` and the like to views."""
        code, (base, where), text = self.code, s.args[:2], s.function
        self.lazy.materialise(base)
        parts, axis = code.variables(s.target), self._axis(s)
        bounds: list[anf.Atom | None]
        if isinstance(code.tree(where), anf.Node):
            bounds = [anf.Const(0), *anf.leaves(code.tree(where)), None]
        else:
            if text != "np.array_split":
                self._unless_equal(s, base, axis, len(parts))
            bounds = [self._bound(base, axis, k, len(parts), s.line) for k in range(len(parts) + 1)]
        for k, part in enumerate(parts):
            index = (*[_WHOLE] * axis, anf.Slice(bounds[k], bounds[k + 1], None))
            code.emit(anf.View(part, base, index, s.line))

    def _axis(self, s: anf.CallKnown) -> int:
        """Axis that is split: a constant, or the one that the function's name implies; never negative."""
        code, text, ndim = self.code, s.function, self.code.kind(s.args[0]).ndim
        axis = s.args[2] if len(s.args) > 2 else anf.Const(0)
        if not isinstance(axis, anf.Const) or type(axis.value) is not int:
            code.refuse(s.line, f"the axis of this {text}", "it is no constant", "a constant")
        found = 1 if text == "np.hsplit" and ndim > 1 else _AXES.get(text, axis.value)
        found = found + ndim if found < 0 else found
        if not 0 <= found < ndim:
            code.refuse(s.line, f"{text} of an array with {ndim} axes", "it has no such axis", "a reshape")
        return int(found)

    def _unless_equal(self, s: anf.CallKnown, base: anf.Atom, axis: int, n: int) -> None:
        wrong = self.code.plain(f"a.shape[{axis}] % {n} != 0", s.line, types.boolean, a=base)
        text = raising("ValueError", "array split does not result in an equal division")
        self.code.add(anf.If(wrong, [anf.Effect(text, (), s.line, True)], [], s.line))

    def _bound(self, base: anf.Atom, axis: int, k: int, n: int, line: int) -> anf.Atom:
        """Start of the `k`-th part: the first parts have one element more, until the remainder is used up."""
        if k == 0:
            return anf.Const(0)
        size = f"a.shape[{axis}]"
        return self.code.plain(f"{k} * ({size} // {n}) + min({k}, {size} % {n})", line, a=base)

    def broadcast(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.broadcast_arrays` to views."""
        code = self.code
        if not all(is_array(code.kind(x)) and isinstance(x, str) for x in s.args):
            code.refuse(s.line, "np.broadcast_arrays of these arguments", "only that of arrays is known", "np.full")
        for x in s.args:
            self.lazy.materialise(x)
        shapes = [to_python.name(f"{named(x)}.shape") for x in s.args]
        for x, part in zip(s.args, code.variables(s.target), strict=True):
            view = to_python.call(
                "runtime.spread", to_python.name("BASE"), to_python.call("np.broadcast_shapes", *shapes)
            )
            code.emit(anf.ViewExpr(part, x, tuple(y for y in s.args if y != x), view, s.line))
