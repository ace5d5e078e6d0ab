"""The typed core -> expanded core of today's reverse mode, one construct at a time: the inverse of typed.py."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dualrev.compiler import core as old
from dualrev.compiler import syntax
from dualrev.compiler.core import terms
from dualrev.compiler.core.terms import Constant, Expr, Function, Global, Symbol, Var
from dualrev.compiler.expand import Expanded
from dualrev.compiler.naming import Names

__all__ = ["untyped"]

_OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "@"}


def untyped(f: Function, origin: Expanded, names: Names, refer: Callable[[Symbol], old.Ref]) -> Expanded:
    """An `Expanded` that means what f means; it takes lines and classes from `origin`, from which f was made."""
    return _Untyping(names, refer).function(f, origin)


class _Untyping:
    def __init__(self, names: Names, refer: Callable[[Symbol], old.Ref]) -> None:
        self.names, self.refer = names, refer
        self.text: dict[Var, str] = {}
        self.taken: set[str] = set()
        self.types: dict[str, Any] = {}

    def function(self, f: Function, origin: Expanded) -> Expanded:
        for x in terms.variables(f):
            if x.of is None and x.name != "_":  # the user's variables first: they keep their names
                self.var(x)
        parameters = [self.tree(p) for p in f.parameters]
        texts = [p if isinstance(p, str) else self.names.fresh("arg_{k}") for p in parameters]
        lowered = replace(origin.lowered, parameters=texts)
        body, result = self.block(f.body), self.tree(f.result)
        argtypes = tuple(x.type if isinstance(x, Var) else None for x in f.parameters)
        asks = origin.asks_for_layout
        return Expanded(lowered, parameters, body, result, self.types, argtypes, origin.classes, asks)

    # Atoms

    def var(self, x: Var) -> str:
        if x not in self.text:
            self.text[x] = made = self.name(x)
            self.taken.add(made)
            self.types[made] = x.type
        return self.text[x]

    def name(self, x: Var) -> str:
        if x.of is not None:
            of = self.var(x.of)
            return self.names.fresh(x.name, of, self.names.is_temporary(of))
        if x.name == "_":
            return self.names.temporary()
        return x.name if x.name not in self.taken else self.names.fresh("{}", x.name)

    def atom(self, x: terms.Atom) -> Any:
        if isinstance(x, Constant):
            return old.Const(x.value)
        if isinstance(x, Global):
            return old.Ref(x.name, x.value, x.path)
        return self.var(x)

    def tree(self, x: terms.Tree) -> Any:
        if not isinstance(x, terms.Node):
            return self.atom(x)
        return old.Node(tuple(map(self.tree, x.parts)), self.atom(x.cls) if x.cls is not None else None)

    def inside(self, e: Any) -> tuple[Any, ...]:
        """The variables in an expression, each once."""
        return tuple(dict.fromkeys(self.var(x) for x in terms.atoms_of(e) if isinstance(x, Var)))

    # Expressions

    def expr(self, e: Expr, base: terms.Atom | None = None) -> ast.expr:
        """The syntax of an expression; `base` is written as BASE."""

        def sub(x: Expr) -> ast.expr:
            return self.expr(x, base)

        match e:
            case terms.Operator("not", (x,)):
                return ast.UnaryOp(ast.Not(), sub(x))
            case terms.Operator(symbol, (x,)):
                return ast.UnaryOp({"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert()}[symbol], sub(x))
            case terms.Operator(symbol, (x, y)):
                return syntax.binary(symbol, sub(x), sub(y))
            case terms.Comparison(symbols, args):
                made = ast.parse("x " + " x ".join(symbols) + " x", mode="eval").body
                assert isinstance(made, ast.Compare)
                first, *rest = map(sub, args)
                return ast.Compare(first, made.ops, rest)
            case terms.Logical(symbol, args):
                return ast.BoolOp(ast.And() if symbol == "and" else ast.Or(), [sub(x) for x in args])
            case terms.Choice(test, then, orelse):
                return ast.IfExp(sub(test), sub(then), sub(orelse))
            case terms.Applied(function, args, keywords):
                name = function if isinstance(function, str) else function.name
                return self.call(syntax.name(name), args, keywords, sub)
            case terms.Method(of, name, args, keywords):
                return self.call(ast.Attribute(sub(of), name, ast.Load()), args, keywords, sub)
            case terms.Field(of, name):
                return ast.Attribute(sub(of), name, ast.Load())
            case terms.Item(of, index):
                return syntax.subscript(sub(of), self.entries(index, sub), lambda x: x)
            case terms.Pack(args, listed):
                parts = [sub(x) for x in args]
                return ast.List(parts, ast.Load()) if listed else ast.Tuple(parts, ast.Load())
        assert isinstance(e, (Var, Constant, Global))
        return ast.Name("BASE") if base is not None and e is base else syntax.atom(self.atom(e))

    def call(self, f: ast.expr, args: Any, keywords: Any, sub: Callable[[Expr], ast.expr]) -> ast.expr:
        return ast.Call(f, [sub(x) for x in args], [ast.keyword(k, sub(x)) for k, x in keywords])

    def entries(self, index: tuple[Any, ...], sub: Callable[[Any], Any]) -> tuple[Any, ...]:
        """An index, whose parts are translated by `sub`."""

        def entry(x: Any) -> Any:
            if isinstance(x, terms.Span):
                return old.Slice(*(None if y is None else sub(y) for y in (x.lower, x.upper, x.step)))
            return x if x is None or x is Ellipsis else sub(x)

        return tuple(map(entry, index))

    # Statements

    def block(self, body: tuple[terms.Statement, ...]) -> list[Any]:
        return list(map(self.statement, body))

    def statement(self, s: terms.Statement) -> Any:
        match s:
            case terms.Store():
                return old.Store(self.var(s.array), self.entries(s.index, self.atom), self.atom(s.value), s.line, s.op)
            case terms.Call():
                function = self.refer(s.function) if isinstance(s.function, Symbol) else self.atom(s.function)
                targets = list(map(self.var, s.targets))
                return old.Call(targets, function, list(map(self.tree, s.args)), self.tree(s.result), s.line)
            case terms.If():
                return old.If(self.atom(s.test), self.block(s.then), self.block(s.orelse), s.line)
            case terms.For():
                start, stop, step = (self.atom(x) for x in (s.start, s.stop, s.step))
                exits = list(map(self.var, s.exits))
                return old.For(self.var(s.target), start, stop, step, self.block(s.body), exits, s.line)
            case terms.While():
                exits = list(map(self.var, s.exits))
                return old.While(self.block(s.before), self.atom(s.test), self.block(s.body), exits, s.line)
            case terms.Effect():
                return old.Effect(s.text, tuple(map(self.atom, s.args)), s.line, s.raises)
        return self.let(s)

    def let(self, s: Any) -> old.Let:
        target = self.var(s.target)
        match s:
            case terms.Copy():
                return old.Let(target, "copy", (self.atom(s.source),), None, s.line)
            case terms.Discrete():
                return old.Let(target, "plain", self.inside(s.value), self.expr(s.value), s.line)
            case terms.Make():
                return old.Let(target, "alloc", self.inside(s.value), self.expr(s.value), s.line)
            case terms.Real():
                return self.real(s, target, tuple(map(self.atom, s.args)))
            case terms.Load():
                return old.Let(target, "load", (self.atom(s.array),), self.entries(s.index, self.atom), s.line)
            case terms.Whole():
                return old.Let(target, "array", tuple(map(self.atom, s.args)), (s.function,), s.line)
            case terms.View(base=base, value=terms.Item() as item) if item.base is base and all(
                isinstance(x, (Var, Constant, Global))
                for i in item.index
                for x in terms.parts(i) or (i,)
                if x is not None
            ):
                return old.Let(target, "view", (self.atom(base),), self.entries(item.index, self.atom), s.line)
            case terms.View(base=base, value=value):
                rest = tuple(x for x in self.inside(value) if x != self.atom(base))
                return old.Let(target, "view", (self.atom(base), *rest), self.expr(value, base), s.line)
        raise AssertionError(s)

    def real(self, s: terms.Real, target: str, args: tuple[Any, ...]) -> old.Let:
        symbol: Any = s.spelling if s.checked or s.spelling not in ("/", "//", "%") else old.OfElements(s.spelling)
        if s.rule is terms.SCALED:
            inner = old.Let(target, "scaled", args, None, s.line)
        elif s.spelling not in _OPERATORS:
            inner = old.Let(target, "func", args, (s.spelling, ()), s.line)
        else:
            inner = old.Let(target, "binop" if len(args) == 2 else "unary", args, symbol, s.line)
        return old.Let(target, "prim", args, (s.rule, inner), s.line)
