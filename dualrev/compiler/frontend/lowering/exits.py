"""Early exits of statements: break, continue and return."""

from __future__ import annotations

import ast

__all__ = ["always", "exits", "exits_of"]


def exits(s: ast.stmt) -> set[type]:
    """Return the kinds of early exit (break, continue, return) that may leave a statement."""
    if isinstance(s, (ast.Break, ast.Continue, ast.Return)):
        return {type(s)}
    if isinstance(s, ast.If):
        return exits_of(s.body) | exits_of(s.orelse)
    if isinstance(s, (ast.For, ast.While)):
        return (exits_of(s.body) & {ast.Return}) | exits_of(s.orelse)
    return set()


def exits_of(body: list[ast.stmt]) -> set[type]:
    """Return the kinds of early exit that may leave a block."""
    return set().union(*map(exits, body)) if body else set()


def always(body: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of a block."""
    if not body:
        return False
    for s in body:
        if isinstance(s, (ast.Break, ast.Continue, ast.Return, ast.Raise)):
            return True
        if isinstance(s, ast.If) and always(s.body) and always(s.orelse):
            return True
        if (
            isinstance(s, ast.While)
            and isinstance(s.test, ast.Constant)
            and s.test.value
            and ast.Break not in exits_of(s.body)
        ):
            return True
    return False
