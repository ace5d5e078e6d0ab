"""Strided views: `sliding_window_view`, `as_strided`, `view` of the same dtype, and the order of `np.nditer`.

Takes the writer, what has been put off, and layouts. An element may stand in a view several times: then its cotangents
add up, as the view of the shadow has the same strides.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.frontend.messages import FUNCTIONS
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.runtime.markers import goes_back
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["Windows"]


class Windows:
    """Lowering of strided views."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, layouts: Layouts) -> None:
        self.code, self.lazy, self.layouts = code, lazy, layouts

    def sliding(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `sliding_window_view` of a vector."""
        code, (a, n) = self.code, s.args[:2]
        if len(s.args) > 2 or code.kind(a).ndim != 1 or not isinstance(code.kind(n), types.Integer):
            what, why = "sliding_window_view of these arguments", "only that of a vector and an int is known"
            code.refuse(s.line, what, why, "slices in a loop")
        self._base(a, s.line)
        for test, text in (
            ("n < 0", "`window_shape` cannot contain negative values"),
            ("n > a.shape[0]", "window_shape cannot be larger than input array shape"),
        ):
            wrong = code.plain(test, s.line, types.boolean, a=a, n=n)
            code.add(anf.If(wrong, [anf.Effect(raising("ValueError", text), (), s.line, True)], [], s.line))
        view = to_python.call("runtime.windows", to_python.name("BASE"), to_python.atom(n))
        code.emit(anf.ViewExpr(s.target, a, (n,) if isinstance(n, str) else (), view, s.line))

    def strided(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `as_strided` to a view; the view of the shadow has the same strides."""
        code = self.code
        assert len(s.args) == 3, "numba asks for the shape and the strides"
        self._base(s.args[0], s.line)
        self.layouts.asks_for_layout = True
        rest = [code.syntax_tree(code.tree(x)) for x in s.args[1:]]
        view = to_python.call("np.lib.stride_tricks.as_strided", to_python.name("BASE"), *rest)
        code.emit(anf.ViewExpr(s.target, s.args[0], code.names_in(s.args[1:]), view, s.line))

    def in_order(self, s: anf.CallKnown, alone: bool) -> None:
        """View whose `.flat` follows the order of `np.nditer`; beside other arrays, Fortran order is refused."""
        code, (a,) = self.code, s.args
        self.lazy.materialise(a)
        if not is_array(code.kind(a)) or (not alone and goes_back(code.kind(a))):
            code.refuse(s.line, "the call of numpy.nditer", *FUNCTIONS["numpy.nditer"])
        view = "BASE.T" if goes_back(code.kind(a)) else "BASE"
        code.emit(anf.ViewExpr(s.target, named(a), (), to_python.name(view), s.line))

    def _base(self, a: anf.Atom, line: int) -> None:
        """Materialise the base of a view; a captured array is refused."""
        self.lazy.materialise(a)
        if not isinstance(a, str):
            self.code.refuse(line, "a view of a frozen array", "it is no variable", "a copy of it")

    def of_type(self, s: anf.CallMethod, kind: NumbaType) -> None:
        """Lower `a.view(dtype)` to an alias; a dtype that is not the array's is refused."""
        code, base = self.code, self.code.kind(s.args[0])
        if len(s.args) != 2 or not is_array(kind) or kind.dtype != base.dtype:
            what, why = "a view of other bits", "bits have no derivative"
            code.refuse(s.line, what, why, ".astype(dtype)")
        self.lazy.materialise(s.args[0])
        code.copy(s.target, s.args[0], s.line)
