"""Lowering of statements on dicts of floats: to dicts of indices and lists of values (dicts.py)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Atom, Const, For, If, Let, Slice, Store, Written, blocks, walk
from dualrev.compiler.scalarize.lists.struct_of_lists import names_in
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["Places"]

_INT, _WHOLE = types.int64, (Slice(None, None, None),)
_TAKING = ("pop", "popitem", "clear")


class Places:
    """Statement rewriter: uses of dicts become uses of index dicts and value lists, emitted to `out`."""

    def __init__(self, lowered: Lowered, of: dict[str, Any], found: set[str], views: Mapping[str, str]) -> None:
        self.names, self.of, self.views, self.out = lowered.names, of, views, list[Any]()
        self.pairs: dict[str, tuple[str, str]] = {}  # what a loop over items goes over: keys and values
        self.places = {x: lowered.names.fresh("{}", x) for x in sorted(found)}
        self.values = {x: lowered.names.fresh("{}_value", x) for x in sorted(found)}
        for x in found:
            of[self.places[x]] = types.DictType(of[x].key_type, _INT)
            of[self.values[x]] = types.List(of[x].value_type)
        self.taking = _taking(lowered.body, found)

    def block(self, body: list[Any]) -> None:
        """Rewrite the statements of a block, in place."""
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

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: NumbaType, target: str = "") -> str:
        """Emit an operation."""
        target = target or self.names.temporary()
        self.of.setdefault(target, kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def inside(self, work: Any) -> list[Any]:
        """Capture and return the statements that `work` emits."""
        before, self.out = self.out, []
        work()
        made, self.out = self.out, before
        return made

    def statement(self, s: Any) -> None:
        """Rewrite one statement."""
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
        elif s.op == "method" and s.target not in self.views:
            getattr(self, f"_{s.info[0]}")(s)
        else:
            self.view(s)

    def start(self, s: Let) -> None:
        """Lower the creation of a dict."""
        x, tree, said = s.target, s.info.tree, s.info.refusal
        empty: ast.expr = ast.Dict([], [])
        if isinstance(tree, ast.Call) and tree.args:
            empty = ast.Call(tree.func, [tree.args[0], to_python.name("np.int64")], [])
        self.let("written", (), Written(empty, said), s.line, None, self.places[x])
        made = self.let("list", (Const(0),), None, s.line, self.of[self.values[x]])
        self.let("copy", (made,), None, s.line, None, self.values[x])
        for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(tree, ast.Dict) else ():
            self.store(x, _atom(k), _atom(v), s.line)

    def condition(self, s: Let, tree: ast.expr) -> None:
        """Lower a condition: values are loaded first; after `and` and `or`, only where Python evaluates them."""
        if isinstance(tree, ast.BoolOp) and any(isinstance(n, ast.Subscript) for n in ast.walk(tree)):
            first, *rest = (x if isinstance(x, ast.BoolOp) else to_python.call("bool", x) for x in tree.values)
            self.condition(s, first)
            for x in rest:
                more = self.inside(lambda x=x: self.condition(s, x))
                self.out.append(If(s.target, *((more, []) if isinstance(tree.op, ast.And) else ([], more)), s.line))
            return
        made = _HoistedLoads(self, s.line).visit(to_python.substitute(tree, lambda _: None))
        names = {x: self.places[x] for x in s.args if x in self.places}
        made = to_python.substitute(made, lambda n: to_python.name(names[n]) if n in names else None)
        read = tuple(dict.fromkeys(n.id for n in ast.walk(made) if isinstance(n, ast.Name) and n.id in self.of))
        self.let("plain", read, made, s.line, None, s.target)

    def test(self, x: str, k: Atom, line: int) -> str:
        """Emit the membership test `k in x`."""
        tree = ast.Compare(to_python.atom(k), [ast.In()], [to_python.name(self.places[x])])
        names = tuple(y for y in (k, self.places[x]) if isinstance(y, str))
        return self.let("plain", names, tree, line, types.boolean)

    def store(self, x: str, k: Atom, value: Atom, line: int) -> None:
        """Lower `x[k] = value`: overwrite the value of a known key, append one for a new key."""
        places, values = self.places[x], self.values[x]

        def old() -> None:
            """Overwrite the value of a known key."""
            place = self.let("getitem", (places,), (k,), line, _INT)
            self.out.append(Store(values, (place,), value, line))

        def new() -> None:
            """Append the value of a new key."""
            n = self.let("func", (values,), ("len", ()), line, _INT)
            self.out.append(Store(places, (k,), n, line))
            self.let("method", (values, value), ("append", ()), line, types.none)

        test = self.test(x, k, line)
        self.out.append(If(test, self.inside(old), self.inside(new), line))

    def load(self, x: str, k: Atom, target: str, line: int) -> None:
        """Lower `target = x[k]`."""
        place = self.let("getitem", (self.places[x],), (k,), line, _INT)
        self.let("getitem", (self.values[x],), (place,), line, None, target)

    def _get(self, s: Let) -> None:
        """Lower `target = x.get(k, default)`."""
        x, k, default = s.args
        self.chosen(s, lambda made: self.load(x, k, made, s.line), lambda made: self.converted(default, made, s.line))

    def _pop(self, s: Let) -> None:
        """Lower `target = x.pop(k)` or `x.pop(k, default)`."""
        x, k, *default = s.args

        def old(made: str) -> None:
            """Load the value of a known key, and delete the key."""
            self.load(x, k, made, s.line)
            self.let("method", (self.places[x], k), ("pop", ()), s.line, _INT)

        if default:
            self.chosen(s, old, lambda made: self.converted(default[0], made, s.line))
        else:
            made = self.value(x)
            old(made)  # the key may be the target
            self.let("copy", (made,), None, s.line, None, s.target)

    def _setdefault(self, s: Let) -> None:
        """Lower `target = x.setdefault(k, default)`."""
        x, k, default = s.args

        def new(made: str) -> None:
            """Store the default for a new key."""
            self.converted(default, made, s.line)
            self.store(x, k, made, s.line)

        self.chosen(s, lambda made: self.load(x, k, made, s.line), new)

    def _popitem(self, s: Let) -> None:
        """Lower `target = x.popitem()`."""
        x = s.args[0]
        kinds = self.of[self.places[x]].key_type, _INT
        item = self.let("method", (self.places[x],), ("popitem", ()), s.line, types.Tuple(kinds))
        key, place = (self.let("getitem", (item,), (Const(k),), s.line, kind) for k, kind in enumerate(kinds))
        value = self.let("getitem", (self.values[x],), (place,), s.line, self.of[self.values[x]].dtype)
        self.let("tuple", (key, value), None, s.line, None, s.target)

    def _clear(self, s: Let) -> None:
        """Lower `x.clear()`: the values stay in the list, and no index refers to them any more."""
        self.let("method", (self.places[s.args[0]],), ("clear", ()), s.line, types.none)

    def _copy(self, s: Let) -> None:
        """Lower `target = x.copy()`."""
        x = s.args[0]
        self.let("method", (self.places[x],), ("copy", ()), s.line, None, self.places[s.target])
        self.let("getitem", (self.values[x],), _WHOLE, s.line, None, self.values[s.target])

    def _update(self, s: Let) -> None:
        """Lower `x.update(y)`."""
        x, y = s.args
        keys = self.keys(y, s.line)

        def one(key: str, value: str) -> None:
            """Store one item of `y`."""
            self.store(x, key, value, s.line)

        self.each(y, keys, one, s.line)

    def chosen(self, s: Let, old: Any, new: Any) -> None:
        """Branch on whether a key is known: `old` emits the result for a known key, `new` for a new one."""
        x, k = s.args[:2]
        made = self.value(x)  # the default may be the target
        test = self.test(x, k, s.line)
        self.out.append(If(test, self.inside(lambda: old(made)), self.inside(lambda: new(made)), s.line))
        self.let("copy", (made,), None, s.line, None, s.target)

    def value(self, x: str) -> str:
        """Fresh variable of a dict's value type."""
        made = self.names.temporary()
        self.of[made] = self.of[self.values[x]].dtype
        return made

    def converted(self, x: Atom, target: str, line: int) -> None:
        """Emit `target = x`, converted to the dict's value type."""
        kind = self.of[target]
        same = isinstance(x, str) and self.of[x] == kind
        how = ("copy", None) if same else ("func", (f"np.{kind}", ()))
        self.let(how[0], (x,), how[1], line, None, target)

    def keys(self, x: str, line: int, target: str = "") -> str:
        """Emit the list of the keys."""
        kind = types.List(self.of[self.places[x]].key_type)
        return self.let("listed", (self.places[x],), None, line, kind, target or self.names.temporary())

    def each(self, x: str, keys: str, work: Any, line: int) -> None:
        """Emit a loop over the keys and the values."""
        n = self.let("func", (keys,), ("len", ()), line, _INT)
        k = self.names.temporary()
        self.of[k] = _INT

        def body() -> None:
            """Emit one iteration: load the key and its value, and use them."""
            key = self.let("getitem", (keys,), (k,), line, self.of[keys].dtype)
            value = self.value(x)
            self.load(x, key, value, line)
            work(key, value)

        self.out.append(For(k, Const(0), n, Const(1), self.inside(body), [], line))

    def left(self, x: str, keys: str, target: str, line: int) -> str:
        """Emit the list of the remaining values of a dict with deletions."""
        kind = self.of[self.values[x]]
        made = self.let("list", (Const(0),), None, line, kind)
        target = self.let("copy", (made,), None, line, kind, target)
        self.each(x, keys, lambda _, v: self.let("method", (target, v), ("append", ()), line, types.none), line)
        return target

    def view(self, s: Let) -> None:
        """Lower `x.keys()` and the like, and the list that a loop iterates over."""
        x = s.args[0]
        if s.op == "method":
            self.pairs[s.target] = x, self.views[s.target]
            return
        over, how = self.pairs.get(x, (x, "keys"))
        keys = values = ""
        if how != "values" or over in self.taking:
            keys = self.keys(over, s.line, s.target if how == "keys" else "")
        if how != "keys" and over in self.taking:
            values = self.left(over, keys, s.target if how == "values" else "", s.line)
        elif how != "keys":
            values = s.target if how == "values" else ""
            values = self.let("getitem", (self.values[over],), _WHOLE, s.line, self.of[self.values[over]], values)
        if how == "items":
            self.pairs[s.target] = keys, values


def _taking(body: list[Any], found: set[str]) -> set[str]:
    """Dicts with deletions (`pop`, `popitem`, `clear`), and copies of them."""
    every = [s for s in walk(body) if isinstance(s, Let) and s.args and s.args[0] in found]
    taking = {s.args[0] for s in every if s.op == "method" and s.info[0] in _TAKING}
    while more := {s.target for s in every if s.args[0] in taking and s.target in found} - taking:
        taking |= more
    return taking


class _HoistedLoads(ast.NodeTransformer):
    """Hoist the load of `x[k]` out of a condition, into a variable."""

    def __init__(self, places: Places, line: int) -> None:
        self.places, self.line = places, line

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace `x[k]` by a variable that is loaded before."""
        x = node.value.id if isinstance(node.value, ast.Name) else ""
        if x not in self.places.places:
            return self.generic_visit(node)
        made = self.places.names.temporary()
        self.places.of[made] = self.places.of[x].value_type
        self.places.load(x, _atom(node.slice), made, self.line)
        return to_python.name(made)


def _atom(x: Any) -> Atom:
    """Constant or name node as an atom."""
    return Const(x.value) if isinstance(x, ast.Constant) else str(x.id)
