"""Complex numbers in expressions that stay as they are written: they are put together again of their parts.

z -> complex(z_re, z_im), z[k] -> complex(z_re[k], z_im[k]), len(z) -> len(z_re), and for an array
z -> runtime.complex_array(z_re, z_im)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Atom

__all__ = ["put_together"]


def put_together(tree: ast.expr, pairs: Mapping[str, tuple[Atom, Atom]], arrays: set[str]) -> ast.expr:
    """A copy of the expression without these names."""
    made = _Wholes(pairs, arrays).visit(to_python.substitute(tree, lambda _: None))
    assert isinstance(made, ast.expr)
    return made


class _Wholes(ast.NodeTransformer):
    def __init__(self, pairs: Mapping[str, tuple[Atom, Atom]], arrays: set[str]) -> None:
        self.pairs, self.arrays = pairs, arrays

    def parts(self, node: ast.expr) -> list[ast.expr]:
        """The parts of a name, if it is complex."""
        return list(map(to_python.atom, self.pairs.get(node.id, ()))) if isinstance(node, ast.Name) else []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        parts = self.parts(node)
        made = "runtime.complex_array" if node.id in self.arrays else "complex"
        return to_python.call(made, *parts) if parts else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice, parts = self.visit(node.slice), self.parts(node.value)
        return to_python.call("complex", *(ast.Subscript(x, node.slice, ast.Load()) for x in parts)) if parts else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        parts = self.parts(node.args[0]) if ast.unparse(node.func) == "len" else []
        node.args = parts[:1] or [self.visit(x) for x in node.args]
        return node
