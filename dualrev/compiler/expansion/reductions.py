"""Sums, means and products of arrays -> loops, in the order in which numba takes the elements."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Atom, Const, Let, Node, OfElements
from dualrev.compiler.expansion.growing import Growing
from dualrev.compiler.expansion.statements import dtype_name, is_real, is_real_array
from dualrev.rules.names import line_of

__all__ = ["Reductions"]


class Reductions(Growing):
    """Of all elements, and along an axis."""

    def reduce(self, s: Let, kind: Any, name: str) -> None:
        """Sum, mean and product of all elements, in the order in which numba takes them."""
        x = s.args[0]
        axis = s.args[1] if len(s.args) > 1 else Const(None)
        if len(s.args) > 2 or (axis != Const(None) and (name != "sum" or self.kind(x).ndim > 1)):
            self.refuse(s.line, f"{name} with these arguments", "only that of all elements is known", "a loop")
        arrays = self.array_leaves(x)
        lazy = isinstance(x, str) and x in self.lazy
        if lazy and (len(arrays) != 1 or self.kind(arrays[0]).ndim != self.lazy[x].ndim):
            self.materialise(x)
            lazy = False
        shape_of = self.named(arrays[0], s.line) if lazy else self.named(x, s.line)
        ndim = self.kind(x).ndim
        total = self.temp(kind)
        unit = 1.0 if name == "prod" else 0.0
        start: Atom = Const(unit)
        if kind == types.float32:
            start = self.let("plain", (), syntax.name(f"np.float32({unit})"), s.line, kind)
        self.let("copy", (start,), None, s.line, target=total)
        element = self.element_maker(x, shape_of, ndim, s.line) if lazy else lambda i: self.pick(x, i, s.line)
        symbol = "*" if name == "prod" else "+"

        def one(i: tuple[str, ...]) -> None:
            made = Let(total, "binop", (total, element(i)), symbol, s.line)
            self.let("prim", made.args, (line_of(symbol), made), s.line, target=total)

        self.over(shape_of, ndim, s.line, one)
        if name == "mean":
            n = self.plain("a.size", s.line, a=shape_of)
            made = Let(s.target, "binop", (total, n), OfElements("/"), s.line)  # that of no elements is NaN
            self.let("prim", made.args, (line_of("/"), made), s.line, target=s.target)
        else:
            self.let("copy", (total,), None, s.line, target=s.target)

    def sum_axis(self, s: Let, kind: Any) -> None:
        """np.sum(a, axis)."""
        x, axis = s.args[0], s.args[1]
        ndim = self.kind(x).ndim
        if (
            len(s.args) > 2
            or not isinstance(axis, Const)
            or type(axis.value) is not int
            or not -ndim <= axis.value < ndim
        ):
            self.refuse(s.line, "np.sum with this axis or dtype", "only an int that is a constant is known", "a loop")
        self.materialise(x)
        skipped = axis.value % ndim
        sizes = ", ".join(f"a.shape[{k}]" for k in range(ndim) if k != skipped)
        name = self.named(x, s.line)
        made = s.target if s.target != name else self.temp(kind)
        tree = syntax.substitute(
            syntax.name(f"np.zeros(({sizes},), {dtype_name(kind.dtype)})"),
            lambda y: syntax.name(name) if y == "a" else None,
        )
        self.let("alloc", (name,), tree, s.line, target=made)

        def one(i: tuple[str, ...]) -> None:
            place = tuple(k for n, k in enumerate(i) if n != skipped)
            old = self.pick(made, place, s.line)
            both = (old, self.pick(x, i, s.line))
            new = Let(self.temp(kind.dtype), "binop", both, "+", s.line)
            self.let("prim", both, (line_of("+"), new), s.line, target=new.target)
            self.put(made, place, new.target, s.line)

        self.over(name, ndim, s.line, one)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    # Constants

    def stopped(self, s: Let) -> None:
        """dualrev.stop_gradient: a constant, and a copy of an array of real numbers."""
        (x,) = s.args
        self.materialise(x)
        self.stopped_tree(self.tree(s.target), self.tree(x), s.line)

    def stopped_tree(self, target: Any, source: Any, line: int) -> None:
        """What is `plain` has no derivative."""
        if isinstance(target, Node):
            for t, x in zip(target.parts, source.parts, strict=True):
                self.stopped_tree(t, x, line)
            return
        kind = self.kind(target)
        if is_real_array(kind):
            made = target if target != source else self.temp(kind)
            self.empty_like(made, self.named(source, line), line)
            self.over(
                made,
                kind.ndim,
                line,
                lambda i: self.put(made, i, self.constant(self.pick(source, i, line), line), line),
            )
            source = made
        elif is_real(kind):
            source = self.constant(source, line)
        if target != source:
            self.let("copy", (source,), None, line, target=target)

    def constant(self, x: Atom, line: int) -> str:
        """The value of a real number as a constant."""
        return self.plain("x", line, self.kind(x), x=x)
