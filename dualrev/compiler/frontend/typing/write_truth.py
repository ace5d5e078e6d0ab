"""Lowering of truth values in conditions: a bool in place of a value, now that its type is known.

    if t:                       t_full = len(t) != 0; if t_full:        a string, a list, a dict, a set
    if t:                       t_full = True; if t_full:               a tuple
    while bool(n) and i < 3:    while n and i < 3:                      a number

Numba asks bool() of what a condition depends on. Expressions that `and`, `or` and `not` join say so (expressions.py),
so that numba finds types for them. What is left has conditions that are bools, numbers or None.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.desugar.spellings import is_bool
from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.typing.infer import Typed
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.opaque_types import is_container

__all__ = ["write_truth"]

_SCALARS = (types.Number, types.Boolean)
_TEXT = (types.UnicodeType, types.Bytes, types.ByteArray)


def write_truth(lowered: Lowered, typed: Typed) -> list[anf.Stmt]:
    """Return the body with bools for the truth of containers; new variables get their types."""
    return rewritten(lowered.body, _Truth(lowered, typed).statement)


class _Truth:
    def __init__(self, lowered: Lowered, typed: Typed) -> None:
        self.lowered, self.of = lowered, typed.of

    def statement(self, s: anf.Stmt) -> list[anf.Stmt]:
        """The statements for one, whose blocks are done."""
        before: list[anf.Stmt] = []
        match s:
            case anf.If():
                test = self.test(s.test, before, s.line)
                return [*before, replace(s, test=test)]
            case anf.While():
                test = self.test(s.test, before, s.line)
                return [replace(s, test_block=[*s.test_block, *before], test=test)]
            case anf.CallKnown(function="bool", arguments=(x,)):
                return [self.bool_of(s.target, x, s.line)]
            case anf.Discrete():
                return [self.expression(s)]
        return [s]

    def test(self, x: anf.Atom, before: list[anf.Stmt], line: int) -> anf.Atom:
        """A condition; of anything but a number, what asks for its truth is written to `before`."""
        kind = self.of.get(x) if isinstance(x, str) else None
        if kind is None or isinstance(kind, (*_SCALARS, types.NoneType, types.Optional)):
            return x
        test = self.lowered.names.temporary()
        self.of[test] = types.boolean
        before.append(self.bool_of(test, x, line))
        return test

    def bool_of(self, target: str, x: anf.Atom, line: int) -> anf.Let:
        """target = bool(x)."""
        match self.of_container(to_python.atom(x)):
            case None:
                return anf.CallKnown(target, "bool", (x,), line)
            case ast.Constant(value):
                return anf.Copy(target, anf.Const(value), line)
            case tree:
                return anf.Discrete(target, (str(x),), tree, line)

    def expression(self, s: anf.Discrete) -> anf.Discrete:
        """An expression that is written as it is."""
        if all(_asked(x) is None for x in ast.walk(s.tree)):
            return s
        tree = _Operands(self).whole(to_python.copied(s.tree))
        return anf.Discrete(s.target, to_python.left_of(s.names, tree), tree, s.line)

    def kind(self, node: ast.expr) -> NumbaType:
        """The type of a variable, or of an item of a tuple."""
        match node:
            case ast.Name(x):
                return self.of.get(x)
            case ast.Subscript(base, ast.Constant(int(k))) if isinstance(of := self.kind(base), types.BaseTuple):
                return of.types[k]
        return None

    def of_container(self, node: ast.expr) -> ast.expr | None:
        """Whether a container is not empty; None for what is none."""
        kind = self.kind(node)
        if isinstance(kind, types.BaseTuple):
            return ast.Constant(len(kind.types) > 0)
        if isinstance(kind, _TEXT) or is_container(kind):
            return ast.Compare(to_python.call("len", node), [ast.NotEq()], [ast.Constant(0)])
        return None


class _Operands(ast.NodeTransformer):
    """bool(x) in an expression: whether a container is not empty; x itself, if it is a number beside `and` or `not`."""

    def __init__(self, truth: _Truth) -> None:
        self.truth = truth

    def whole(self, tree: ast.expr) -> ast.expr:
        """The expression of a bool."""
        made: ast.expr = self.visit(tree)
        return to_python.call("bool", made) if isinstance(made, ast.BoolOp) and not self.is_bool(made) else made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `bool` of a container by its length."""
        asked = _asked(node)
        made = None if asked is None else self.truth.of_container(asked)
        return self.generic_visit(node) if made is None else made

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        """Leave out `bool` around the operands of `and` and `or`."""
        self.generic_visit(node)
        node.values = list(map(self.bare, node.values))
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        """Leave out `bool` around the operand of `not`."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self.bare(node.operand)
        return node

    def bare(self, node: ast.expr) -> ast.expr:
        """x for bool(x) of a number."""
        asked = _asked(node)
        return asked if asked is not None and self.is_number(asked) else node

    def is_number(self, node: ast.expr) -> bool:
        """Whether it can be seen that an expression is a number."""
        match node:
            case ast.Constant(value):
                return isinstance(value, int | float)
            case ast.Name(x):
                return isinstance(self.truth.of.get(x), _SCALARS)
            case ast.Call(ast.Name("len")):
                return True
            case ast.Subscript(ast.Name(x), place):
                places = place.elts if isinstance(place, ast.Tuple) else [place]
                kind: NumbaType = self.truth.of.get(x)
                whole = isinstance(kind, types.Array) and kind.ndim == len(places)
                return whole and isinstance(kind.dtype, _SCALARS) and all(map(self.is_number, places))
            case ast.BinOp() | ast.UnaryOp() | ast.Call():
                return all(self.is_number(x) for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr))
        return False

    def is_bool(self, node: ast.expr) -> bool:
        """Whether it can be seen that it is a bool."""
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_bool, node.values))
        named = isinstance(node, ast.Name) and isinstance(self.truth.of.get(node.id), types.Boolean)
        return named or _asked(node) is not None or is_bool(node)


def _asked(node: ast.AST) -> ast.expr | None:
    """Argument of `bool`; None for another expression."""
    match node:
        case ast.Call(ast.Name("bool"), [asked], []):
            return asked
    return None
