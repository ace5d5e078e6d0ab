"""Constant folding and elimination of branches whose condition is constant (conditional constant propagation).

    n = 3                               n = 3
    if n == 1 or n == 2 or n == 4:      y = mul(x, 3.0)
        y = mul(x, x)
    else:
        y = mul(x, 3.0)

A side that is never taken has no derivative to compute. It would also have none that numba compiles: numba removes such
a side after it has brought the function into SSA form, and then finds no type for a variable that only this side
assigns. In the sweeps of a derivative each value that the reverse sweep takes over is such a variable.

Constants are ints, bools, floats, strings and None, under names that hold them on every path. What a loop assigns is no
constant in it. Arithmetic is folded where numba's result is surely Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Choice,
    Comparison,
    Constant,
    Expr,
    Field,
    Logical,
    Operator,
    Var,
)
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, If, Real, Statement, While
from dualrev.compiler.ir.core.traverse import blocks, statements, with_blocks, writes
from dualrev.compiler.types.aliases import UserValue

__all__ = ["with_folded_branches"]

_UNKNOWN = object()
_UNARY: dict[str, Callable[[UserValue], UserValue]] = {
    "not": operator.not_,
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_BINARY: dict[str, Callable[[UserValue, UserValue], UserValue]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_OF_INTS: dict[str, Callable[[UserValue, UserValue], UserValue]] = {
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_COMPARE: dict[str, Callable[[UserValue, UserValue], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
}


def with_folded_branches(f: Function) -> Function:
    """Fold the branches of `f` with constant conditions; drop `while` loops whose test is false from the start."""
    if not any(isinstance(s, If | While) for s in statements(f.body)):
        return f
    return replace(f, body=_block(f.body, {}))


def _block(body: Block, known: dict[Var, UserValue]) -> Block:
    """Fold a block; `known` maps variables to constants and is updated to hold at its end."""
    return tuple(t for s in body for t in _statement(s, known))


def _statement(s: Statement, known: dict[Var, UserValue]) -> Block:
    """Fold a statement, and update `known` by what it assigns."""
    match s:
        case If():
            return _branch(s, known)
        case For() | While():
            for x in {x for t in statements((s,)) for x in writes(t)}:
                known.pop(x, None)
            if isinstance(s, For):
                return (with_blocks(s, [_block(s.body, dict(known))]),)
            before = _block(s.before, tested := dict(known))
            test = _value(s.test, tested)
            if test is not _UNKNOWN and not test:
                return before
            return (with_blocks(s, [before, _block(s.body, tested)]),)
    value = _assigned(s, known)
    for x in writes(s):
        known.pop(x, None)
        if _holds(x, value):
            known[x] = value
    return (s,)


def _branch(s: If, known: dict[Var, UserValue]) -> Block:
    """Replace an `if` with a constant condition by the side taken; else keep the constants that both sides agree on."""
    test = _value(s.test, known)
    if test is not _UNKNOWN:
        return _block(s.then if test else s.orelse, known)
    sides = [dict(known), dict(known)]
    made = with_blocks(s, [_block(body, side) for body, side in zip(blocks(s), sides, strict=True)])
    first, second = sides
    both = {x: value for x, value in first.items() if x in second and _same(value, second[x])}
    known.clear()
    known.update(both)
    return (made,)


def _same(x: UserValue, y: UserValue) -> bool:
    return Constant(x) == Constant(y)


def _holds(x: Var, value: UserValue) -> bool:
    """Whether a variable of this type holds a constant without a conversion."""
    match value:
        case bool():
            return bool(x.type == types.boolean)
        case int():
            return bool(x.type == types.int64) and -(2**63) <= value < 2**63
        case float():
            return bool(x.type == types.float64)
        case str() | None:
            return not isinstance(x.type, types.Number | types.Boolean)
    return False


def _assigned(s: Statement, known: dict[Var, UserValue]) -> UserValue:
    """The constant that a statement assigns to its target."""
    match s:
        case Copy():
            return _value(s.source, known)
        case Discrete():
            return _value(s.value, known)
        case Real(spelling="-" | "+" | "*" | "/" | "//" | "%"):
            return _operated(s.spelling, [_value(x, known) for x in s.args])
        case Real(spelling="**", args=(Constant(value=float() as x), Constant(value=float() | int() as y))) if x > 0.0:
            return _power(x, y)  # of literals, as Python itself folds them; numba's powers may round otherwise
    return _UNKNOWN


def _power(x: float, y: float) -> UserValue:
    try:
        return x**y
    except OverflowError:
        return _UNKNOWN


def _value(e: Expr, known: dict[Var, UserValue]) -> UserValue:
    """Constant-fold an expression; `_UNKNOWN` if it is not constant."""
    match e:
        case Constant():
            return e.value if isinstance(e.value, bool | int | float | str | None) else _UNKNOWN
        case Var():
            return known.get(e, _UNKNOWN)
        case Field(base=Var() as x, name="ndim") if is_array(x):
            return x.type.ndim
        case Applied(function="bool", args=(x,)):
            value = _value(x, known)
            return value if value is _UNKNOWN else bool(value)
        case Operator():
            return _operated(e.symbol, [_value(x, known) for x in e.args])
        case Comparison():
            return _compared(e.symbols, [_value(x, known) for x in e.args])
        case Logical():
            for x in e.args:
                value = _value(x, known)
                if value is _UNKNOWN or bool(value) is (e.symbol == "or"):
                    return value
            return value
        case Choice():
            test = _value(e.test, known)
            return _UNKNOWN if test is _UNKNOWN else _value(e.then if test else e.orelse, known)
    return _UNKNOWN


def _operated(symbol: str, args: list[UserValue]) -> UserValue:
    """Constant-fold `not`, and arithmetic of ints or of floats."""
    if any(x is _UNKNOWN for x in args):
        return _UNKNOWN
    if len(args) == 1:
        (x,) = args
        known = symbol == "not" or (symbol in _UNARY and type(x) in (int, float))
        return _UNARY[symbol](x) if known and not (symbol == "~" and type(x) is float) else _UNKNOWN
    x, y = args
    whole, real = isinstance(x, int) and isinstance(y, int), type(x) is float and type(y) is float
    rule = (_BINARY | (_OF_INTS if whole else {})).get(symbol)
    if rule is None or not (whole or real) or (symbol in ("/", "//", "%") and not y):
        return _UNKNOWN
    if symbol in ("**", "<<", ">>") and not 0 <= y < 64:
        return _UNKNOWN
    made = rule(x, y)
    return made if type(made) is not int or -(2**63) <= made < 2**63 else _UNKNOWN


def _compared(symbols: tuple[str, ...], args: list[UserValue]) -> UserValue:
    """Constant-fold a chained comparison: `args[0] symbols[0] args[1] symbols[1] args[2] ...`."""
    for symbol, x, y in zip(symbols, args, args[1:], strict=False):
        if x is _UNKNOWN or y is _UNKNOWN or symbol not in _COMPARE:
            return _UNKNOWN
        ordered = symbol not in ("==", "!=", "is", "is not")
        if ordered and not (isinstance(x, int | float) and isinstance(y, int | float)):
            return _UNKNOWN
        if not _COMPARE[symbol](x, y):
            return False
    return True
