"""Mutations of Python source: small changes that a test should find.

    a + b       a - b                   a < b       a <= b, a >= b
    -x, not x   x                       a and b     a or b
    2.0         3.0                     True        False
    f(a, b)     f(b, a)                 if c: s     if not c: s
    d[k] = x    pass; so are d += x, and a call without a use of its result

Text in string literals is mutated, too, if it is a Python expression: the partial derivatives in dualrev/rules are
such text. Annotations, decorators, f-strings, docstrings, assertions and `__all__` stay.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Mutant", "mutants"]

_OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_UNTOUCHED = {"annotation", "decorator_list", "returns"}


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the text from `start` to `end` is replaced."""

    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """Return the mutated source."""
        return source[: self.start] + self.after + source[self.end :]

    def __str__(self) -> str:
        """Return the line and both texts: 12: a + b -> a - b."""
        return f"{self.line}: {' '.join(self.before.split())} -> {' '.join(self.after.split())}"


def mutants(source: str, mode: Literal["exec", "eval"] = "exec") -> list[Mutant]:
    """Return every mutant of a module's source, or of an expression's (`mode="eval"`), in the order of the text.

    >>> [str(m) for m in mutants("y = -a * f(b, 2)")]
    ['1: -a * f(b, 2) -> (-a / f(b, 2))', '1: -a -> (a)', '1: f(b, 2) -> f(2, b)', '1: 2 -> (3)']
    >>> [str(m) for m in mutants("SIN = 'sin(x)', '-x * x'")]
    ["1: '-x * x' -> '(-x / x)'", "1: '-x * x' -> '(x) * x'"]
    """
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = source.encode()

    def position(line: int, column: int) -> int:
        return len(data[: starts[line - 1] + column].decode())  # the parser counts bytes

    found = set()
    for node in _nodes(ast.parse(source, mode=mode)):
        for old, text in _replacements(node):
            start = position(old.lineno, old.col_offset)
            end = position(old.end_lineno or 0, old.end_col_offset or 0)
            found.add(Mutant(old.lineno, start, end, source[start:end], text))
    return sorted(found, key=lambda m: (m.start, -m.end, m.after))


def _nodes(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements that may change."""
    if isinstance(tree, (ast.JoinedStr, ast.Assert)) or (isinstance(tree, ast.Expr) and _is_text(tree.value)):
        return
    if isinstance(tree, (ast.Assign, ast.AnnAssign)) and ast.unparse(tree).startswith("__all__"):
        return
    if isinstance(tree, (ast.expr, ast.stmt)):
        yield tree
    for field, value in ast.iter_fields(tree):
        if field not in _UNTOUCHED:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _replacements(node: ast.expr | ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """The texts that may stand in place of a node, or of a part of it."""
    match node:
        case ast.Constant(value=str(text)):
            yield from ((node, repr(changed)) for changed in _mutated_text(text))
        case ast.If() | ast.While():
            yield node.test, f"(not ({ast.unparse(node.test)}))"
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"
        case ast.expr():
            for changed in _expressions(node):
                text = ast.unparse(changed)
                yield node, text if isinstance(changed, ast.Call) else f"({text})"


def _mutated_text(text: str) -> list[str]:
    """The mutants of a string literal that is an expression; none if it is a name or prose."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    if isinstance(tree, (ast.Name, ast.Tuple, ast.Attribute)):
        return []
    if isinstance(tree, ast.Constant):
        return [ast.unparse(x) for x in _expressions(tree)]
    return [m.applied(text) for m in mutants(text, "eval")] if text == text.strip() else []


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    """The mutants of an expression at its root."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            yield from (_with(node, op=other()) for other in _OPERATORS.get(type(op), ()))
        case ast.Compare(ops=[op]):
            yield from (_with(node, ops=[other()]) for other in _OPERATORS.get(type(op), ()))
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=(int() | float()) as value):
            yield ast.Constant(value + 1)
        case ast.IfExp():
            yield _with(node, body=node.orelse, orelse=node.body)
        case ast.Call(ast.Name("isinstance")):
            return
        case ast.Call(args=[ast.expr() as one, ast.expr() as other, *rest]) if ast.dump(one) != ast.dump(other):
            yield _with(node, args=[other, one, *rest])


def _with(node: ast.expr, **fields: object) -> ast.expr:
    """A copy of a node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
