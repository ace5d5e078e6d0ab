"""Ownership of lists: a list may grow in place only if nobody else refers to it.

`xs.append(x)` is translated as `xs = xs + [x]`. That preserves Python's meaning if no other name, tuple or list refers
to the list xs. So this function has to create xs, by a display, a comprehension, +, * or list(..), and append nothing
to it after it has become part of something else. In a loop, each iteration has to create xs first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stages.calculus.python.source import Source, grown, nodes

__all__ = ["check_owned"]

_READING = ("len", "sum", "list", "zip", "enumerate", "reversed")  # they keep nothing of a list but its elements

_Loop = ast.For | ast.While


def check_owned(source: Source, body: Sequence[ast.stmt], statement: ast.stmt, name: str) -> None:
    """Refuse to append to the list `name` in a function with this body if others may refer to it."""
    instead = f"write {name} = {name} + [..], which makes a new list"
    made = [node for node in nodes(body) if _binds(node, name)]
    if not made:
        source.refuse(statement, f"{name} is not made in this function, so that others see it grow", instead)
    for node in made:
        if not _is_fresh(node, name):
            source.refuse(statement, f"{name} may be a list that others have, too (line {_line(node)})", instead)
    inside = dict(_parents(body))
    growing = [node for node in nodes(body) if grown(node) == name or _extends(node, name)]
    for use in nodes(body):
        if not (isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)):
            continue
        above = list(_above(use, inside))
        for loop in (node for node in above if isinstance(node, ast.For) and _within(use, node.iter, inside)):
            if any(_within(one, loop, inside) for one in growing):
                source.refuse(
                    statement, f"it grows in the loop over it (line {loop.lineno})", f"loop over list({name})"
                )
        if _only_reads(use, above):
            continue
        loops = [node for node in above if isinstance(node, _Loop)]
        if any(_at(one) > _at(use) for one in growing) or any(
            any(_within(one, loop, inside) for one in growing) and not _begins_anew(loop, name) for loop in loops
        ):
            source.refuse(statement, f"what has {name} from line {use.lineno} would see it grow", instead)


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Assign() | ast.AnnAssign() | ast.For() | ast.comprehension():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))
        case ast.MatchAs(name=bound) | ast.MatchStar(name=bound):
            return bound == name
    return False


def _is_fresh(node: ast.AST, name: str) -> bool:
    """Whether the expression assigned to the name creates a new list."""
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = zip(targets, values, strict=True)
            return all(_is_new(value) for target, value in pairs if isinstance(target, ast.Name) and target.id == name)
        case ast.Assign([ast.Name()], value) | ast.AnnAssign(ast.Name(), _, ast.expr() as value):
            return _is_new(value)
    return False


def _is_new(value: ast.expr) -> bool:
    match value:
        case ast.List() | ast.ListComp() | ast.BinOp() | ast.Call(ast.Name("list")):
            return True
        case ast.IfExp(_, yes, no):
            return _is_new(yes) and _is_new(no)
    return False


def _extends(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name


def _only_reads(use: ast.Name, above: Sequence[ast.AST]) -> bool:
    """Whether nothing refers to the list after this use, except to its elements, or the function ends with it."""
    if any(isinstance(node, ast.Return) for node in above):
        return True
    match above[0]:
        case ast.Attribute(_, method):
            return method in ("append", "extend")
        case ast.Call(ast.Name(f)):
            return f in _READING
        case ast.Subscript(value):
            return value is use
        case ast.For() | ast.comprehension() | ast.BinOp() | ast.Compare() | ast.AugAssign():
            return True
    return False


def _begins_anew(loop: _Loop, name: str) -> bool:
    """Whether the first statement of a loop's body that uses the name assigns a new list to it."""
    for statement in loop.body:
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement)):
            return _is_fresh(statement, name)
    return False


def _parents(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
    for node in (one for statement in body for one in ast.walk(statement)):
        for part in ast.iter_child_nodes(node):
            yield part, node


def _above(node: ast.AST, inside: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while (found := inside.get(node)) is not None:
        yield found
        node = found


def _within(node: ast.AST, whole: ast.AST, inside: dict[ast.AST, ast.AST]) -> bool:
    return node is whole or any(one is whole for one in _above(node, inside))


def _at(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0) or getattr(getattr(node, "target", None), "lineno", 0)
