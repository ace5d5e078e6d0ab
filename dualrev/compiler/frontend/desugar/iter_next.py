"""Desugar iterators over arrays, lists and tuples (`iter`, `next`) to index variables.

    it = iter(xs)            k = 0
    y = next(it)             if k >= len(xs): raise StopIteration
                             y = xs[k]; k += 1
    for y in it: ...         while k < len(xs): y = xs[k]; k += 1; ...

An iterator has one name, which stands for nothing else and is not passed on. Other iterables of numba
have no indices: driver/context.py looks at the types, and leaves a call over one unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.source import parameters

__all__ = ["Iterators", "iterates"]


def iterates(tree: ast.AST) -> bool:
    """Whether a function may create an iterator: it names `iter`."""
    return any(isinstance(x, ast.Name) and x.id == "iter" for x in ast.walk(tree))


def is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    """Whether a node is a name that is assigned."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


class Iterators:
    """Desugaring of the iterators of a function; `local` allocates a fresh name."""

    def __init__(
        self, scope: Scope, tree: ast.FunctionDef, bindings: Mapping[str, int], local: Callable[[str], str]
    ) -> None:
        self.scope, self.bindings, self.local = scope, bindings, local
        nodes = list(ast.walk(tree))
        known = {id(x.args[0]) for x in nodes if self.is_call(x, "next")}
        known |= {id(x.iter) for x in nodes if isinstance(x, ast.For)}
        names = (x for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))
        self.passed_on = {x.id for x in names if id(x) not in known}
        again = {x.id for s in nodes if isinstance(s, (ast.For, ast.While)) for x in ast.walk(s) if is_bound(x)}
        arguments = set(parameters(tree))
        self.constant = {x for x in bindings if bindings[x] == 1} - again - arguments
        self.constant |= {x for x in arguments if not bindings[x]}
        self.found: dict[str, tuple[str, str]] = {}  # what they go over, and the place

    def is_call(self, node: Any, name: str) -> TypeGuard[ast.Call]:
        """Whether an expression calls the builtin of that name, with one argument."""
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        return named and len(node.args) == 1 and not node.keywords and name not in self.scope.locals

    def define(self, node: ast.Assign) -> list[ast.stmt] | None:
        """Desugar `it = iter(xs)` to an index variable; None if it is no iterator, or has to stay unchanged."""
        if not self.is_call(node.value, "iter") or self.scope.listed or len(node.targets) != 1:
            return None
        target, over = node.targets[0], node.value.args[0]
        if not isinstance(target, ast.Name) or self.bindings[target.id] != 1 or target.id in self.passed_on:
            return None
        made: list[ast.stmt] = []
        base, place = self.local("items"), self.local("place")
        if isinstance(over, ast.Name) and over.id in self.constant:  # it has one value, which keeps its name
            base = over.id
        else:
            made = [assigned(base, over, node)]
        self.found[target.id] = base, place
        self.scope.iterated.add(self.scope.name(base))
        return [*made, assigned(place, ast.Constant(0), node)]

    def call(self, node: ast.Call) -> tuple[list[ast.stmt], ast.expr] | None:
        """Desugar `next(it)` to statements and a value; None for any other call."""
        it = node.args[0] if self.is_call(node, "next") else None
        if not isinstance(it, ast.Name) or it.id not in self.found:
            return None
        base, place = self.found[it.id]
        item = self.local("item")
        ended = ast.Compare(read(place), [ast.GtE()], [self.length(base)])
        end: ast.stmt = ast.If(ended, [ast.Raise(ast.Name("StopIteration", ast.Load()))], [])
        located(end, node)
        return [end, *self.step(assigned(item, self.item(base, place), node), place, node)], ast.copy_location(
            read(item), node
        )

    def loop(self, node: ast.For) -> ast.stmt | None:
        """Desugar a loop over the rest of an iterator to a `while` loop."""
        if not isinstance(node.iter, ast.Name) or node.iter.id not in self.found:
            return None
        base, place = self.found[node.iter.id]
        first: ast.stmt = ast.Assign([node.target], self.item(base, place))
        test = ast.Compare(read(place), [ast.Lt()], [self.length(base)])
        made = ast.While(test, [*self.step(first, place, node), *node.body], node.orelse)
        located(made, node)
        return made

    def step(self, first: ast.stmt, place: str, node: ast.AST) -> list[ast.stmt]:
        """Build a statement, and the increment of the index."""
        return [first, assigned(place, ast.BinOp(read(place), ast.Add(), ast.Constant(1)), node)]

    def item(self, base: str, place: str) -> ast.expr:
        """Build `base[place]`."""
        return ast.Subscript(read(base), read(place), ast.Load())

    def length(self, base: str) -> ast.expr:
        """Build `len(base)`."""
        return ast.Call(builtin("len"), [read(base)], [])
