"""Operator overloading of jitclass instances: operators, builtins and items call special methods, as in numba.

x + y is x.__add__(y), len(x) is x.__len__(), x[i] is x.__getitem__(i); the instance stands first. Takes the writer, and
the calls of methods (jitclass.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from numba.core import types
from numba.core.registry import cpu_target

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.records.jitclass import Objects
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_instance

__all__ = ["Dunders"]

_BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
}
_BINARY |= {">>": "rshift", "&": "and", "|": "or", "^": "xor"}
_UNARY = {"-": "neg", "+": "pos", "~": "invert"}
_FUNCTIONS = {"abs", "len", "hash", "float", "int"}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Dunders:
    """Dispatch to special methods, such as `__add__`; `expand` writes an operation."""

    def __init__(self, code: ScalarBuilder, objects: Objects, expand: Callable[[anf.Let], None]) -> None:
        self.code, self.objects, self.expand = code, objects, expand

    def takes(self, s: anf.Let) -> bool:
        """Lower an operation to the call of a special method; False if the class does not have it."""
        x, rest = s.args[0], s.args[1:]
        if isinstance(s, (anf.BinOp, anf.InplaceOp)) and s.symbol in _BINARY:
            name = _BINARY[s.symbol]
            return (isinstance(s, anf.InplaceOp) and self._call(s.target, s.line, f"i{name}", x, rest)) or self._call(
                s.target, s.line, name, x, rest
            )
        if isinstance(s, anf.UnaryOp) and s.symbol in _UNARY:
            return self._call(s.target, s.line, _UNARY[s.symbol], x)
        if isinstance(s, anf.CallKnown) and s.function in _FUNCTIONS and not (rest or s.keywords):
            return self._call(s.target, s.line, s.function, x)
        if isinstance(s, anf.GetItem) and is_instance(self.code.kind(x)):
            return self.has(x, "getitem") and self._call(
                s.target, s.line, "getitem", x, (self._index(s.index, s.line),)
            )
        return False

    def stores(self, s: anf.Store) -> bool:
        """Lower `x[index] = value` to `__setitem__`; False if the class does not have it."""
        if not is_instance(self.code.kind(s.array)) or not self.has(s.array, "setitem"):
            return False
        nothing = self.code.temp(types.none)
        return self._call(nothing, s.line, "setitem", s.array, (self._index(s.index, s.line), s.value))

    def resolved(self, tree: ast.expr, is_object: Callable[[str], bool], line: int) -> tuple[ast.expr, list[str]]:
        """Hoist calls of special methods out of a condition, if all run; return it, and the names of their results."""
        calls = _Calls(self, is_object, line)
        if not any(isinstance(x, (ast.BoolOp, ast.IfExp)) for x in ast.walk(tree)):
            tree = calls.visit(tree)
        return tree, calls.made

    def value(self, name: str, x: str, args: tuple[anf.Atom, ...], kind: NumbaType, line: int) -> str | None:
        """Call a special method, and return the variable of its result; None if the class does not have it."""
        made = self.code.temp(kind)
        return made if self._call(made, line, name, x, args) else None

    def returned(self, x: str, name: str, args: tuple[anf.Atom, ...]) -> NumbaType:
        """Return type of a special method, inferred by numba."""
        f = types.Dispatcher(self.code.kind(x).jit_methods[f"__{name}__"])
        kinds = tuple(types.unliteral(self.code.kind(a)) for a in (x, *args))
        return f.get_call_type(cpu_target.typing_context, kinds, {}).return_type

    def has(self, x: anf.Atom, name: str) -> bool:
        """Whether the class of an instance has a special method."""
        return f"__{name}__" in getattr(self.code.kind(x), "jit_methods", {})

    def _call(self, target: str, line: int, name: str, x: anf.Atom, args: tuple[anf.Atom, ...] = ()) -> bool:
        if not self.has(x, name):
            return False
        self.objects.method(anf.CallMethod(target, x, f"__{name}__", args, line))
        return True

    def _index(self, entries: anf.Index, line: int) -> anf.Atom:
        """Index as one value: several entries become a tuple."""
        if any(x is None or x is Ellipsis or isinstance(x, anf.Slice) for x in entries):
            self.code.refuse(line, "a slice of an instance", "only places are known", "a method with the bounds")
        atoms = tuple(map(anf.atom_of, entries))
        if len(atoms) == 1:
            return atoms[0]
        kinds = [types.unliteral(self.code.kind(x)) for x in atoms]
        made = self.code.temp(types.BaseTuple.from_types(kinds))
        self.expand(anf.MakeTuple(made, atoms, line))
        return made


class _Calls(ast.NodeTransformer):
    """Replace `x < y`, `x[i]`, `len(x)` and `y in x` by variables with the results of special methods."""

    def __init__(self, dunders: Dunders, is_object: Callable[[str], bool], line: int) -> None:
        self.dunders, self.is_object, self.line = dunders, is_object, line
        self.made: list[str] = []

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a comparison or a membership test."""
        self.generic_visit(node)
        (op, *more), left, right = node.ops, node.left, node.comparators[0]
        if more:
            return node
        if isinstance(op, (ast.In, ast.NotIn)):
            made = self._value("contains", right, left)
            return ast.UnaryOp(ast.Not(), made) if made and isinstance(op, ast.NotIn) else made or node
        made = self._value(_COMPARE.get(type(op), ""), left, right)
        if made is None and isinstance(op, ast.NotEq) and (equal := self._value("eq", left, right)):
            return ast.UnaryOp(ast.Not(), equal)
        return made or node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace an item."""
        self.generic_visit(node)
        return self._value("getitem", node.value, node.slice) or node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len` and other builtins."""
        node.args = [self.visit(x) for x in node.args]
        text = ast.unparse(node.func)
        return (self._value(text, *node.args) if text in _FUNCTIONS and len(node.args) == 1 else None) or node

    def _value(self, name: str, x: ast.expr, *args: ast.expr) -> ast.expr | None:
        if not (isinstance(x, ast.Name) and self.is_object(x.id)):
            return None
        atoms = tuple(a for a in map(_atom, args) if a is not None)
        if len(atoms) < len(args) or not self.dunders.has(x.id, name):
            return None
        kind = self.dunders.returned(x.id, name, atoms)
        found = self.dunders.value(name, x.id, atoms, kind, self.line)
        assert found is not None
        self.made.append(found)
        return to_python.name(found)


def _atom(x: ast.expr) -> anf.Atom | None:
    """Constant or name node as an atom; None for any other node."""
    if isinstance(x, ast.Constant):
        return anf.Const(x.value)
    return x.id if isinstance(x, ast.Name) else None
