"""Split local dicts of floats into a dict of indices, without derivative, and a list of the values.

    d = {}          d, d_value = {}, []
    d[k] = v        if k in d: d_value[d[k]] = v
                    else: d[k] = len(d_value); d_value.append(v)
    d[k]            d_value[d[k]]
    d.pop(k)        d_value[d[k]]; d.pop(k)
    d.values()      d_value; the values at the places that are left, where something is taken out of the dict

A dict that is an argument, has a second name or is used in another way stays, too: opaque_statements.py refuses it
where its values are differentiated.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.messages import Words
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.scalarize.lists.dict_statements import Places
from dualrev.compiler.scalarize.lists.struct_of_lists import names_in
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_list

__all__ = ["by_places"]

_VIEWS = ("items", "keys", "values")
_READING = ("get", *_VIEWS)
#: Methods, with the number of their arguments, the dict among them.
_METHODS = {
    ("get", 3),
    ("pop", 2),
    ("pop", 3),
    ("setdefault", 3),
    ("update", 2),
    ("copy", 1),
    ("clear", 1),
    ("popitem", 1),
}
_KNOWN = "of a dict, d[k] = x, d[k], del d[k], `in`, len, loops over it and its methods are known"


def by_places(lowered: Lowered, of: dict[str, NumbaType]) -> Lowered:
    """Return the function with its local dicts of floats split, and with the types `of` new variables."""
    body = rewritten(lowered.body, lambda s: _with_one_key(s, lowered, of))
    every = list(anf.walk(body))
    blamed = {**_changes(of, every), **lowered.blamed}
    found = {x for x, kind in of.items() if _is_of_floats(kind)} - {*lowered.parameters, lowered.result}
    found = {x for x in found if any(x in names_in(s) for s in every)}
    views = {s.target: s.method for s in every if isinstance(s, anf.CallMethod) and s.method in _VIEWS}
    views = {x: how for x, how in views.items() if _is_gone_over(x, every)}
    uses = Counter(x for s in every for x in anf.reads(s) if isinstance(x, str))
    while lost := [
        (x, s) for s in every for x in found & names_in(s) if not _is_known_use(s, x, found, views, uses, every)
    ]:
        for x, s in lost:
            if x in found and (said := _blame(s, x)) is not None:
                blamed[x] = said
            found.discard(x)
    if found:
        body = Places(lowered.names, of, found, views, body).block(body)
        for x in found:
            del of[x]
    return replace(lowered, body=body, blamed=blamed)


def _blame(s: anf.Stmt, d: str) -> Words | None:
    """Refusal message for an operation that keeps a dict from being split, with its line; None for other statements."""
    if not isinstance(s, anf.Let) or isinstance(s, anf.OpaqueExpr):  # what it starts with
        return None
    what = "this use of a dict of floats"
    if isinstance(s, anf.Copy):
        what = "a second name for a dict of floats"
    elif isinstance(s, anf.CallMethod) and s.args[0] == d:
        what = f".{s.method}() of a dict of floats"
    return what, _KNOWN, "a dict with these alone, or an array for the values", s.line


def _changes(of: dict[str, NumbaType], every: list[anf.Stmt]) -> dict[str, Words]:
    """Refusal messages for dicts of tuples, of dicts and of others that only constants may be: their first changes."""
    said: dict[str, Words] = {}
    for s in every:
        method = s.method if isinstance(s, anf.CallMethod) else ""
        x = s.array if isinstance(s, anf.Store) else s.args[0] if isinstance(s, anf.CallMethod) else None
        if not isinstance(x, str):
            continue
        kind = of.get(x)
        value = kind.value_type if isinstance(kind, types.DictType) else None
        if value is None or isinstance(value, (types.Float, types.Array)) or is_list(value) or method in _READING:
            continue
        held = (
            "tuples" if isinstance(value, types.BaseTuple) else "dicts" if isinstance(value, types.DictType) else value
        )
        what = f".{method}()" if method else "an assignment to an item"
        why = "only a dict of floats, arrays or lists may change or be copied"
        said.setdefault(x, (f"{what} of a dict of {held}", why, "such a dict for each item", s.line))
    return said


def _with_one_key(s: anf.Stmt, lowered: Lowered, of: dict[str, NumbaType]) -> list[anf.Stmt]:
    """Combine multiple keys into a tuple: `d[i, j]` to `d[k]`, where `k = (i, j)`."""
    if isinstance(s, (anf.Store, anf.GetItem)) and len(s.index) > 1:
        d = s.array if isinstance(s, anf.Store) else s.base
        if isinstance(d, str) and _is_of_floats(of.get(d)):
            key = lowered.names.temporary()
            of[key] = of[d].key_type
            return [anf.MakeTuple(key, tuple(map(anf.atom_of, s.index)), s.line), replace(s, index=(key,))]
    return [s]


def _is_of_floats(kind: NumbaType) -> bool:
    return isinstance(kind, types.DictType) and isinstance(kind.value_type, types.Float)


def _is_gone_over(x: str, every: list[anf.Stmt]) -> bool:
    """Whether a view of a dict is used only as the iterable of a loop."""
    listed = [s for s in every if x in anf.reads(s)]
    if len(listed) != 1 or not isinstance(listed[0], anf.AsList):
        return False
    made = listed[0].target
    return all(
        isinstance(s, anf.GetItem) or (isinstance(s, anf.CallKnown) and s.function == "len")
        for s in every
        if made in anf.reads(s)
    )


def _is_known_use(
    s: anf.Stmt, x: str, found: set[str], views: Mapping[str, str], uses: Mapping[str, int], every: list[anf.Stmt]
) -> bool:
    """Whether a statement uses a dict in a way that indices and a list of values support."""
    if isinstance(s, anf.Store):
        return s.array == x and x not in (s.value, *s.index) and len(s.index) == 1
    if not isinstance(s, anf.Let):
        return False
    if isinstance(s, anf.OpaqueExpr):
        return s.target == x and _is_start(s.tree)
    if isinstance(s, anf.Copy):  # of a comprehension, which has no other name
        source = s.args[0]
        stored = sum(isinstance(t, anf.Store) and t.array == source for t in every)
        return {source, s.target} <= found and source != s.target and uses[source] == stored + 1
    if isinstance(s, anf.GetItem):
        return s.args[0] == x and x not in s.index and len(s.index) == 1
    if isinstance(s, anf.CallMethod):
        name, keywords = s.method, s.keywords
        if s.target in views or keywords or (name, len(s.args)) not in _METHODS:
            return s.target in views and s.args[0] == x
        if name == "update":
            return set(s.args) <= found and s.args[0] != s.args[1]
        if name == "copy":
            return {s.args[0], s.target} <= found and s.args[0] != s.target
        return s.args[0] == x
    if isinstance(s, anf.Discrete):
        return all(_is_known_condition(part, x) for part in _parts(s.tree))
    return isinstance(s, anf.AsList) or (isinstance(s, anf.CallKnown) and s.function == "len")


def _parts(tree: ast.expr) -> list[ast.expr]:
    """Operands of nested `and` and `or`."""
    return [y for x in tree.values for y in _parts(x)] if isinstance(tree, ast.BoolOp) else [tree]


def _is_known_condition(tree: ast.expr, x: str) -> bool:
    """Whether a condition uses a dict only for its length, its keys, and unconditional loads."""
    every = list(ast.walk(tree))
    asked = [n.args[0] for n in every if isinstance(n, ast.Call) and ast.unparse(n.func) == "len"]
    asked += [
        n.comparators[0] for n in every if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.In | ast.NotIn)
    ]
    if not any(isinstance(n, (ast.BoolOp, ast.IfExp)) for n in every):
        asked += [
            n.value for n in every if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant | ast.Name)
        ]
    return all(n in asked for n in every if isinstance(n, ast.Name) and n.id == x)


def _is_start(tree: ast.expr) -> bool:
    """Whether an expression creates a dict: `{...}`, `dict()`, `Dict.empty(key, value)`."""
    if isinstance(tree, ast.Dict):
        return all(isinstance(x, (ast.Constant, ast.Name)) for x in (*tree.keys, *tree.values))
    if not isinstance(tree, ast.Call):
        return False
    empty = isinstance(tree.func, ast.Attribute) and tree.func.attr == "empty" and len(tree.args) == 2
    return not tree.keywords and (empty or (ast.unparse(tree.func) == "dict" and not tree.args))
