"""Constant folding of the attributes of `np.finfo` and `np.iinfo`.

np.finfo(np.float64).eps       2.220446049250313e-16
np.finfo(np.float32).eps       np.float32(1.1920928955078125e-07)
i = np.iinfo(np.int8); i.max   127
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

import numpy as np

from dualrev.compiler.frontend.desugar.ndindex import located, read
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.source import Static
from dualrev.compiler.ir.names import readable
from dualrev.compiler.types.aliases import UserValue

__all__ = ["Limits"]

_FLOATS: dict[UserValue, UserValue] = {float: np.float64, np.float64: np.float64, np.float32: np.float32}


class Limits:
    """Folding of `np.finfo` and `np.iinfo` of a known type; `bindings` counts the assignments of each variable."""

    def __init__(self, scope: Scope, local: Callable[[str], str], bindings: Counter[str]) -> None:
        self.scope, self.local, self.bindings = scope, local, bindings
        self._named: dict[str, ast.Call] = {}

    def define(self, node: ast.Assign) -> bool:
        """Record `i = np.finfo(t)` if it is the only assignment of `i`; return whether it is."""
        (target, *others), value = node.targets, node.value
        if others or not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or self._of(value) is None:
            return False
        if self.bindings[target.id] != 1 or target.id in self.scope.parameters:
            return False
        self._named[target.id] = value
        return True

    def attribute(self, node: ast.Attribute) -> ast.expr | None:
        """Fold `np.finfo(t).eps` and the like to a constant; None for any other attribute."""
        call = self._named.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
        if not isinstance(call, ast.Call) or (limits := self._of(call)) is None:
            return None
        found = getattr(limits, node.attr, None)
        if not isinstance(found, (int, float, np.integer, np.floating)):
            return None
        made: ast.expr = ast.Constant(found.item() if isinstance(found, np.generic) else found)
        if isinstance(found, np.float32):
            name = self.local("float32")
            self.scope.functions[name] = Static(np.float32, ())
            made = ast.Call(read(name), [made], [])
        located(made, node)
        return made

    def name(self, node: ast.Name) -> None:
        """Refuse a recorded `i` itself, as an argument or another name."""
        if node.id in self._named:
            text = ast.unparse(self._named[node.id])
            self.scope.refuse(node, f"{readable(node.id)} = {text} as a value", "its numbers are known", f"{text}.max")

    def _of(self, node: ast.Call) -> UserValue:
        """Evaluate a call of `np.finfo` or `np.iinfo`; None for any other call."""
        if not isinstance(node.func, (ast.Name, ast.Attribute)) or len(node.args) != 1 or node.keywords:
            return None
        static = self.scope.static(node.func)
        if static is None or (static.value is not np.finfo and static.value is not np.iinfo):
            return None
        kind = self.scope.static(node.args[0])
        if kind is None or not isinstance(kind.value, type):
            return None
        if static.value is np.finfo:
            return np.finfo(_FLOATS[kind.value]) if kind.value in _FLOATS else None
        return np.iinfo(kind.value) if kind.value is int or issubclass(kind.value, np.integer) else None
