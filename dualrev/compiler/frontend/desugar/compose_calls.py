"""Desugar functions of numpy and numba to compositions of others, where that needs no types.

np.conj(x)                            x.conjugate()
np.select([p, q], [a, b], d)          np.where(p, a, np.where(q, b, d))
np.asarray_chkfinite(a)               a test of all elements, and np.asarray(a)
tuple(t)                              t
to_fixed_tuple(a, 2)                  (a[0], a[1])
tuple_setitem(t, 1, x)                t[:1] + (x,) + t[2:]
len(range(a, b))                      max(0, b - a)
slice(i, j) in an index               i:j
np.partition(a, [k, n])               np.partition(a, np.array([k, n]))
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection

import numpy as np
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.np.unsafe.ndarray import to_fixed_tuple

from dualrev.compiler.frontend.desugar.closures import Inlined
from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.source import Static
from dualrev.compiler.types.aliases import UserValue

__all__ = ["Composing"]


class Composing:
    """Desugaring of calls to other calls; `local` allocates a fresh name, `lists` are the names of lists."""

    def __init__(self, scope: Scope, local: Callable[[str], str], lists: Collection[str]) -> None:
        self.scope, self.local, self.lists = scope, local, lists

    def call(self, f: UserValue, node: ast.Call) -> ast.expr | None:
        """Desugar a call of `f` to a composition of others; None if it has none."""
        args = _in_order(f, node)
        if args is None:
            return None
        numpy = node.func.value if isinstance(node.func, ast.Attribute) else None
        if f is np.conjugate and len(args) == 1:
            return ast.Call(ast.Attribute(args[0], "conjugate", ast.Load()), [], [])
        if f is np.select and len(args) in (2, 3) and numpy is not None:
            return self.select(numpy, *args)
        if (f is np.partition or f is np.argpartition) and len(args) == 2:
            return self.partition(node.func, *args)
        if f is np.asarray_chkfinite and len(args) == 1 and numpy is not None:
            return self.checked(numpy, args[0])
        if f is to_fixed_tuple and len(args) == 2:
            return self.fixed(*args)
        if f is tuple_setitem and len(args) == 3:
            return self.changed(*args)
        if f is tuple and len(args) == 1:
            return args[0]  # of a tuple: numba knows no other
        if f is len and len(args) == 1:
            return self.length(args[0])
        return None

    def value(self, node: ast.expr) -> UserValue:
        """Return the compile-time value of a name or an attribute; None if it is not known."""
        static = self.scope.static(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return None if static is None else static.value

    def constant(self, node: ast.expr) -> int | None:
        """Return the value of a constant int that is no less than 0; None for anything else."""
        static = self.scope.static(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Constant)) else None
        return static.value if static is not None and type(static.value) is int and static.value >= 0 else None

    def select(
        self, numpy: ast.expr, tests: ast.expr, values: ast.expr, default: ast.expr | None = None
    ) -> ast.expr | None:
        """Desugar `np.select` of lists that are written out to nested calls of `np.where`."""
        if not (isinstance(tests, (ast.List, ast.Tuple)) and isinstance(values, (ast.List, ast.Tuple))):
            return None
        if len(tests.elts) != len(values.elts) or not tests.elts:
            return None
        made = default if default is not None else ast.Constant(0)
        for test, x in reversed(list(zip(tests.elts, values.elts, strict=True))):
            made = ast.Call(ast.Attribute(numpy, "where", ast.Load()), [test, x, made], [])
        return made

    def partition(self, f: ast.expr, a: ast.expr, places: ast.expr) -> ast.expr | None:
        """Desugar the indices of `np.partition`, in a list or a tuple, to an array."""
        found = self.value(places)
        if isinstance(found, tuple) and found and all(type(k) is int for k in found):  # a global
            places = ast.Tuple([ast.Constant(k) for k in found], ast.Load())
        is_list = isinstance(places, ast.Name) and places.id in self.lists
        if not is_list and not isinstance(places, (ast.List, ast.Tuple, ast.ListComp)):
            return None
        array = self.local("array")
        self.scope.functions[array] = Static(np.array, ())
        return ast.Call(f, [a, ast.Call(read(array), [places], [])], [])

    def checked(self, numpy: ast.expr, a: ast.expr) -> ast.expr:
        """Desugar `np.asarray_chkfinite` to a loop that tests each element."""
        array, x = self.local("array"), self.local("item")
        error = ast.Call(ast.Name("ValueError", ast.Load()), [ast.Constant("array must not contain infs or NaNs")], [])
        finite = ast.Call(ast.Attribute(numpy, "isfinite", ast.Load()), [read(x)], [])
        body: list[ast.stmt] = [ast.If(ast.UnaryOp(ast.Not(), finite), [ast.Raise(error, None)], [])]
        every = ast.Attribute(read(array), "flat", ast.Load())
        loop = ast.For(ast.Name(x, ast.Store()), every, body, [])
        located(loop, a)
        same = ast.Call(ast.Attribute(numpy, "asarray", ast.Load()), [a], [])
        return Inlined.of([assigned(array, same, a), loop], read(array))

    def fixed(self, a: ast.expr, n: ast.expr) -> ast.expr | None:
        """Desugar `to_fixed_tuple` of a constant length to a tuple of elements."""
        count, array = self.constant(n), self.local("array")
        if count is None:
            return None
        items: list[ast.expr] = [ast.Subscript(read(array), ast.Constant(k), ast.Load()) for k in range(count)]
        return Inlined.of([assigned(array, a, a)], ast.Tuple(items, ast.Load()))

    def changed(self, t: ast.expr, k: ast.expr, x: ast.expr) -> ast.expr | None:
        """Desugar `tuple_setitem` at a constant index to a concatenation of slices."""
        place, name, item = self.constant(k), self.local("tuple"), self.local("item")
        if place is None:
            return None
        before = ast.Subscript(read(name), ast.Slice(None, ast.Constant(place), None), ast.Load())
        after = ast.Subscript(read(name), ast.Slice(ast.Constant(place + 1), None, None), ast.Load())
        one: ast.expr = ast.Tuple([read(item)], ast.Load())
        parts = [*([before] if place else []), one]
        made = parts[0] if len(parts) == 1 else ast.BinOp(parts[0], ast.Add(), parts[1])
        return Inlined.of([assigned(name, t, t), assigned(item, x, t)], ast.BinOp(made, ast.Add(), after))

    def length(self, x: ast.expr) -> ast.expr | None:
        """Desugar `len` of a range whose step is 1 to arithmetic."""
        if not isinstance(x, ast.Call) or x.keywords or self.value(x.func) is not range or len(x.args) > 2:
            return None
        distance = x.args[0] if len(x.args) == 1 else ast.BinOp(x.args[1], ast.Sub(), x.args[0])
        return ast.Call(builtin("max"), [ast.Constant(0), distance], [])

    def index(self, node: ast.expr) -> ast.expr:
        """Desugar calls of `slice` in an index."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(x) for x in node.elts], ast.Load())
        if not isinstance(node, ast.Call) or node.keywords or self.value(node.func) is not slice:
            return node
        args: list[ast.expr | None] = [
            None if isinstance(x, ast.Constant) and x.value is None else x for x in node.args
        ]
        return ast.Slice(*([None, *args] if len(args) == 1 else args))


def _in_order(f: UserValue, node: ast.Call) -> list[ast.expr] | None:
    """Bind the keyword arguments of a call of `f` by position; None if that leaves a gap, or `f` has no signature."""
    if not node.keywords:
        return node.args
    try:
        names = list(inspect.signature(f).parameters)[len(node.args) :]
    except (TypeError, ValueError):  # of a ufunc, for instance
        return None
    given = {k.arg: k.value for k in node.keywords}
    first = names[: len(given)]
    return [*node.args, *(given[name] for name in first)] if {*first} == {*given} else None
