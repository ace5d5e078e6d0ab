"""Partial derivatives of the table's lines as lines of their own: their text, differentiated.

    tan, "1.0 + y * y"  ~>  a line of y: value "1.0 + x * x", partial "x + x"

Under two derivatives a partial is a value that is differentiated. Done as its text stands, each operator in it is an
operation; as a line it is one. And where the table has second partials, the line has these: at poles and at infinity
they are the limits, where the text, differentiated operator by operator, multiplies zeros with infinities.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["Derived", "derived", "row", "with_partials"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos"}
_LINES = {name: PRIMITIVES["pow" if name == "power" else name] for name in FUNCTIONS}
_ONE, _ZERO = ast.Constant(1.0), ast.Constant(0.0)


class Derived(NamedTuple):
    """A partial as a line. What it takes has the numbers `places`: 0 is the first line's argument, -1 its value."""

    line: Primitive
    places: tuple[int, ...]


@functools.cache
def derived(line: Primitive, k: int = 0) -> Derived | None:
    """The k-th partial derivative of a line of the table; None if its text is one operation, or none.

    None, too, for a line of several arguments without second partials, since sums in another order would have NaN
    where they overflow, and for one that is derived itself: text that is differentiated again and again grows with its
    parts.

    >>> derived(PRIMITIVES["tan"]).line.value, derived(PRIMITIVES["tan"]).line.partials
    ('1.0 + x * x', ('x + x',))
    >>> derived(PRIMITIVES["sqrt"]).line.value, derived(PRIMITIVES["sqrt"]).line.partials
    ('0.5 / abs(b)', ('-0.25 / abs(b) / abs(a)', '0.0'))
    """
    if line.second:
        return with_partials(line, k, line.partials[k], row(line, k))
    if line.functions or PRIMITIVES.get(line.name) is not line:
        return None
    text = line.by_value or line.partials[0]
    tree = ast.parse(text, mode="eval").body
    operations = sum(isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)) for node in ast.walk(tree))
    if len(line.partials) > 1 or operations < 2 or not _names(text) & {"x", "y"}:
        return None
    return with_partials(line, k, text, None)


def with_partials(line: Primitive, k: int, text: str, partials: Sequence[str] | None) -> Derived | None:
    """The k-th partial, text in the arguments and the value of a line as a line of its own, of those that it speaks of.

    `partials` are its derivatives by the arguments: with them, the value is a constant to it. None: by the chain rule.
    A number is no line: None.
    """
    every = (*line.parameters, "y")
    known = (*partials, "0.0") if partials else ()
    used = set().union(*map(_names, (text, *known)))
    taken = [j for j, name in enumerate(every) if name in used or (known and known[j] != "0.0")]
    if not taken:
        return None
    parameters = ("x",) if len(taken) == 1 else ("a", "b", "c", "d")[: len(taken)]
    own = {every[j]: ast.Name(name, ast.Load()) for j, name in zip(taken, parameters, strict=True)}
    value = _substituted(ast.parse(text, mode="eval").body, own)
    if known:
        made = [ast.unparse(_substituted(ast.parse(known[j], mode="eval").body, own)) for j in taken]
    else:
        made = [ast.unparse(_derivative(value, name) or _ZERO) for name in parameters]
    n = len(line.parameters)
    domain = tuple(line.domain[j] if j < n else (-1.0, 1.0) for j in taken)
    new = Primitive(
        f"{line.name}_slope{k}",
        ast.unparse(value),
        tuple(made),
        domain,
        functions=line.functions,
        cheap=line.cheap,
    )
    return Derived(new, tuple(j if j < n else -1 for j in taken))


def row(line: Primitive, k: int) -> list[str]:
    """The second partials by argument k and each of the arguments."""
    n = len(line.partials)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    return [line.second[pairs.index((min(k, j), max(k, j)))] for j in range(n)]


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


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
        """Replace a name by its meaning."""
        return self._meant.get(node.id, node)
