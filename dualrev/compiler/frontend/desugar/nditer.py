"""Desugar a loop over `np.nditer` to a loop over the elements, in numba's iteration order.

    for v in np.nditer(a):           array = runtime.in_order(a)
        s += v.item() * v            for i in range(array.size):
        v[()] = 0.0                      s += array.flat[i] * array.flat[i]
                                         array.flat[i] = 0.0

There, `v` is an array without axes that shares the memory of the element. So each of its uses is the element as it is
then; where `v` gets another name, or is passed on, the loop is not known.

    for u, v in np.nditer((a, b)):   array_1, array_2 = np.broadcast_arrays(runtime.in_rows(a), runtime.in_rows(b))
        v[()] = u.item()             array_2 = runtime.in_rows(b), where it is written, and has to have all elements
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from dualrev.compiler.frontend.desugar.closures import renamed
from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.reading.source import Static
from dualrev.compiler.runtime.markers import in_order, in_rows
from dualrev.compiler.types.aliases import UserValue

__all__ = ["over_memory"]

#: Numba repeats an array along axes that it has not, and along no axis of length 1.
_SAME_AXES = """for {k} in range({array}.ndim):
    if {array}.shape[{k}] != {view}.shape[{k} + {view}.ndim - {array}.ndim]:
        raise ValueError("nditer(): operands could not be broadcast together")
"""
_SMALLER = "an array of np.nditer that is written has to have all of its elements"


def over_memory(node: ast.For, local: Callable[[str], str], known: dict[str, Static]) -> list[ast.stmt] | None:
    """Desugar a loop over `np.nditer`; None if the body does more than read and write elements.

    `known` gets names for the markers that tell the iteration order.
    """
    assert isinstance(node.iter, ast.Call)
    args, target = node.iter.args, node.target
    several = len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) and isinstance(target, ast.Tuple)
    given, targets = (args[0].elts, target.elts) if several else (args, [target])  # type: ignore[attr-defined]
    names = [x.id for x in targets if isinstance(x, ast.Name)]
    if not len(given) == len(names) == len(targets):
        return None
    if not several and (len(args) != 1 or isinstance(args[0], (ast.Tuple, ast.List))):
        return None
    i, bases = local("i"), [local("array") for _ in names]
    body = list(node.body)
    for name, base in zip(names, bases, strict=True):
        element = ast.Subscript(ast.Attribute(read(base), "flat", ast.Load()), read(i), ast.Load())
        elements = _Elements(name, element)
        body = [elements.visit(renamed(s, {})) for s in body]
    if {x.id for s in (*body, *node.orelse) for x in ast.walk(s) if isinstance(x, ast.Name)} & {*names}:
        return None
    size = ast.Attribute(read(bases[0]), "size", ast.Load())
    made = _together(given, bases, body, known, local, node) if several else [_alone(given[0], bases[0], known, local)]
    loop = ast.For(ast.Name(i, ast.Store()), ast.Call(builtin("range"), [size], []), body, node.orelse)
    made.append(loop)
    for s in made:
        located(s, node)
    return made


def _called(f: UserValue, known: dict[str, Static], local: Callable[[str], str], args: list[ast.expr]) -> ast.expr:
    """Build a call of a function that the user's function has no name for."""
    name = local(f.__name__)
    known[name] = Static(f, ())
    return ast.Call(read(name), args, [])


def _alone(a: ast.expr, base: str, known: dict[str, Static], local: Callable[[str], str]) -> ast.stmt:
    return ast.Assign([ast.Name(base, ast.Store())], _called(in_order, known, local, [a]))


def _together(
    given: list[ast.expr],
    bases: list[str],
    body: list[ast.stmt],
    known: dict[str, Static],
    local: Callable[[str], str],
    node: ast.For,
) -> list[ast.stmt]:
    """Broadcast several arrays to one shape; a written one stays the array itself."""
    arrays = [local("array") for _ in bases]
    ordered = [_called(in_rows, known, local, [a]) for a in given]
    made: list[ast.stmt] = [assigned(x, a, node) for x, a in zip(arrays, ordered, strict=True)]
    views = ast.Tuple([ast.Name(base, ast.Store()) for base in bases], ast.Store())
    made.append(ast.Assign([views], _called(np.broadcast_arrays, known, local, list(map(read, arrays)))))
    stored = (x for s in body for x in ast.walk(s) if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store))
    flat = {
        x.value.value.id for x in stored if isinstance(x.value, ast.Attribute) and isinstance(x.value.value, ast.Name)
    }
    size = ast.Attribute(read(bases[0]), "size", ast.Load())
    for base, array in zip(bases, arrays, strict=True):
        same = ast.parse(_SAME_AXES.format(k=local("k"), array=array, view=base)).body
        for x in ast.walk(same[0]):
            ast.copy_location(x, node)
        made += same
        if base in flat:
            differs = ast.Compare(ast.Attribute(read(array), "size", ast.Load()), [ast.NotEq()], [size])
            error = ast.Call(ast.Name("ValueError", ast.Load()), [ast.Constant(_SMALLER)], [])
            made += [ast.If(differs, [ast.Raise(error)], []), assigned(base, read(array), node)]
    return made


class _Elements(ast.NodeTransformer):
    """Replace scalar uses of the loop's variable by the element."""

    def __init__(self, name: str, element: ast.Subscript) -> None:
        self.name, self.element = name, element

    def is_it(self, node: ast.AST) -> bool:
        """Whether a node is the loop's variable."""
        return isinstance(node, ast.Name) and node.id == self.name

    def number(self, node: ast.expr, ctx: ast.expr_context | None = None) -> ast.expr:
        """Return the element for the loop's variable, and any other node unchanged."""
        if not self.is_it(node):
            return node
        made = renamed(self.element, {})
        made.ctx = ctx or ast.Load()
        located(made, node)
        return made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace `v.item()`."""
        item = isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not (node.args or node.keywords)
        if item and self.is_it(node.func.value):  # type: ignore[attr-defined]
            return self.number(node.func.value)  # type: ignore[attr-defined]
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace `v[()]`, read or written."""
        if self.is_it(node.value) and isinstance(node.slice, ast.Tuple) and not node.slice.elts:
            return self.number(node.value, node.ctx)
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace the operands of a binary operator."""
        self.generic_visit(node)
        node.left, node.right = self.number(node.left), self.number(node.right)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Replace the operand of a unary operator."""
        self.generic_visit(node)
        node.operand = self.number(node.operand)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Replace the operands of a comparison."""
        self.generic_visit(node)
        node.left, node.comparators = self.number(node.left), list(map(self.number, node.comparators))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Replace the right-hand side of an augmented assignment."""
        self.generic_visit(node)
        node.value = self.number(node.value)
        return node
