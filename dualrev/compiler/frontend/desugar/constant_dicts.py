"""Scalar replacement of dicts and sets that never change: a variable for each value, branches for lookups.

    table = {1: x, 3: y}         value_1, value_2 = x, y
    table[k]                     value_1 if k == 1 else value_2 if k == 3 else (raise KeyError)
    table.get(k, d), k in table  the same with d, or with bools
    for k, v in table.items()    for k, v in ((1, value_1), (3, value_2))
    k in {1, n}                  k in (1, n)

The keys are constants, and the name is bound once and used in these ways only. Then the values may be differentiated.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence

from dualrev.compiler.frontend.desugar.closures import Inlined
from dualrev.compiler.frontend.desugar.ndindex import assigned, located, read

__all__ = ["Tables"]

_METHODS = {"get": 2, "items": 0, "keys": 0, "values": 0}


class Tables:
    """Scalar replacement of the dicts and sets of a function; `local` allocates a fresh name."""

    def __init__(self, tree: ast.FunctionDef, bindings: Counter[str], local: Callable[[str], str]) -> None:
        self.local = local
        self.dicts: dict[str, dict[ast.Constant, str]] = {}  # by name: the keys, with the names of their values
        self.sets: dict[str, list[str]] = {}
        self.early: set[str] = set()  # names that are used above the assignment to them, in a loop
        names = Counter(x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))
        uses = Counter(name for x in ast.walk(tree) for name in _used(x))
        members = Counter(name for x in ast.walk(tree) for name in _looked_in(x))
        self.fixed = {x for x in names if bindings[x] == 1 and uses[x] == names[x]}
        self.only_in = {x for x in names if bindings[x] == 1 and members[x] == names[x]}

    def define(self, node: ast.Assign) -> list[ast.stmt] | None:
        """Replace the assignment of a table by assignments of its values; None if it is no table."""
        target = node.targets[0] if len(node.targets) == 1 else None
        if not isinstance(target, ast.Name) or target.id in self.early:
            return None
        made: list[ast.stmt] = []

        def named(x: ast.expr) -> str:
            """Bind a value to a fresh name."""
            name = self.local("item")
            made.append(assigned(name, x, node))
            return name

        if isinstance(node.value, ast.Set) and target.id in self.only_in:
            self.sets[target.id] = [named(x) for x in node.value.elts]
            return made
        if not isinstance(node.value, ast.Dict) or target.id not in self.fixed:
            return None
        keys = [k for k in node.value.keys if isinstance(k, ast.Constant) and type(k.value) in (int, str)]
        if len({k.value for k in keys}) < len(node.value.values) or len({type(k.value) for k in keys}) != 1:
            return None
        self.dicts[target.id] = {k: named(x) for k, x in zip(keys, node.value.values, strict=True)}
        return made

    def table(self, node: ast.expr) -> dict[ast.Constant, str] | None:
        """Return the keys of a table, with the names of their values; None if the node is no table."""
        if not isinstance(node, ast.Name):
            return None
        if node.id not in self.dicts:
            self.early.add(node.id)
        return self.dicts.get(node.id)

    def item(self, node: ast.Subscript) -> ast.expr | None:
        """Desugar `table[k]`."""
        table = self.table(node.value)
        if table is None:
            return None
        return self.chosen(table, node.slice, None, node)

    def call(self, node: ast.Call) -> ast.expr | None:
        """Desugar a method of a table, or its length."""
        f = node.func
        if isinstance(f, ast.Name) and f.id == "len" and len(node.args) == 1:
            table = self.table(node.args[0])
            return None if table is None else _at(ast.Constant(len(table)), node)
        table = self.table(f.value) if isinstance(f, ast.Attribute) else None
        if table is None or not isinstance(f, ast.Attribute):
            return None
        if f.attr == "get":
            return self.chosen(table, node.args[0], node.args[1], node)
        parts: list[ast.expr] = [*table]
        if f.attr == "values":
            parts = [*map(read, table.values())]
        elif f.attr == "items":
            parts = [ast.Tuple([k, read(x)], ast.Load()) for k, x in table.items()]
        return _at(ast.Tuple(parts, ast.Load()), node)

    def chosen(self, table: dict[ast.Constant, str], key: ast.expr, other: ast.expr | None, node: ast.expr) -> ast.expr:
        """Select the value of a key by branches; `other`, or a KeyError, if the key is missing.

        Values of string keys may differ in type, if each lookup has a constant key.
        """
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and other is None:
            for k, x in table.items():
                if k.value == key.value:
                    return _at(read(x), node)
        name, made = self.local("key"), self.local("value")
        before = [assigned(name, key, node)]
        rest: list[ast.stmt] = [ast.Raise(ast.Call(ast.Name("KeyError", ast.Load()), [read(name)], []), None)]
        if other is not None:
            default = self.local("item")
            before.append(assigned(default, other, node))
            rest = [assigned(made, read(default), node)]
        for k, x in reversed(table.items()):
            test = ast.Compare(read(name), [ast.Eq()], [k])
            rest = [ast.If(test, [assigned(made, read(x), node)], rest)]
        return _at(Inlined.of([*before, *rest], read(made)), node)

    def membership(self, node: ast.Compare) -> ast.expr | None:
        """Desugar `k in table`, `k in {1, 2}` to membership in a tuple."""
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return None
        right = node.comparators[0]
        parts: Sequence[ast.expr] | None = None
        if isinstance(right, ast.Set):
            parts = right.elts
        elif (table := self.table(right)) is not None:
            parts = [*table]
        elif isinstance(right, ast.Name) and right.id in self.sets:
            parts = list(map(read, self.sets[right.id]))
        if parts is None:
            return None
        name = self.local("key")
        made = ast.Compare(read(name), node.ops, [ast.Tuple([*parts], ast.Load())])
        return _at(Inlined.of([assigned(name, node.left, node)], made), node)


def _at(x: ast.expr, node: ast.AST) -> ast.expr:
    """Give new nodes the source location of the node that they replace."""
    located(x, node)
    return x


def _looked_in(x: ast.AST) -> list[str]:
    """Return the name on the right of `in`, if that is one."""
    if not isinstance(x, ast.Compare) or not isinstance(x.ops[-1], (ast.In, ast.NotIn)) or len(x.ops) > 1:
        return []
    return [x.comparators[0].id] if isinstance(x.comparators[0], ast.Name) else []


def _used(x: ast.AST) -> list[str]:
    """Return the name that a node uses as a table may be used: subscript, method, `len` or `in`."""
    if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Load) and isinstance(x.value, ast.Name):
        return [x.value.id]
    if isinstance(x, ast.Call) and not x.keywords and not any(isinstance(y, ast.Starred) for y in x.args):
        f = x.func
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and _METHODS.get(f.attr) == len(x.args):
            return [f.value.id]
        if isinstance(f, ast.Name) and f.id == "len" and len(x.args) == 1 and isinstance(x.args[0], ast.Name):
            return [x.args[0].id]
    return _looked_in(x)
