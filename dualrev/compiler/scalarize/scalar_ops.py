"""Scalar operations: primitives of the table, or expressions without derivative. Each function takes the writer."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Const, If, Let, OfElements
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_real
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import known

__all__ = ["arithmetic", "extremum", "product"]


def arithmetic(code: ScalarBuilder, s: Let, kind: NumbaType) -> str:
    """Emit a scalar operator or function: a primitive if its result is real, else unchanged."""
    if not is_real(kind):
        code.as_written(s)
        return s.target
    text = s.info[0] if s.op == "func" else s.info if s.op == "binop" else f"{s.info}x"
    line = line_of(text)
    if line is None:  # as it is written it would be a constant, without a word
        raise AssertionError(f"line {s.line}: {text} gives a real number, and the table has no line for it")
    return code.let("prim", s.args, (line, s), s.line, target=s.target)


def product(code: ScalarBuilder, text: str, x: Any, kind: NumbaType, line: int, target: str = "") -> str:
    """Emit a scalar function that is a product or a quotient."""
    known_as = known(text).product
    assert known_as is not None
    symbol, factor = known_as
    other: Any = x
    if factor is not None:
        other = Const(factor)
        if kind == types.float32:
            other = code.let("plain", (), to_python.name(f"np.float32({factor})"), line, kind)
    args = (other, x) if symbol == "/" else (x, other)
    target = target or code.temp(kind)
    made = Let(target, "binop", args, OfElements(symbol), line)  # these are numpy's, but for two of math's products
    return arithmetic(code, made, kind)


def extremum(code: ScalarBuilder, s: Let, kind: NumbaType, symbol: str) -> None:
    """Emit Python's `min` or `max` by comparisons: the first of several equal arguments is the result."""
    best = code.temp(kind)
    code.let("copy", (s.args[0],), None, s.line, target=best)
    for x in s.args[1:]:
        test = code.plain(f"x {symbol} best", s.line, types.boolean, x=x, best=best)
        then: list[Any] = [Let(best, "copy", (x,), None, s.line)]
        code.out.append(If(test, then, [], s.line))
    code.let("copy", (best,), None, s.line, target=s.target)
