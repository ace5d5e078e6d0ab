"""Closures (functions nested in a numba function): bound names, renaming, and conversion to a single exit."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dualrev.compiler.frontend.lowering.exits import always, exits, exits_of
from dualrev.compiler.frontend.reading.source import parameters

__all__ = ["Closure", "Inlined", "bound_in", "is_constant", "renamed", "returning", "without_declarations"]

Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Inlined(ast.expr):
    """An expression with statements before it: the inlined body of a function, and its result."""

    _fields = ("body", "value")
    body: list[ast.stmt]
    value: ast.expr

    @staticmethod
    def of(body: Sequence[ast.stmt], value: ast.expr) -> Inlined:
        """Build an inlined expression from its statements and its value."""
        return Inlined(body=list(body), value=value)  # type: ignore[call-arg]


@dataclass(frozen=True)
class Closure:
    """A function nested in another one."""

    name: str
    node: ast.FunctionDef | ast.Lambda

    def body(self) -> list[ast.stmt]:
        """Return its statements; for a lambda, a `return` of its expression."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own scope, without nested functions and the variables of comprehensions."""
    yield node
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.comprehension) and child is node.target:
            continue
        yield from own_nodes(child)


def bound_in(body: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements bind in their own scope."""
    nodes = [node for s in body for node in own_nodes(s)]
    names = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, (ast.Store, ast.Del))}
    return names | {x.name for x in nodes if isinstance(x, ast.FunctionDef)}


def is_constant(node: ast.expr) -> bool:
    """Whether a default is a literal constant, such as 1.0 or -1.0."""
    signed = isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd))
    return isinstance(node.operand if signed else node, ast.Constant)  # type: ignore[attr-defined]


def renamed(node: Any, names: Mapping[str, ast.expr | str]) -> Any:
    """Copy a node, with names or expressions substituted for variables."""
    return _Substitution(dict(names)).visit(copy.deepcopy(node))


class _Substitution(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr | str]) -> None:
        self.names = names

    def without(self, hidden: set[str], nodes: list[Any]) -> list[Any]:
        """Rename nodes of a nested scope, without the names that it hides."""
        inner = _Substitution({k: x for k, x in self.names.items() if k not in hidden})
        return [inner.visit(x) for x in nodes]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Substitute for a variable."""
        found = self.names.get(node.id)
        if found is None:
            return node
        made = ast.Name(found, node.ctx) if isinstance(found, str) else copy.deepcopy(found)
        return ast.copy_location(made, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rename a nested function, except what it binds."""
        found = self.names.get(node.name)
        node.name = found if isinstance(found, str) else node.name
        node.body = self.without({*parameters(node), *bound_in(node.body)}, node.body)
        node.args.defaults = [self.visit(x) for x in node.args.defaults]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Rename a lambda, except its parameters."""
        (node.body,) = self.without(set(parameters(node)), [node.body])
        node.args.defaults = [self.visit(x) for x in node.args.defaults]
        return node

    def visit_ListComp(self, node: Any) -> Any:
        """Rename a comprehension, except its variables; the first iterable belongs to the scope around it."""
        first = self.visit(node.generators[0].iter)
        targets = [x for g in node.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)]
        inner = _Substitution({k: x for k, x in self.names.items() if k not in {t.id for t in targets}})
        inner.generic_visit(node)
        node.generators[0].iter = first
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815


def _bound(name: str, value: ast.expr | None, at: ast.AST) -> ast.stmt:
    """Build `name = value`."""
    made = value if value is not None else ast.copy_location(ast.Constant(None), at)
    return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), at)], made), at)


def _read(name: str, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


class _Leaving(ast.NodeTransformer):
    """Replace each `return` in a loop by an assignment, a flag and a `break`."""

    def __init__(self, result: str, flag: str, refuse: Callable[[ast.AST], Any]) -> None:
        self.result, self.flag, self.refuse = result, flag, refuse

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        """Replace a `return`."""
        found = ast.copy_location(ast.Constant(True), node)
        leave = ast.copy_location(ast.Break(), node)
        return [_bound(self.result, node.value, node), _bound(self.flag, found, node), leave]

    def visit_For(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """Leave the loop around this one, too, if this one returned."""
        if ast.Return not in exits(node):
            return [node]
        if ast.Return in exits_of(node.orelse):
            self.refuse(node)
        self.generic_visit(node)
        leave = ast.copy_location(ast.Break(), node)
        return [node, ast.copy_location(ast.If(_read(self.flag, node), [leave], []), node)]

    visit_While = visit_For  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave a nested function unchanged."""
        return node


def returning(
    body: list[ast.stmt], result: str, local: Callable[[str], str], refuse: Callable[[ast.AST], Any]
) -> list[ast.stmt]:
    """Convert the body of a function to a single exit: assign to `result` in place of each `return`.

    `local` makes new names; a `return` in the `else` of a loop is refused.
    """

    def bind(value: ast.expr | None, at: ast.AST) -> ast.stmt:
        """Assign a returned value to `result`."""
        return _bound(result, value, at)

    made: list[ast.stmt] = []
    for k, s in enumerate(body):
        if isinstance(s, ast.Return):
            return [*made, bind(s.value, s)]
        if ast.Return not in exits(s):
            made.append(s)
            if always([s]):
                return made
            continue
        rest = body[k + 1 :]
        if isinstance(s, (ast.For, ast.While)):
            flag = local("returned")
            loop = _Leaving(result, flag, refuse).visit(s)[0]
            start = _bound(flag, ast.copy_location(ast.Constant(False), s), s)
            nothing = ast.copy_location(ast.Pass(), s)
            after = returning(rest or [nothing], result, local, refuse)
            return [*made, start, loop, ast.copy_location(ast.If(_read(flag, s), [nothing], after), s)]
        assert isinstance(s, ast.If)
        then, orelse = ([*x, *([] if always(x) else copy.deepcopy(rest))] for x in (s.body, s.orelse))
        s.body, s.orelse = (
            returning(x or [ast.copy_location(ast.Pass(), s)], result, local, refuse) for x in (then, orelse)
        )
        return [*made, s]
    return [*made, bind(None, body[-1])]


class _Declarations(ast.NodeTransformer):
    """Drop `global k` and `nonlocal k` of variables that are only read; see `without_declarations`."""

    def __init__(self, body: list[ast.stmt], given: Collection[str]) -> None:
        self._own, self._everywhere = [bound_in(body)], {*given}
        for node in (node for s in body for node in ast.walk(s)):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                self._everywhere |= {*parameters(node)}
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._everywhere.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Visit a nested function in its own scope."""
        self._own.append(bound_in(node.body))
        self.generic_visit(node)
        self._own.pop()
        return node

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        """Drop a `global` whose names no function here binds."""
        return node if self._everywhere & {*node.names} else ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        """Drop a `nonlocal` whose names the function does not bind."""
        return node if self._own[-1] & {*node.names} else ast.copy_location(ast.Pass(), node)


def without_declarations(body: list[ast.stmt], given: Collection[str]) -> list[ast.stmt]:
    """Drop `global k` and `nonlocal k` of variables that are only read, as they change nothing.

    A `global` is dropped where no function here has a variable of its name; `given` are their parameters.
    """
    declarations = _Declarations(body, given)
    return [declarations.visit(s) for s in body]
