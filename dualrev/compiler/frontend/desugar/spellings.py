"""Desugar equivalent spellings: calls and loops that mean the same as an operator, a method or a name.

operator.mul(x, y)               see operators.py
getattr(x, "name")               x.name
literally(k)                     k
List.empty_list(t), List([x])    [t(0) for _ in range(0)], [x]
Dict(), Dict.empty(key_type=k, value_type=v)    {}, Dict.empty(k, v)
list(a), list(map(g, a))         [x for x in a], [g(x) for x in a]
ys.extend(a), ys += a            for x in a: ys.append(x)
del ys[k], del x                 ys.pop(k), nothing
x, ys = y, []                    (x,) = (y,); ys = []
(x, *t, y)                       (x,) + t + (y,)
for y in map(g, a)               for x in a: y = g(x)
for y in map(g, a, b)            for x, z in zip(a, b): y = g(x, z)
for x in filter(g, a)            for x in a: if g(x)
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable

import numba
from numba import literally
from numba.core import types
from numba.typed import List

from dualrev.compiler.frontend.desugar.ndindex import builtin, located, read
from dualrev.compiler.frontend.desugar.operators import operation
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.types.aliases import UserValue

__all__ = ["Spellings", "is_bool", "joined"]


def is_bool(node: ast.expr) -> bool:
    """Whether an expression is a bool by its syntax."""
    if isinstance(node, ast.BoolOp):
        return all(map(is_bool, node.values))
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negation or isinstance(node, ast.Compare) or (isinstance(node, ast.Constant) and type(node.value) is bool)


def _is_dict(f: UserValue) -> bool:
    """Whether a class is numba's typed Dict; its module is not loaded to know that.

    numba tries the overloads of modules in the order in which they were loaded: those of dicts, if they came early, at
    each index of an array.
    """
    return getattr(f, "__name__", "") == "Dict" and f is numba.typed.Dict


def _is_plain(node: ast.expr, bound: set[str]) -> bool:
    """Whether the order of evaluation does not matter: a constant, or a name that is not rebound there."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id not in bound)


