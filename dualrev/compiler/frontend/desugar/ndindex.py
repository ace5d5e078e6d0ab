"""Desugar loops over `np.ndindex` and `np.ndenumerate` to loop nests over ranges."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.compiler.frontend.reading.source import Static

__all__ = ["Nests", "assigned", "builtin", "located", "read"]


class Nests:
    """Desugaring of loops over all indices of an array; `local` allocates a fresh name."""

    def __init__(self, local: Callable[[str], str]) -> None:
        self.local = local

    def over_indices(self, node: ast.For, target: ast.expr, args: list[ast.expr]) -> list[ast.stmt] | None:
        """Desugar a loop over `np.ndindex` to a loop nest; None if the number of axes cannot be seen."""
        if len(args) == 1 and not isinstance(target, ast.Tuple):
            return None
        count = len(target.elts) if len(args) == 1 and isinstance(target, ast.Tuple) else len(args)
        if len(args) == 1:
            shape = self.local("shape")
            before = [assigned(shape, args[0], node)]
            sizes = [ast.Subscript(read(shape), ast.Constant(k), ast.Load()) for k in range(count)]
        else:
            names = [self.local("size") for _ in args]
            before = [assigned(name, x, node) for name, x in zip(names, args, strict=True)]
            sizes = [read(name) for name in names]  # type: ignore[misc]
        return [*before, *self.nested(node, target, sizes, count, [])]

    def over_elements(self, node: ast.For, array: ast.expr) -> list[ast.stmt] | None:
        """Desugar `for (i, j), x in np.ndenumerate(m)` to a loop nest; None for other targets."""
        target = node.target
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[0], ast.Tuple):
            return None
        places, x = target.elts
        assert isinstance(places, ast.Tuple)
        base = self.local("array")
        sizes = [
            ast.Subscript(ast.Attribute(read(base), "shape", ast.Load()), ast.Constant(k), ast.Load())
            for k in range(len(places.elts))
        ]
        return [assigned(base, array, node), *self.nested(node, places, sizes, len(sizes), [(x, base)])]

    def in_one_loop(self, node: ast.For, known: dict[str, Static]) -> list[ast.stmt] | None:
        """Desugar `np.ndenumerate` to one loop over `np.ndindex`: for `break`, `else`, or a single index."""
        target, call = node.target, node.iter
        assert isinstance(call, ast.Call)
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or len(call.args) != 1:
            return None
        base, place, function = self.local("array"), self.local("i"), self.local("ndindex")
        known[function] = Static(np.ndindex, ())
        indices = ast.Call(read(function), [ast.Attribute(read(base), "shape", ast.Load())], [])
        element = ast.Subscript(read(base), read(place), ast.Load())
        body = [ast.Assign([target.elts[0]], read(place)), ast.Assign([target.elts[1]], element), *node.body]
        loop = ast.For(ast.Name(place, ast.Store()), indices, body, node.orelse)
        located(loop, node)
        return [assigned(base, call.args[0], node), loop]

    def nested(
        self, node: ast.For, target: ast.expr, sizes: Any, count: int, elements: list[tuple[ast.expr, str]]
    ) -> list[ast.stmt]:
        """Build a loop nest; the innermost loop has the body."""
        index = [self.local("i") for _ in range(count)]
        place = ast.Tuple([read(i) for i in index], ast.Load())
        body: list[ast.stmt] = [ast.Assign([target], place)]
        for x, base in elements:
            body.append(ast.Assign([x], ast.Subscript(read(base), place, ast.Load())))
        body += node.body
        for i, size in reversed(list(zip(index, sizes, strict=True))):
            call = ast.Call(builtin("range"), [size], [])
            body = [ast.For(ast.Name(i, ast.Store()), call, body, [])]
        for s in body:
            located(s, node)
        return body


def located(s: ast.AST, node: ast.AST) -> None:
    """Give nodes without a source location the one of the node that they replace."""
    for x in ast.walk(s):
        if not hasattr(x, "lineno"):
            ast.copy_location(x, node)


def builtin(name: str) -> ast.Name:
    """Build a load of a builtin function, also where the user's function has another value of this name."""
    return ast.Name(f"builtins.{name}", ast.Load())


def read(name: str) -> ast.Name:
    """Build a load of a variable."""
    return ast.Name(name, ast.Load())


def assigned(name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
    """Build `name = value`, at the source location of the node."""
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    located(made, node)
    return made
