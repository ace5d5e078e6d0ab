"""Syntactic detection of list variables in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["lists_of"]

_LIST_METHODS = ("append", "pop", "insert", "remove", "extend", "clear")


def lists_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a list is assigned to, or that a method of lists is called on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.ListComp)):
            yield from (x.id for x in node.targets if isinstance(x, ast.Name))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LIST_METHODS:
            yield from (x.id for x in [node.func.value] if isinstance(x, ast.Name))
