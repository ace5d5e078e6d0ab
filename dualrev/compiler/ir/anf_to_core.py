"""Translation of expanded ANF to typed core (nodes.py), one construct at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import EllipsisType
from typing import Any, Protocol

import numba

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.to_python import SYMBOLS, names_in
from dualrev.compiler.ir.core import atoms, nodes
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Expr, Global, Symbol, Var
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.types.aliases import NumbaType, UserValue


class Scalarised(Protocol):
    """Function of scalars and elements of arrays, in ANF: scalarize/lower.py makes it."""

    lowered: Any  # the function that was scalarised: its source, and what it refers to
    parameters: list[anf.Tree]
    body: list[anf.Stmt]
    result: anf.Tree
    types: dict[str, NumbaType]


__all__ = ["typed"]


def typed(
    e: Scalarised, origin: UserValue, checked: bool, symbol: Callable[[anf.Call], Symbol] | None = None
) -> Function:
    """Translate an `Scalarised` function to typed core, with variables as objects; `checked`: divisions by zero raise.

    `symbol` gives the symbol of a callee with complex arguments: core calls it with their real and imaginary parts.
    """
    return _Typing(e, checked, symbol).function(origin)


class _Typing:
    def __init__(self, e: Scalarised, checked: bool, symbol: Callable[[anf.Call], Symbol] | None) -> None:
        self.e, self.checked, self.symbol = e, checked, symbol
        self.variables: dict[str, Var] = {}
        self.globals = {ref.name: ref for ref in e.lowered.refs.values()}

    def function(self, origin: UserValue) -> Function:
        """Translate the function, with its parameters, body and result."""
        e, name = self.e, self.e.lowered.source.tree.name
        parameters = tuple(self.tree(p) for p in e.parameters)
        return Function(name, parameters, self.block(e.body), self.tree(e.result), self.checked, origin)

    # Atoms

    def var(self, name: str) -> Var:
        """The variable of a name, with the type that numba inferred."""
        if name not in self.variables:
            self.variables[name] = Var(name, self.e.types[name])
        return self.variables[name]

    def atom(self, x: anf.Atom) -> atoms.Atom:
        """Translate an atom."""
        if isinstance(x, anf.Const):
            return Constant(x.value, numba.typeof(x.value))
        if isinstance(x, anf.Ref):
            return Global(x.name, x.value, x.path, None if x.value is None else _type_of(x.value))
        return self.var(x)

    def array(self, x: anf.Atom) -> Var | Global:
        """Translate an atom that is no constant."""
        made = self.atom(x)
        assert not isinstance(made, Constant)
        return made

    def tree(self, x: anf.Tree) -> atoms.Tree:
        """Translate a tree of atoms."""
        if not isinstance(x, anf.Node):
            return self.atom(x)
        cls = self.atom(x.cls) if x.cls is not None else None
        assert cls is None or isinstance(cls, Global)
        return atoms.Node(tuple(map(self.tree, x.parts)), cls, x.kind)

    # Expressions

    def expr(self, node: ast.expr, base: atoms.Atom | None = None) -> Expr:
        """Translate an expression of the syntax tree; `base` is the atom for the name BASE."""

        def sub(x: ast.expr) -> Expr:
            """Translate a subexpression."""
            return self.expr(x, base)

        match node:
            case ast.Name("BASE") if base is not None:
                return base
            case ast.Name(name):
                return self.named(name)
            case ast.Constant(value):
                return Constant(value, None if value is Ellipsis else numba.typeof(value))
            case ast.BinOp(left, op, right):
                return atoms.Operator(SYMBOLS[type(op)], (sub(left), sub(right)))
            case ast.UnaryOp(op, operand):
                return atoms.Operator(SYMBOLS[type(op)], (sub(operand),))
            case ast.Compare(left, ops, rest):
                return atoms.Comparison(tuple(SYMBOLS[type(op)] for op in ops), tuple(map(sub, [left, *rest])))
            case ast.BoolOp(op, values):
                return atoms.Logical(SYMBOLS[type(op)], tuple(map(sub, values)))
            case ast.IfExp(test, then, orelse):
                return atoms.Choice(sub(test), sub(then), sub(orelse))
            case ast.Tuple(elts) | ast.List(elts):
                return atoms.Pack(tuple(map(sub, elts)), isinstance(node, ast.List))
            case ast.Subscript(value, index):
                return atoms.Item(sub(value), self.index(index, base))
            case ast.Attribute():
                return self.attribute(node, base)
            case ast.Call():
                return self.call(node, base)
        raise AssertionError(ast.dump(node))

    def named(self, name: str) -> atoms.Atom:
        """The global or the variable that a name denotes."""
        if name in self.globals:
            return self.atom(self.globals[name])
        return self.var(name)

    def attribute(self, node: ast.Attribute, base: atoms.Atom | None) -> Expr:
        """Translate an attribute: a global of a module, or a field."""
        if is_module(node.value):
            return Global(ast.unparse(node), None, ())
        return atoms.Field(self.expr(node.value, base), node.attr)

    def call(self, node: ast.Call, base: atoms.Atom | None) -> Expr:
        """Translate a call: a method, a global's application, or a named function's."""
        args = tuple(self.expr(x, base) for x in node.args)
        keywords = tuple((str(k.arg), self.expr(k.value, base)) for k in node.keywords)
        text = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
            return atoms.Method(self.expr(node.func.value, base), node.func.attr, args, keywords)
        if text in self.globals:
            made = self.atom(self.globals[text])
            assert isinstance(made, Global)
            return atoms.Applied(made, args, keywords)
        return atoms.Applied(text, args, keywords)

    def index(self, node: ast.expr, base: atoms.Atom | None) -> tuple[atoms.Index, ...]:
        """Translate an index of the syntax tree."""
        entries = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self.entry(x, base) for x in entries)

    def entry(self, x: ast.expr, base: atoms.Atom | None) -> atoms.Index:
        """Translate one entry of an index of the syntax tree."""
        if isinstance(x, ast.Slice):
            return atoms.Span(*(None if y is None else self.expr(y, base) for y in (x.lower, x.upper, x.step)))
        if isinstance(x, ast.Constant) and (x.value is None or x.value is Ellipsis):
            return x.value
        return self.expr(x, base)

    def places(self, index: anf.Index) -> tuple[atoms.Index, ...]:
        """Translate an index of ANF."""

        def entry(x: anf.Entry) -> atoms.Index:
            """Translate one entry of it."""
            if isinstance(x, anf.Slice):
                return atoms.Span(*(None if y is None else self.atom(y) for y in (x.lower, x.upper, x.step)))
            return x if x is None or isinstance(x, EllipsisType) else self.atom(x)

        return tuple(map(entry, index))

    # Statements

    def block(self, body: list[anf.Stmt]) -> tuple[nodes.Statement, ...]:
        """Translate a block."""
        return tuple(map(self.statement, body))

    def statement(self, s: anf.Stmt) -> nodes.Statement:
        """Translate a statement."""
        match s:
            case anf.Let():
                return self.let(s)
            case anf.Store():
                return nodes.Store(self.var(s.array), self.places(s.index), self.atom(s.value), s.line, s.op)
            case anf.Call():
                made = getattr(s.function.value, "symbol", None)
                if s.types is not None and self.symbol is not None:
                    made = self.symbol(s)
                function = self.atom(s.function) if made is None else made
                assert isinstance(function, (Global, atoms.Symbol))
                targets = tuple(map(self.var, s.targets))
                return nodes.Call(targets, function, tuple(map(self.tree, s.args)), self.tree(s.result), s.line)
            case anf.If():
                return nodes.If(self.atom(s.test), self.block(s.then), self.block(s.orelse), s.line)
            case anf.For():
                start, stop, step = (self.atom(x) for x in (s.start, s.stop, s.step))
                body = self.block(s.body)
                return nodes.For(
                    self.var(s.target), start, stop, step, body, self.flags(s), s.line, s.parallel, s.elements
                )
            case anf.While():
                return nodes.While(
                    self.block(s.test_block), self.atom(s.test), self.block(s.body), self.flags(s), s.line
                )
            case anf.Effect() if s.text.startswith(f"{anf.BARRIER}("):
                return nodes.Barrier(
                    tuple(x for x in map(self.atom, s.args) if isinstance(x, Var) and is_array(x)), s.line
                )
            case anf.Effect():
                return nodes.Effect(s.text, tuple(map(self.atom, s.args)), s.raises, s.line)
            case anf.Opaque():
                read = dict.fromkeys([*s.args, *(x for x in names_in(s.code) if x in self.globals)])
                inputs = tuple((x, self.named(x)) for x in read)
                outputs = tuple((x, self.var(x)) for x in s.targets)
                return nodes.Opaque(outputs, inputs, tuple(s.code), s.changes, s.unknown, s.refusal, s.line)
        raise AssertionError(s)

    def flags(self, s: anf.For | anf.While) -> tuple[Var, ...]:
        """Translate the exit flags of a loop."""
        return tuple(map(self.var, s.exits))

    def let(self, s: anf.Let) -> nodes.Statement:
        """Translate an operation."""
        target = self.var(s.target)
        match s:
            case anf.Copy(source=x):
                return nodes.Copy(target, self.atom(x), s.line)
            case anf.Discrete(tree=tree):
                return nodes.Discrete(target, self.expr(tree), s.line)
            case anf.Prim(rule=rule, spelling=spelling):
                checked = self.checked and not s.of_elements
                return nodes.Real(target, rule, spelling, tuple(map(self.atom, s.args)), s.line, checked)
            case anf.Load(array=x, index=index):
                return nodes.Load(target, self.array(x), self.places(index), s.line)
            case anf.View(array=x, index=index):
                base = self.array(x)
                return nodes.View(target, base, atoms.Item(base, self.places(index)), s.line)
            case anf.ViewExpr(array=x, tree=tree):
                base = self.array(x)
                return nodes.View(target, base, self.expr(tree, base), s.line)
            case anf.Alloc(tree=tree):
                return nodes.Make(target, self.expr(tree), s.line)
            case anf.WholeArray(function=function):
                return nodes.Whole(target, function, tuple(map(self.atom, s.args)), s.line)
        raise AssertionError(s)


def _type_of(x: UserValue) -> NumbaType | None:
    """Numba type of a value; None for a class, or for a function that only numba knows."""
    try:
        return None if isinstance(x, type) else numba.typeof(x)
    except ValueError:
        return None


def is_module(node: ast.expr) -> bool:
    """Whether an expression is `math`, `np` or `runtime`, or an attribute below one of them."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("math", "np", "runtime")
