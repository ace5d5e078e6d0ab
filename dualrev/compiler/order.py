"""Which reversed loops may run upwards: those whose rounds do not depend on their order."""

from __future__ import annotations

import ast
from typing import Any

from dualrev.compiler.code import Assign, Suite
from dualrev.compiler.core import (
    Const,
    For,
)
from dualrev.compiler.sweep import flat

__all__ = ["order_free"]


def order_free(r: Any, s: Any, code: list[Any], crossing: set[str]) -> bool:
    """Whether the rounds of a reversed loop may come in any order; then they run upwards, as compilers like it.

    So it is if they only add to cotangents that others see, or read and clear elements of a shadow that belong to one
    round alone: those with the counter as an index.
    """
    if not isinstance(s, For) or s.exits or s.step != Const(1) or not isinstance(s.start, Const) or s.start.value < 0:
        return False  # a[-1] and a[n - 1] are one element
    wrote = {c.target.id for c in flat(code) if isinstance(c, Assign) and isinstance(c.target, ast.Name)}
    shared = {r.cotangent(x) for x in crossing} & wrote
    of_shadow = r.shadow_classes()
    added: set[str] = set()
    cleared: set[str] = set()
    taken: dict[str, set[str]] = {}
    moving = wrote & set(of_shadow)  # views that differ from round to round
    for c in flat(code):
        if isinstance(c, Suite):
            mentioned = {n.id for n in ast.walk(ast.parse(c.header + " pass")) if isinstance(n, ast.Name)}
            if mentioned & shared:
                return False
            continue
        if not isinstance(c, Assign):
            return False
        target = c.target
        base = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(base, ast.Name) or (isinstance(target, ast.Subscript) and base.id not in of_shadow):
            return False
        if isinstance(target, ast.Subscript):
            if c.op == "=":
                place = "" if base.id in moving else index_text(target, s.target)
                taken.setdefault(of_shadow[base.id], set()).add(place)
                cleared.add(of_shadow[base.id])
            else:
                added.add(of_shadow[base.id])
        elif base.id in shared and c.op == "=":
            return False
        view = isinstance(target, ast.Name) and base.id in of_shadow
        bases = {id(node.value) for node in ast.walk(c.value) if isinstance(node, ast.Subscript)}
        for node in ast.walk(c.value):
            if isinstance(node, ast.Name) and node.id in {*shared, "tape", "words", "top"}:
                return False
            if isinstance(node, ast.Name) and node.id in of_shadow and not view and id(node) not in bases:
                return False  # a call that may do anything with it
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in of_shadow:
                if view:
                    continue
                place = "" if node.value.id in moving else index_text(node, s.target)
                taken.setdefault(of_shadow[node.value.id], set()).add(place)
    return not added & set(taken) and all(len(taken[key]) == 1 and "" not in taken[key] for key in cleared)


def index_text(node: ast.Subscript, counter: str) -> str:
    """The text of an element's place, if the counter is one of its indices; else nothing."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return ast.unparse(node) if any(isinstance(x, ast.Name) and x.id == counter for x in parts) else ""
