"""Array functions composed of other operations: views, arithmetic, and loops over elements.

Takes the writer, what has been put off, layouts, and `expand`, which writes an operation.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.scalar_ops import extremum
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.rules.emitted_names import line_of

__all__ = ["Composed"]


class Composed:
    """Lowering of products, differences, `np.clip` and `np.trim_zeros`."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, layouts: Layouts, expand: Callable[[anf.Let], None]) -> None:
        self.code, self.lazy, self.layouts, self.expand = code, lazy, layouts, expand

    def dot(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower the dot product of two arrays."""
        for x in s.args:
            self.lazy.materialise(x)
        if not all(is_array(self.code.kind(x)) for x in s.args) or len(s.args) != 2:
            self.code.refuse(s.line, "this dot product", "numba has it for two arrays", "a loop")
        self.code.emit(anf.WholeArray(s.target, "np.dot", s.args, s.line))

    def outer(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.outer` to a column times a row."""
        code = self.code
        if len(s.args) != 2:
            code.refuse(s.line, "np.outer of these arguments", "only that of two arrays is known", "a loop")
        left, right = (self.layouts.vector(x, s.line) for x in s.args)
        column = code.temp(types.Array(code.kind(left).dtype, 2, "A"))
        code.emit(anf.View(column, left, (anf.Slice(None, None, None), None), s.line))
        self.expand(anf.BinOp(s.target, "*", column, right, s.line))

    def trimmed(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.trim_zeros` to a view from the first nonzero element to the last."""
        code, x = self.code, s.args[0]
        if len(s.args) != 1 or not is_array(code.kind(x)) or code.kind(x).ndim != 1:
            why = "only that of a vector is known, at both ends"
            code.refuse(s.line, "np.trim_zeros of these arguments", why, "a loop, or a slice")
        self.lazy.materialise(x)
        start = code.plain("len(a) - len(np.trim_zeros(a, 'f'))", s.line, a=x)
        stop = code.plain("len(np.trim_zeros(a, 'b'))", s.line, a=x)
        code.emit(anf.View(s.target, x, (anf.Slice(start, stop, None),), s.line))

    def diff(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.diff` and `np.ediff1d`: differences of neighbours along the last axis."""
        code, x = self.code, s.args[0]
        if len(s.args) != 1 or not is_array(code.kind(x)):
            code.refuse(s.line, f"{s.function} of these arguments", "only that of an array is known", "a loop")
        x = self.layouts.vector(x, s.line) if s.function == "np.ediff1d" else x
        self.lazy.materialise(x)
        views = []
        for part in (anf.Slice(anf.Const(1), None, None), anf.Slice(None, anf.Const(-1), None)):
            views.append(code.temp(types.Array(code.kind(x).dtype, kind.ndim, "A")))
            index = (part,) if kind.ndim == 1 else (Ellipsis, part)
            code.emit(anf.View(views[-1], x, index, s.line))
        self.expand(anf.BinOp(s.target, "-", views[0], views[1], s.line))

    def clip(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.clip` to `min(max(x, low), high)` for all elements."""
        code = self.code
        x, low, high = (*s.args, anf.Const(None), anf.Const(None))[:3]
        arrays = [y for y in (low, high) if is_array(code.kind(y))]
        if len(s.args) > 3 or not is_array(code.kind(x)) or any(code.kind(y).ndim > code.kind(x).ndim for y in arrays):
            code.refuse(s.line, "np.clip of these arguments", "only that of an array is known, in its shape", "a loop")
        self.lazy.materialise(x)
        base = named(x)
        made = s.target if s.target != base else code.temp(kind)
        code.empty_like(made, base, s.line)
        for y in arrays:
            self.lazy.materialise(y)
        spread = {y: code.spread(y, made, kind.ndim, s.line) for y in arrays}

        def one(i: tuple[str, ...]) -> None:
            """Clip the element at index `i`."""
            y: anf.Atom = code.pick(x, i, s.line)
            for limit, symbol in ((low, ">"), (high, "<")):
                if limit != anf.Const(None):
                    bound = code.pick(spread[limit], i, s.line) if limit in spread else limit
                    clipped = code.temp(kind.dtype)
                    self._clipped(clipped, y, bound, kind.dtype, symbol, s.line)
                    y = clipped
            code.put(made, i, y, s.line)

        code.over(made, kind.ndim, s.line, one)
        code.copy(s.target, made, s.line)

    def _clipped(self, target: str, x: anf.Atom, bound: anf.Atom, kind: NumbaType, symbol: str, line: int) -> None:
        """Emit Python's min or max of two scalars, as numba clips; at a tie, the derivative of `np.minimum` holds."""
        code = self.code
        test = code.plain("x == bound or x != x", line, types.boolean, x=x, bound=bound)
        python, table = ("max", "np.maximum") if symbol == ">" else ("min", "np.minimum")
        then: list[anf.Stmt] = [anf.Prim(target, line_of(table), python, (x, bound), line)]
        orelse = code.collect(lambda: extremum(code, target, (x, bound), kind, symbol, line))
        code.add(anf.If(test, then, orelse, line))
