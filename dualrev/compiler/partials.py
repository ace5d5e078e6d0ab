"""The table's partial derivatives as syntax for emitted code."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from dualrev.compiler import syntax
from dualrev.compiler.core import Const
from dualrev.compiler.transforms.writing import NAMES, power
from dualrev.primitives import Primitive

__all__ = ["kept_apart", "partial", "scaled"]

_CALLED = {**NAMES, "inf": "math.inf", "nan": "math.nan"}


class _Numba(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return syntax.name(_CALLED[node.id]) if node.id in _CALLED else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        args = [self.visit(x) for x in node.args]
        if isinstance(node.func, ast.Name) and node.func.id == "power":
            return ast.BinOp(args[0], ast.Pow(), args[1])
        return ast.Call(self.visit(node.func), args, [])


@functools.cache
def _text(text: str) -> ast.expr:
    tree = _Numba().visit(ast.parse(text, mode="eval").body)
    assert isinstance(tree, ast.expr)
    return tree


def partial(line: Primitive, k: int, args: tuple[Any, ...], get: Callable[[str], ast.expr]) -> ast.expr:
    """The k-th partial derivative; get("a") is the syntax for the argument a, get("y") that for the answer."""
    constant = line.name == "pow" and k == 0 and isinstance(args[1], Const)
    tree = _text(power(args[1].value) if constant else line.partials[k])
    names = {*line.parameters, "y"}
    return syntax.substitute(tree, lambda x: get(x) if x in names else None)


def scaled(factor: ast.expr, ct: ast.expr) -> ast.expr:
    """Factor * ct, without a factor of 1."""
    if isinstance(factor, ast.Constant) and factor.value == 1.0:
        return ct
    if isinstance(factor, ast.UnaryOp) and isinstance(factor.op, ast.USub):
        if isinstance(factor.operand, ast.Constant) and factor.operand.value == 1.0:
            return ast.UnaryOp(ast.USub(), ct)
        return ast.UnaryOp(ast.USub(), syntax.binary("*", factor.operand, ct))
    if (
        isinstance(factor, ast.BinOp)
        and isinstance(factor.op, ast.Div)
        and isinstance(factor.left, ast.Constant)
        and factor.left.value == 1.0
    ):
        return syntax.binary("/", ct, factor.right)
    return syntax.binary("*", factor, ct)


def kept_apart(ct: ast.expr, term: ast.expr) -> ast.expr:
    """The term, a product with a cotangent or a tangent; 0 where that is 0, whatever the other factor is.

    An expression and no function, so that LLVM may leave the other factor out, or choose without a branch: of the two,
    this one was the faster in every program of bench/compiled_programs.py that has it.
    """
    return ast.IfExp(ast.Compare(ct, [ast.NotEq()], [ast.Constant(0.0)]), term, ast.Constant(0.0))
