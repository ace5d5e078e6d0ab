"""Program slicing: a function's source without a refused statement, and without all that depends on it.

    t = np.foo(x)      refused
    y = t * 2.0        reads t
    z = np.bar(x)                            z = np.bar(x)
    return y + z       reads y               return 0.0

What is left gets the values that it gets in the whole function, so what is refused of it is refused there, too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace

from dualrev.compiler.frontend.reading.source import Source

__all__ = ["without"]

#: Methods that make something else of a list, a set or a dict: without them it may have no type.
_CHANGING = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "add", "update", "setdefault"}


def without(source: Source, line: int) -> Source | None:
    """Slice the innermost statement at a line out of a source; None if only the definition is at that line."""
    here = [
        s
        for s in ast.walk(source.tree)
        if isinstance(s, ast.stmt) and s is not source.tree and s.lineno <= line <= (s.end_lineno or s.lineno)
    ]
    if not here:
        return None
    innermost = min(here, key=lambda s: (s.end_lineno or s.lineno) - s.lineno)
    tree = copy.copy(source.tree)
    tree.body = _Reduction(innermost).block(tree.body, set())
    return replace(source, tree=ast.fix_missing_locations(tree))


class _Reduction:
    """Slicer of blocks; `lost` are the names whose values are not available at a statement."""

    def __init__(self, refused: ast.stmt) -> None:
        self._refused = refused

    def block(self, body: list[ast.stmt], lost: set[str]) -> list[ast.stmt]:
        """Slice a block; `lost` becomes the names that are lost behind it."""
        kept = [made for s in body for made in self._statement(s, lost)]
        return kept or [ast.copy_location(ast.Pass(), body[0])]

    def _statement(self, s: ast.stmt, lost: set[str]) -> list[ast.stmt]:
        head = {ast.If: "test", ast.While: "test", ast.For: "iter"}.get(type(s))
        if isinstance(s, (ast.For, ast.While)):
            self._add_rounds(s.body, lost)
        if s is self._refused or _read(getattr(s, head) if head else s) & lost:
            kept: list[ast.stmt] = [] if s is self._refused or head else [ast.Expr(x) for x in _intact(s, lost)]
            lost |= _written(s)
            kept += [ast.Return(ast.Constant(0.0))] if isinstance(s, ast.Return) else []
            return [ast.copy_location(x, s) for x in kept]
        made = copy.copy(s)
        if head:
            ends = []
            for block in ("body", "orelse"):
                ends.append(set(lost))
                setattr(made, block, self.block(getattr(s, block), ends[-1]) if getattr(s, block) else [])
            lost |= set.union(*ends)
        elif isinstance(s, ast.Assign):
            lost -= {x.id for x in s.targets if isinstance(x, ast.Name)}
        return [made]

    def _add_rounds(self, body: list[ast.stmt], lost: set[str]) -> None:
        """Fixpoint over iterations: add the names that are lost at the start of one."""
        before = None
        while before != lost:
            before = set(lost)
            after = set(lost)
            self.block(body, after)
            lost |= after


def _names(node: ast.AST) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}


def _read(node: ast.AST) -> set[str]:
    """Names that a statement or an expression depends on: all but the targets of an assignment."""
    if isinstance(node, ast.Assign):
        inside = [x for x in node.targets if not isinstance(x, ast.Name)]  # a[i] = x, and also a, b = x
        return set().union(*map(_names, [node.value, *inside]))
    return _names(node)


def _intact(node: ast.AST, lost: set[str]) -> Iterator[ast.Call]:
    """Calls in a statement that do not depend on lost names."""
    for x in ast.iter_child_nodes(node):
        if isinstance(x, (ast.Lambda, ast.comprehension, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue  # with names of their own
        if isinstance(x, ast.Call) and not _names(x) & lost:
            yield x
        else:
            yield from _intact(x, lost)


def _written(s: ast.stmt) -> set[str]:
    """Names that a statement assigns, or whose lists it changes."""
    found = {s.name} if isinstance(s, (ast.FunctionDef, ast.ClassDef)) else set()
    for x in ast.walk(s):
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store):
            found.add(x.id)
        if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) and x.func.attr in _CHANGING:
            found |= _names(x.func.value)
    return found
