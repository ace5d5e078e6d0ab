"""Complex numbers in non-differentiable expressions: rebuilt from their real and imaginary parts.

z -> complex(z_re, z_im), z[k] -> complex(z_re[k], z_im[k]), len(z) -> len(z_re), and for an array
z -> runtime.complex_array(z_re, z_im)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python

__all__ = ["put_together"]


def put_together(tree: ast.expr, pairs: Mapping[str, tuple[anf.Atom, anf.Atom]], arrays: set[str]) -> ast.expr:
    """Copy an expression, with its complex variables rebuilt from their parts."""
    made = _Wholes(pairs, arrays).visit(to_python.copied(tree))
    assert isinstance(made, ast.expr)
    return made


class _Wholes(ast.NodeTransformer):
    def __init__(self, pairs: Mapping[str, tuple[anf.Atom, anf.Atom]], arrays: set[str]) -> None:
        self.pairs, self.arrays = pairs, arrays

    def parts(self, node: ast.expr) -> list[ast.expr]:
        """Expressions for the two parts of a complex variable; empty for any other expression."""
        return list(map(to_python.atom, self.pairs.get(node.id, ()))) if isinstance(node, ast.Name) else []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Rebuild a complex number or array."""
        parts = self.parts(node)
        made = "runtime.complex_array" if node.id in self.arrays else "complex"
        return to_python.call(made, *parts) if parts else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Rebuild an element of a complex array."""
        node.slice, parts = self.visit(node.slice), self.parts(node.value)
        return to_python.call("complex", *(ast.Subscript(x, node.slice, ast.Load()) for x in parts)) if parts else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Take `len` of a complex array from its real part; visit any other arguments."""
        parts = self.parts(node.args[0]) if ast.unparse(node.func) == "len" else []
        node.args = parts[:1] or [self.visit(x) for x in node.args]
        return node
