"""Desugar `@njit(locals={...})`: explicit conversions where the declared variables are assigned.

    @njit(locals={"k": int64})
    def f(x):
        k = x * 1.5                  k = np.int64(x * 1.5)

Numba converts the first SSA version of a variable only. So a variable with several assignments is refused: the language
does not say which of them would be converted. A name that the function does not have says nothing.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace

import numpy as np
from numba.core import types

from dualrev.compiler.frontend.reading.source import Source

__all__ = ["with_conversions"]


def with_conversions(source: Source) -> Source:
    """Return the source with the conversions that its `locals` declare written out."""
    declared = getattr(source.dispatcher, "locals", None) or {}
    bound = [x.id for x in ast.walk(source.tree) if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)]
    declared = {x: kind for x, kind in declared.items() if x in bound or x in source.parameters}
    if not declared:
        return source
    tree = copy.deepcopy(source.tree)
    found = {}
    for s in ast.walk(tree):
        if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
            found[s.targets[0].id] = s
    for x, kind in declared.items():
        if x not in found or bound.count(x) > 1 or not isinstance(kind, (types.Integer, types.Float)):
            why = f"it converts {x} where the source does not say so"
            source.refuse(source.tree, "@njit(locals=...)", why, _instead(source, x, kind))
        s = found[x]
        name = ast.Constant(getattr(np, str(kind)))
        s.value = ast.copy_location(ast.Call(ast.copy_location(name, s.value), [s.value], []), s.value)
    return replace(source, tree=tree)


def _instead(source: Source, x: str, kind: object) -> str:
    """Return the remedy for a refused `locals` entry: source that does the same without it."""
    if not isinstance(kind, (types.Number, types.Boolean)):
        return f"@njit without {x} in its locals, of which numba finds the type"
    name = "bool_" if isinstance(kind, types.Boolean) else str(kind)
    if x in source.parameters:
        return f"{x} = np.{name}({x}) as the first line, and @njit without {x} in its locals"
    return f"{x} = np.{name}(...) wherever it is assigned, and @njit without {x} in its locals"
