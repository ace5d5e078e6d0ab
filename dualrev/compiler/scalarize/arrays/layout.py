"""Views and copies of the elements of one array (reshape, ravel, copy, ...), by memory layout as numba decides it.

Takes the writer, and what has been put off. The table of functions says which of them share memory; where the layout
decides, and is known at run time only, the program asks (`asks_for_layout`).
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_array
from dualrev.rules.functions import shared

__all__ = ["Layouts"]


class Layouts:
    """Lowering of functions that return the elements of an array: views or copies."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy) -> None:
        self.code, self.lazy = code, lazy
        self.asks_for_layout = False

    def same_elements(self, s: anf.CallKnown | anf.CallMethod, kind: NumbaType) -> None:
        """Lower a table function that returns the elements of its argument: view, copy or run-time choice."""
        code, x, text = self.code, s.args[0], _name(s)
        if isinstance(code.kind(x), NUMBERS):
            code.empty(s.target, "()", (), s.line)
            code.put(s.target, (), x, s.line)
            return
        self.lazy.materialise(x)
        of = code.kind(x)
        base = x if isinstance(x, str) else code.emit(anf.Copy(code.temp(of), x, s.line))
        how = shared(text, of, kind)
        if how != "either":
            self._viewed(s, base) if how == "view" else self._copied(s, base, kind)
            return
        self.asks_for_layout = True
        made = s.target if s.target != base else code.temp(kind)
        other = s.to(made)
        order = "f" if text == "np.asfortranarray" else "c"
        test = code.plain(f"bool(x.flags.{order}_contiguous)", s.line, types.boolean, x=base)
        then = code.collect(lambda: self._viewed(other, base))
        code.add(anf.If(test, then, code.collect(lambda: self._copied(other, base, kind)), s.line))
        code.alias.join(made, base)
        code.copy(s.target, made, s.line)

    def vector(self, x: anf.Atom, line: int) -> anf.Atom:
        """Return all elements of an array or a scalar as a vector."""
        code, kind = self.code, self.code.kind(x)
        if is_array(kind):
            self.lazy.materialise(x)
            if kind.ndim == 1:
                return x
            made = code.temp(types.Array(kind.dtype, 1, "C"))
            self.same_elements(anf.CallKnown(made, "np.ravel", (x,), line), code.of[made])
            return made
        if not isinstance(kind, NUMBERS):
            code.refuse(line, "this argument", "it is no array or number", "an array")
        made = code.temp(types.Array(kind, 1, "C"))
        code.empty(made, "(1,)", (), line)
        code.put(made, (anf.Const(0),), x, line)
        return made

    def _viewed(self, s: anf.CallKnown | anf.CallMethod, base: str) -> None:
        """Lower to a view of the same memory."""
        code = self.code
        if _name(s) == "np.asarray":
            code.emit(anf.Copy(s.target, base, s.line))
            return
        names = code.names_in(s.args[1:])
        if _name(s) == "np.broadcast_to":  # numba's cannot be written to, which a shadow has to be
            shape = code.tree(s.args[1])
            if not isinstance(shape, anf.Node):
                code.refuse(s.line, "np.broadcast_to of these arguments", "its shape is no tuple", "a tuple")
            view = to_python.name(f"runtime.spread(BASE, {to_python.text(code.syntax_tree(shape))})")
        else:
            first = s.args[0]
            view = to_python.expression(
                s, lambda y: to_python.name("BASE") if y == first else code.syntax_tree(code.tree(y))
            )
        code.emit(anf.ViewExpr(s.target, base, names, view, s.line))

    def _copied(self, s: anf.CallKnown | anf.CallMethod, base: str, kind: NumbaType) -> None:
        """Lower to a copy in new memory."""
        code, of = self.code, self.code.kind(base)
        flat = kind.ndim != of.ndim  # in C order, with one axis
        copy = types.Array(kind.dtype, of.ndim, "C") if flat else kind
        made = s.target if s.target != base and not flat else code.temp(copy)
        code.copy_elements(made, base, s.line)
        if flat:
            code.emit(anf.ViewExpr(s.target, made, (), to_python.name("np.ravel(BASE)"), s.line))
        else:
            code.copy(s.target, made, s.line)


def _name(s: anf.CallKnown | anf.CallMethod) -> str:
    """Name of a function or a method."""
    return s.function if isinstance(s, anf.CallKnown) else s.method
