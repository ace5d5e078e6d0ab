"""Stores that write an element for the first time: what stood there is nothing, so that it need not come back.

An array that np.empty has made holds nothing. All stores into it are first ones if no element is written twice:

    a = np.empty(n)                     one store writes each element once if the counters of all loops that are not
    a[0] = x                            around np.empty are indices, as they are or plus a constant, and never negative;
    for i in range(1, n):               two stores write different elements if an index of one is a constant that the
        a[i] = f(a[i - 1])              other one does not reach
"""

from __future__ import annotations

import ast
import itertools
from typing import Any

from dualrev.compiler.activity import Classes
from dualrev.compiler.core import Call, Const, For, Let, Store, walk
from dualrev.compiler.expand import Expanded, is_array
from dualrev.compiler.flow import Flow, Value
from dualrev.compiler.plan import changed

__all__ = ["first_stores"]


def first_stores(e: Expanded, flow: Flow, classes: Classes, effects: Any) -> set[Store]:
    """The stores of a function that write elements that hold nothing yet."""
    stores: dict[str, list[Store]] = {}
    makers: dict[str, list[Any]] = {}
    spoilt = {classes.find(x) for x in flow.parameters if is_array(e.types.get(x))}
    for s in walk(e.body):
        if isinstance(s, Store):
            stores.setdefault(classes.find(s.array), []).append(s)
        elif isinstance(s, Let) and s.op in ("alloc", "array") and is_array(e.types.get(s.target)):
            makers.setdefault(classes.find(s.target), []).append(s)
        elif isinstance(s, Call):
            spoilt |= {classes.find(x) for x in [*s.targets, *changed(s, effects)] if is_array(e.types.get(x))}
    found: set[Store] = set()
    for key, some in stores.items():
        made = makers.get(key, [])
        if key not in spoilt and len(made) == 1 and _is_empty(made[0]) and _all_first(some, made[0], flow):
            found |= set(some)
    return found

    return changed(s, effects)


def _is_empty(s: Let) -> bool:
    """Whether an operation is np.empty or np.empty_like, perhaps transposed."""
    tree = s.info.value if isinstance(s.info, ast.Attribute) else s.info
    return s.op == "alloc" and isinstance(tree, ast.Call) and ast.unparse(tree.func) in ("np.empty", "np.empty_like")


def _all_first(stores: list[Store], maker: Let, flow: Flow) -> bool:
    made = flow.made[maker][maker.target]
    around = flow.enclosing_loops(flow.region_of[maker])
    places = []
    for s in stores:
        loops = [loop for loop in flow.enclosing_loops(flow.region_of[s]) if loop not in around]
        place = [_entry(x, s, loops, flow) for x in s.index]
        counters = {x[0] for x in place if x is not None}
        if s.op != "=" or flow.reads[s].get(s.array) is not made or not all(loop in counters for loop in loops):
            return False
        places.append(place)
    return all(_apart(p, q) for p, q in itertools.combinations(places, 2))


def _entry(x: Any, s: Store, loops: list[Any], flow: Flow) -> tuple[Any, int] | None:
    """An index as (None, a constant), or (a loop around, the first number that it takes); None if it is another."""
    if isinstance(x, Const):
        return (None, x.value) if type(x.value) is int and x.value >= 0 else None
    v = flow.reads[s].get(x) if isinstance(x, str) else None
    offset = 0
    if v is not None and v.kind == "op" and isinstance(v.statement, Let) and v.statement.op == "plain":
        v, offset = _sum(v.statement, flow)
    if v is None or v.kind != "counter" or v.statement not in loops:
        return None
    loop: For = v.statement
    regular = isinstance(loop.start, Const) and type(loop.start.value) is int and loop.step == Const(1)
    first = loop.start.value + offset if regular and isinstance(loop.start, Const) else -1
    return (loop, first) if first >= 0 else None


def _sum(s: Let, flow: Flow) -> tuple[Value | None, int]:
    """The value and the constant of `i + 1` or `i - 1`."""
    tree = s.info
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Constant)):
        return None, 0
    sign = {ast.Add: 1, ast.Sub: -1}.get(type(tree.op))
    if sign is None or type(tree.right.value) is not int:
        return None, 0
    return flow.reads[s].get(tree.left.id), sign * tree.right.value


def _apart(p: list[tuple[Any, int] | None], q: list[tuple[Any, int] | None]) -> bool:
    """Whether two stores write different elements: an index is a constant, and lies before the other's first."""
    for a, b in zip(p, q, strict=True):
        if a is not None and b is not None:
            both_fixed = a[0] is None and b[0] is None and a[1] != b[1]
            if both_fixed or (a[0] is None and b[0] is not None and a[1] < b[1]):
                return True
            if b[0] is None and a[0] is not None and b[1] < a[1]:
                return True
    return False
