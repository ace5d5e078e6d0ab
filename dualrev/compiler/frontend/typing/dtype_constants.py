"""Constant folding of kinds and comparisons of dtypes, by numba's types.

k = x.dtype.kind            k = 'f'
x.dtype == y.dtype          True
"""

from __future__ import annotations

import ast

from numba.core import types
from numba.np.numpy_support import as_dtype

from dualrev.compiler.frontend.typing.infer import Typed
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["fold_dtypes"]


def fold_dtypes(body: list[anf.Stmt], typed: Typed) -> list[anf.Stmt]:
    """Return the block with constants for kinds and comparisons of dtypes."""
    dtypes = {x: kind.dtype for x, kind in typed.of.items() if isinstance(kind, types.DType)}

    def folded(s: anf.Stmt) -> anf.Stmt:
        """Fold in one statement."""
        match s:
            case anf.GetAttr(base=x, name="kind") if x in dtypes:
                return anf.Copy(s.target, anf.Const(as_dtype(dtypes[x]).kind), s.line)
            case anf.Discrete() if dtypes.keys() & set(s.names):
                tree = _Compared(dtypes).visit(to_python.copied(s.tree))
                return anf.Discrete(s.target, to_python.left_of(s.names, tree), tree, s.line)
        return s

    return rewritten(body, lambda s: [folded(s)]) if dtypes else body


class _Compared(ast.NodeTransformer):
    def __init__(self, dtypes: dict[str, NumbaType]) -> None:
        self.dtypes = dtypes

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Fold a comparison of two dtypes."""
        match node:
            case ast.Compare(ast.Name(x), [ast.Eq() | ast.NotEq() as op], [ast.Name(y)]) if {
                x,
                y,
            } <= self.dtypes.keys():
                return ast.Constant((self.dtypes[x] == self.dtypes[y]) is isinstance(op, ast.Eq))
        self.generic_visit(node)
        return node
