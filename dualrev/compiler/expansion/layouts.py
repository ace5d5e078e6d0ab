"""Functions that give the elements of one array: views of its memory, or copies, by layout as numba does it."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import If, Let, Node, Store, leaves
from dualrev.compiler.expansion.calling import Calling
from dualrev.rules.functions import shared

__all__ = ["Layouts"]


class Layouts(Calling):
    """The table of functions says which of them share memory."""

    asks_for_layout = False

    def same_elements(self, s: Let, kind: Any) -> None:
        """A function that gives the elements of an array, in its memory or in new memory."""
        x, text = s.args[0], s.info[0]
        if isinstance(self.kind(x), (types.Float, types.Integer, types.Boolean)):
            self.empty(s.target, "()", (), s.line)
            self.out.append(Store(s.target, (), x, s.line))
            return
        self.materialise(x)
        of = self.kind(x)
        base = x if isinstance(x, str) else self.let("copy", (x,), None, s.line, of)
        how = shared(text, of, kind)
        if how != "either":
            self.viewed(s, base) if how == "view" else self.copied(s, base, kind)
            return
        self.asks_for_layout = True
        made = s.target if s.target != base else self.temp(kind)
        other = Let(made, s.op, s.args, s.info, s.line)
        order = "f" if text == "np.asfortranarray" else "c"
        test = self.plain(f"bool(x.flags.{order}_contiguous)", s.line, types.boolean, x=base)
        then = self.collect(lambda: self.viewed(other, base))
        self.out.append(If(test, then, self.collect(lambda: self.copied(other, base, kind)), s.line))
        self.alias.join(made, base)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def viewed(self, s: Let, base: str) -> None:
        """The same memory."""
        if s.info[0] == "np.asarray":
            self.let("copy", (base,), None, s.line, target=s.target)
            return
        names = tuple(dict.fromkeys(y for a in s.args[1:] for y in leaves(self.tree(a)) if isinstance(y, str)))
        first = s.args[0]
        if s.info[0] == "np.broadcast_to":  # numba's cannot be written to, which a shadow has to be
            shape = syntax.text(self.syntax_tree(self.tree(s.args[1])))
            if not isinstance(self.tree(s.args[1]), Node):
                self.refuse(s.line, "np.broadcast_to of these arguments", "its shape is no tuple", "a tuple")
            self.let("view", (base, *names), syntax.name(f"runtime.spread(BASE, {shape})"), s.line, target=s.target)
            return
        inner = syntax.expression(s, lambda y: syntax.name("BASE") if y == first else self.syntax_tree(self.tree(y)))
        self.let("view", (base, *names), inner, s.line, target=s.target)

    def copied(self, s: Let, base: str, kind: Any) -> None:
        """New memory."""
        of = self.kind(base)
        flat = kind.ndim != of.ndim  # in C order, with one axis
        copy = types.Array(kind.dtype, of.ndim, "C") if flat else kind
        made = s.target if s.target != base and not flat else self.temp(copy)
        self.empty_like(made, base, s.line)
        self.over(made, copy.ndim, s.line, lambda i: self.put(made, i, self.pick(base, i, s.line), s.line))
        if flat:
            self.let("view", (made,), syntax.name("np.ravel(BASE)"), s.line, target=s.target)
        elif made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)