class Spellings:
    """Desugaring of equivalent spellings; `local` allocates a fresh name."""

    def __init__(self, scope: Scope, local: Callable[[str], str]) -> None:
        self.scope, self.local = scope, local

    def value(self, node: ast.expr) -> UserValue:
        """Return the compile-time value of a name or an attribute; None if it is not known."""
        static = self.scope.static(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return None if static is None else static.value

    def call(self, node: ast.Call) -> ast.expr | None:
        """Desugar a call to an equivalent expression; None if it has no other spelling."""
        f, args = self.value(node.func), node.args
        given = {k.arg: k.value for k in node.keywords}
        if isinstance(node.func, ast.Attribute) and node.func.attr == "empty" and _is_dict(self.value(node.func.value)):
            both = [*args, *(given[name] for name in ("key_type", "value_type")[len(args) :] if name in given)]
            return ast.Call(node.func, both, []) if given and len(both) == 2 else None
        if _is_dict(f) and not args and not given:
            return ast.Dict([], [])
        if node.keywords or any(isinstance(x, ast.Starred) for x in args):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "empty_list" and len(args) == 1:
            return self.empty_list(node.func.value, args[0]) if self.value(node.func.value) is List else None
        if f is None or not callable(f):
            return None
        if f is List and len(args) == 1 and isinstance(args[0], (ast.List, ast.ListComp)):
            return args[0]
        if f is list and len(args) == 1:
            return self.listed(args[0])
        if f is literally and len(args) == 1:
            return args[0]
        if f is getattr and len(args) == 2 and isinstance(args[1], ast.Constant) and isinstance(args[1].value, str):
            return ast.Attribute(args[0], args[1].value, ast.Load())
        return operation(f, args)

    def listed(self, items: ast.expr) -> ast.expr:
        """Desugar `list(items)` to a comprehension, also of map and filter."""
        g, over, selects = self.mapped(items)
        over = [x if self.mapped(x)[0] is None or g is None else self.listed(x) for x in over]
        names = [self.local("item") for _ in over]
        one: ast.expr = read(names[0]) if g is None else ast.Call(g, list(map(read, names)), [])
        tests: list[ast.expr] = [one] if selects else []
        result = read(names[0]) if selects else one
        return ast.ListComp(result, [ast.comprehension(*_zipped(names, over), tests, 0)])

    def mapped(self, node: ast.expr) -> tuple[ast.expr | None, list[ast.expr], bool]:
        """Return the function and the iterables of a call of map or filter, and whether it is filter.

        Of any other iterable, return None and itself.
        """
        if isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
            f, (g, *over) = self.value(node.func), node.args
            if (f is map or (f is filter and len(over) == 1)) and not any(
                isinstance(x, ast.Starred) for x in node.args
            ):
                return g, over, f is filter
        return None, [node], False

    def empty_list(self, base: ast.expr, kind: ast.expr) -> ast.expr:
        """Desugar `List.empty_list(t)` of numbers to an empty comprehension; of others, numba infers the item type."""
        if not isinstance(self.value(kind), (types.Number, types.Boolean)):
            return ast.Call(base, [], [])
        none = ast.Call(builtin("range"), [ast.Constant(0)], [])
        counter = ast.Name(self.local("i"), ast.Store())
        return ast.ListComp(ast.Call(kind, [ast.Constant(0)], []), [ast.comprehension(counter, none, [], 0)])

    def statement(self, node: ast.Expr) -> ast.stmt | None:
        """Desugar `ys.extend(a)` to a loop, `operator.setitem` and `operator.delitem` to statements."""
        call = node.value
        f = self.value(call.func) if isinstance(call, ast.Call) and not call.keywords else None
        if isinstance(call, ast.Call) and f is operator.setitem and len(call.args) == 3:
            base, index, value = call.args
            made: ast.stmt = ast.Assign([ast.Subscript(base, index, ast.Store())], value)
            located(made, node)
            return made
        if isinstance(call, ast.Call) and f is operator.delitem and len(call.args) == 2:
            made = ast.Delete([ast.Subscript(call.args[0], call.args[1], ast.Del())])
            located(made, node)
            return made
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
            return None
        if call.func.attr != "extend" or len(call.args) != 1 or not isinstance(call.func.value, ast.Name):
            return None
        return self.extended(call.func.value, call.args[0], node)

    def extended(self, name: ast.Name, more: ast.expr, node: ast.stmt) -> ast.stmt:
        """Desugar `ys.extend(more)` to a loop that appends."""
        item = self.local("item")
        add = ast.Call(ast.Attribute(read(name.id), "append", ast.Load()), [read(item)], [])
        made = ast.For(ast.Name(item, ast.Store()), more, [ast.Expr(add)], [])
        located(made, node)
        return made

    def lists_apart(self, node: ast.Assign) -> list[ast.stmt] | None:
        """Split lists out of a tuple assignment, each into a statement of its own: there, a list has one name."""
        target, value = node.targets[0], node.value
        if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            return None
        if len(target.elts) != len(value.elts) or not all(isinstance(x, ast.Name) for x in target.elts):
            return None
        bound = {x.id for x in target.elts if isinstance(x, ast.Name)}
        pairs = list(zip(target.elts, value.elts, strict=True))
        apart = [(x, y) for x, y in pairs if isinstance(y, ast.List) and all(_is_plain(e, bound) for e in y.elts)]
        if not apart or len(bound) < len(pairs):
            return None
        others = [pair for pair in pairs if pair not in apart]
        made: list[ast.stmt] = []
        if others:
            targets, values = ([pair[k] for pair in others] for k in (0, 1))
            made.append(ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())))
        made += [ast.Assign([x], y) for x, y in apart]
        for s in made:
            located(s, node)
        return made

    def deleted(self, node: ast.Delete) -> list[ast.stmt] | None:
        """Desugar `del ys[k]` to `ys.pop(k)`, and drop `del x`; None if something else is deleted."""
        made: list[ast.stmt] = []
        for x in node.targets:
            if isinstance(x, ast.Name):
                made.append(ast.Pass())
            elif isinstance(x, ast.Subscript) and isinstance(x.value, ast.Name) and not isinstance(x.slice, ast.Slice):
                pop = ast.Attribute(read(x.value.id), "pop", ast.Load())
                made.append(ast.Expr(ast.Call(pop, [x.slice], [])))
            else:
                return None
        for s in made:
            located(s, node)
        return made

    def loop(self, node: ast.For) -> ast.For:
        """Desugar a loop over map or filter to a loop over their iterable."""
        g, over, selects = self.mapped(node.iter)
        while g is not None:
            if len(over) > 1:
                over = [x if self.mapped(x)[0] is None else self.listed(x) for x in over]
            items = [self.local("item") for _ in over]
            one = ast.Call(g, list(map(read, items)), [])
            if selects:
                body: list[ast.stmt] = [ast.If(one, [ast.Assign([node.target], read(items[0])), *node.body], [])]
            else:
                body = [ast.Assign([node.target], one), *node.body]
            call = node.iter
            node = ast.For(*_zipped(items, over), body, node.orelse, lineno=node.lineno)
            located(node, call)
            g, over, selects = self.mapped(node.iter)
        return node


def _zipped(names: list[str], over: list[ast.expr]) -> tuple[ast.expr, ast.expr]:
    """Return the target and the iterable of a loop over several iterables at once."""
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    if len(over) == 1:
        return targets[0], over[0]
    return ast.Tuple(targets, ast.Store()), ast.Call(builtin("zip"), over, [])


def joined(node: ast.Tuple) -> ast.expr:
    """Desugar a tuple with starred entries to a concatenation of tuples."""
    parts: list[ast.expr] = []
    for _, group in itertools.groupby(node.elts, lambda x: isinstance(x, ast.Starred)):
        items = list(group)
        starred = [x.value for x in items if isinstance(x, ast.Starred)]
        parts += starred or [ast.Tuple(items, ast.Load())]
    made = parts[0]
    for part in parts[1:]:
        made = ast.BinOp(made, ast.Add(), part)
    located(made, node)
    return made
