"""Dead branch pruning by argument types, on the syntax tree: numba leaves the same branches out.

A condition is decided by: whether an argument is None, the number of axes of an array, the length of a tuple, the
default of an argument that is not given, and globals that are numbers; and `and`, `or`, `not`, comparisons of these. An
argument is known until a name is bound again.

    def f(x, w=None):
        if w is not None and w.ndim == 1:     f(x): the branch is not there
            x = x * w[0]

The type of an argument that is a number becomes its class, under each of its names:

    T = type(x)
    return T(2) * x                           return np.float64(2) * x

And a tuple of arguments of several types is written out where a loop over it is unrolled:

    for x in literal_unroll(t):               for x in literal_unroll((t[0], t[1])):
"""

from __future__ import annotations

import ast
import copy
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numba
import numpy as np
from numba.core import types

from dualrev.compiler.frontend.desugar.unroll import items_of
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes, UserValue

__all__ = ["prune"]

_UNKNOWN = object()
_COMPARE: dict[type, Callable[[UserValue, UserValue], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


#: What isinstance looks for.
_CLASSES: dict[UserValue, UserValue] = {
    float: types.Float,
    int: types.Integer,
    bool: types.Boolean,
    str: types.UnicodeType,
    tuple: types.BaseTuple,
    np.ndarray: types.Array,
}


def prune(source: Source, argtypes: NumbaTypes) -> Source:
    """Specialise a source for argument types: prune dead branches, fold `type(x)`, expand unrolled tuples."""
    names = source.parameters
    if source.tree.args.kwarg or not any(map(_has_to_do_with_types, ast.walk(source.tree))):
        return source
    tree = copy.deepcopy(source.tree)
    given = dict(zip(names, argtypes, strict=True))
    tree.body = _Pruning(source, {*names, *_bound(tree.body)}).block(tree.body, given)
    return replace(source, tree=tree)


def _has_to_do_with_types(node: ast.AST) -> bool:
    """Whether a node may depend on argument types: a conditional, `type`, or `literal_unroll`."""
    named = getattr(node, "id", "") == "type" or _is_unrolling(node)
    return isinstance(node, (ast.If, ast.IfExp)) or named


def _is_unrolling(node: ast.AST) -> bool:
    """Whether a node names `literal_unroll` or `numba.literal_unroll`."""
    return "literal_unroll" in (getattr(node, "id", ""), getattr(node, "attr", ""))


def _bindings(tree: ast.AST) -> Iterator[str]:
    """Yield bound names, once per binding; and all names in `try` and `with`, whose code may stay unchanged."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        if isinstance(node, (ast.Try, ast.With)):
            yield from (x.id for x in ast.walk(node) if isinstance(x, ast.Name))


def _bound(body: list[ast.stmt]) -> set[str]:
    nodes = [node for s in body for node in ast.walk(s)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))}


class _Pruning(ast.NodeTransformer):
    known: dict[str, NumbaType]  # the types of the arguments whose names are not bound again before this place

    def __init__(self, source: Source, own: set[str]) -> None:
        self.source, self.own = source, own
        self.classes: dict[str, ast.Constant] = {}  # the names of types: `T = type(x)`
        self.bindings = Counter(_bindings(source.tree))
        self.as_written = False  # whether this may be a part of what stays as it is written

    def block(self, body: Sequence[ast.stmt], known: dict[str, NumbaType]) -> list[ast.stmt]:
        """Prune the statements of a block; `known` loses the names that they bind."""
        made: list[ast.stmt] = []
        for s in body:
            made.extend(self.statement(s, known))
            if made and isinstance(made[-1], (ast.Return, ast.Break, ast.Continue, ast.Raise)):
                break
        return made

    def statement(self, s: ast.stmt, known: dict[str, NumbaType]) -> Sequence[ast.stmt]:
        """Prune one statement to the statements that remain of it."""
        self.known = known
        if isinstance(s, ast.If):
            first, test = self.decided(s.test)
            if test is not _UNKNOWN:
                return [*first, *self.block(s.body if test else s.orelse, known)]
            s.test = self.visit(s.test)
            after = [dict(known), dict(known)]
            s.body = self.block(s.body, after[0]) or [ast.copy_location(ast.Pass(), s)]
            s.orelse = self.block(s.orelse, after[1])
            for name in set(known) - (set(after[0]) & set(after[1])):
                del known[name]
            return [s]
        if not isinstance(s, (ast.For, ast.While)):
            s = self.visit(s)
        if self.names_class(s):
            return []
        for name in _bound([s]):
            known.pop(name, None)
        if isinstance(s, (ast.For, ast.While)):
            head = "iter" if isinstance(s, ast.For) else "test"
            setattr(s, head, self.visit(getattr(s, head)))
            s.body = self.block(s.body, dict(known)) or [ast.copy_location(ast.Pass(), s)]
            s.orelse = self.block(s.orelse, dict(known))
        return [s]

    def decided(self, test: ast.expr) -> tuple[list[ast.stmt], UserValue]:
        """Fold a condition: operands that still have to be evaluated, and the value or `_UNKNOWN`.

        In `x[3] > 0.0 and w is None`, `x[3] > 0.0` is evaluated though `w` decides.
        """
        if isinstance(test, ast.BoolOp):
            conjunction = isinstance(test.op, ast.And)
            for k, value in enumerate(map(self.value, test.values)):
                if value is not _UNKNOWN and bool(value) is not conjunction:
                    unknown = [x for x in test.values[:k] if self.value(x) is _UNKNOWN]
                    if not unknown:
                        return [], value
                    before = self.visit(ast.BoolOp(test.op, unknown) if len(unknown) > 1 else unknown[0])
                    return [ast.copy_location(ast.Expr(ast.copy_location(before, test)), test)], value
        return [], self.value(test)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Drop operands of `and`, `or` that are known and decide nothing, and all after one that decides."""
        kept: list[ast.expr] = []
        for x in node.values:
            value = self.value(x)
            decides = value is not _UNKNOWN and bool(value) is not isinstance(node.op, ast.And)
            if value is _UNKNOWN or decides or x is node.values[-1]:
                kept.append(self.visit(x))
            if decides:
                break
        return kept[0] if len(kept) == 1 else ast.copy_location(ast.BoolOp(node.op, kept), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Fold a conditional expression whose condition is known."""
        test = self.value(node.test)
        if test is not _UNKNOWN:
            chosen: ast.expr = self.visit(node.body if test else node.orelse)
            return chosen
        self.generic_visit(node)
        return node

    def names_class(self, s: ast.stmt) -> bool:
        """Record `T = type(x)` if it is the only binding of `T`; return whether it is."""
        if not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and isinstance(s.value.value, type)):
            return False
        (target, *others) = s.targets
        if others or not isinstance(target, ast.Name) or self.bindings[target.id] > 1:
            return False
        self.classes[target.id] = s.value
        return True

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Propagate a recorded type: replace the name `T` by the class."""
        named = isinstance(node.ctx, ast.Load) and node.id in self.classes
        return ast.copy_location(copy.copy(self.classes[node.id]), node) if named else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Fold `type(x)` of an argument that is a number, and expand the tuple of a `literal_unroll`."""
        self.generic_visit(node)
        if _is_unrolling(node.func) and len(node.args) == 1:
            node.args = [self.items(node.args[0])]
        named = isinstance(node.func, ast.Name) and node.func.id == "type" and "type" not in self.own
        if named and not self.as_written:
            (x, *others) = node.args or [node]
            kind = types.unliteral(self.known.get(x.id)) if isinstance(x, ast.Name) and not others else None
            if isinstance(kind, (types.Integer, types.Float)):
                return ast.copy_location(ast.Constant(getattr(np, str(kind))), node)
        return node

    def items(self, node: ast.expr) -> ast.expr:
        """Expand an argument `t` that is a heterogeneous tuple to `(t[0], t[1], ...)`."""
        kind = self.known.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(kind, types.BaseTuple) or isinstance(kind, types.UniTuple):
            return node
        return items_of(node, len(kind.types))

    def visit_Try(self, node: ast.Try | ast.With) -> ast.stmt:
        """Visit a block that may stay unchanged: `type(x)` is not folded in it, as a class has no name there."""
        before, self.as_written = self.as_written, True
        self.generic_visit(node)
        self.as_written = before
        return node

    visit_With = visit_Try  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Visit a nested function in its own scope."""
        return self.inner(node, _bound(node.body))

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Visit a lambda in its own scope."""
        return self.inner(node, set())

    def inner(self, node: ast.FunctionDef | ast.Lambda, bound: set[str]) -> ast.AST:
        """Visit a nested scope without the facts about names that it shadows."""
        args = node.args
        names = bound | {a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
        before = self.known, self.own, self.classes
        self.known, self.own = {k: x for k, x in self.known.items() if k not in names}, self.own | names
        self.classes = {k: x for k, x in self.classes.items() if k not in names}
        self.generic_visit(node)
        self.known, self.own, self.classes = before
        return node

    # What is known

    def value(self, node: ast.expr) -> UserValue:
        """Return the compile-time value of an expression for these types, or `_UNKNOWN`."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            x = self.value(node.operand)
            return x if x is _UNKNOWN else not x
        if isinstance(node, ast.BoolOp):
            return self.together(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compared(node)
        if isinstance(node, ast.Attribute) and node.attr == "ndim" and isinstance(node.value, ast.Name):
            kind = self.known.get(node.value.id)
            return kind.ndim if isinstance(kind, types.Array) else _UNKNOWN
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "len"
            and not node.keywords
        ):
            kind = self.known.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
            return len(kind.types) if isinstance(kind, types.BaseTuple) and "len" not in self.own else _UNKNOWN
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            return self.instance(node)
        return _UNKNOWN

    def instance(self, node: ast.Call) -> UserValue:
        """Fold `isinstance(x, float)` of an argument by its type, with numba's semantics."""
        kind = self.known.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
        if kind is None or "isinstance" in self.own or len(node.args) != 2:
            return _UNKNOWN
        kind = numba.typeof(kind.value) if isinstance(kind, types.Omitted) else types.unliteral(kind)
        classes = list(map(self.cls, node.args[1].elts if isinstance(node.args[1], ast.Tuple) else node.args[1:]))
        if None in classes or (isinstance(kind, types.Boolean) and int in classes):
            return _UNKNOWN
        return any(isinstance(kind, _CLASSES[x]) for x in classes)

    def cls(self, node: ast.expr) -> UserValue:
        """Resolve a class that `isinstance` tests for; None if it is not known."""
        base = node.value if isinstance(node, ast.Attribute) else node
        if not isinstance(base, ast.Name) or base.id in self.own:
            return None
        found = self.source.lookup(base.id, ())
        x = found.value if found is not None else None
        x = getattr(x, node.attr, None) if isinstance(node, ast.Attribute) else x
        return x if isinstance(x, type) and x in _CLASSES else None

    def named(self, name: str) -> UserValue:
        """Return the compile-time value of a name: an argument's default or None, or a global number."""
        if name in self.own:
            kind = self.known.get(name)
            if isinstance(kind, types.Omitted):
                return kind.value if type(kind.value) in (bool, int, float, str, type(None)) else _UNKNOWN
            return None if isinstance(kind, types.NoneType) else _UNKNOWN
        found = self.source.lookup(name, ())
        simple = found is not None and type(found.value) in (bool, int, float, type(None))
        return found.value if simple and found is not None else _UNKNOWN

    def together(self, node: ast.BoolOp) -> UserValue:
        """Fold `and`, `or`: if an operand decides and all before it are known, or if all are known."""
        values = [self.value(x) for x in node.values]
        conjunction = isinstance(node.op, ast.And)
        for x in values:
            if x is not _UNKNOWN and bool(x) is not conjunction:
                return x
            if x is _UNKNOWN:
                break
        return _UNKNOWN if any(x is _UNKNOWN for x in values) else values[-1]

    def compared(self, node: ast.Compare) -> UserValue:
        """Fold a comparison by the values of its operands; `is None` by a type alone."""
        left, right = self.value(node.left), self.value(node.comparators[0])
        compare = _COMPARE.get(type(node.ops[0]))
        if compare is None:
            return _UNKNOWN
        if left is not _UNKNOWN and right is not _UNKNOWN:
            numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
            equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot))
            return compare(left, right) if numbers or equality else _UNKNOWN
        for this, other in ((node.left, right), (node.comparators[0], left)):
            kind = self.known.get(this.id) if isinstance(this, ast.Name) else None
            whole = kind is not None and not isinstance(kind, (types.NoneType, types.Optional, types.Omitted))
            if whole and other is None and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                return isinstance(node.ops[0], ast.IsNot)
        return _UNKNOWN
