"""A loop over np.nditer of one array -> a loop over the numbers of its elements, in the order in which numba goes.

    for v in np.nditer(a):           array = runtime.in_order(a)
        s += v.item() * v            for i in range(array.size):
        v[()] = 0.0                      s += array.flat[i] * array.flat[i]
                                         array.flat[i] = 0.0

There, `v` is an array without axes that shares the memory of the element. So each of its uses is the element as it is
then; where `v` gets another name, or is passed on, the loop is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dualrev.compiler.frontend.closures import renamed
from dualrev.compiler.frontend.nests import assigned, located, read
from dualrev.compiler.frontend.source import Static
from dualrev.compiler.runtime.constants import in_order

__all__ = ["over_memory"]


def over_memory(node: ast.For, local: Callable[[str], str], known: dict[str, Static]) -> list[ast.stmt] | None:
    """The loop over the elements; None if more is done with them. `known` gets a name for what tells the order."""
    assert isinstance(node.iter, ast.Call)
    args, target = node.iter.args, node.target
    if len(args) != 1 or isinstance(args[0], (ast.Tuple, ast.List)) or not isinstance(target, ast.Name):
        return None
    base, i, order = local("array"), local("i"), local("in_order")
    element = ast.Subscript(ast.Attribute(read(base), "flat", ast.Load()), read(i), ast.Load())
    elements = _Elements(target.id, element)
    body = [elements.visit(renamed(s, {})) for s in node.body]
    left = [x for s in (*body, *node.orelse) for x in ast.walk(s) if isinstance(x, ast.Name) and x.id == target.id]
    if left:
        return None
    known[order] = Static(in_order, ())
    size = ast.Attribute(read(base), "size", ast.Load())
    loop = ast.For(ast.Name(i, ast.Store()), ast.Call(read("range"), [size], []), body, node.orelse)
    located(loop, node)
    return [assigned(base, ast.Call(read(order), args, []), node), loop]


class _Elements(ast.NodeTransformer):
    """The element for the uses of a name that are those of a number."""

    def __init__(self, name: str, element: ast.Subscript) -> None:
        self.name, self.element = name, element

    def is_it(self, node: Any) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def number(self, node: ast.expr, ctx: ast.expr_context | None = None) -> ast.expr:
        """The element, if it is meant."""
        if not self.is_it(node):
            return node
        made = renamed(self.element, {})
        made.ctx = ctx or ast.Load()
        located(made, node)
        return made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """v.item()"""
        item = isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not (node.args or node.keywords)
        if item and self.is_it(node.func.value):  # type: ignore[attr-defined]
            return self.number(node.func.value)  # type: ignore[attr-defined]
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """v[()], read or written."""
        if self.is_it(node.value) and isinstance(node.slice, ast.Tuple) and not node.slice.elts:
            return self.number(node.value, node.ctx)
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        node.left, node.right = self.number(node.left), self.number(node.right)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        node.operand = self.number(node.operand)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        node.left, node.comparators = self.number(node.left), list(map(self.number, node.comparators))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        node.value = self.number(node.value)
        return node
