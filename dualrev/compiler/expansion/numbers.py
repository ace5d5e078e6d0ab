"""Functions of numbers and of tuples of numbers, in expanded core."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core.lowered import Const, If, Let, Node
from dualrev.compiler.expansion.layouts import Layouts
from dualrev.compiler.expansion.statements import is_array, is_real
from dualrev.rules.functions import known
from dualrev.rules.names import line_of

__all__ = ["Numbers"]


class Numbers(Layouts):
    """Each method says whether the function was one for these arguments; then it has been written."""

    def of_numbers(self, s: Let, kind: Any) -> bool:
        """A product or a quotient, or a line of the table of primitives."""
        text = s.info[0]
        line = line_of(text)
        if not is_real(kind):
            return False
        if known(text).product is not None:
            self.rewritten(text, s.args[0], kind, s.line, s.target)
            return True
        if line is None or len(line.partials) != len(s.args):
            return False
        for x in s.args:
            self.materialise(x)
        self.let("prim", s.args, (line, s), s.line, target=s.target)
        return True

    def _extremum(self, s: Let, kind: Any) -> bool:
        """Python's min and max."""
        if len(s.args) == 1 and isinstance(self.kind(s.args[0]), types.BaseTuple):
            self.of_tuple(s, kind)
        elif len(s.args) > 1:
            self.extremum(s, kind, "<" if s.info[0] == "min" else ">")
        else:
            return False
        return True

    def _divmod(self, s: Let, kind: Any) -> bool:
        self.library(s, "divmod_of", s.args)
        return True

    def _float(self, s: Let, kind: Any) -> bool:
        """A conversion, which does nothing to a real number."""
        if any(is_array(self.kind(x)) for x in s.args):
            return False
        if s.args and is_real(self.kind(s.args[0])):
            self.let("prim", s.args, (line_of("+x"), s), s.line, target=s.target)
        else:
            self.as_written(s)
        return True

    def _ldexp(self, s: Let, kind: Any) -> bool:
        """math.ldexp: the product with a power of 2."""
        power = self.plain("math.ldexp(1.0, n)", s.line, kind, n=s.args[1])
        made = Let(s.target, "binop", (s.args[0], power), "*", s.line)
        self.let("prim", made.args, (line_of("*"), made), s.line, target=s.target)
        return True

    def _round(self, s: Let, kind: Any) -> bool:
        """To a number of digits: piecewise constant."""
        if is_real(kind):
            self.as_written(s)
        return is_real(kind)

    def extremum(self, s: Let, kind: Any, symbol: str) -> None:
        """Python's min and max: the first of those that tie."""
        best = self.temp(kind)
        self.let("copy", (s.args[0],), None, s.line, target=best)
        for x in s.args[1:]:
            test = self.plain(f"x {symbol} best", s.line, types.boolean, x=x, best=best)
            then: list[Any] = [Let(best, "copy", (x,), None, s.line)]
            self.out.append(If(test, then, [], s.line))
        self.let("copy", (best,), None, s.line, target=s.target)

    def of_tuple(self, s: Let, kind: Any) -> None:
        """Sum, min and max of a tuple's items."""
        parts = tuple(self.tree(s.args[0]).parts)
        text = s.info[0].split(".")[-1]
        if any(isinstance(x, Node) or is_array(self.kind(x)) for x in parts) or text not in ("sum", "min", "max"):
            self.refuse(s.line, f"{text} of this tuple", "its items are no numbers", "a loop")
        if text != "sum":
            self.extremum(Let(s.target, "func", parts, s.info, s.line), kind, "<" if text == "min" else ">")
            return
        total: Any = s.args[1] if len(s.args) > 1 else Const(0)
        for x in parts:
            made = self.temp(kind)
            if total == Const(0):
                self.let("copy", (x,), None, s.line, target=made)
            else:
                self.operation(Let(made, "binop", (total, x), "+", s.line))
            total = made
        self.let("copy", (total,), None, s.line, target=s.target)
