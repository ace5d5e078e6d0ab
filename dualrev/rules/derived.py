"""Partial derivatives of the table's lines as lines of their own: their text, differentiated.

    tan, "1.0 + y * y"  ~>  a line of y: value "1.0 + x * x", partial "x + x"

Where an array is under two derivatives, a partial is a value that is differentiated. Done as its text stands, each
operator in it is an operation; as a line it is one.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import NamedTuple

from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["Derived", "derived"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos"}
_LINES = {name: PRIMITIVES["pow" if name == "power" else name] for name in FUNCTIONS}
_ONE, _ZERO = ast.Constant(1.0), ast.Constant(0.0)


class Derived(NamedTuple):
    """A partial as a line. What it takes has the numbers `places`: 0 is the first line's argument, -1 its value."""

    line: Primitive
    places: tuple[int, ...]


@functools.cache
def derived(line: Primitive) -> Derived | None:
    """The partial derivative of a line of the table by its only argument; None if its text is one operation, or none.

    None, too, for a line of several arguments, since sums in another order would have NaN where they overflow, and for
    one that is derived itself: text that is differentiated again and again grows with its parts.

    >>> derived(PRIMITIVES["tan"]).line.value, derived(PRIMITIVES["tan"]).line.partials
    ('1.0 + x * x', ('x + x',))
    """
    tree = ast.parse(line.by_value or line.partials[0], mode="eval").body
    operations = sum(isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)) for node in ast.walk(tree))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken = [(j, name) for j, name in ((0, "x"), (-1, "y")) if name in used]
    of_table = len(line.partials) == 1 and not line.functions and PRIMITIVES.get(line.name) is line
    if not of_table or not taken or operations < 2:
        return None
    parameters = ("x",) if len(taken) == 1 else ("a", "b")
    own = {name: ast.Name(new, ast.Load()) for (_, name), new in zip(taken, parameters, strict=False)}
    value = _substituted(tree, own)
    partials = [_derivative(value, name.id) or _ZERO for name in own.values()]
    made = Primitive(
        f"the derivative of {line.name}",
        ast.unparse(value),
        tuple(map(ast.unparse, partials)),
        tuple([line.domain[0] if j == 0 else (-1.0, 1.0) for j, _ in taken]),
    )
    return Derived(made, tuple([j for j, _ in taken]))


def _derivative(u: ast.expr, name: str) -> ast.expr | None:
    """The derivative of an expression by a name; None for 0."""
    match u:
        case ast.Name():
            return _ONE if u.id == name else None
        case ast.Constant():
            return None
        case ast.UnaryOp():
            return _by_chain_rule(PRIMITIVES[_UNARY[type(u.op)]], [u.operand], u, name)
        case ast.BinOp():
            return _by_chain_rule(PRIMITIVES[_BINARY[type(u.op)]], [u.left, u.right], u, name)
        case ast.Call(ast.Name(f), args):
            return _by_chain_rule(_LINES[f], args, u, name)
        case ast.IfExp():
            sides = [_derivative(side, name) for side in (u.body, u.orelse)]
            one, other = [side or _ZERO for side in sides]
            return None if sides == [None, None] else ast.IfExp(u.test, one, other)
    raise AssertionError(f"no derivative of the text {ast.unparse(u)!r}")


def _by_chain_rule(line: Primitive, args: list[ast.expr], y: ast.expr, name: str) -> ast.expr | None:
    """The sum of the line's partials, each times the derivative of its argument."""
    total: ast.expr | None = None
    meant = {**dict(zip(line.parameters, args, strict=True)), "y": y}
    for text, arg in zip(line.partials, args, strict=True):
        factor = _derivative(arg, name)
        if factor is not None and text != "0.0":
            term = _product(_substituted(ast.parse(text, mode="eval").body, meant), factor)
            total = term if total is None else ast.BinOp(total, ast.Add(), term)
    return total


def _product(u: ast.expr, v: ast.expr) -> ast.expr:
    if u is _ONE or (isinstance(u, ast.Constant) and u.value == 1.0):
        return v
    return u if v is _ONE else ast.BinOp(u, ast.Mult(), v)


def _substituted(u: ast.expr, meant: Mapping[str, ast.expr]) -> ast.expr:
    """The expression with others in place of names."""
    made: ast.expr = _Substitution(meant).visit(ast.parse(ast.unparse(u), mode="eval").body)
    return made


class _Substitution(ast.NodeTransformer):
    def __init__(self, meant: Mapping[str, ast.expr]) -> None:
        self._meant = meant

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._meant.get(node.id, node)
