"""Dicts of floats, of one function -> a dict of places, through which no derivative goes, and a list of the values.

    d = {}          d, d_value = {}, []
    d[k] = v        if k in d: d_value[d[k]] = v
                    else: d[k] = len(d_value); d_value.append(v)
    d[k]            d_value[d[k]]
    d.values()      d_value, since nothing is taken out of the dict: such a dict stays as it is

A dict that is an argument, has a second name or is used in another way stays, too: opaque.py refuses it where its
values are differentiated.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Atom, Const, If, Let, Slice, Store, Written, blocks, reads, walk
from dualrev.compiler.expansion.leaf_lists import names_in
from dualrev.compiler.frontend.lowered import Lowered
from dualrev.compiler.frontend.source import Source
from dualrev.compiler.frontend.wording import Words

__all__ = ["by_places"]

_INT, _WHOLE = types.int64, (Slice(None, None, None),)
_VIEWS = ("items", "keys", "values")
_KNOWN = "of a dict, d[k] = x, d[k], d.get(k, x), `in`, len and loops over it are known"


def by_places(lowered: Lowered, of: dict[str, Any]) -> None:
    """Replace the dicts, in the body and in the types `of` its variables."""
    _with_one_key(lowered.body, lowered, of)
    every = list(walk(lowered.body))
    found = {x for x, kind in of.items() if _is_of_floats(kind)} - {*lowered.parameters, lowered.result}
    found = {x for x in found if any(x in names_in(s) for s in every)}
    views = {s.target: s.info[0] for s in every if isinstance(s, Let) and s.op == "method" and s.info[0] in _VIEWS}
    views = {x: how for x, how in views.items() if _is_gone_over(x, every)}
    uses = Counter(x for s in every for x in reads(s) if isinstance(x, str))
    while lost := [
        (x, s) for s in every for x in found & names_in(s) if not _is_known_use(s, x, found, views, uses, every)
    ]:
        for x, s in lost:
            if x in found and (said := _blame(s, x, lowered.source)) is not None:
                lowered.blamed[x] = said
            found.discard(x)
    if found:
        _Places(lowered, of, found, views).block(lowered.body)
        for x in found:
            del of[x]


def _blame(s: Any, d: str, source: Source) -> Words | None:
    """What is said of a dict because of a use that keeps it from being known; its line is that of the use."""
    if not isinstance(s, Let) or s.op == "written":  # what it starts with
        return None
    what = "this use of a dict of floats"
    if s.op == "copy":
        what = "a second name for a dict of floats"
    elif s.op == "method" and s.args[0] == d:
        deleted = source.line(s.line).startswith("del ")
        what = "del d[k] of a dict of floats" if deleted else f".{s.info[0]}() of a dict of floats"
    return what, _KNOWN, "a dict with these alone, or an array for the values", s.line


def _with_one_key(body: list[Any], lowered: Lowered, of: dict[str, Any]) -> None:
    """d[i, j] as d[k], where k = (i, j)."""
    made: list[Any] = []
    for s in body:
        for inner in blocks(s):
            _with_one_key(inner, lowered, of)
        d = s.array if isinstance(s, Store) else s.args[0] if isinstance(s, Let) and s.op == "getitem" else None
        index = s.index if isinstance(s, Store) else s.info if isinstance(s, Let) else ()
        if isinstance(d, str) and _is_of_floats(of.get(d)) and len(index) > 1:
            key = lowered.names.temporary()
            of[key] = of[d].key_type
            made.append(Let(key, "tuple", index, None, s.line))
            if isinstance(s, Store):
                s.index = (key,)
            else:
                s.info = (key,)
        made.append(s)
    body[:] = made


def _is_of_floats(kind: Any) -> bool:
    return isinstance(kind, types.DictType) and isinstance(kind.value_type, types.Float)


def _is_gone_over(x: str, every: list[Any]) -> bool:
    """Whether a view of a dict is only what a loop goes over."""
    listed = [s for s in every if x in reads(s)]
    if len(listed) != 1 or not isinstance(listed[0], Let) or listed[0].op != "listed":
        return False
    made = listed[0].target
    return all(
        isinstance(s, Let) and (s.op == "getitem" or (s.op == "func" and s.info == ("len", ())))
        for s in every
        if made in reads(s)
    )


def _is_known_use(
    s: Any, x: str, found: set[str], views: Mapping[str, str], uses: Mapping[str, int], every: list[Any]
) -> bool:
    """Whether a statement does with a dict what can be done with places and values."""
    if isinstance(s, Store):
        return s.array == x and x not in (s.value, *s.index) and len(s.index) == 1
    if not isinstance(s, Let):
        return False
    if s.op == "written":
        return s.target == x and _is_start(s.info)
    if s.op == "copy":  # of a comprehension, which has no other name
        source = s.args[0]
        stored = sum(isinstance(t, Store) and t.array == source for t in every)
        return {source, s.target} <= found and source != s.target and uses[source] == stored + 1
    if s.op == "getitem":
        return s.args[0] == x and x not in s.info and len(s.info) == 1
    if s.op == "method":
        got = s.info == ("get", ()) and len(s.args) == 3
        return s.args[0] == x and x not in s.args[1:] and (got or s.target in views)
    if s.op == "plain":
        return all(_is_known_condition(part, x) for part in _parts(s.info))
    return s.op == "listed" or (s.op == "func" and s.info == ("len", ()))


def _parts(tree: ast.expr) -> list[ast.expr]:
    """The conditions that `and` and `or` join."""
    return [y for x in tree.values for y in _parts(x)] if isinstance(tree, ast.BoolOp) else [tree]


def _is_known_condition(tree: ast.expr, x: str) -> bool:
    """Whether a condition only asks for the length of a dict, for its keys, and for values that are always read."""
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


def _is_start(written: Written) -> bool:
    """Whether an expression is a new dict: {...}, dict(), Dict.empty(key, value)."""
    tree = written.tree
    if isinstance(tree, ast.Dict):
        return all(isinstance(x, (ast.Constant, ast.Name)) for x in (*tree.keys, *tree.values))
    if not isinstance(tree, ast.Call):
        return False
    empty = isinstance(tree.func, ast.Attribute) and tree.func.attr == "empty" and len(tree.args) == 2
    return not tree.keywords and (empty or (ast.unparse(tree.func) == "dict" and not tree.args))


class _Places:
    """What becomes of a statement: those that are written go to `out`."""

    def __init__(self, lowered: Lowered, of: dict[str, Any], found: set[str], views: Mapping[str, str]) -> None:
        self.names, self.of, self.views, self.out = lowered.names, of, views, list[Any]()
        self.pairs: dict[str, tuple[str, str]] = {}  # what a loop over items goes over: keys and values
        self.places = {x: lowered.names.fresh("{}", x) for x in sorted(found)}
        self.values = {x: lowered.names.fresh("{}_value", x) for x in sorted(found)}
        for x in found:
            of[self.places[x]] = types.DictType(of[x].key_type, _INT)
            of[self.values[x]] = types.List(of[x].value_type)

    def block(self, body: list[Any]) -> None:
        """The statements of a block, in place."""
        before, self.out = self.out, []
        for s in body:
            for inner in blocks(s):
                self.block(inner)
            if names_in(s) & {*self.places, *self.pairs} or self._is_view(s):
                self.statement(s)
            else:
                self.out.append(s)
        body[:], self.out = self.out, before

    def _is_view(self, s: Any) -> bool:
        return isinstance(s, Let) and s.op == "listed" and s.args[0] in self.pairs

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: Any, target: str = "") -> str:
        """Write an operation."""
        target = target or self.names.temporary()
        self.of.setdefault(target, kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def inside(self, work: Any) -> list[Any]:
        """The statements that a piece of work writes."""
        before, self.out = self.out, []
        work()
        made, self.out = self.out, before
        return made

    def statement(self, s: Any) -> None:
        """Write what a statement becomes."""
        if isinstance(s, Store):
            self.store(s.array, s.index[0], s.value, s.line)
        elif s.op == "written":
            self.start(s)
        elif s.op == "copy":
            self.let("copy", (self.places[s.args[0]],), None, s.line, None, self.places[s.target])
            self.let("getitem", (self.values[s.args[0]],), _WHOLE, s.line, None, self.values[s.target])
        elif s.op == "getitem" and s.args[0] in self.pairs:
            both = [self.let("getitem", (y,), s.info, s.line, self.of[y].dtype) for y in self.pairs[s.args[0]]]
            self.let("tuple", tuple(both), None, s.line, None, s.target)
        elif s.op == "getitem":
            self.load(s.args[0], s.info[0], s.target, s.line)
        elif s.op == "plain":
            self.condition(s, s.info)
        elif s.op == "func":
            x = s.args[0]
            self.let("func", (self.pairs[x][0] if x in self.pairs else self.places[x],), s.info, s.line, None, s.target)
        elif s.op == "method" and s.info[0] == "get":
            self.got(s)
        else:
            self.view(s)

    def start(self, s: Let) -> None:
        """A new dict."""
        x, tree, said = s.target, s.info.tree, s.info.refusal
        empty: ast.expr = ast.Dict([], [])
        if isinstance(tree, ast.Call) and tree.args:
            empty = ast.Call(tree.func, [tree.args[0], syntax.name("np.int64")], [])
        self.let("written", (), Written(empty, said), s.line, None, self.places[x])
        made = self.let("list", (Const(0),), None, s.line, self.of[self.values[x]])
        self.let("copy", (made,), None, s.line, None, self.values[x])
        for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(tree, ast.Dict) else ():
            self.store(x, _atom(k), _atom(v), s.line)

    def condition(self, s: Let, tree: ast.expr) -> None:
        """A condition: values are read before; what stands behind `and` and `or`, only if it counts."""
        if isinstance(tree, ast.BoolOp) and any(isinstance(n, ast.Subscript) for n in ast.walk(tree)):
            first, *rest = (x if isinstance(x, ast.BoolOp) else syntax.call("bool", x) for x in tree.values)
            self.condition(s, first)
            for x in rest:
                more = self.inside(lambda x=x: self.condition(s, x))
                self.out.append(If(s.target, *((more, []) if isinstance(tree.op, ast.And) else ([], more)), s.line))
            return
        made = _Reading(self, s.line).visit(syntax.substitute(tree, lambda _: None))
        names = {x: self.places[x] for x in s.args if x in self.places}
        made = syntax.substitute(made, lambda n: syntax.name(names[n]) if n in names else None)
        read = tuple(dict.fromkeys(n.id for n in ast.walk(made) if isinstance(n, ast.Name) and n.id in self.of))
        self.let("plain", read, made, s.line, None, s.target)

    def test(self, x: str, k: Atom, line: int) -> str:
        """k in x."""
        tree = ast.Compare(syntax.atom(k), [ast.In()], [syntax.name(self.places[x])])
        names = tuple(y for y in (k, self.places[x]) if isinstance(y, str))
        return self.let("plain", names, tree, line, types.boolean)

    def store(self, x: str, k: Atom, value: Atom, line: int) -> None:
        """x[k] = value."""
        places, values = self.places[x], self.values[x]

        def old() -> None:
            place = self.let("getitem", (places,), (k,), line, _INT)
            self.out.append(Store(values, (place,), value, line))

        def new() -> None:
            n = self.let("func", (values,), ("len", ()), line, _INT)
            self.out.append(Store(places, (k,), n, line))
            self.let("method", (values, value), ("append", ()), line, types.none)

        test = self.test(x, k, line)
        self.out.append(If(test, self.inside(old), self.inside(new), line))

    def load(self, x: str, k: Atom, target: str, line: int) -> None:
        """target = x[k]."""
        place = self.let("getitem", (self.places[x],), (k,), line, _INT)
        self.let("getitem", (self.values[x],), (place,), line, None, target)

    def got(self, s: Let) -> None:
        """target = x.get(k, default)."""
        x, k, default = s.args
        kind = self.of[s.target]
        made = self.names.temporary()  # the default may be the target
        self.of[made] = kind

        def other() -> None:
            same = isinstance(default, str) and self.of[default] == kind
            how = ("copy", None) if same else ("func", (f"np.{kind}", ()))
            self.let(how[0], (default,), how[1], s.line, None, made)

        test = self.test(x, k, s.line)
        self.out.append(If(test, self.inside(lambda: self.load(x, k, made, s.line)), self.inside(other), s.line))
        self.let("copy", (made,), None, s.line, None, s.target)

    def view(self, s: Let) -> None:
        """x.keys() and the like, and what a loop goes over."""
        x = s.args[0]
        if s.op == "method":
            self.pairs[s.target] = x, self.views[s.target]
            return
        over, how = self.pairs.get(x, (x, "keys"))
        if how != "values":
            every = s.target if how == "keys" else self.names.temporary()
            self.let(
                "listed", (self.places[over],), None, s.line, types.List(self.of[self.places[over]].key_type), every
            )
        if how != "keys":
            values = s.target if how == "values" else ""
            values = self.let("getitem", (self.values[over],), _WHOLE, s.line, self.of[self.values[over]], values)
        if how == "items":
            self.pairs[s.target] = every, values


class _Reading(ast.NodeTransformer):
    """x[k] in a condition -> the variable that holds it."""

    def __init__(self, places: _Places, line: int) -> None:
        self.places, self.line = places, line

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        x = node.value.id if isinstance(node.value, ast.Name) else ""
        if x not in self.places.places:
            return self.generic_visit(node)
        made = self.places.names.temporary()
        self.places.of[made] = self.places.of[x].value_type
        self.places.load(x, _atom(node.slice), made, self.line)
        return syntax.name(made)


def _atom(x: Any) -> Atom:
    """A constant or a name."""
    return Const(x.value) if isinstance(x, ast.Constant) else str(x.id)
