"""Lowering of statements on dicts of floats: to dicts of indices and lists of values (dicts.py)."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.builder import AnfBuilder
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.ir.names import Names
from dualrev.compiler.scalarize.lists.struct_of_lists import names_in
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["Places"]

_INT, _WHOLE = types.int64, (anf.Slice(None, None, None),)
_TAKING = ("pop", "popitem", "clear")


class Places(AnfBuilder):
    """Statement rewriter: uses of dicts become uses of index dicts and value lists, emitted to `out`."""

    def __init__(
        self, names: Names, of: dict[str, NumbaType], found: set[str], views: Mapping[str, str], body: list[anf.Stmt]
    ) -> None:
        super().__init__()
        self.names, self.of, self.views = names, of, views
        self.pairs: dict[str, tuple[str, str]] = {}  # what a loop over items goes over: keys and values
        self.places = {x: names.fresh("{}", x) for x in sorted(found)}
        self.values = {x: names.fresh("{}_value", x) for x in sorted(found)}
        for x in found:
            of[self.places[x]] = types.DictType(of[x].key_type, _INT)
            of[self.values[x]] = types.List(of[x].value_type)
        self.taking = _taking(body, found)

    def block(self, body: list[anf.Stmt]) -> list[anf.Stmt]:
        """Return the rewritten statements of a block."""
        return rewritten(body, lambda s: self.collect(lambda: self.statement(s)))

    def _is_view(self, s: anf.Stmt) -> bool:
        return isinstance(s, anf.AsList) and s.args[0] in self.pairs

    def temp(self, kind: NumbaType) -> str:
        """Return a fresh temporary of type `kind`."""
        made = self.names.temporary()
        self.of[made] = kind
        return made

    def statement(self, s: anf.Stmt) -> None:
        """Emit the statements for one."""
        if not (names_in(s) & {*self.places, *self.pairs} or self._is_view(s)):
            self.add(s)
        elif isinstance(s, anf.Store):
            self.store(s.array, anf.atom_of(s.index[0]), s.value, s.line)
        elif isinstance(s, anf.OpaqueExpr):
            self.start(s)
        elif isinstance(s, anf.Copy):
            self.emit(anf.Copy(self.places[s.target], self.places[s.args[0]], s.line))
            self.emit(anf.GetItem(self.values[s.target], self.values[s.args[0]], _WHOLE, s.line))
        elif isinstance(s, anf.GetItem) and s.args[0] in self.pairs:
            both = [
                self.emit(anf.GetItem(self.temp(self.of[y].dtype), y, s.index, s.line)) for y in self.pairs[s.args[0]]
            ]
            self.emit(anf.MakeTuple(s.target, tuple(both), s.line))
        elif isinstance(s, anf.GetItem):
            self.load(s.args[0], anf.atom_of(s.index[0]), s.target, s.line)
        elif isinstance(s, anf.Discrete):
            self.condition(s, s.tree)
        elif isinstance(s, anf.CallKnown):
            x = s.args[0]
            self.emit(s.on(self.pairs[x][0] if x in self.pairs else self.places[x]))
        elif isinstance(s, anf.CallMethod) and s.target not in self.views:
            getattr(self, f"_{s.method}")(s)
        elif isinstance(s, anf.Let):
            self.view(s)

    def start(self, s: anf.OpaqueExpr) -> None:
        """Lower the creation of a dict."""
        x, tree = s.target, s.tree
        empty: ast.expr = ast.Dict([], [])
        if isinstance(tree, ast.Call) and tree.args:
            empty = ast.Call(tree.func, [tree.args[0], to_python.name("np.int64")], [])
        self.emit(anf.OpaqueExpr(self.places[x], (), empty, s.refusal, s.line))
        made = self.emit(anf.AllocList(self.temp(self.of[self.values[x]]), anf.Const(0), s.line))
        self.emit(anf.Copy(self.values[x], made, s.line))
        for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(tree, ast.Dict) else ():
            self.store(x, _atom(k), _atom(v), s.line)

    def condition(self, s: anf.Let, tree: ast.expr) -> None:
        """Lower a condition: values are loaded first; after `and` and `or`, only where Python evaluates them."""
        if isinstance(tree, ast.BoolOp) and any(isinstance(n, ast.Subscript) for n in ast.walk(tree)):
            first, *rest = (x if isinstance(x, ast.BoolOp) else to_python.call("bool", x) for x in tree.values)
            self.condition(s, first)
            for x in rest:
                more = self.collect(functools.partial(self.condition, s, x))
                self.add(anf.If(s.target, *((more, []) if isinstance(tree.op, ast.And) else ([], more)), s.line))
            return
        made = _HoistedLoads(self, s.line).visit(to_python.copied(tree))
        names = {x: self.places[x] for x in s.args if x in self.places}
        made = to_python.renamed(made, names)
        read = tuple(dict.fromkeys(n.id for n in ast.walk(made) if isinstance(n, ast.Name) and n.id in self.of))
        self.emit(anf.Discrete(s.target, read, made, s.line))

    def test(self, x: str, k: anf.Atom, line: int) -> str:
        """Emit the membership test `k in x`."""
        tree = ast.Compare(to_python.atom(k), [ast.In()], [to_python.name(self.places[x])])
        names = tuple(y for y in (k, self.places[x]) if isinstance(y, str))
        return self.emit(anf.Discrete(self.temp(types.boolean), names, tree, line))

    def store(self, x: str, k: anf.Atom, value: anf.Atom, line: int) -> None:
        """Lower `x[k] = value`: overwrite the value of a known key, append one for a new key."""
        places, values = self.places[x], self.values[x]

        def old() -> None:
            """Overwrite the value of a known key."""
            place = self.emit(anf.GetItem(self.temp(_INT), places, (k,), line))
            self.add(anf.Store(values, (place,), value, line))

        def new() -> None:
            """Append the value of a new key."""
            n = self.emit(anf.CallKnown(self.temp(_INT), "len", (values,), line))
            self.add(anf.Store(places, (k,), n, line))
            self.emit(anf.CallMethod(self.temp(types.none), values, "append", (value,), line))

        test = self.test(x, k, line)
        self.add(anf.If(test, self.collect(old), self.collect(new), line))

    def load(self, x: str, k: anf.Atom, target: str, line: int) -> None:
        """Lower `target = x[k]`."""
        place = self.emit(anf.GetItem(self.temp(_INT), self.places[x], (k,), line))
        self.emit(anf.GetItem(target, self.values[x], (place,), line))

    def _get(self, s: anf.Let) -> None:
        """Lower `target = x.get(k, default)`."""
        x, k, default = s.args
        self.chosen(s, lambda made: self.load(x, k, made, s.line), lambda made: self.converted(default, made, s.line))

    def _pop(self, s: anf.Let) -> None:
        """Lower `target = x.pop(k)` or `x.pop(k, default)`."""
        x, k, *default = s.args

        def old(made: str) -> None:
            """Load the value of a known key, and delete the key."""
            self.load(x, k, made, s.line)
            self.emit(anf.CallMethod(self.temp(_INT), self.places[x], "pop", (k,), s.line))

        if default:
            self.chosen(s, old, lambda made: self.converted(default[0], made, s.line))
        else:
            made = self.value(x)
            old(made)  # the key may be the target
            self.emit(anf.Copy(s.target, made, s.line))

    def _setdefault(self, s: anf.Let) -> None:
        """Lower `target = x.setdefault(k, default)`."""
        x, k, default = s.args

        def new(made: str) -> None:
            """Store the default for a new key."""
            self.converted(default, made, s.line)
            self.store(x, k, made, s.line)

        self.chosen(s, lambda made: self.load(x, k, made, s.line), new)

    def _popitem(self, s: anf.Let) -> None:
        """Lower `target = x.popitem()`."""
        x = s.args[0]
        kinds = self.of[self.places[x]].key_type, _INT
        item = self.emit(anf.CallMethod(self.temp(types.Tuple(kinds)), self.places[x], "popitem", (), s.line))
        key, place = (
            self.emit(anf.GetItem(self.temp(kind), item, (anf.Const(k),), s.line)) for k, kind in enumerate(kinds)
        )
        value = self.emit(anf.GetItem(self.temp(self.of[self.values[x]].dtype), self.values[x], (place,), s.line))
        self.emit(anf.MakeTuple(s.target, (key, value), s.line))

    def _clear(self, s: anf.Let) -> None:
        """Lower `x.clear()`: the values stay in the list, and no index refers to them any more."""
        self.emit(anf.CallMethod(self.temp(types.none), self.places[s.args[0]], "clear", (), s.line))

    def _copy(self, s: anf.Let) -> None:
        """Lower `target = x.copy()`."""
        x = s.args[0]
        self.emit(anf.CallMethod(self.places[s.target], self.places[x], "copy", (), s.line))
        self.emit(anf.GetItem(self.values[s.target], self.values[x], _WHOLE, s.line))

    def _update(self, s: anf.Let) -> None:
        """Lower `x.update(y)`."""
        x, y = s.args
        keys = self.keys(y, s.line)

        def one(key: str, value: str) -> None:
            """Store one item of `y`."""
            self.store(x, key, value, s.line)

        self.each(y, keys, one, s.line)

    def chosen(self, s: anf.Let, old: Callable[[str], object], new: Callable[[str], object]) -> None:
        """Branch on whether a key is known: `old` emits the result for a known key, `new` for a new one."""
        x, k = s.args[:2]
        made = self.value(x)  # the default may be the target
        test = self.test(x, k, s.line)
        self.add(anf.If(test, self.collect(lambda: old(made)), self.collect(lambda: new(made)), s.line))
        self.emit(anf.Copy(s.target, made, s.line))

    def value(self, x: str) -> str:
        """Fresh variable of a dict's value type."""
        made = self.names.temporary()
        self.of[made] = self.of[self.values[x]].dtype
        return made

    def converted(self, x: anf.Atom, target: str, line: int) -> None:
        """Emit `target = x`, converted to the dict's value type."""
        kind = self.of[target]
        same = isinstance(x, str) and self.of[x] == kind
        self.emit(anf.Copy(target, x, line) if same else anf.CallKnown(target, f"np.{kind}", (x,), line))

    def keys(self, x: str, line: int, target: str = "") -> str:
        """Emit the list of the keys."""
        kind = types.List(self.of[self.places[x]].key_type)
        return self.emit(anf.AsList(target or self.temp(kind), self.places[x], line))

    def each(self, x: str, keys: str, work: Callable[[str, str], object], line: int) -> None:
        """Emit a loop over the keys and the values."""
        n = self.emit(anf.CallKnown(self.temp(_INT), "len", (keys,), line))
        k = self.names.temporary()
        self.of[k] = _INT

        def body() -> None:
            """Emit one iteration: load the key and its value, and use them."""
            key = self.emit(anf.GetItem(self.temp(self.of[keys].dtype), keys, (k,), line))
            value = self.value(x)
            self.load(x, key, value, line)
            work(key, value)

        self.add(anf.For(k, anf.Const(0), n, anf.Const(1), self.collect(body), [], line))

    def left(self, x: str, keys: str, target: str, line: int) -> str:
        """Emit the list of the remaining values of a dict with deletions."""
        kind = self.of[self.values[x]]
        made = self.emit(anf.AllocList(self.temp(kind), anf.Const(0), line))
        target = self.emit(anf.Copy(target or self.temp(kind), made, line))
        self.each(
            x, keys, lambda _, v: self.emit(anf.CallMethod(self.temp(types.none), target, "append", (v,), line)), line
        )
        return target

    def view(self, s: anf.Let) -> None:
        """Lower `x.keys()` and the like, and the list that a loop iterates over."""
        x = s.args[0]
        if isinstance(s, anf.CallMethod):
            self.pairs[s.target] = x, self.views[s.target]
            return
        over, how = self.pairs.get(x, (x, "keys"))
        keys = values = ""
        if how != "values" or over in self.taking:
            keys = self.keys(over, s.line, s.target if how == "keys" else "")
        if how != "keys" and over in self.taking:
            values = self.left(over, keys, s.target if how == "values" else "", s.line)
        elif how != "keys":
            values = s.target if how == "values" else self.temp(self.of[self.values[over]])
            self.emit(anf.GetItem(values, self.values[over], _WHOLE, s.line))
        if how == "items":
            self.pairs[s.target] = keys, values


def _taking(body: list[anf.Stmt], found: set[str]) -> set[str]:
    """Dicts with deletions (`pop`, `popitem`, `clear`), and copies of them."""
    every = [s for s in anf.walk(body) if isinstance(s, anf.Let) and s.args and s.args[0] in found]
    taking = {s.args[0] for s in every if isinstance(s, anf.CallMethod) and s.method in _TAKING}
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


def _atom(x: ast.expr | None) -> anf.Atom:
    """Constant or name node as an atom."""
    assert isinstance(x, (ast.Constant, ast.Name)), x
    return anf.Const(x.value) if isinstance(x, ast.Constant) else x.id
