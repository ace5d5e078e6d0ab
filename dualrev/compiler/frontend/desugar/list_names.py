"""Which names of a function can be seen to be lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["lists_of"]

_LIST_METHODS = ("append", "pop", "insert", "remove", "extend", "clear")


def lists_of(tree: ast.AST) -> Iterator[str]:
    """The names to which lists are assigned."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.ListComp)):
            yield from (x.id for x in node.targets if isinstance(x, ast.Name))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LIST_METHODS:
            yield from (x.id for x in [node.func.value] if isinstance(x, ast.Name))
