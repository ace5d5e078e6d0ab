"""Loop unrolling of `literal_unroll`: the body once per item, as items may have different types.

    for x in literal_unroll((1, a)):      x = 1
        s += np.sum(x * a)                s += np.sum(x * a)
                                          x = a
                                          s += np.sum(x * a)

The items must be known: t is a tuple display, a global tuple, or a name bound once, to a tuple display. An argument's
items are written out by prune_branches.py. Items that are functions take the place of x.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from dualrev.compiler.frontend.desugar.closures import renamed
from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.lowering.exits import exits_of
from dualrev.compiler.frontend.lowering.scope import Scope

__all__ = ["Unrolling", "items_of"]


def items_of(node: ast.expr, count: int) -> ast.Tuple:
    """Build `(x[0], x[1], ...)`."""
    items: list[ast.expr] = [ast.Subscript(node, ast.Constant(k), ast.Load()) for k in range(count)]
    made = ast.copy_location(ast.Tuple(items, ast.Load()), node)
    located(made, node)
    return made


class Unrolling:
    """Unrolling of a function's loops; `is_function` recognises the names of functions outside of it."""

    def __init__(
        self,
        scope: Scope,
        bindings: Mapping[str, int],
        local: Callable[[str], str],
        is_function: Callable[[ast.expr], bool],
    ) -> None:
        self.scope, self.bindings, self.local, self.is_function = scope, bindings, local, is_function
        self.written: dict[str, ast.Tuple] = {}  # the tuples with one name, where they are made

    def note(self, node: ast.Assign) -> None:
        """Record a tuple assigned to a name with one binding; or several, in `s, t = (1, x), (2, y)`."""
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for one, made in pairs:
            if not isinstance(one, ast.Name) or self.bindings[one.id] != 1 or not isinstance(made, ast.Tuple):
                continue
            if not any(isinstance(x, ast.Starred) for x in made.elts):
                self.written[one.id] = made

    def loop(self, node: ast.For) -> list[ast.stmt] | None:
        """Unroll a loop; None if its items are not known: then they have one type."""
        assert isinstance(node.iter, ast.Call)
        node.iter = self.items(node.iter.args[0])
        if not isinstance(node.iter, ast.Tuple) or ast.Break in exits_of(node.body) or node.orelse:
            return None
        items, body = node.iter.elts, node.body
        if ast.Continue in exits_of(body):  # what it leaves is the one iteration of a loop
            once = ast.Call(builtin("range"), [ast.Constant(1)], [])
            body = [ast.For(ast.Name(self.local("once"), ast.Store()), once, body, [])]
            located(body[0], node)
        if all(map(self.is_function, items)) and isinstance(node.target, ast.Name):
            return [renamed(x, {node.target.id: item}) for item in items for x in body]
        names = [self.local("item") for _ in items]
        made = [assigned(name, x, node) for name, x in zip(names, items, strict=True)]
        for name in names:
            s = ast.Assign([renamed(node.target, {})], read(name))
            located(s, node)
            made += [s, *(renamed(x, {}) for x in body)]
        return made

    def items(self, node: ast.expr) -> ast.expr:
        """Write out an iterable as a tuple of its items, if they are known."""
        if not isinstance(node, ast.Name):
            return node
        if (made := self.written.get(node.id)) is not None:
            return made if all(map(self.is_function, made.elts)) else items_of(node, len(made.elts))
        static = self.scope.static(node)
        known = static is not None and isinstance(static.value, tuple)
        return items_of(node, len(static.value)) if known else node  # type: ignore[union-attr]
