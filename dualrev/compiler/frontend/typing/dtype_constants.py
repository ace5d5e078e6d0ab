"""Constant folding of kinds and comparisons of dtypes, by numba's types.

k = x.dtype.kind            k = 'f'
x.dtype == y.dtype          True
"""

from __future__ import annotations

import ast
from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.typing.infer import Typed
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Const, Let, walk

__all__ = ["fold_dtypes"]


def fold_dtypes(lowered: Lowered, typed: Typed) -> None:
    """Replace kinds and comparisons of dtypes by constants, in place."""
    dtypes = {x: kind.dtype for x, kind in typed.of.items() if isinstance(kind, types.DType)}
    for s in walk(lowered.body) if dtypes else ():
        if not isinstance(s, Let) or not dtypes.keys() & set(s.args):
            continue
        if s.op == "attr" and s.info == "kind":
            s.op, s.info, s.args = "copy", None, (Const(as_dtype(dtypes[s.args[0]]).kind),)
        elif s.op == "plain":
            s.info = _Compared(dtypes).visit(to_python.substitute(s.info, lambda _: None))
            left = {x.id for x in ast.walk(s.info) if isinstance(x, ast.Name)}
            s.args = tuple(x for x in s.args if x in left)


class _Compared(ast.NodeTransformer):
    def __init__(self, dtypes: dict[str, Any]) -> None:
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
