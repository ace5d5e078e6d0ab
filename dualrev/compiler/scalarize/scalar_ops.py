"""Scalar operations: primitives of the table, or expressions without derivative. Each function takes the writer."""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_real
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import known

__all__ = ["arithmetic", "extremum", "product"]


def arithmetic(code: ScalarBuilder, s: anf.BinOp | anf.UnaryOp | anf.CallKnown, kind: NumbaType) -> str:
    """Emit a scalar operator or function: a primitive if its result is real, else unchanged."""
    if not is_real(kind):
        code.as_written(s)
        return s.target
    text = s.function if isinstance(s, anf.CallKnown) else s.symbol
    line = line_of(f"{text}x" if isinstance(s, anf.UnaryOp) else text)
    if line is None:  # as it is written it would be a constant, without a word
        raise AssertionError(f"line {s.line}: {text} gives a real number, and the table has no line for it")
    return code.emit(anf.Prim(s.target, line, text, s.args, s.line, isinstance(s, anf.BinOp) and s.of_elements))


def product(code: ScalarBuilder, text: str, x: anf.Atom, kind: NumbaType, line: int, target: str = "") -> str:
    """Emit a scalar function that is a product or a quotient."""
    known_as = known(text).product
    assert known_as is not None
    symbol, factor = known_as
    other: anf.Atom = x
    if factor is not None:
        other = anf.Const(factor)
        if kind == types.float32:
            other = code.emit(anf.Discrete(code.temp(kind), (), to_python.name(f"np.float32({factor})"), line))
    left, right = (other, x) if symbol == "/" else (x, other)
    target = target or code.temp(kind)
    made = anf.BinOp(target, symbol, left, right, line, True)  # these are numpy's, but for two of math's products
    return arithmetic(code, made, kind)


def extremum(
    code: ScalarBuilder, target: str, args: tuple[anf.Atom, ...], kind: NumbaType, symbol: str, line: int
) -> None:
    """Emit Python's `min` or `max` by comparisons: the first of several equal arguments is the result."""
    best = code.temp(kind)
    code.emit(anf.Copy(best, args[0], line))
    for x in args[1:]:
        test = code.plain(f"x {symbol} best", line, types.boolean, x=x, best=best)
        then: list[anf.Stmt] = [anf.Copy(best, x, line)]
        code.add(anf.If(test, then, [], line))
    code.emit(anf.Copy(target, best, line))
