"""Desugar functions of the module operator to operators.

operator.mul(x, y)               x * y
operator.getitem(a, k)           a[k]
x = operator.iadd(x, y)          x += y
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from dualrev.compiler.types.aliases import UserValue
from dualrev.rules.emitted_names import BINARY

__all__ = ["IN_PLACE", "augmented", "operation"]

_BINARY: dict[UserValue, type[ast.operator]] = {
    operator.add: ast.Add,
    operator.sub: ast.Sub,
    operator.mul: ast.Mult,
    operator.truediv: ast.Div,
    operator.floordiv: ast.FloorDiv,
    operator.mod: ast.Mod,
    operator.pow: ast.Pow,
    operator.matmul: ast.MatMult,
    operator.and_: ast.BitAnd,
    operator.or_: ast.BitOr,
    operator.xor: ast.BitXor,
    operator.lshift: ast.LShift,
    operator.rshift: ast.RShift,
}
_COMPARISONS: dict[UserValue, type[ast.cmpop]] = {
    operator.lt: ast.Lt,
    operator.le: ast.LtE,
    operator.gt: ast.Gt,
    operator.ge: ast.GtE,
    operator.eq: ast.Eq,
    operator.ne: ast.NotEq,
    operator.is_: ast.Is,
    operator.is_not: ast.IsNot,
}
_UNARY: dict[UserValue, type[ast.unaryop]] = {
    operator.neg: ast.USub,
    operator.pos: ast.UAdd,
    operator.not_: ast.Not,
    operator.invert: ast.Invert,
}
#: What changes an array in place, and gives it; of numbers, a new one.
IN_PLACE: dict[UserValue, str] = {
    operator.iadd: "+",
    operator.isub: "-",
    operator.imul: "*",
    operator.itruediv: "/",
    operator.ifloordiv: "//",
    operator.imod: "%",
    operator.ipow: "**",
    operator.iand: "&",
    operator.ior: "|",
    operator.ixor: "^",
    operator.ilshift: "<<",
    operator.irshift: ">>",
}


def operation(f: UserValue, args: list[ast.expr]) -> ast.expr | None:
    """Desugar a call of a function of the module operator to an operator; None for any other function."""
    if getattr(f, "__module__", "") != "_operator":
        return None
    if f in _BINARY and len(args) == 2:
        return ast.BinOp(args[0], _BINARY[f](), args[1])
    if f in _COMPARISONS and len(args) == 2:
        return ast.Compare(args[0], [_COMPARISONS[f]()], [args[1]])
    if f in _UNARY and len(args) == 1:
        return ast.UnaryOp(_UNARY[f](), args[0])
    if f is operator.getitem and len(args) == 2:
        return ast.Subscript(args[0], args[1], ast.Load())
    if f is operator.contains and len(args) == 2:
        return ast.Compare(args[1], [ast.In()], [args[0]])
    return None


def augmented(node: ast.Assign, value: Callable[[ast.expr], UserValue]) -> ast.AugAssign | None:
    """Desugar `x = operator.iadd(x, y)` to `x += y`, also of a list; None for any other assignment."""
    call, target = node.value, node.targets[0]
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords or len(node.targets) > 1:
        return None
    f, x = value(call.func), call.args[0]
    if getattr(f, "__module__", "") != "_operator" or f not in IN_PLACE or not isinstance(target, ast.Name):
        return None
    if not isinstance(x, ast.Name) or x.id != target.id or isinstance(call.args[1], ast.Starred):
        return None
    symbol = next(kind for kind, text in BINARY.items() if text == IN_PLACE[f])
    return ast.copy_location(ast.AugAssign(target, symbol(), call.args[1]), node)
